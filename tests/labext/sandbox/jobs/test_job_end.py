"""`POST /stop-job` and `DELETE /delete-job` (JOBS-100 to JOBS-109)."""

from __future__ import annotations

import time

import psutil
import pytest
import requests

pytestmark = pytest.mark.contract


def processes_in(folder):
    """The processes that work in a job's folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd().startswith(str(folder)):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


@pytest.fixture
def narrow(new_box, kit):
    """A service with one worker, that a slow job keeps busy; and that job."""
    box = new_box(workers=1)
    api = kit.Api(box)
    slow = api.submit("rna_fold", kit.SLOW)
    api.until(slow, lambda row: row["JobStatus"] == "Running")
    return api, slow, box


def test_a_running_job_stops_at_once_with_all_its_processes(narrow):
    api, slow, box = narrow
    deadline = time.monotonic() + 90
    while not processes_in(box.data_dir / "jobs"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    answer = api.post("stop-job", {"jobName": slow})
    assert answer.status_code == 200
    assert slow in answer.json()["message"]
    assert processes_in(box.data_dir / "jobs") == []
    row = api.row(slow)
    assert row["JobStatus"] == "Stopped"
    assert "by hand" in row["Reason"]
    assert "Score" not in row
    assert row["Started"] <= row["Completed"]
    assert row["WeightedHours"] > 0


def test_a_waiting_job_stops_and_never_runs(narrow, kit):
    api, slow, _box = narrow
    waiting = api.submit("digest", kit.cut())
    api.post("stop-job", {"jobName": waiting})
    row = api.row(waiting)
    assert row["JobStatus"] == "Stopped"
    assert "Started" not in row
    assert api.row(slow)["JobStatus"] == "Running"


def test_stopping_what_is_finished_says_so_and_changes_nothing(new_box, kit):
    box = new_box(workers=2)
    api = kit.Api(box)
    with kit.Back(box).quota("student@sandbox.local", 100):
        failed = api.batch([kit.cut()])
        api.ended(failed)
    stopped, stopped_batch = api.submit("rna_fold", kit.SLOW), api.batch([kit.SLOW] * 2, "rna_fold")
    for name in (stopped, stopped_batch):
        api.post("stop-job", {"jobName": name})
    states = {
        api.submit("digest", kit.cut()): "Complete",
        api.batch([kit.cut()] * 2): "Complete",
        stopped: "Stopped",
        stopped_batch: "Stopped",
        f"{stopped_batch}-j0": "Stopped",
        failed: "AggregationFailed",
    }
    for name in states:
        api.ended(name)

    def kept():
        rows = {row["JobName"]: row for row in api.rows(includeSubjobs="true")}
        files = {f: f.stat().st_mtime_ns for f in (box.data_dir / "jobs" / "jobs").rglob("*")}
        return rows, files

    before = kept()
    for name, state in states.items():
        row = api.row(name)
        other = ("cancelBatch", "batchName") if "batchStatus" in row else ("cancelJob", "jobName")
        for path, field in (("stop-job", "jobName"), other):
            answer = api.post(path, {field: name})
            assert answer.status_code == 200
            assert answer.json() == {"message": f"{name} is already {state}."}
    assert kept() == before


def test_a_batch_stops_with_all_its_jobs(narrow, kit):
    api, slow, _box = narrow
    name = api.batch([kit.cut()] * 30)
    assert api.post("stop-job", {"jobName": name}).status_code == 200
    parent = api.row(name)
    assert parent["batchStatus"] == parent["JobStatus"] == "Stopped"
    assert "by hand" in parent["Reason"]
    assert parent["statuses"] == {"Complete": 0, "Running": 0, "In Queue": 0, "Stopped": 30}
    again = api.post("stop-job", {"jobName": name})
    assert again.json() == {"message": f"{name} is already Stopped."}
    assert api.row(slow)["JobStatus"] == "Running"


def test_a_batch_stops_while_it_is_aggregating(new_box, kit):
    api = kit.Api(new_box(workers=1))
    name = api.batch([kit.cut()])
    slow = api.submit("rna_fold", kit.SLOW)
    api.until(name, lambda row: row["batchStatus"] == "Aggregating")
    api.post("stop-job", {"jobName": name})
    api.post("stop-job", {"jobName": slow})
    other = api.submit("digest", kit.cut())
    api.ended(other)  # the queue went on past where the aggregation was
    parent = api.row(name)
    assert parent["batchStatus"] == "Stopped"
    assert parent["statuses"]["Complete"] == 1


def test_a_batch_goes_on_without_a_job_that_was_stopped_or_deleted(narrow, kit):
    api, slow, _box = narrow
    name = api.batch([kit.cut()] * 3)
    api.post("stop-job", {"jobName": f"{name}-j0"})
    api.delete("delete-job", {"jobName": f"{name}-j1"})
    api.post("stop-job", {"jobName": slow})
    parent = api.ended(name)
    assert parent["batchStatus"] == "Complete"
    assert parent["statuses"] == {"Complete": 1, "Running": 0, "In Queue": 0, "Stopped": 1}


def test_a_batch_ends_when_its_last_job_is_deleted(narrow, kit):
    api, _slow, _box = narrow
    name = api.batch([kit.cut()])
    api.delete("delete-job", {"jobName": f"{name}-j0"})
    assert api.row(name)["batchStatus"] == "Stopped"


def test_deleting_removes_the_rows_and_the_bytes(new_box, kit):
    box = new_box(workers=2)
    api = kit.Api(box)
    single, batch = api.submit("digest", kit.cut()), api.batch([kit.cut()] * 3)
    api.ended(single)
    api.ended(batch)
    assert any((box.data_dir / "jobs" / "jobs").iterdir())
    for name in (single, batch):
        answer = api.delete("delete-job", {"jobName": name})
        assert answer.status_code == 200
        assert name in answer.json()["message"]
    assert list((box.data_dir / "jobs" / "jobs").iterdir()) == []
    assert api.rows(includeSubjobs="true") == []
    for name in (single, batch, f"{batch}-j0"):
        kit.sentence(api.get("jobs", jobName=name), 404)
    kit.sentence(api.delete("delete-job", {"jobName": single}), 404)


def test_a_running_job_is_stopped_and_deleted(narrow, kit):
    api, slow, box = narrow
    assert api.delete("delete-job", {"jobName": slow}).status_code == 200
    assert processes_in(box.data_dir / "jobs") == []
    kit.sentence(api.get("jobs", jobName=slow), 404)
    assert list((box.data_dir / "jobs" / "jobs").iterdir()) == []
    api.submit("digest", kit.cut(), slow)  # the name is free again
    assert api.ended(slow)["JobStatus"] == "Complete"


def test_the_name_to_delete_may_come_in_the_query(api, kit):
    name = api.submit("digest", kit.cut())
    assert api.delete("delete-job", jobName=name).status_code == 200
    kit.sentence(api.get("jobs", jobName=name), 404)


@pytest.mark.parametrize("body", [{}, {"jobName": 7}, {"jobName": None}, {"job": "a"}])
def test_a_missing_name_is_named(api, kit, body):
    assert "jobName" in kit.sentence(api.post("stop-job", body))
    assert "jobName" in kit.sentence(api.delete("delete-job", body))


def test_without_any_name_nothing_is_deleted(api, kit):
    kit.sentence(api.delete("delete-job"))


@pytest.mark.parametrize("name", ["nope", "a b", "", "x" * 200, "a\0b"])
def test_an_unknown_job_is_404(api, kit, name):
    kit.sentence(api.post("stop-job", {"jobName": name}), 404)
    kit.sentence(api.delete("delete-job", {"jobName": name}), 404)


def test_another_accounts_job_is_out_of_reach(api, teacher, kit):
    name = api.submit("digest", kit.cut())
    kit.sentence(teacher.post("stop-job", {"jobName": name}), 404)
    kit.sentence(teacher.delete("delete-job", {"jobName": name}), 404)
    assert api.ended(name)["JobStatus"] == "Complete"


def test_deleting_twice_at_once_deletes_once(box, api, kit):
    from concurrent.futures import ThreadPoolExecutor

    name = api.batch([kit.cut()] * 5)

    def delete(_n):
        return requests.delete(
            box.jobs.base_url + "delete-job",
            json={"jobName": name},
            headers={"x-api-key": box.jobs.api_key},
            timeout=60,
        ).status_code

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(delete, range(6))) == [200] + [404] * 5


def test_one_name_submitted_at_once_is_one_job(box, kit):
    from concurrent.futures import ThreadPoolExecutor

    body = {"jobName": kit.name(), "type": "digest", "settings": kit.cut()}

    def submit(_n):
        return requests.post(
            box.jobs.base_url + "submit-job",
            json=body,
            headers={"x-api-key": box.jobs.api_key},
            timeout=60,
        ).status_code

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(submit, range(6))) == [200] + [400] * 5

"""Stopping, cancelling and deleting jobs and batches (JOBS-100 to JOBS-109)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from waiting import wait_until

pytestmark = pytest.mark.contract


@pytest.fixture
def narrow(own_box, kit):
    """Return a service whose only worker is busy, and the slow job that it runs."""
    api = kit.Api(own_box)
    slow = api.submit("rna_fold", kit.SLOW)
    api.until(slow, lambda row: row["JobStatus"] == "Running")
    return api, slow, own_box


def test_stopping_a_running_job_ends_its_processes(narrow, kit):
    api, slow, box = narrow
    wait_until(lambda: kit.processes_in(box.data_dir / "jobs"))
    answer = api.post("stop-job", {"jobName": slow})
    assert answer.status_code == 200
    assert slow in answer.json()["message"]
    assert kit.processes_in(box.data_dir / "jobs") == []
    row = api.row(slow)
    assert row["JobStatus"] == "Stopped"
    assert "by hand" in row["Reason"]
    assert "Score" not in row
    assert row["Started"] <= row["Completed"]
    assert row["WeightedHours"] > 0


def test_stopped_queued_job_never_runs(narrow, kit):
    api, slow, _box = narrow
    waiting = api.submit("digest", kit.cut())
    api.post("stop-job", {"jobName": waiting})
    row = api.row(waiting)
    assert row["JobStatus"] == "Stopped"
    assert "Started" not in row
    assert api.row(slow)["JobStatus"] == "Running"


def test_stopping_an_ended_job_changes_nothing(own_box, kit):
    api = kit.Api(own_box)
    with kit.DatabaseAccess(own_box).quota("student@sandbox.local", 100):
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

    def stored_state():
        rows = {row["JobName"]: row for row in api.rows(includeSubjobs="true")}
        files = {f: f.stat().st_mtime_ns for f in (own_box.data_dir / "jobs" / "jobs").rglob("*")}
        return rows, files

    before = stored_state()
    for name, state in states.items():
        row = api.row(name)
        other = ("cancelBatch", "batchName") if "batchStatus" in row else ("cancelJob", "jobName")
        for path, field in (("stop-job", "jobName"), other):
            answer = api.post(path, {field: name})
            assert answer.status_code == 200
            assert answer.json() == {"message": f"{name} is already {state}."}
    assert stored_state() == before


def test_stopping_a_batch_stops_its_jobs(narrow, kit):
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


def test_batch_continues_without_stopped_or_deleted_jobs(narrow, kit):
    api, slow, _box = narrow
    name = api.batch([kit.cut()] * 4)
    api.end("stop", f"{name}-j0")
    api.end("delete", f"{name}-j1")
    api.accepted("cancelJob", {"jobName": f"{name}-j2"})
    api.end("stop", slow)
    parent = api.ended(name)
    assert parent["batchStatus"] == "Complete"
    assert parent["statuses"] == {"Complete": 1, "Running": 0, "In Queue": 0, "Stopped": 2}


def test_batch_ends_when_its_last_job_is_deleted(narrow, kit):
    api, _slow, _box = narrow
    name = api.batch([kit.cut()])
    api.delete("delete-job", {"jobName": f"{name}-j0"})
    assert api.row(name)["batchStatus"] == "Stopped"


def test_deleting_removes_rows_and_files(own_box, kit):
    api = kit.Api(own_box)
    single, batch = api.submit("digest", kit.cut()), api.batch([kit.cut()] * 3)
    api.ended(single)
    api.ended(batch)
    assert any((own_box.data_dir / "jobs" / "jobs").iterdir())
    for name in (single, batch):
        answer = api.delete("delete-job", {"jobName": name})
        assert answer.status_code == 200
        assert name in answer.json()["message"]
    assert list((own_box.data_dir / "jobs" / "jobs").iterdir()) == []
    assert api.rows(includeSubjobs="true") == []
    for name in (single, batch, f"{batch}-j0"):
        kit.error_message(api.get("jobs", jobName=name), 404)
    kit.error_message(api.delete("delete-job", {"jobName": single}), 404)


def test_deleting_a_running_job_stops_it(narrow, kit):
    api, slow, box = narrow
    assert api.delete("delete-job", {"jobName": slow}).status_code == 200
    assert kit.processes_in(box.data_dir / "jobs") == []
    kit.error_message(api.get("jobs", jobName=slow), 404)
    assert list((box.data_dir / "jobs" / "jobs").iterdir()) == []
    api.submit("digest", kit.cut(), slow)  # the name is free again
    assert api.ended(slow)["JobStatus"] == "Complete"


def test_name_to_delete_may_be_in_the_query(api, kit):
    name = api.submit("digest", kit.cut())
    assert api.delete("delete-job", jobName=name).status_code == 200
    kit.error_message(api.get("jobs", jobName=name), 404)


@pytest.mark.parametrize(
    ("path", "field"),
    [*[(path, "jobName") for path in ("stop-job", "delete-job", "cancelJob")],
     ("cancelBatch", "batchName")],
)  # fmt: skip
def test_missing_or_unknown_name_is_refused(api, kit, path, field):
    send = api.delete if path == "delete-job" else api.post
    for body in ({}, {field: 7}, {field: None}):
        assert field in kit.error_message(send(path, body))
    for name in ("nope", "a b", "", "x" * 200, "a\0b"):
        kit.error_message(send(path, {field: name}), 404)
    kit.error_message(api.delete("delete-job"))


def test_jobs_of_other_accounts_cannot_be_stopped_or_deleted(api, teacher, kit):
    name = api.submit("digest", kit.cut())
    for path in ("stop-job", "cancelJob"):
        teacher.refused(path, {"jobName": name}, 404)
    kit.error_message(teacher.delete("delete-job", {"jobName": name}), 404)
    assert api.ended(name)["JobStatus"] == "Complete"


def test_cancel_batch_accepts_the_field_of_cancel_job(api, kit):
    name = api.batch([kit.SLOW] * 2, type="rna_fold")
    answer = api.accepted("cancelBatch", {"jobName": name})
    assert answer.json() == {"message": f"{name} is stopped."}


def test_cancel_refuses_the_other_kind(api, kit):
    job, batch = api.submit("digest", kit.cut()), api.batch([kit.cut()])
    assert "is a batch" in api.refused("cancelJob", {"jobName": batch}, 404)
    assert "is not a batch" in api.refused("cancelBatch", {"batchName": job}, 404)
    assert api.ended(job)["JobStatus"] == api.ended(batch)["batchStatus"] == "Complete"


@pytest.mark.parametrize("action", ["submit-job", "delete-job"])
def test_simultaneous_requests_take_effect_once(box, kit, action):
    name = kit.name()
    body = {"jobName": name, "type": "digest", "settings": kit.cut()}
    method, refused = ("POST", 400) if action == "submit-job" else ("DELETE", 404)
    if action == "delete-job":
        name = body["jobName"] = kit.Api(box).batch([kit.cut()] * 5)

    def send(_n):
        api = kit.Api(box)
        return api.session.request(method, api.base + action, json=body, timeout=60).status_code

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(send, range(6))) == [200] + [refused] * 5

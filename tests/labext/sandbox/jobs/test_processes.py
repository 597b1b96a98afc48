"""All processes of a job end within two seconds after the job, even if they are detached.

The job starts a child, a grandchild, a process in a new session, and two processes that ignore
SIGTERM and have another working folder and environment: a daemon (double fork) and a program.
"""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest
from waiting import wait_until

from labext.sandbox import Sandbox

PARTS = Path(__file__).parents[3] / "support"
SETTINGS = {"seconds": 300}
PROCESSES = 6
SLOWER = 5  # allowance for slow test machines

pytestmark = [
    pytest.mark.contract,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere orphans have no new parent"),
]


@pytest.fixture(scope="module")
def detaching_box(tmp_path_factory):
    """A sandbox whose job service has the tool `cut_loose`, which detaches its processes."""
    box = Sandbox(
        tmp_path_factory.mktemp("detaching") / "data",
        rate="off",
        workers=4,
        services=["labext_test_jobs:service"],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PARTS), prepend=":")
        box.start()
    yield box
    box.stop()


@pytest.fixture(scope="module")
def service(detaching_box, kit):
    return kit.Api(detaching_box)


@pytest.fixture(scope="module")
def processes(detaching_box):
    """Return a function that lists the process ids recorded by existing jobs."""

    def read_pids():
        files = (detaching_box.data_dir / "jobs" / "jobs").glob("*/work/**/pids")
        return {int(pid) for file in files for pid in file.read_text().split()}

    return read_pids


@pytest.fixture
def wait_for_end(kit):
    """Return a function that waits until processes have ended, including zombies."""
    return lambda pids, seconds=2.0 * SLOWER: wait_until(
        lambda: not any(map(psutil.pid_exists, pids)), seconds
    )


ENDS = [
    *[("job", path) for path in ("cancelJob", "delete-job")],
    *[("batch", path) for path in ("cancelBatch", "delete-job")],
    ("pipeline", "stop-job"),
]


@pytest.fixture
def start(service, kit):
    """Return a function that starts a job, batch or pipeline; deleted after the test."""
    names = []

    def create(kind, **more):
        if kind == "job":
            names.append(service.submit("cut_loose", SETTINGS))
        elif kind == "batch":
            names.append(service.batch([SETTINGS] * 2, "cut_loose", **more))
        else:
            stage = {"task": "Detach", "toolSettings": {"cut_loose": {**SETTINGS, "label": "pipe"}}}
            names.append(kit.name())
            body = {"jobName": names[-1], "initialInputs": ["a", "b"], "stages": [stage]}
            assert service.post("submit-pipeline", body).status_code == 200
        return names[-1]

    yield create
    for name in names:
        service.delete("delete-job", {"jobName": name})


@pytest.fixture
def start_and_wait(start, processes, kit):
    """Return a function that starts a job or batch and waits until all its processes exist."""

    def create(kind):
        name = start(kind)
        count = PROCESSES * (1 if kind == "job" else 2)
        wait_until(lambda: len(processes()) >= count)
        pids = processes()
        assert all(map(psutil.pid_exists, pids))
        return name, pids

    return create


@pytest.mark.parametrize(("kind", "path"), ENDS)
def test_processes_end_within_two_seconds_of_the_response(
    detaching_box, service, start_and_wait, wait_for_end, kit, kind, path
):
    name, pids = start_and_wait(kind)
    body = {"batchName" if path == "cancelBatch" else "jobName": name}
    answer = service.delete(path, body) if path == "delete-job" else service.post(path, body)
    wait_for_end(pids)
    assert answer.status_code == 200
    if "deleted" in answer.json()["message"]:
        kit.error_message(service.get("jobs", jobName=name), 404)
        assert service.rows(includeSubjobs="true") == []
        assert list((detaching_box.data_dir / "jobs" / "jobs").iterdir()) == []
    else:
        rows = (
            [service.row(name)] if kind == "job" else [service.row(name), *service.rows(batch=name)]
        )
        assert {(row["JobStatus"], row["Reason"]) for row in rows} == {
            ("Stopped", "Stopped by hand.")
        }
    assert [*(detaching_box.data_dir / "jobs" / "tasks").glob("[0-9]*")] == []


def test_processes_end_with_a_killed_fork_server(
    detaching_box, service, start_and_wait, processes, wait_for_end, kit
):
    name, pids = start_and_wait("job")
    [server] = psutil.Process(detaching_box.status().pid).children()
    server.kill()
    wait_for_end(pids, 20.0)
    wait_until(lambda: (new := processes() - pids) and all(map(psutil.pid_exists, new)))
    # A row becomes `Running` when the start of the process is recorded, after it has started.
    service.until(name, lambda row: row["JobStatus"] == "Running")
    [other] = psutil.Process(detaching_box.status().pid).children()
    assert other != server


def test_processes_of_other_jobs_continue(service, start_and_wait):
    first, pids = start_and_wait("job")
    before = {psutil.Process(pid) for pid in pids}
    service.submit("digest", {"sequence": "ACGT", "enzymes": "EcoRI"}, other := f"{first}x")
    assert service.ended(other)["JobStatus"] == "Complete"
    assert all(process.is_running() for process in before)
    service.delete("delete-job", {"jobName": other})


def test_time_limit_stops_the_jobs_with_the_reason_and_ends_their_processes(
    service, start, processes, wait_for_end
):
    name, reason = start("batch", maxRuntimeSeconds=2), "The time limit of 2 seconds was reached."
    parent = service.ended(name)
    wait_for_end(processes())
    assert parent["batchStatus"] == parent["JobStatus"] == "Stopped"
    assert reason in parent["Reason"]
    for row in service.rows(batch=name):
        assert (row["JobStatus"], row["Reason"]) == ("Stopped", reason)
        assert row["WeightedHours"] > 0
        assert "Score" not in row


def test_processes_left_by_a_complete_job_are_ended(service, wait_for_end):
    name = service.submit("cut_loose", {"seconds": 0})
    row = service.ended(name)
    assert row["JobStatus"] == "Complete", row
    pids = service.archive(name).read("pids").split()
    wait_for_end({int(pid) for pid in pids})
    service.delete("delete-job", {"jobName": name})

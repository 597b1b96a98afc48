"""Kills of the host while no process of a task exists do not count against any task."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from databases import open_database
from supervision import kill_host
from waiting import wait_until

from labext import JobsClient
from labext.sandbox import Sandbox
from labext.sandbox.core.queue import Task

pytestmark = pytest.mark.faults

PARTS = Path(__file__).parents[3] / "support"
CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI", "HindIII"]}


@pytest.fixture
def services() -> list[str]:
    return ["labext_test_hold:service"]


def tasks(box: Sandbox) -> list[tuple[str, int]]:
    """Return the state and the counted kills of every task."""
    with closing(open_database(box.data_dir)) as database, database.read() as session:
        return [(task.state, task.kills) for task in session.query(Task)]


def test_kills_before_a_task_has_a_process_fail_no_task(new_box, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(PARTS), prepend=":")
    hold = tmp_path / "box" / "hold"
    box = new_box(data_dir=hold.parent, workers=3)
    hold.touch()
    kill_host(box)
    box.start()
    JobsClient(box.jobs.base_url, box.jobs.api_key).submit("cut", "digest", CUT)
    wait_until(lambda: [state for state, _ in tasks(box)] == ["starting"])
    jobs = JobsClient(box.jobs.base_url, box.jobs.api_key)
    assert jobs.job("cut")["JobStatus"] == "In Queue"
    kill_host(box)
    box.start()
    [(_, kills)] = tasks(box)
    assert kills == 0
    hold.unlink()
    jobs = JobsClient(box.jobs.base_url, box.jobs.api_key)
    assert jobs.wait("cut", timeout=120)["JobStatus"] == "Complete"

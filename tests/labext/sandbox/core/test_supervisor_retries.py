"""Tasks whose records, ticks or claims fail for a while, and the room for tasks."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.orm import Session
from supervision import Harness, NewHarness, locked_error, state
from waiting import wait_until

from labext.sandbox.core.executors import supervisor
from labext.sandbox.core.executors.task_run import TaskRun
from labext.sandbox.core.queue import Task, TaskOutcome

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("hook", ["on_start", "on_end"])
def test_ended_task_whose_record_waits_for_a_retry_is_recorded_at_a_stop(
    forking_harness: Harness, hook: str
) -> None:
    harness = forking_harness
    may_record = threading.Event()

    def refuse(*_: Any) -> None:
        if not may_record.is_set():
            raise locked_error()

    def end(session: Session, task: Task, outcome: TaskOutcome) -> None:
        if hook == "on_end":
            refuse()
        harness._end(session, task, outcome)

    start = refuse if hook == "on_start" else lambda *_: None
    harness.add("recorded", on_start=start, on_end=end)
    harness.put("recorded", "only")
    runs = harness.supervisor._runs
    wait_until(lambda: any(run.outcome and run.next_try for run in [*runs.values()]))
    may_record.set()
    harness.supervisor.stop()
    assert harness.outcomes["only"].outcome == "done"
    with harness.database.read() as session:
        assert harness.queue.find(session, "only") is None, "it would run again"


def test_start_is_recorded_before_the_end_whenever_a_retry_is_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The retry becomes due between any two readings of the clock."""
    harness = Harness(tmp_path)
    hooks: list[str] = []
    harness.add(
        "recorded",
        on_start=lambda _session, _task: hooks.append("start"),
        on_end=lambda _session, _task, _outcome: hooks.append("end"),
    )
    for due in range(10):
        harness.put("recorded", "only")
        transitions = harness.supervisor._transitions
        task_id = transitions.next(Counter())
        assert task_id is not None
        claim = transitions.claim(task_id)
        assert claim is not None
        run = TaskRun(claim, tmp_path / "scratch", tmp_path / "work", launched=True)
        run.has_begun, run.outcome, run.next_try = True, TaskOutcome("done"), due + 0.5
        harness.supervisor._runs[task_id] = run
        readings = iter(range(1000))
        clock = SimpleNamespace(monotonic=lambda readings=readings: float(next(readings)))
        with monkeypatch.context() as patch:
            patch.setattr(supervisor, "time", clock)
            while next(readings) <= due + 1:
                harness.supervisor._turn()
        assert hooks == ["start", "end"]
        hooks.clear()
    harness.supervisor.stop()
    harness.close()


@pytest.mark.parametrize("failing", ["tick", "cancelled", "turn"])
def test_time_limit_holds_while_the_database_refuses_changes(
    forking_harness: Harness, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    harness = forking_harness
    harness.put("wait", "only", 1.5, seconds=300)
    wait_until((harness.work("only") / "started").exists)
    wait_until(lambda: harness.starts == ["only"])

    def fail(*_: Any) -> None:
        raise locked_error()

    transitions = harness.supervisor._transitions
    with monkeypatch.context() as patch:
        patch.setattr(transitions, failing, fail)
        if failing == "turn":
            patch.setattr(transitions, "next", fail)
        [run] = harness.supervisor._runs.values()
        wait_until(lambda: run.outcome is not None, 20)
    assert harness.result("only").reason == "The time limit of 1.5 seconds was reached."


def test_tasks_that_are_started_one_by_one_have_room(
    new_harness: NewHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = new_harness(workers=1)

    def fail(*_: Any) -> None:
        raise locked_error()

    monkeypatch.setattr(harness.supervisor._transitions, "turn", fail)
    with harness.database.write() as session:
        for key in ("first", "second"):
            harness.queue.put(session, "wait", key, {"seconds": 300})
    wait_until((harness.work("first") / "started").exists)
    turns = harness.supervisor._succeeded
    wait_until(lambda: harness.supervisor._succeeded > turns)
    assert state(harness, "second") == ("queued", 0)
    harness.cancel("first")
    wait_until((harness.work("second") / "started").exists)
    harness.cancel("second")
    assert harness.result("second").outcome == "stopped"

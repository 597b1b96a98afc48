"""Tasks whose workers on other machines are lost, and the slots of tasks that do not start."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session
from supervision import NewHarness, locked_error

from labext.sandbox.core.executors import supervisor
from labext.sandbox.core.executors.cluster.attempt_files import move_into_place
from labext.sandbox.core.executors.worker_states import WorkerState
from labext.sandbox.core.queue import Task, TaskOutcome

pytestmark = pytest.mark.faults


class LosingWorkers:
    """Workers that are lost as soon as a task has begun, or only when it is killed."""

    lease, address = 0.0, "tcp://nowhere"

    def __init__(self, *, at_once: bool) -> None:
        self.starts = 0
        self._at_once = at_once
        self._events: list[dict[str, Any]] = []
        self._readable, self._writable = socket.socketpair()

    def _report(self, **event: Any) -> None:
        self._events.append(event)
        self._writable.send(b".")

    def fileno(self) -> int:
        return self._readable.fileno()

    def start(self, task_id: int, *_: Any, **_options: Any) -> None:
        self.starts += 1
        self._report(started=task_id)
        if self._at_once:
            self.kill(task_id)

    def kill(self, task_id: int) -> None:
        self._report(lost=task_id, reason="It was switched off.", begun=True)

    def events(self) -> list[dict[str, Any]]:
        self._readable.recv(1024)
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        self._readable.close()
        self._writable.close()

    def admit(self, _task: Any) -> bool:
        return True

    def release(self, _task_id: int | None = None) -> None:
        pass

    def free_slots(self) -> int:
        return 1

    def workers(self) -> list[WorkerState]:
        return []

    def lost_workers(self) -> int:
        return self.starts


def test_task_that_loses_its_workers_is_given_up(
    new_harness: NewHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "MAX_LOSSES", 3)
    workers = LosingWorkers(at_once=True)
    harness = new_harness(remote=lambda: workers)
    outcome = harness.run("answer")
    reason = "The worker was lost 3 times while this ran. It was switched off."
    assert (outcome.outcome, outcome.reason) == ("failed", reason)
    assert workers.starts == harness.supervisor.lost_workers() == 3


def test_task_refused_at_its_start_ends_with_its_lost_worker(new_harness: NewHarness) -> None:
    workers = LosingWorkers(at_once=False)
    harness = new_harness(remote=lambda: workers)

    def refuse(_session: Any, _task: Task) -> None:
        raise LookupError("no such row")

    harness.add("refused", on_start=refuse, inputs=lambda _task: [])
    assert harness.run("refused") == TaskOutcome("failed", "It could not be started: no such row")
    assert workers.starts == 1


class OneSlot(LosingWorkers):
    """A worker with a single slot, on which tasks end at once."""

    def __init__(self) -> None:
        super().__init__(at_once=False)
        self.admitted: int | None = None

    def admit(self, task: Any) -> bool:
        if self.admitted is not None:
            return False
        self.admitted = task.id
        return True

    def release(self, task_id: int | None = None) -> None:
        if task_id in (None, self.admitted):
            self.admitted = None

    def free_slots(self) -> int:
        return int(self.admitted is None)

    def start(self, task_id: int, scratch: Path, *_: Any, **_options: Any) -> None:
        (scratch / "report.json").write_text('{"outcome": "done", "result": {}}')
        self._report(started=task_id)
        self.release(task_id)
        self._report(ended=task_id, code=0, seconds=1.0, over_memory=False)


def test_slot_of_a_claim_that_was_rolled_back_is_given_back(
    new_harness: NewHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = new_harness(remote=OneSlot)
    write = harness.database.write_concurrently
    rolled_back: list[int | None] = []

    @contextmanager
    def fail_once() -> Iterator[Session]:
        with write() as session:
            yield session
            workers = harness.supervisor.remote
            assert isinstance(workers, OneSlot)
            if not rolled_back and workers.admitted is not None:
                rolled_back.append(workers.admitted)
                raise locked_error()

    monkeypatch.setattr(harness.database, "write_concurrently", fail_once)
    assert harness.run("answer").outcome == "done"
    assert len(rolled_back) == 1


def test_room_of_a_claim_that_was_rolled_back_is_free_at_once(
    new_harness: NewHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = new_harness(remote=OneSlot, workers=1)
    harness.add("here")
    transitions = harness.supervisor._transitions
    write, claim = harness.database.write_concurrently, transitions.claim
    failures: list[Exception] = []
    claims: list[Any] = []

    @contextmanager
    def fail_once() -> Iterator[Session]:
        with write() as session:
            yield session
            if not failures and harness.supervisor._admitted:
                failures.append(OSError())
                raise failures[0]

    def note_claim(task_id: int) -> Any:
        claims.append(claim(task_id))
        return claims[-1]

    monkeypatch.setattr(harness.database, "write_concurrently", fail_once)
    monkeypatch.setattr(transitions, "claim", note_claim)
    assert harness.run("here").outcome == "done"
    assert failures
    assert claims[0] is not None


def test_slot_of_a_task_that_ends_without_a_process_is_given_back(new_harness: NewHarness) -> None:
    harness = new_harness(remote=OneSlot)
    waiting, may_end = threading.Event(), threading.Event()

    def prepare(_payload: dict[str, Any]) -> None:
        waiting.set()
        may_end.wait(30)

    harness.add("files", inputs=lambda _task: [], prepare=prepare)
    harness.put("files", "only")
    assert waiting.wait(30)
    harness.cancel("only")
    assert harness.result("only", 10).reason == "stopped by hand"
    harness.put("answer", "next")
    assert harness.result("next").outcome == "done"
    may_end.set()


def test_task_that_cannot_be_described_takes_no_slot_of_another_one(
    new_harness: NewHarness,
) -> None:
    harness = new_harness(remote=OneSlot)

    def refuse(_task: Task) -> list[Path]:
        raise LookupError("no such row")

    harness.add("refused", inputs=refuse)
    with harness.database.write() as session:
        harness.queue.put(session, "answer", "good", {})
        harness.queue.put(session, "refused", "bad", {})
    assert harness.result("bad").reason == "It could not be started: no such row"
    assert harness.result("good").outcome == "done"


def test_received_outputs_are_synced_to_the_disk(
    tmp_path: Path, is_synced: Callable[[Path], bool]
) -> None:
    incoming, work = tmp_path / "incoming", tmp_path / "jobs" / "1" / "work"
    (incoming / "out").mkdir(parents=True)
    (incoming / "archive.zip").write_bytes(b"packed")
    (incoming / "out" / "score.json").write_bytes(b"{}")
    (work / "out").mkdir(parents=True)
    move_into_place(incoming, work)
    for folder in (work, work.parent, work.parent.parent):
        assert is_synced(folder)
    assert is_synced(work / "archive.zip")
    assert is_synced(work / "out")
    assert is_synced(work / "out" / "score.json")

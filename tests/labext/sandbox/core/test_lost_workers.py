"""Tasks whose workers on other machines are lost."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from supervision import NewHarness

from labext.sandbox.core.executors import supervisor
from labext.sandbox.core.executors.worker_states import WorkerState
from labext.sandbox.core.queue import Task, TaskKind, TaskOutcome

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

    kind = TaskKind(
        "refused",
        "labext_test_entries:answer",
        on_start=refuse,
        on_end=harness._end,
        inputs=lambda _task: [],
    )
    harness.queue.add(kind)
    assert harness.run("refused") == TaskOutcome("failed", "It could not be started: no such row")
    assert workers.starts == 1

"""Put and start tasks of a queue without processes; record the calls of its hooks."""

from __future__ import annotations

from sqlalchemy.orm import Session

from labext.sandbox.core.database import Database
from labext.sandbox.core.queue import Attempt, Queue, Task, TaskKind, TaskOutcome
from labext.sandbox.core.task_transitions import TaskTransitions

MOMENT = 1_800_000_000.25
"""The start of the processes, in seconds since the epoch."""


class Recorder:
    """Record the calls of a task kind's hooks."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.endings: dict[str, TaskOutcome] = {}

    def kind(self, name: str = "kind", limit: int | None = None) -> TaskKind:
        def end(session: Session, task: Task, ending: TaskOutcome) -> None:
            self.endings[task.key] = ending
            self.events.append(("end", task.key))

        return TaskKind(
            name,
            "nowhere:nothing",
            on_start=lambda _session, task: self.events.append(("start", task.key)),
            on_end=end,
            on_requeue=lambda _session, task: self.events.append(("requeue", task.key)),
            on_tick=lambda _session, tasks: self.events.extend(("tick", t.key) for t in tasks),
            limit=limit,
        )


def put(
    database: Database,
    queue: Queue,
    *keys: str,
    kind: str = "kind",
    priority: int = 0,
    owner: str = "",
    weight: float = 1.0,
) -> list[int]:
    with database.write() as session:
        tasks = [
            queue.put(
                session, kind, key, {"key": key}, priority=priority, owner=owner, weight=weight
            )
            for key in keys
        ]
    return [task.id for task in tasks]


def begin(transitions: TaskTransitions, task_id: int) -> None:
    """Claim a task and record that its process exists."""
    assert transitions.claim(task_id) is not None
    assert transitions.start(Attempt(task_id, 1), MOMENT) is None

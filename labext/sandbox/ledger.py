"""What the supervisor changes in the database: each change of a task is one transaction here.

The hooks of the task's kind run inside it, so a service's row changes with its task or not at all.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from labext.sandbox.database import Database
from labext.sandbox.queue import QUEUED, RUNNING, Ending, Kind, Queue, Task

MOST_KILLS = 3
"""A task during which the service was killed so often is not tried again."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Begun:
    """A task that was marked as running and now needs a process."""

    id: int
    key: str
    kind: Kind
    payload: dict[str, Any]
    max_seconds: float | None
    work: Path | None


class Ledger:
    """The changes of the tasks' states."""

    def __init__(self, database: Database, queue: Queue) -> None:
        self._database = database
        self._queue = queue
        self._set_aside: set[int] = set()

    def running(self) -> list[int]:
        """The tasks that are marked as running."""
        with self._database.read() as session:
            return [*session.scalars(select(Task.id).where(Task.state == RUNNING))]

    def living(self) -> set[int]:
        """All tasks that have not ended."""
        with self._database.read() as session:
            return set(session.scalars(select(Task.id)))

    def cancelled(self) -> set[int]:
        """The running tasks that were told to stop."""
        query = select(Task.id).where(Task.state == RUNNING, Task.cancelled.is_not(None))
        with self._database.read() as session:
            return set(session.scalars(query))

    def next(self, running: Counter[str]) -> int | None:
        """The task that may start next, with so many of each kind running."""
        with self._database.read() as session:
            return session.scalar(self._waiting(running).with_only_columns(Task.id))

    def turn(self, ends: Mapping[int, Ending], running: Counter[str], room: int) -> list[Begun]:
        """Record how tasks ended and begin those that take their places, in one transaction.

        All of it stands or nothing: on any error `end` and `begin` do the same task by task, so
        that what can't be recorded of one keeps no other back.

        Args:
            ends: by task; their processes are gone.
            running: how many of each kind run on.
            room: how many may be begun.
        """
        if not ends and (not room or self.next(running) is None):
            return []
        running = Counter(running)
        begun: list[Begun] = []
        with self._database.write(durable=bool(ends)) as session:
            for task_id, ending in ends.items():
                self._end_gone(session, task_id, ending)
            while len(begun) < room:
                task = session.scalar(self._waiting(running).with_for_update())
                if task is None:
                    break
                started = self._start(session, task)
                if started is not None:
                    begun.append(started)
                    running[task.kind] += 1
        self._queue.ended()
        return begun

    def _waiting(self, running: Counter[str]) -> Select[Any]:
        """The first of the tasks that wait."""
        kinds = self._queue.kinds.values()
        return (
            select(Task)
            .where(
                Task.state == QUEUED,
                Task.kind.in_(
                    [k.name for k in kinds if k.limit is None or running[k.name] < k.limit]
                ),
                Task.id.not_in(self._set_aside),
            )
            .order_by(Task.priority.desc(), Task.id)
            .limit(1)
        )

    def begin(self, task_id: int) -> Begun | None:
        """Mark a waiting task as running; None where it ended at once, or no longer waits."""
        # Should even its end fail, it must not keep the others from starting.
        self._set_aside.add(task_id)
        try:
            # Should the power fail, it waits again: nothing that has to be kept.
            with self._database.write(durable=False) as session:
                task = session.get(Task, task_id, with_for_update=True)
                waits = task is not None and task.state == QUEUED
                begun = self._start(session, task) if task is not None and waits else None
        except OperationalError:  # the disk is full, the database is gone: later
            self._set_aside.discard(task_id)
            raise
        self._set_aside.discard(task_id)
        return begun

    def _start(self, session: Session, task: Task) -> Begun | None:
        kind = self._queue.kinds[task.kind]
        task.state, task.started = RUNNING, time.time()
        try:
            with session.begin_nested():
                kind.on_start(session, task)
                work = kind.work(task) if kind.work else None
        except OperationalError:
            raise
        except Exception as error:  # a service's fault ends the task alone
            log.exception("%s could not be started.", task.key)
            self._end(session, task, Ending("failed", f"It could not be started: {error}"))
            return None
        if task.cancelled is not None:
            self._end(session, task, Ending("stopped", task.cancelled))
            return None
        return Begun(task.id, task.key, kind, task.payload, task.max_seconds, work)

    def end(self, task_id: int, ending: Ending) -> None:
        """Record how a task ended whose process is gone."""
        with self._database.write() as session:
            self._end_gone(session, task_id, ending)
        self._queue.ended()

    def requeue(self, tasks: Collection[int], *, killed: bool) -> None:
        """Put running tasks whose process is gone into the queue again, unless they were to stop.

        `killed` says whether the service was killed, which one of them may have caused.
        """
        for task_id in tasks:
            with self._database.write() as session:
                task = session.get(Task, task_id)
                if task is None or task.state != RUNNING:
                    continue
                task.kills += killed
                if task.cancelled is not None:
                    self._end(session, task, Ending("stopped", task.cancelled))
                elif task.kills >= MOST_KILLS:
                    reason = f"The service was killed {task.kills} times while this ran."
                    self._end(session, task, Ending("failed", reason))
                else:
                    task.state, task.started = QUEUED, None
                    kind = self._queue.kinds.get(task.kind)
                    if kind is not None:
                        kind.on_requeue(session, task)
        self._queue.ended()

    def tick(self) -> None:
        """Let the kinds that want it look at their running tasks."""
        for kind in self._queue.kinds.values():
            if kind.on_tick is None:
                continue
            with self._database.write() as session:
                query = select(Task).where(Task.state == RUNNING, Task.kind == kind.name)
                tasks = session.scalars(query.order_by(Task.id)).all()
                if tasks:
                    kind.on_tick(session, tasks)

    def _end_gone(self, session: Session, task_id: int, ending: Ending) -> None:
        task = session.get(Task, task_id)
        if task is not None:
            self._end(session, task, ending)

    def _end(self, session: Session, task: Task, ending: Ending) -> None:
        if task.cancelled is not None:
            ending = Ending("stopped", task.cancelled, seconds=ending.seconds)
        self._queue.finish(session, task, ending)

"""What the supervisor changes in the database: each change of a task is one transaction here.

The hooks of the task's kind run inside it, so a service's row changes with its task or not at all.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from labext.sandbox.database import Database
from labext.sandbox.queue import QUEUED, RUNNING, STARTING, Ending, Kind, Queue, Task

MOST_KILLS = 3
"""A task whose process ran each time the service was killed is not tried again after so many."""

_TAKEN = Task.state.in_([STARTING, RUNNING])

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claim:
    """A task that was taken from the queue and now needs a process."""

    id: int
    key: str
    kind: Kind
    payload: dict[str, Any]
    max_seconds: float | None
    max_memory: int | None
    is_warm: bool
    work: Path | None


@dataclass
class Turn:
    """The result of `Ledger.turn`.

    Attributes:
        claims: tasks that need a process.
        refused: tasks whose process has to be killed, and how they end then.
    """

    claims: list[Claim] = field(default_factory=list)
    refused: dict[int, Ending] = field(default_factory=dict)


class Ledger:
    """The changes of the tasks' states."""

    def __init__(self, database: Database, queue: Queue) -> None:
        self._database = database
        self._queue = queue
        self._set_aside: set[int] = set()

    def taken(self) -> list[int]:
        """The tasks that a supervisor has taken: their process is being started, or runs."""
        with self._database.read() as session:
            return [*session.scalars(select(Task.id).where(_TAKEN))]

    def living(self) -> set[int]:
        """All tasks that have not ended."""
        with self._database.read() as session:
            return set(session.scalars(select(Task.id)))

    def cancelled(self) -> set[int]:
        """The taken tasks that were told to stop."""
        query = select(Task.id).where(_TAKEN, Task.cancelled.is_not(None))
        with self._database.read() as session:
            return set(session.scalars(query))

    def next(self, running: Counter[str]) -> int | None:
        """The task that may start next, with so many of each kind running."""
        with self._database.read() as session:
            return session.scalar(self._waiting(running).with_only_columns(Task.id))

    def turn(
        self,
        starts: Collection[int],
        ends: Mapping[int, Ending],
        running: Counter[str],
        room: int,
    ) -> Turn:
        """Record which tasks have a process and which ended, and claim others, in one transaction.

        All of it stands or nothing: on any error `start`, `end` and `claim` do the same task by
        task, so that what can't be recorded of one keeps no other back.

        Args:
            starts: tasks whose process exists since the last turn; some may have ended already.
            ends: by task; their processes are gone.
            running: how many of each kind run on.
            room: how many may be claimed.
        """
        turn = Turn()
        if not starts and not ends and (not room or self.next(running) is None):
            return turn
        running = Counter(running)
        with self._database.write(durable=bool(ends)) as session:
            for task_id in starts:
                refusal = self._start(session, task_id)
                if refusal is not None:
                    turn.refused[task_id] = refusal
            for task_id, ending in ends.items():
                self._end_gone(session, task_id, turn.refused.get(task_id, ending))
            while len(turn.claims) < room:
                task = session.scalar(self._waiting(running).with_for_update())
                if task is None:
                    break
                claim = self._claim(session, task)
                if claim is not None:
                    turn.claims.append(claim)
                    running[task.kind] += 1
        self._queue.ended()
        return turn

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

    def claim(self, task_id: int) -> Claim | None:
        """Take a waiting task; None where it ended at once, or no longer waits."""
        # Should even its end fail, it must not keep the others from starting.
        self._set_aside.add(task_id)
        try:
            # Should the power fail, it waits again: nothing that has to be kept.
            with self._database.write(durable=False) as session:
                task = session.get(Task, task_id, with_for_update=True)
                waits = task is not None and task.state == QUEUED
                claim = self._claim(session, task) if task is not None and waits else None
        except OperationalError:  # the disk is full, the database is gone: later
            self._set_aside.discard(task_id)
            raise
        self._set_aside.discard(task_id)
        return claim

    def _claim(self, session: Session, task: Task) -> Claim | None:
        kind = self._queue.kinds[task.kind]
        try:
            work = kind.work(task) if kind.work else None
            memory = kind.memory(session) if kind.memory else None
            warm = kind.warm(task)
        except OperationalError:
            raise
        except Exception as error:  # a service's fault ends the task alone
            log.exception("%s could not be started.", task.key)
            self._end(session, task, _start_failure(error))
            return None
        task.state = STARTING
        return Claim(task.id, task.key, kind, task.payload, task.max_seconds, memory, warm, work)

    def start(self, task_id: int) -> Ending | None:
        """Mark a task as running whose process exists.

        Returns:
            How the task ends if its process has to be killed instead, else None.
        """
        with self._database.write(durable=False) as session:
            return self._start(session, task_id)

    def _start(self, session: Session, task_id: int) -> Ending | None:
        task = session.get(Task, task_id)
        if task is None or task.state != STARTING:
            return None
        if task.cancelled is not None:
            return Ending("stopped", task.cancelled)
        task.state, task.started = RUNNING, time.time()
        try:
            with session.begin_nested():
                self._queue.kinds[task.kind].on_start(session, task)
                # The session refers weakly to what it has read. The end often follows, in the same
                # transaction, and would read it again.
                session.info.setdefault("labext_read", []).extend(session.identity_map.values())
        except OperationalError:
            raise
        except Exception as error:  # a service's fault ends the task alone
            log.exception("%s could not be started.", task.key)
            return _start_failure(error)
        return None if task.cancelled is None else Ending("stopped", task.cancelled)

    def end(self, task_id: int, ending: Ending) -> None:
        """Record how a task ended whose process is gone."""
        with self._database.write() as session:
            self._end_gone(session, task_id, ending)
        self._queue.ended()

    def requeue(self, tasks: Collection[int], killed: Collection[int] = ()) -> None:
        """Put taken tasks whose process is gone into the queue again, unless they were to stop.

        Args:
            tasks: all of them.
            killed: those whose process ran when the service was killed, which it may have caused.
        """
        for task_id in tasks:
            with self._database.write() as session:
                task = session.get(Task, task_id)
                if task is None or task.state == QUEUED:
                    continue
                task.kills += task_id in killed
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


def _start_failure(error: Exception) -> Ending:
    return Ending("failed", f"It could not be started: {error}")

"""State transitions of queued tasks: claimed, started, ended and requeued."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Select, and_, or_, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from labext.sandbox.core import postgresql
from labext.sandbox.core.database import Database, count_rows
from labext.sandbox.core.file_storage import tables
from labext.sandbox.core.queue import (
    IS_TAKEN,
    QUEUED,
    RUNNING,
    STARTING,
    Attempt,
    Queue,
    Task,
    TaskKind,
    TaskOutcome,
)

MAX_KILLS = 3
"""Number of kills of the service during a task after which the task fails."""

_RETRIED = OperationalError, PoolTimeoutError
"""Errors of a full disk or an unreachable database, after which a task is tried again."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClaimedTask:
    """A task claimed from the queue, which now needs a process."""

    id: int
    attempt: int
    key: str
    kind: TaskKind
    payload: dict[str, Any]
    max_seconds: float | None
    max_memory: int | None
    is_warm: bool
    work: Path | None
    needs: str = ""
    cores: int = 1
    reserved: int | None = None
    inputs: tuple[Path, ...] | None = None


Admit = Callable[[ClaimedTask], bool]
"""Whether a slot for a task is free, which it then takes."""

Needs = tuple[str, str]
"""The name of a kind, and what its tasks need."""


@dataclass
class TurnResult:
    """The result of `TaskTransitions.turn`.

    Attributes:
        claims: tasks that need a process.
        refused: tasks whose process must be killed, with their outcome.
    """

    claims: list[ClaimedTask] = field(default_factory=list)
    refused: dict[int, TaskOutcome] = field(default_factory=dict)


class TaskTransitions:
    """State transitions of tasks in the database.

    Args:
        claimant: the name of this service process among those that serve the same database.
        leaves_workers: whether another process claims the tasks that run on other machines.
        admit: whether a task may start now; None admits all.

    Attributes:
        unfit: what `admit` has refused, and need not be asked again until this is cleared.
    """

    def __init__(
        self,
        database: Database,
        queue: Queue,
        claimant: str = "",
        *,
        leaves_workers: bool = False,
        admit: Admit | None = None,
    ) -> None:
        self._database = database
        self._queue = queue
        self._claimant = claimant
        self._leaves_workers = leaves_workers
        self._admit = admit
        self.unfit: set[Needs] = set()
        self._repeats_from = 0.0
        self._set_aside: set[int] = set()

    def repeat_later(self, seconds: float) -> None:
        """Wait before tasks start again on workers, which may still run their last attempts."""
        self._repeats_from = time.monotonic() + seconds

    def taken_here(self, *, all_kinds: bool) -> list[tuple[str, int]]:
        """Return the keys and cores of the tasks that run on this machine, for any process.

        With `all_kinds` also of those that could run on other machines.
        """
        kinds = self._queue.kinds
        here = [name for name, kind in kinds.items() if all_kinds or kind.inputs is None]
        query = select(Task).where(IS_TAKEN, Task.kind.in_(here)).order_by(Task.id)
        with self._database.read() as session:
            return [(task.key, kinds[task.kind].cores(task)) for task in session.scalars(query)]

    def taken(self, claimant: str | None = None) -> list[int]:
        """Return the tasks claimed by a service process, by default this one, that have started."""
        name = self._claimant if claimant is None else claimant
        with self._database.read() as session:
            return [*session.scalars(select(Task.id).where(IS_TAKEN, Task.claimed_by == name))]

    def other_claimants(self) -> list[str]:
        """Return the other service processes that have claimed tasks."""
        others = select(Task.claimed_by).where(IS_TAKEN, Task.claimed_by != self._claimant)
        with self._database.read() as session:
            return [*session.scalars(others.distinct())]

    def cancelled(self) -> set[int]:
        """Return the tasks claimed by this process that were cancelled."""
        query = select(Task.id).where(
            IS_TAKEN, Task.claimed_by == self._claimant, Task.cancelled.is_not(None)
        )
        with self._database.read() as session:
            return set(session.scalars(query))

    def next(self, running: Counter[str]) -> int | None:
        """Return the task that may start next, given the number of running tasks of each kind."""
        with self._database.read() as session:
            limits = _OwnerLimits(self._queue, session)
            while True:
                waiting = self._waiting(running, limits.reached)
                columns = waiting.with_only_columns(Task.id, Task.kind, Task.owner)
                task = session.execute(columns).first()
                if task is None or limits.allow(task.kind, task.owner):
                    return None if task is None else int(task.id)

    def turn(
        self,
        starts: Mapping[Attempt, float],
        ends: Mapping[Attempt, TaskOutcome],
        running: Counter[str],
        free_workers: int,
    ) -> TurnResult:
        """Record started and ended tasks, and claim new ones, in one transaction.

        On any error the transaction is rolled back, and `start`, `end` and `claim` handle the tasks
        one by one, so that a task that can't be recorded does not block others.

        Args:
            starts: attempts whose process exists since the last turn, and since when, in seconds
                since the epoch; some may have ended already.
            ends: results by attempt; the processes are gone.
            running: the number of running tasks of each kind.
            free_workers: the number of tasks that may be claimed.
        """
        turn = TurnResult()
        if not starts and not ends and (not free_workers or self.next(running) is None):
            return turn
        only_claims = not starts and not ends
        if only_claims and self._claim_concurrently(turn, running, free_workers):
            return turn
        running = Counter(running)
        with self._database.write(durable=bool(ends)) as session:
            for attempt, moment in starts.items():
                refusal = self._start(session, attempt, moment)
                if refusal is not None:
                    turn.refused[attempt.task_id] = refusal
            for attempt, outcome in ends.items():
                refusal = turn.refused.get(attempt.task_id, outcome)
                self._end_gone(session, attempt, replace(refusal, stored=outcome.stored))
            self._claim_next(session, turn, running, free_workers)
        self._queue.ended()
        return turn

    def _claim_concurrently(
        self, turn: TurnResult, running: Counter[str], free_workers: int
    ) -> bool:
        """Claim tasks without the write lock; return False if it is needed.

        Other processes skip the rows that this transaction has locked. The lock is needed to end a
        task that cannot be started.
        """
        claims = TurnResult()
        try:
            # Not durable: after a power failure the task simply waits again.
            with self._database.write_concurrently() as session:
                self._claim_next(session, claims, running, free_workers, ends=False)
        except _StartError:
            return False
        turn.claims += claims.claims
        self._queue.ended()
        return True

    def _claim_next(
        self,
        session: Session,
        turn: TurnResult,
        running: Counter[str],
        free_workers: int,
        *,
        ends: bool = True,
    ) -> None:
        """Claim waiting tasks in the order of their turns, until none is left or may start."""
        running = Counter(running)
        if not free_workers:
            return
        self._count_others(session, running)
        limits = _OwnerLimits(self._queue, session, lock=True)
        while len(turn.claims) < free_workers:
            waiting = self._waiting(running, limits.reached)
            next_task = waiting.with_for_update(skip_locked=True)
            task = session.scalar(next_task.execution_options(populate_existing=True))
            if task is None:
                break
            if not limits.allow(task.kind, task.owner):
                continue
            try:
                claim = self._claim(session, task, ends=ends)
            except _StartError:
                if turn.claims:  # a rollback would leave their slots taken; the next turn ends it
                    break
                raise
            if claim is not None:
                turn.claims.append(claim)
                running[task.kind] += 1

    def _count_others(self, session: Session, running: Counter[str]) -> None:
        """Count the tasks of other processes, of the kinds with a limit.

        A kind that another process is just claiming counts as being at its limit.
        """
        if not self._database.is_postgresql:
            return
        limited = {kind.name: kind.limit for kind in self._queue.kinds.values() if kind.limit}
        waiting = select(Task.kind).where(Task.state == QUEUED, Task.kind.in_(limited)).distinct()
        for name in session.scalars(waiting).all():
            if postgresql.try_lock(session, f"kind {name}"):
                running[name] = count_rows(session, Task, IS_TAKEN, Task.kind == name)
            else:
                running[name] = limited[name] or 0

    def _waiting(
        self, running: Counter[str], at_limit: Mapping[str, Collection[str]]
    ) -> Select[Any]:
        """Select the first waiting task that is not unfit and whose kind is not at its limit.

        `at_limit` has the owners by kind that have as many running tasks as they may.
        """
        kinds = [
            kind
            for kind in self._queue.kinds.values()
            if not (self._leaves_workers and kind.inputs is not None)
        ]
        refused = [and_(Task.kind == kind, Task.needs == needs) for kind, needs in self.unfit]
        refused += [
            and_(Task.kind == kind, Task.owner.in_(owners)) for kind, owners in at_limit.items()
        ]
        if time.monotonic() < self._repeats_from:
            remote = [kind.name for kind in kinds if kind.inputs is not None]
            refused.append(and_(Task.kind.in_(remote), Task.attempt > 0))
        free = [
            kind.name for kind in kinds if kind.limit is None or running[kind.name] < kind.limit
        ]
        return (
            select(Task)
            .where(Task.state == QUEUED, Task.kind.in_(free), Task.id.not_in(self._set_aside))
            .where(*([~or_(*refused)] if refused else []))
            .order_by(Task.priority.desc(), Task.turn, Task.id)
            .limit(1)
        )

    def claim(self, task_id: int) -> ClaimedTask | None:
        """Claim a waiting task; see `turn`.

        Returns None if it ended at once, is no longer waiting or may not start now.
        """
        # Even if recording its end fails, it must not block the others.
        self._set_aside.add(task_id)
        try:
            # Not durable: after a power failure the task simply waits again.
            with self._database.write(durable=False) as session:
                limits = _OwnerLimits(self._queue, session, lock=True)
                task = session.get(Task, task_id, with_for_update=True)
                claim = None
                if (
                    task is not None
                    and task.state == QUEUED
                    and limits.allow(task.kind, task.owner)
                ):
                    claim = self._claim(session, task)
        except _RETRIED:
            self._set_aside.discard(task_id)
            raise
        self._set_aside.discard(task_id)
        return claim

    def _claim(self, session: Session, task: Task, *, ends: bool = True) -> ClaimedTask | None:
        try:
            claim = self._describe(session, task)
        except _RETRIED:
            raise
        except Exception as error:  # a service's fault ends the task alone
            if not ends:
                raise _StartError from error
            log.exception("%s could not be started.", task.key)
            self._end(session, task, _start_failure(error))
            return None
        if self._admit is not None and not self._admit(claim):
            self.unfit.add((task.kind, task.needs))
            return None
        task.state, task.attempt, task.claimed_by = STARTING, claim.attempt, self._claimant
        return claim

    def _describe(self, session: Session, task: Task) -> ClaimedTask:
        kind = self._queue.kinds[task.kind]
        return ClaimedTask(
            id=task.id,
            attempt=task.attempt + 1,
            key=task.key,
            kind=kind,
            payload=task.payload,
            max_seconds=task.max_seconds,
            max_memory=kind.memory(session) if kind.memory else None,
            is_warm=kind.warm(task),
            work=kind.work(task) if kind.work else None,
            needs=task.needs,
            cores=kind.cores(task),
            reserved=kind.reserved(task),
            inputs=None if kind.inputs is None else tuple(kind.inputs(task)),
        )

    def start(self, attempt: Attempt, moment: float) -> TaskOutcome | None:
        """Mark a task as running; return its outcome if its process must be killed instead."""
        with self._database.write(durable=False) as session:
            return self._start(session, attempt, moment)

    def _start(self, session: Session, attempt: Attempt, moment: float) -> TaskOutcome | None:
        task = session.get(Task, attempt.task_id)
        if task is None or task.state != STARTING or task.attempt != attempt.number:
            return None
        if task.cancelled is not None:
            return TaskOutcome("stopped", task.cancelled)
        task.state, task.started = RUNNING, moment
        try:
            with session.begin_nested():
                self._queue.kinds[task.kind].on_start(session, task)
                # Keep loaded objects alive: the session refers to them weakly, and the end of the
                # task often follows in the same transaction.
                session.info.setdefault("labext_read", []).extend(session.identity_map.values())
        except _RETRIED:
            raise
        except Exception as error:  # a service's fault ends the task alone
            log.exception("%s could not be started.", task.key)
            return _start_failure(error)
        return None if task.cancelled is None else TaskOutcome("stopped", task.cancelled)

    def end(self, attempt: Attempt, outcome: TaskOutcome) -> None:
        """Record the outcome of a task whose process is gone."""
        with self._database.write() as session:
            self._end_gone(session, attempt, outcome)
        self._queue.ended()

    def requeue(self, tasks: Collection[int], killed: Collection[int] = ()) -> None:
        """Requeue claimed tasks whose process is gone, unless they were cancelled.

        Args:
            tasks: all these tasks.
            killed: those running when the service was killed, which they may have caused.
        """
        for task_id in tasks:
            with self._database.write() as session:
                task = session.get(Task, task_id)
                if task is None or task.state == QUEUED:
                    continue
                task.kills += task_id in killed
                if task.cancelled is not None:
                    self._end(session, task, TaskOutcome("stopped", task.cancelled))
                elif task.kills >= MAX_KILLS:
                    reason = f"The service was killed {task.kills} times while this ran."
                    self._end(session, task, TaskOutcome("failed", reason))
                else:
                    task.state, task.started = QUEUED, None
                    kind = self._queue.kinds.get(task.kind)
                    if kind is not None:
                        kind.on_requeue(session, task)
        self._queue.ended()

    def tick(self, seconds: Mapping[int, float]) -> None:
        """Call `on_tick` of every kind that has running tasks in this process.

        `seconds` has the time that the process of each task has run.
        """
        for kind in self._queue.kinds.values():
            if kind.on_tick is None:
                continue
            with self._database.write() as session:
                query = select(Task).where(
                    Task.state == RUNNING, Task.kind == kind.name, Task.claimed_by == self._claimant
                )
                tasks = session.scalars(query.order_by(Task.id)).all()
                if tasks:
                    kind.on_tick(session, {task: seconds.get(task.id, 0.0) for task in tasks})

    def _end_gone(self, session: Session, attempt: Attempt, outcome: TaskOutcome) -> None:
        """End a task, unless it waits again or another attempt has begun meanwhile."""
        task = session.get(Task, attempt.task_id)
        if task is not None and task.state != QUEUED and task.attempt == attempt.number:
            self._end(session, task, outcome)
            return
        if task is not None:
            log.warning(
                "The result of attempt %d of %s is refused: attempt %d is current.",
                attempt.number,
                task.key,
                task.attempt + (task.state == QUEUED),
            )
        for staged in outcome.stored:
            tables.discard(session, staged)

    def _end(self, session: Session, task: Task, outcome: TaskOutcome) -> None:
        if task.cancelled is not None:
            outcome = TaskOutcome(
                "stopped", task.cancelled, seconds=outcome.seconds, stored=outcome.stored
            )
        for staged in outcome.stored:
            tables.place(session, staged)
        self._queue.finish(session, task, outcome)


class _OwnerLimits:
    """The limits of running tasks of the owners whose tasks are next.

    With `lock` no other process starts tasks of a kind with such limits before the end of the
    transaction.

    Attributes:
        reached: the owners by kind of task that have as many running tasks as they may.
    """

    def __init__(self, queue: Queue, session: Session, *, lock: bool = False) -> None:
        self._queue = queue
        self._session = session
        self._limits: dict[tuple[str, str], int | None] = {}
        self.reached: dict[str, set[str]] = {}
        if lock and postgresql.is_used_by(session):
            for kind in queue.kinds.values():
                if kind.owner_limit is not None:
                    postgresql.lock(session, f"owners {kind.name}")

    def allow(self, kind: str, owner: str) -> bool:
        """Return whether one more task of an owner may run."""
        find = self._queue.kinds[kind].owner_limit
        if find is None:
            return True
        if (kind, owner) not in self._limits:
            self._limits[kind, owner] = find(self._session, owner)
        limit = self._limits[kind, owner]
        if limit is None:
            return True
        taken = (IS_TAKEN, Task.kind == kind, Task.owner == owner)
        if count_rows(self._session, Task, *taken) < limit:
            return True
        self.reached.setdefault(kind, set()).add(owner)
        return False


class _StartError(Exception):
    """A task cannot be started, and must be ended."""


def _start_failure(error: Exception) -> TaskOutcome:
    return TaskOutcome("failed", f"It could not be started: {error}")

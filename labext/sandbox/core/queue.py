"""Durable task queue in the services' database, and the transitions of its tasks."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sqlalchemy import JSON, Index, Select, String, Text, and_, func, or_, select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from labext.sandbox.core import postgresql
from labext.sandbox.core.database import Database, after_commit

QUEUED, STARTING, RUNNING = "queued", "starting", "running"
"""States of a task: waiting; claimed, its process is being started; its process exists."""


class QueueBase(DeclarativeBase):
    """Base of the queue's tables."""


class Task(QueueBase):
    """A unit of background work.

    Attributes:
        key: the service's name for the task, unique among unfinished tasks.
        payload: the JSON argument of the entry.
        max_seconds: wall-clock limit, counted from the start of its process; None is no limit.
        priority: higher first.
        owner: the account that waits for the task. Tasks of equal priority start in rounds: one
            of each owner a round, in the order of submission. Many tasks of one owner therefore
            delay a task of another one by no more than the tasks that are running.
        turn: the round.
        created, started: seconds since the epoch; `started` once its process exists.
        attempt: the number of times that it was claimed; what an earlier attempt reports is
            refused.
        claimed_by: the service process that has claimed it last; "" where there is only one.
        needs: what a worker must have to run it, such as the name of a tool; empty for nothing.
        kills: the number of attempts during which the service was killed.
        cancelled: the reason, once a started task was cancelled.
    """

    __tablename__ = "tasks"
    __table_args__ = (
        # In the order of their turns: with thousands waiting, the next one is the first here.
        Index("tasks_turn", "state", text("priority DESC"), "turn", "id"),
        Index("tasks_owner", "owner", "priority", "turn"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(100))
    key: Mapped[str] = mapped_column(String(500), unique=True)
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    state: Mapped[str] = mapped_column(String(20), default=QUEUED)
    priority: Mapped[int] = mapped_column(default=0)
    owner: Mapped[str] = mapped_column(String(100), default="")
    turn: Mapped[int] = mapped_column(default=0)
    max_seconds: Mapped[float | None]
    created: Mapped[float] = mapped_column(default=time.time)
    started: Mapped[float | None]
    attempt: Mapped[int] = mapped_column(default=0, server_default="0")
    claimed_by: Mapped[str] = mapped_column(String(60), default="", server_default="")
    needs: Mapped[str] = mapped_column(String(100), default="", server_default="")
    kills: Mapped[int] = mapped_column(default=0)
    cancelled: Mapped[str | None] = mapped_column(Text)


_IS_TAKEN = Task.state.in_([STARTING, RUNNING])


class Attempt(NamedTuple):
    """One try to run a task."""

    task_id: int
    number: int


@dataclass(frozen=True)
class TaskOutcome:
    """How a task ended.

    Attributes:
        outcome: `done` (the entry returned), `failed` (it raised, or its process died) or `stopped`
            (cancelled, or over its limit of time or memory).
        reason: one line; empty when done.
        result: the return value of the entry; empty unless done.
        seconds: wall-clock time of its process; 0.0 where none was started.
        over: the limit that it was stopped for.
    """

    outcome: Literal["done", "failed", "stopped"]
    reason: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    over: Literal["time", "memory"] | None = None


def _no_op(_session: Session, _task: Task) -> None:
    """A hook that does nothing."""


@dataclass(frozen=True)
class TaskKind:
    """Entry point, limits and hooks of a kind of task.

    Hooks run inside the transaction that changes the task, and commit or roll back with it. They
    must not commit, block or call the network. If the commit fails (a full disk) the hook runs
    again later, so its effects outside the database must be idempotent. `on_end` must handle a row
    that was deleted.

    Attributes:
        name: unique among all services: `jobs.run`, `jobs.aggregate`.
        entry: `package.module:function`, called as `function(work: Path, payload: dict) -> dict` in
            a process of its own whose working directory is `work`. It returns JSON, and short.
            A failure is raised as `task_process.TaskError(reason)` or any other exception.
        on_start: called once the process exists. If it raises or cancels the task, the process is
            killed. Not called for a task that ends without a process.
        on_end: called after the process and all its descendants are gone.
        on_requeue: called when a claimed task returns to the queue.
        on_tick: called once a second with all running tasks of this kind; it may call
            `Queue.cancel`.
        work: the working folder of a task, emptied before each run and kept afterwards; `log.txt`
            in it has the output of the process. None: a folder that is removed after `on_end`.
        warm: whether a process is reused for further tasks, so that imports are done once. For
            short tasks without lasting state.
        memory: the memory limit of a task's process and its descendants, in bytes; read when it is
            started. None is no limit.
        limit: the number of concurrent tasks of this kind; None means the number of workers.
        inputs: the folders beside the working folder that the entry reads. With it the kind may run
            on another machine, to which they are copied, and from which the working folder is
            copied back. None: it runs where the service runs.
        cores: the number of cores that a task uses.
        reserved: the bytes of memory to keep free for a task; None is its memory limit.
    """

    name: str
    entry: str
    on_start: Callable[[Session, Task], None] = _no_op
    on_end: Callable[[Session, Task, TaskOutcome], None] = lambda _session, _task, _ending: None
    on_requeue: Callable[[Session, Task], None] = _no_op
    on_tick: Callable[[Session, Sequence[Task]], None] | None = None
    work: Callable[[Task], Path] | None = None
    warm: Callable[[Task], bool] = lambda _task: False
    memory: Callable[[Session], int] | None = None
    limit: int | None = None
    inputs: Callable[[Task], Sequence[Path]] | None = None
    cores: Callable[[Task], int] = lambda _task: 1
    reserved: Callable[[Task], int | None] = lambda _task: None


class Queue:
    """Add, cancel and find tasks in the caller's transaction."""

    def __init__(self, kinds: Iterable[TaskKind] = ()) -> None:
        self.kinds: dict[str, TaskKind] = {}
        self._listeners: list[Callable[[], None]] = []
        self._ended = threading.Condition()
        for kind in kinds:
            self.add(kind)

    def add(self, kind: TaskKind) -> None:
        """Register a kind of task; ValueError if its name is taken."""
        if kind.name in self.kinds:
            raise ValueError(f"The task kind {kind.name!r} already exists.")
        self.kinds[kind.name] = kind

    def put(
        self,
        session: Session,
        kind: str,
        key: str,
        payload: Mapping[str, Any],
        *,
        max_seconds: float | None = None,
        priority: int = 0,
        owner: str = "",
        needs: str = "",
    ) -> Task:
        """Queue a task; it starts after the commit, when a worker is free.

        The flush raises sqlalchemy.exc.IntegrityError if an unfinished task has the same key.

        Raises:
            KeyError: no such kind.
        """
        task = Task(
            kind=self.kinds[kind].name,
            key=key,
            payload=dict(payload),
            max_seconds=max_seconds,
            priority=priority,
            owner=owner,
            needs=needs,
            turn=_next_turn(session, owner, priority),
        )
        session.add(task)
        self._notify_after_commit(session)
        return task

    def cancel(self, session: Session, key: str, reason: str) -> bool:
        """Cancel a waiting or running task; return False if no unfinished task has the key.

        A waiting task ends in this call, including its `on_end`. A running one is killed with its
        descendants after the commit; its `on_end` gets the outcome `stopped` with this reason, even
        if it finished at the same moment. `wait` waits for that.
        """
        return bool(self.cancel_all(session, [key], reason))

    def cancel_all(self, session: Session, keys: Collection[str], reason: str) -> list[str]:
        """Cancel the unfinished tasks among these as `cancel` does; return their keys."""
        # Locked, since another process may be claiming them.
        query = select(Task).where(Task.key.in_(keys)).order_by(Task.id).with_for_update()
        tasks = session.scalars(query.execution_options(populate_existing=True)).all()
        waiting = [task for task in tasks if task.state == QUEUED]
        for task in tasks:
            if task.state == QUEUED:
                session.delete(task)
            else:
                task.cancelled = task.cancelled or reason
        session.flush()  # all rows at once: there may be hundreds
        for task in waiting:
            self._call_on_end(session, task, TaskOutcome("stopped", reason))
        if tasks:
            self._notify_after_commit(session)
        return [task.key for task in tasks]

    def find(self, session: Session, key: str) -> Task | None:
        """Return the unfinished task with this key, if any."""
        return session.scalars(select(Task).where(Task.key == key)).one_or_none()

    def wait(self, database: Database, key: str, seconds: float) -> bool:
        """Wait, outside any transaction, for the end of a task; return False on a timeout."""
        return self.wait_all(database, [key], seconds)

    def wait_all(self, database: Database, keys: Collection[str], seconds: float) -> bool:
        """Wait for the end of several tasks within a common timeout; see `wait`."""
        living = select(Task.id).where(Task.key.in_(keys)).limit(1)
        until = time.monotonic() + seconds
        with self._ended:
            while True:
                with database.read() as session:
                    if session.scalar(living) is None:
                        return True
                remaining = until - time.monotonic()
                if remaining <= 0:
                    return False
                self._ended.wait(min(remaining, 1.0))

    def finish(self, session: Session, task: Task, outcome: TaskOutcome) -> None:
        """Delete the row of a task and call `on_end`. Used by the supervisor."""
        session.delete(task)
        session.flush()
        self._call_on_end(session, task, outcome)
        _notify_processes(session)

    def listen(self, changed: Callable[[], None]) -> None:
        """Register a quick, thread-safe callback for tasks that were added, cancelled or ended."""
        self._listeners.append(changed)

    def changed(self) -> None:
        """Call the listeners: another process has added, cancelled or ended tasks."""
        self._notify()

    def ended(self) -> None:
        """Wake the threads in `wait`. Used by the supervisor after its commit."""
        with self._ended:
            self._ended.notify_all()

    def _call_on_end(self, session: Session, task: Task, outcome: TaskOutcome) -> None:
        kind = self.kinds.get(task.kind)
        if kind is not None:
            kind.on_end(session, task, outcome)

    def _notify_after_commit(self, session: Session) -> None:
        if not session.info.get("labext_queue_notifies"):  # once per transaction
            session.info["labext_queue_notifies"] = True
            after_commit(session, self._notify)
            _notify_processes(session)

    def _notify(self) -> None:
        for changed in self._listeners:
            changed()
        self.ended()


CHANNEL = "labext_queue"
"""The channel on which PostgreSQL tells other processes that tasks were added or have ended."""


def _notify_processes(session: Session) -> None:
    """Tell it at the commit."""
    notified = session.info.setdefault("labext_queue_notifies_processes", False)
    if not notified and session.get_bind().dialect.name == "postgresql":
        session.info["labext_queue_notifies_processes"] = True
        session.execute(text(f"NOTIFY {CHANNEL}"))


def _next_turn(session: Session, owner: str, priority: int) -> int:
    """Return the round of an owner's next task: after its last one, and not before this round."""
    turns: dict[tuple[str, int], int] = session.info.setdefault("labext_queue_turns", {})
    if (owner, priority) not in turns:
        same = Task.priority == priority
        last = session.scalar(select(func.max(Task.turn)).where(same, Task.owner == owner))
        current = session.scalar(select(func.max(Task.turn)).where(same, _IS_TAKEN))
        if current is None:
            waiting = session.scalar(select(func.min(Task.turn)).where(same, Task.state == QUEUED))
            current = waiting or 0
        turns[owner, priority] = current - 1 if last is None else max(current - 1, last)
    turns[owner, priority] += 1
    return turns[owner, priority]


MAX_KILLS = 3
"""Number of kills of the service during a task after which the task fails."""

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
        database: the database.
        queue: the kinds of tasks.
        claimant: the name of this service process among those that serve the same database.
    """

    def __init__(self, database: Database, queue: Queue, claimant: str = "") -> None:
        self._database = database
        self._queue = queue
        self._claimant = claimant
        self._set_aside: set[int] = set()

    def taken(self, claimant: str | None = None) -> list[int]:
        """Return the tasks whose process is being started or running.

        Args:
            claimant: the service process that has claimed them; by default this one.
        """
        name = self._claimant if claimant is None else claimant
        with self._database.read() as session:
            return [*session.scalars(select(Task.id).where(_IS_TAKEN, Task.claimed_by == name))]

    def other_claimants(self) -> list[str]:
        """Return the other service processes that have claimed tasks."""
        others = select(Task.claimed_by).where(_IS_TAKEN, Task.claimed_by != self._claimant)
        with self._database.read() as session:
            return [*session.scalars(others.distinct())]

    def living(self) -> set[int]:
        """Return all unfinished tasks."""
        with self._database.read() as session:
            return set(session.scalars(select(Task.id)))

    def cancelled(self) -> set[int]:
        """Return the tasks claimed by this process that were cancelled."""
        query = select(Task.id).where(
            _IS_TAKEN, Task.claimed_by == self._claimant, Task.cancelled.is_not(None)
        )
        with self._database.read() as session:
            return set(session.scalars(query))

    def next(self, running: Counter[str], unfit: Collection[Needs] = ()) -> int | None:
        """Return the task that may start next, given the number of running tasks of each kind."""
        with self._database.read() as session:
            return session.scalar(self._waiting(running, unfit).with_only_columns(Task.id))

    def turn(
        self,
        starts: Collection[Attempt],
        ends: Mapping[Attempt, TaskOutcome],
        running: Counter[str],
        free_workers: int,
        admit: Admit | None = None,
        unfit: set[Needs] | None = None,
    ) -> TurnResult:
        """Record started and ended tasks, and claim new ones, in one transaction.

        On any error the transaction is rolled back, and `start`, `end` and `claim` handle the tasks
        one by one, so that a task that can't be recorded does not block others.

        Args:
            starts: attempts whose process exists since the last turn; some may have ended already.
            ends: results by attempt; the processes are gone.
            running: the number of running tasks of each kind.
            free_workers: the number of tasks that may be claimed.
            admit: whether a task may start now; None admits all.
            unfit: what `admit` refused before, and need not be asked again; added to.
        """
        turn = TurnResult()
        unfit = set() if unfit is None else unfit
        if not starts and not ends and (not free_workers or self.next(running, unfit) is None):
            return turn
        only_claims = not starts and not ends
        if only_claims and self._claim_concurrently(turn, running, free_workers, admit, unfit):
            return turn
        running = Counter(running)
        with self._database.write(durable=bool(ends)) as session:
            for attempt in starts:
                refusal = self._start(session, attempt)
                if refusal is not None:
                    turn.refused[attempt.task_id] = refusal
            for attempt, outcome in ends.items():
                self._end_gone(session, attempt, turn.refused.get(attempt.task_id, outcome))
            self._claim_next(session, turn, running, free_workers, admit, unfit)
        self._queue.ended()
        return turn

    def _claim_concurrently(
        self,
        turn: TurnResult,
        running: Counter[str],
        free_workers: int,
        admit: Admit | None,
        unfit: set[Needs],
    ) -> bool:
        """Claim tasks without the write lock; return False if it is needed.

        Other processes skip the rows that this transaction has locked. The lock is needed to end a
        task that cannot be started.
        """
        claims = TurnResult()
        try:
            # Not durable: after a power failure the task simply waits again.
            with self._database.write_concurrently(durable=False) as session:
                self._claim_next(session, claims, running, free_workers, admit, unfit, ends=False)
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
        admit: Admit | None,
        unfit: set[Needs],
        *,
        ends: bool = True,
    ) -> None:
        """Claim waiting tasks in the order of their turns, until none is left or may start."""
        running = Counter(running)
        if free_workers:
            self._count_others(session, running)
        while len(turn.claims) < free_workers:
            next_task = self._waiting(running, unfit).with_for_update(skip_locked=True)
            task = session.scalar(next_task.execution_options(populate_existing=True))
            if task is None:
                break
            claim = self._claim(session, task, admit, unfit, ends=ends)
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
                taken = select(func.count()).where(_IS_TAKEN, Task.kind == name)
                running[name] = session.scalar(taken) or 0
            else:
                running[name] = limited[name] or 0

    def _waiting(self, running: Counter[str], unfit: Collection[Needs] = ()) -> Select[Any]:
        """Select the first waiting task whose kind is not at its limit, and that is not unfit."""
        kinds = self._queue.kinds.values()
        refused = [and_(Task.kind == kind, Task.needs == needs) for kind, needs in unfit]
        return (
            select(Task)
            .where(
                Task.state == QUEUED,
                Task.kind.in_(
                    [k.name for k in kinds if k.limit is None or running[k.name] < k.limit]
                ),
                Task.id.not_in(self._set_aside),
                *([~or_(*refused)] if refused else []),
            )
            .order_by(Task.priority.desc(), Task.turn, Task.id)
            .limit(1)
        )

    def claim(
        self, task_id: int, admit: Admit | None = None, unfit: set[Needs] | None = None
    ) -> ClaimedTask | None:
        """Claim a waiting task; see `turn`.

        Returns None if it ended at once, is no longer waiting or may not start now.
        """
        # Even if recording its end fails, it must not block the others.
        self._set_aside.add(task_id)
        try:
            # Not durable: after a power failure the task simply waits again.
            with self._database.write(durable=False) as session:
                task = session.get(Task, task_id, with_for_update=True)
                waits = task is not None and task.state == QUEUED
                claim = None
                if task is not None and waits:
                    claim = self._claim(session, task, admit, set() if unfit is None else unfit)
        except OperationalError:  # the disk is full or the database is gone: retry later
            self._set_aside.discard(task_id)
            raise
        self._set_aside.discard(task_id)
        return claim

    def _claim(
        self,
        session: Session,
        task: Task,
        admit: Admit | None,
        unfit: set[Needs],
        *,
        ends: bool = True,
    ) -> ClaimedTask | None:
        try:
            claim = self._describe(session, task)
        except OperationalError:
            raise
        except Exception as error:  # a service's fault ends the task alone
            if not ends:
                raise _StartError from error
            log.exception("%s could not be started.", task.key)
            self._end(session, task, _start_failure(error))
            return None
        if admit is not None and not admit(claim):
            unfit.add((task.kind, task.needs))
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

    def start(self, attempt: Attempt) -> TaskOutcome | None:
        """Mark a task as running; return its outcome if its process must be killed instead."""
        with self._database.write(durable=False) as session:
            return self._start(session, attempt)

    def _start(self, session: Session, attempt: Attempt) -> TaskOutcome | None:
        task = session.get(Task, attempt.task_id)
        if task is None or task.state != STARTING or task.attempt != attempt.number:
            return None
        if task.cancelled is not None:
            return TaskOutcome("stopped", task.cancelled)
        task.state, task.started = RUNNING, time.time()
        try:
            with session.begin_nested():
                self._queue.kinds[task.kind].on_start(session, task)
                # Keep loaded objects alive: the session refers to them weakly, and the end of the
                # task often follows in the same transaction.
                session.info.setdefault("labext_read", []).extend(session.identity_map.values())
        except OperationalError:
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

    def tick(self) -> None:
        """Call `on_tick` of every kind that has running tasks in this process."""
        for kind in self._queue.kinds.values():
            if kind.on_tick is None:
                continue
            with self._database.write() as session:
                query = select(Task).where(
                    Task.state == RUNNING,
                    Task.kind == kind.name,
                    Task.claimed_by == self._claimant,
                )
                tasks = session.scalars(query.order_by(Task.id)).all()
                if tasks:
                    kind.on_tick(session, tasks)

    def _end_gone(self, session: Session, attempt: Attempt, outcome: TaskOutcome) -> None:
        """End a task, unless it waits again or another attempt has begun meanwhile."""
        task = session.get(Task, attempt.task_id)
        if task is None:
            return
        if task.state == QUEUED or task.attempt != attempt.number:
            log.warning(
                "The result of attempt %d of %s is refused: attempt %d is current.",
                attempt.number,
                task.key,
                task.attempt + (task.state == QUEUED),
            )
            return
        self._end(session, task, outcome)

    def _end(self, session: Session, task: Task, outcome: TaskOutcome) -> None:
        if task.cancelled is not None:
            outcome = TaskOutcome("stopped", task.cancelled, seconds=outcome.seconds)
        self._queue.finish(session, task, outcome)


class _StartError(Exception):
    """A task cannot be started, and must be ended."""


def _start_failure(error: Exception) -> TaskOutcome:
    return TaskOutcome("failed", f"It could not be started: {error}")

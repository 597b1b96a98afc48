"""Durable task queue in the services' database."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sqlalchemy import JSON, Index, String, Text, func, insert, select, text
from sqlalchemy.orm import Mapped, Session, mapped_column

from labext.sandbox.core import postgresql
from labext.sandbox.core.database import CoreBase, Database, after_commit, count_rows
from labext.sandbox.core.file_storage.tables import StagedFile

QUEUED, STARTING, RUNNING = "queued", "starting", "running"
"""States of a task: waiting; claimed, its process is being started; its process exists."""


class Task(CoreBase):
    """A unit of background work.

    Attributes:
        key: the service's name for the task, unique among unfinished tasks.
        payload: the JSON argument of the entry.
        max_seconds: wall-clock limit, counted from the start of its process; None is no limit.
        priority: higher first.
        owner: the account that waits for the task. Tasks of equal priority start in rounds: as many
            of each owner per round as its weight, in the order of submission. Many tasks of one
            owner therefore delay a task of another one by no more than the tasks that are running.
        turn: the round in which it starts, multiplied by `ROUND` (stride scheduling).
        created, started: seconds since the epoch; `started` once its process exists.
        attempt: the number of times that it was claimed; reports of an earlier attempt are
            rejected.
        claimed_by: the service process that has claimed it last; empty if there is only one.
        needs: a capability that its worker must have, such as the name of a tool; empty for none.
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


ROUND = 1000
"""The distance between the turns of an owner's tasks, divided by its weight."""

MIN_WEIGHT, MAX_WEIGHT = 0.01, 100.0

STOP_SECONDS = 5.0
"""Seconds that a response waits for the processes of cancelled tasks to end."""

IS_TAKEN = Task.state.in_([STARTING, RUNNING])
"""The condition that a task is claimed: its process is being started or running."""


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
        stored: the results that were put into an object store.
    """

    outcome: Literal["done", "failed", "stopped"]
    reason: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    over: Literal["time", "memory"] | None = None
    stored: tuple[StagedFile, ...] = ()


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
            a separate process whose working directory is `work`. It returns a short JSON object. A
            failure is raised as `task_process.TaskError(reason)` or any other exception.
        on_start: called once the process exists. If it raises or cancels the task, the process is
            killed. Not called for a task that ends without a process.
        on_end: called after the process and all its descendants are gone.
        on_requeue: called when a claimed task returns to the queue.
        on_tick: called once a second with all running tasks of this kind, and for how many seconds
            each has run; it may call `Queue.cancel`.
        work: the working folder of a task, emptied before each run and kept afterwards; `log.txt`
            in it has the output of the process. None: a folder that is removed after `on_end`.
        warm: whether a process is reused for further tasks, so that imports are done once. For
            short tasks without lasting state.
        memory: the memory limit of a task's process and its descendants, in bytes; read when it is
            started. None is no limit.
        limit: the number of concurrent tasks of this kind; None means the number of workers.
        owner_limit: returns the maximum number of concurrent tasks of this kind of an owner; None
            for an owner without a limit.
        inputs: the folders beside the working folder that the entry reads. With it the kind may run
            on another machine, to which they are copied, and from which the working folder is
            copied back. None: it runs where the service runs.
        cores: the number of cores that a task uses.
        reserved: the bytes of memory to keep free for a task; None is its memory limit.
        prepare: called in a thread before a task is started, with its payload, to fetch its files
            from an object store. None: the files are present.
        save: called in a thread after its process has ended, with its payload, to put its results
            into an object store before `on_end`. None: they are not moved. Both are repeated
            while the store, the database or the disk is not available; other errors fail the task.
    """

    name: str
    entry: str
    on_start: Callable[[Session, Task], None] = _no_op
    on_end: Callable[[Session, Task, TaskOutcome], None] = lambda _session, _task, _ending: None
    on_requeue: Callable[[Session, Task], None] = _no_op
    on_tick: Callable[[Session, Mapping[Task, float]], None] | None = None
    work: Callable[[Task], Path] | None = None
    warm: Callable[[Task], bool] = lambda _task: False
    memory: Callable[[Session], int] | None = None
    limit: int | None = None
    owner_limit: Callable[[Session, str], int | None] | None = None
    inputs: Callable[[Task], Sequence[Path]] | None = None
    cores: Callable[[Task], int] = lambda _task: 1
    reserved: Callable[[Task], int | None] = lambda _task: None
    prepare: Callable[[dict[str, Any]], None] | None = None
    save: Callable[[dict[str, Any]], Sequence[StagedFile]] | None = None


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
        weight: float = 1.0,
        needs: str = "",
    ) -> Task:
        """Queue a task; it starts after the commit, when a worker is free.

        `weight` is the share of its owner: with 2 it gets twice as many starts as one with 1. The
        flush raises sqlalchemy.exc.IntegrityError if an unfinished task has the same key.

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
            turn=_next_turn(session, owner, priority, weight),
        )
        session.add(task)
        self._notify_after_commit(session)
        return task

    def put_all(
        self,
        session: Session,
        kind: str,
        payloads: Mapping[str, Mapping[str, Any]],
        *,
        max_seconds: float | None = None,
        owner: str = "",
        weight: float = 1.0,
        needs: str = "",
    ) -> None:
        """Queue tasks of an owner, given by their payloads by key; see `put`.

        They are inserted by one statement and not as objects, since there may be hundreds.

        Raises:
            sqlalchemy.exc.IntegrityError: an unfinished task has one of the keys.
        """
        rows = [
            {
                "kind": self.kinds[kind].name,
                "key": key,
                "payload": dict(payload),
                "max_seconds": max_seconds,
                "owner": owner,
                "turn": _next_turn(session, owner, 0, weight),
                "needs": needs,
            }
            for key, payload in payloads.items()
        ]
        if rows:
            session.connection().execute(insert(Task), rows)
            self._notify_after_commit(session)

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
        session.flush()  # one statement for all rows: there may be hundreds
        for task in waiting:
            self._call_on_end(session, task, TaskOutcome("stopped", reason))
        if tasks:
            self._notify_after_commit(session)
        return [task.key for task in tasks]

    def set_weight(self, session: Session, owner: str, weight: float) -> None:
        """Distribute the turns of an owner's waiting tasks again, by a new weight."""
        is_waiting = (Task.owner == owner) & (Task.state == QUEUED)
        # Except tasks that another process is just claiming.
        waiting = select(Task).where(is_waiting).order_by(Task.turn, Task.id)
        tasks = session.scalars(waiting.with_for_update(skip_locked=True)).all()
        for priority in {task.priority for task in tasks}:
            same = [task for task in tasks if task.priority == priority]
            turn = _current_turn(session, priority)
            for number, task in enumerate(same, 1):
                task.turn = turn + round(number * ROUND / weight)

    def count_waiting(self, session: Session, owner: str) -> int:
        """Return the number of waiting tasks of an owner."""
        return count_rows(session, Task, Task.owner == owner, Task.state == QUEUED)

    def find(self, session: Session, key: str) -> Task | None:
        """Return the unfinished task with this key, if any."""
        return session.scalars(select(Task).where(Task.key == key)).one_or_none()

    def wait(
        self, database: Database, keys: Collection[str], seconds: float = STOP_SECONDS
    ) -> bool:
        """Wait, outside any transaction, for the end of all tasks; return False on a timeout."""
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
        """Call the listeners: tasks were added, cancelled or ended, perhaps by another process."""
        for changed in self._listeners:
            changed()
        self.ended()

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
            after_commit(session, self.changed)
            _notify_processes(session)


CHANNEL = "labext_queue"
"""The channel on which PostgreSQL tells other processes that tasks were added or have ended."""


def _notify_processes(session: Session) -> None:
    """Send the notification at the commit."""
    notified = session.info.setdefault("labext_queue_notifies_processes", False)
    if not notified and postgresql.is_used_by(session):
        session.info["labext_queue_notifies_processes"] = True
        session.execute(text(f"NOTIFY {CHANNEL}"))


def _next_turn(session: Session, owner: str, priority: int, weight: float) -> int:
    """Return the turn of an owner's next task: after its last one, and not before this round."""
    turns: dict[tuple[str, int], float] = session.info.setdefault("labext_queue_turns", {})
    if (owner, priority) not in turns:
        of_owner = (Task.priority == priority) & (Task.owner == owner)
        last = session.scalar(select(func.max(Task.turn)).where(of_owner))
        current = _current_turn(session, priority) - ROUND
        turns[owner, priority] = current if last is None else max(current, last)
    turns[owner, priority] += ROUND / weight
    return round(turns[owner, priority])


def _current_turn(session: Session, priority: int) -> int:
    """Return the turn of the tasks that were started last; without any, of the next one."""
    same = Task.priority == priority
    current = session.scalar(select(func.max(Task.turn)).where(same, IS_TAKEN))
    if current is None:
        waiting = select(func.min(Task.turn)).where(same, Task.state == QUEUED)
        current = session.scalar(waiting) or 0
    return current


RETRY_SECONDS = 2.0
"""Pause after a lost connection. The queue is also polled, so that nothing is missed meanwhile."""

log = logging.getLogger(__name__)


class QueueNotifications:
    """A thread that listens with a separate connection."""

    def __init__(self, url: str, queue: Queue) -> None:
        self._url = url
        self._queue = queue
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="labext-notifications", daemon=True)

    def start(self) -> None:
        """Start to listen."""
        self._thread.start()

    def stop(self) -> None:
        """Stop to listen."""
        self._stopping.set()
        self._thread.join(5.0)

    def _loop(self) -> None:
        import psycopg

        while not self._stopping.is_set():
            try:
                address = postgresql.libpq_address(self._url)
                with psycopg.connect(address, autocommit=True, **postgresql.KEEPALIVES) as line:
                    line.execute(f"LISTEN {CHANNEL}")
                    self._queue.changed()  # notifications sent before it listened
                    while not self._stopping.is_set():
                        if any(True for _ in line.notifies(timeout=0.5, stop_after=1)):
                            self._queue.changed()
            except psycopg.Error as error:
                log.warning("No notifications from the database for a while: %s", error)
                self._stopping.wait(RETRY_SECONDS)

"""A durable queue of tasks, in the same database as the services' own tables.

A service puts a task in the transaction that writes its own row, and its `Kind` hooks run in the
transactions that start and end the task: a row and its task never disagree, whatever is killed
when. The table holds what is still to be done; a task that has ended is no longer there, its
outcome stands in the service's own rows. So a key is free again once its task has ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import JSON, Index, String, Text, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from labext.sandbox.database import Database, after_commit

QUEUED, STARTING, RUNNING = "queued", "starting", "running"
"""States of a task: waiting; taken, and its process is being started; its process exists."""


class Base(DeclarativeBase):
    """The queue's own tables; `Base.metadata` creates them."""


class Task(Base):
    """A unit of background work.

    Attributes:
        key: the service's own name for it, unique among the tasks that are not yet ended.
        payload: what the entry gets, JSON.
        max_seconds: wall-clock limit, counted from the start of its process; None is no limit.
        priority: higher goes first; equal ones in the order they were put.
        created, started: seconds since the epoch; `started` once its process exists.
        kills: attempts that ended because the service was killed while the task's process ran.
        cancelled: the reason, once a task that no longer waits was told to stop.
    """

    __tablename__ = "tasks"
    __table_args__ = (
        # In the order of their turns: with thousands waiting, the next one is the first here.
        Index("tasks_turn", "state", text("priority DESC"), "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(100))
    key: Mapped[str] = mapped_column(String(500), unique=True)
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    state: Mapped[str] = mapped_column(String(20), default=QUEUED)
    priority: Mapped[int] = mapped_column(default=0)
    max_seconds: Mapped[float | None]
    created: Mapped[float] = mapped_column(default=time.time)
    started: Mapped[float | None]
    kills: Mapped[int] = mapped_column(default=0)
    cancelled: Mapped[str | None] = mapped_column(Text)


@dataclass(frozen=True)
class Ending:
    """How a task ended.

    Attributes:
        outcome: `done` (the entry returned), `failed` (it raised, or its process died) or `stopped`
            (cancelled, or over its limit of time or memory).
        reason: one line; empty when done.
        result: what the entry returned; empty unless done.
        seconds: wall-clock time of its process; 0.0 where none was started.
        over: the limit that it was stopped for.
    """

    outcome: Literal["done", "failed", "stopped"]
    reason: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    over: Literal["time", "memory"] | None = None


def _nothing(_session: Session, _task: Task) -> None:
    """A hook that does nothing."""


@dataclass(frozen=True)
class Kind:
    """What to run for the tasks of one name, and what the service does around it.

    Hooks run inside the transaction that changes the task, and commit or roll back with it. They
    must not commit, block or call the network. Where that transaction could not be committed (a
    full disk) the hook runs again later, so what it does outside the database must be repeatable.
    `on_end` must cope with a row of the service's own that is gone.

    Attributes:
        name: unique among all services: `jobs.run`, `jobs.aggregate`.
        entry: `package.module:function`, called as `function(work: Path, payload: dict) -> dict` in
            a process of its own whose working directory is `work`. It returns JSON, and short.
            To fail it raises `labext.sandbox.runner.TaskError(reason)`, or anything else.
        on_start: once the process exists (the row becomes Running). If it raises or cancels the
            task, the process is killed. Not called for a task that ends without a process.
        on_end: once the process and everything it started is gone.
        on_requeue: a task that was taken goes back into the queue (the row becomes In Queue).
        on_tick: once a second while tasks of this kind run, with all of them (budgets). May call
            `Queue.cancel`.
        work: where a task works, emptied before each run and left alone afterwards: the service's.
            None: a folder of the supervisor's, removed after `on_end`. `log.txt` in it has what the
            process printed.
        warm: whether a process that has done such a task may do another one: it has loaded what
            they need. For tasks that are short and can be trusted to leave nothing behind.
        memory: how many bytes the process of a task may have in memory, with its descendants; read
            when it is started. None is no limit.
        limit: at most so many tasks of this kind at once; None is as many as there are workers.
    """

    name: str
    entry: str
    on_start: Callable[[Session, Task], None] = _nothing
    on_end: Callable[[Session, Task, Ending], None] = lambda _session, _task, _ending: None
    on_requeue: Callable[[Session, Task], None] = _nothing
    on_tick: Callable[[Session, Sequence[Task]], None] | None = None
    work: Callable[[Task], Path] | None = None
    warm: Callable[[Task], bool] = lambda _task: False
    memory: Callable[[Session], int] | None = None
    limit: int | None = None


class Queue:
    """Puts, cancels and finds tasks, inside the caller's transaction (waits outside any)."""

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self.kinds: dict[str, Kind] = {}
        self._listeners: list[Callable[[], None]] = []
        self._ended = threading.Condition()
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        """Make a kind known.

        Raises:
            ValueError: the name is taken.
        """
        if kind.name in self.kinds:
            raise ValueError(f"There is a kind {kind.name!r} already.")
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
    ) -> Task:
        """Queue a task; it starts after the transaction is committed, when a worker is free.

        A key that a living task has makes the flush fail with sqlalchemy.exc.IntegrityError.

        Raises:
            KeyError: no such kind.
        """
        task = Task(
            kind=self.kinds[kind].name,
            key=key,
            payload=dict(payload),
            max_seconds=max_seconds,
            priority=priority,
        )
        session.add(task)
        self._tell_after_commit(session)
        return task

    def cancel(self, session: Session, key: str, reason: str) -> bool:
        """Stop a task, whether it waits or runs; False where no living task has the key.

        A waiting task ends here: its `on_end` runs in this call. A running one is killed with all
        it started as soon as the transaction is committed; its `on_end` gets outcome `stopped` and
        this reason, even if it finished at the same moment. `wait` waits for that.
        """
        return bool(self.cancel_all(session, [key], reason))

    def cancel_all(self, session: Session, keys: Collection[str], reason: str) -> list[str]:
        """Stop the living tasks among these as `cancel` does; returns their keys."""
        tasks = session.scalars(select(Task).where(Task.key.in_(keys)).order_by(Task.id)).all()
        waiting = [task for task in tasks if task.state == QUEUED]
        for task in tasks:
            if task.state == QUEUED:
                session.delete(task)
            else:
                task.cancelled = task.cancelled or reason
        session.flush()  # all rows at once: there may be hundreds
        for task in waiting:
            self._tell_end(session, task, Ending("stopped", reason))
        if tasks:
            self._tell_after_commit(session)
        return [task.key for task in tasks]

    def find(self, session: Session, key: str) -> Task | None:
        """The living task with this key."""
        return session.scalars(select(Task).where(Task.key == key)).one_or_none()

    def wait(self, database: Database, key: str, seconds: float) -> bool:
        """Wait outside any transaction until no living task has the key; False if one still has."""
        return self.wait_all(database, [key], seconds)

    def wait_all(self, database: Database, keys: Collection[str], seconds: float) -> bool:
        """As `wait`, for several keys, so many seconds for all of them together."""
        living = select(Task.id).where(Task.key.in_(keys)).limit(1)
        until = time.monotonic() + seconds
        with self._ended:
            while True:
                with database.read() as session:
                    if session.scalar(living) is None:
                        return True
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._ended.wait(min(left, 1.0))

    def finish(self, session: Session, task: Task, ending: Ending) -> None:
        """End a task in this transaction: its row goes, its `on_end` runs. For the supervisor."""
        session.delete(task)
        session.flush()
        self._tell_end(session, task, ending)

    def listen(self, changed: Callable[[], None]) -> None:
        """Call `changed`, quickly and from any thread, after tasks were put, cancelled or ended."""
        self._listeners.append(changed)

    def ended(self) -> None:
        """Wake whoever is in `wait`. For the supervisor, after its commit."""
        with self._ended:
            self._ended.notify_all()

    def _tell_end(self, session: Session, task: Task, ending: Ending) -> None:
        kind = self.kinds.get(task.kind)
        if kind is not None:
            kind.on_end(session, task, ending)

    def _tell_after_commit(self, session: Session) -> None:
        if not session.info.get("labext_queue_tells"):  # once, however many tasks are put
            session.info["labext_queue_tells"] = True
            after_commit(session, self._tell)

    def _tell(self) -> None:
        for changed in self._listeners:
            changed()
        self.ended()

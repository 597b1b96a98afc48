"""A supervisor with a queue and a database in one folder, and helpers to watch its processes."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from waiting import wait_until

from labext.sandbox import Sandbox
from labext.sandbox.core.data_folder import FileLock
from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.executors.executor import RemoteExecutor
from labext.sandbox.core.executors.launcher import StartMethod
from labext.sandbox.core.executors.supervisor import Supervisor
from labext.sandbox.core.queue import STARTING, Queue, Task, TaskKind, TaskOutcome

ENTRIES = (
    *("answer", "wait", "span", "surroundings", "descend", "escape", "fail", "die", "print_much"),
    *("fill_disk", "return_odd", "nowhere", "kill_parent", "fill_memory", "identify"),
    *("digest_inputs", "speak", "count_runs"),
)


@dataclass
class Harness:
    """A database, a queue and a supervisor in one folder."""

    folder: Path
    method: StartMethod | None = None
    workers: int = 2
    outcomes: dict[str, TaskOutcome] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    limits: dict[str, int] = field(default_factory=dict)
    memory: int | None = None
    warm: bool = False
    remote: Callable[[], RemoteExecutor] | None = None
    inputs: Path | None = None

    url: str | None = None

    def __post_init__(self) -> None:
        self.database = Database(self.url or f"sqlite:///{self.folder / 'some.sqlite'}")
        self.database.create(CoreBase.metadata)
        self.queue = Queue(self._kind(entry) for entry in ENTRIES)
        self.supervisor = Supervisor(
            self.database,
            self.queue,
            self.folder / "tasks",
            workers=self.workers,
            preload=["labext_test_entries", "no_such_module_anywhere"],
            method=self.method,
            remote=None if self.remote is None else self.remote(),
        )

    def _kind(self, entry: str) -> TaskKind:
        return TaskKind(
            entry,
            f"labext_test_entries:{entry}",
            on_start=lambda _session, task: self.starts.append(task.key),
            on_end=self._end,
            work=lambda task: self.work(task.key),
            warm=lambda _task: self.warm,
            memory=None if self.memory is None else lambda _session: self.memory or 0,
            limit=self.limits.get(entry),
            inputs=None if self.remote is None else self._inputs,
        )

    def add(self, name: str, entry: str = "answer", **hooks: Any) -> None:
        """Add a kind of tasks with these hooks; their results are in `outcomes` by default."""
        entry_point = f"labext_test_entries:{entry}"
        self.queue.add(TaskKind(name, entry_point, **({"on_end": self._end} | hooks)))

    def _inputs(self, _task: Task) -> list[Path]:
        return [] if self.inputs is None else [self.inputs]

    def _end(self, _session: Any, task: Task, outcome: TaskOutcome) -> None:
        assert task.key not in self.outcomes, "a task ended twice"
        self.outcomes[task.key] = outcome

    def work(self, key: str) -> Path:
        return self.folder / "work" / key

    def put(
        self,
        kind: str,
        key: str,
        max_seconds: float | None = None,
        *,
        needs: str = "",
        **payload: Any,
    ) -> None:
        with self.database.write() as session:
            self.queue.put(session, kind, key, payload, max_seconds=max_seconds, needs=needs)

    def cancel(self, key: str) -> None:
        with self.database.write() as session:
            assert self.queue.cancel(session, key, "stopped by hand")

    def result(self, key: str, seconds: float = 30) -> TaskOutcome:
        assert self.queue.wait(self.database, [key], seconds), f"{key} did not end"
        return self.outcomes[key]

    def run(self, kind: str, max_seconds: float | None = None, **payload: Any) -> TaskOutcome:
        self.put(kind, "only", max_seconds, **payload)
        return self.result("only")

    def close(self) -> None:
        if self.supervisor._thread.is_alive():
            self.supervisor.stop()
        self.database.close()


def locked_error() -> OperationalError:
    """Return the error of a database that another process has locked for too long."""
    cause = sqlite3.OperationalError("database is locked")
    cause.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return OperationalError("SELECT", {}, cause)


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def no_process(pid: int) -> bool:
    """Return True if there is no such process, not even a zombie."""
    return not psutil.pid_exists(pid)


def kill_host(box: Sandbox) -> None:
    """Kill the host, and wait for its last thread, which still has its files open."""
    lock = FileLock(box.data_dir / "host.lock")
    host = psutil.Process(box.status().pid)
    host.kill()
    host.wait(30)
    wait_until(lambda: not lock.is_held())


def state(harness: Harness, key: str) -> tuple[str, int]:
    """Return the state of a task that has not ended, and the kills counted against it."""
    with harness.database.read() as session:
        task = harness.queue.find(session, key)
        assert task is not None
        return task.state, task.kills


def fork_server() -> psutil.Process:
    """Return the only fork server of this process, as soon as it runs its program."""
    [server] = wait_until(
        lambda: [
            child
            for child in psutil.Process().children()
            if "labext.sandbox.core.executors.fork_server" in child.cmdline()
        ]
    )
    return server


def descendants(harness: Harness, key: str = "only", but: Sequence[int] = ()) -> list[int]:
    """Return the pids of the task, its child, the detached process and the grandchild.

    Waits until all are running and the task is recorded as started. `but` are pids of an earlier
    run.
    """

    def pids() -> list[int]:
        with contextlib.suppress(FileNotFoundError):
            return [int(pid) for pid in (harness.work(key) / "pids").read_text().split()]
        return []

    wait_until(lambda: pids() not in ([], but))

    def state() -> str | None:
        with harness.database.read() as session:
            return session.scalar(select(Task.state).where(Task.key == key))

    wait_until(lambda: state() != STARTING)
    return pids()


NewHarness = Callable[..., Harness]

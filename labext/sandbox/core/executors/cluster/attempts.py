"""The state of workers and of the attempts that run on them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labext.sandbox.core.executors.cluster.protocol import POLL_SECONDS
from labext.sandbox.core.executors.worker_states import WorkerState
from labext.sandbox.core.task_transitions import ClaimedTask


class LostAttemptError(Exception):
    """An attempt cannot continue at its worker; the message is the reason.

    Attributes:
        is_gone: the worker has confirmed that there is no process of the attempt.
    """

    def __init__(self, reason: str, *, is_gone: bool = False) -> None:
        super().__init__(reason)
        self.is_gone = is_gone


@dataclass
class RemoteAttempt:
    """An admitted attempt of a task.

    Attributes:
        sequence: the number of the message that starts it.
        phase: the phase last reported by the worker; empty before the first report.
        requested: False once it is abandoned; its task starts again after its lease.
        renewed: latest time from which the worker can measure its lease, on the monotonic clock.
        is_known: whether the worker has confirmed the attempt.
        job: the coroutine that sends its inputs or fetches its outputs.
    """

    task: ClaimedTask
    worker: RemoteWorker
    scratch: Path | None = None
    sequence: int = 0
    phase: str = ""
    requested: bool = True
    renewed: float = 0.0
    is_known: bool = False
    is_killed: bool = False
    has_begun: bool = False
    log_size: int = 0
    reason: str = ""
    job: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The identifier in messages: task and attempt number."""
        return f"{self.task.id}.{self.task.attempt}"

    @property
    def reserved(self) -> int:
        """The memory that the attempt reserves at its worker, in bytes."""
        return reserved_memory(self.task)


@dataclass
class RemoteWorker:
    """A worker, known by its name even if its address changes.

    Attributes:
        contact: when the last message that it has answered was sent, on the monotonic clock.
        clock: the time on its own clock in its last answer; None before the first.
        clock_at: when that answer arrived, on the monotonic clock.
    """

    name: str
    label: str
    address: str
    attempts: dict[int, RemoteAttempt] = field(default_factory=dict)
    contact: float = 0.0
    clock: float | None = None
    clock_at: float = 0.0
    found: float = field(default_factory=time.monotonic)
    is_listed: bool = True
    is_closing: bool = False
    slots: int = 0
    memory: int = 0
    others: int = 0
    others_memory: int = 0
    capabilities: frozenset[str] = frozenset()
    shared: Path | None = None
    refusal: str = ""
    note: str = ""
    rests_until: float = 0.0

    @property
    def identity(self) -> str:
        """The last part of its name; another worker may get its address after its end."""
        return self.name.rpartition("|")[2]

    @property
    def state(self) -> Any:
        """The state: `ready`, `unreachable`, `refused` or `full`."""
        if self.refusal:
            return "refused"
        if time.monotonic() < self.rests_until:
            return "full"
        # Without news, the next answer arrives `POLL_SECONDS` and a round trip after the last one.
        is_ready = self.clock is not None and time.monotonic() < self.clock_at + 2 * POLL_SECONDS
        return "ready" if is_ready and self.is_listed and not self.is_closing else "unreachable"

    @property
    def busy(self) -> int:
        """The number of slots in use, those of other services included."""
        active = [a for a in self.attempts.values() if a.phase != "ended"]
        return self.others + sum(attempt.task.cores for attempt in active)

    @property
    def free(self) -> int:
        """The number of free slots; 0 unless the worker is ready."""
        return max(0, self.slots - self.busy) if self.state == "ready" else 0

    @property
    def free_memory(self) -> int:
        """The memory that no task has reserved, in bytes."""
        active = [a for a in self.attempts.values() if a.phase != "ended"]
        return self.memory - self.others_memory - sum(attempt.reserved for attempt in active)

    def report(self, now: float) -> WorkerState:
        """Return the state for the service, at a time of the monotonic clock."""
        return WorkerState(
            name=self.label,
            address=self.address,
            state=self.state,
            slots=self.slots,
            busy=self.busy,
            memory=self.memory,
            capabilities=tuple(sorted(self.capabilities)),
            tasks=tuple(attempt.task.key for attempt in self.attempts.values()),
            last_seen=now - (self.contact or self.found),
            shared_dir=None if self.shared is None else str(self.shared),
            note=self.refusal or (self.note if self.state == "full" else ""),
        )


@dataclass(frozen=True)
class SyncMessage:
    """A message to a worker.

    Attributes:
        sequence: its number.
        at: when it was sent, on the monotonic clock.
        known: the attempts that the worker had confirmed before; those missing in its answer are
            lost.
    """

    sequence: int
    at: float
    known: set[str]


def reserved_memory(task: ClaimedTask) -> int:
    """Return the memory that a task reserves, in bytes: its requirement, at most its limit."""
    limit = task.max_memory
    reserved = task.reserved if task.reserved is not None else limit
    return min(reserved or 0, limit) if limit is not None else reserved or 0

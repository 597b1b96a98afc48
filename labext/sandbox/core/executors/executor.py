"""The protocol between the supervisor and what runs tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from labext.sandbox.core.task_transitions import ClaimedTask


class Executor(Protocol):
    """Runs the processes of tasks. The supervisor calls it from one thread.

    Events are JSON objects: `{"started": ID}`, then `{"ended": ID, "code", "seconds",
    "over_memory"}` once the process and its descendants are gone and its files are in place. An
    executor on other machines also reports `{"lost": ID, "reason"}` for a task that must start
    again, and `{"workers": True}` when there may be room for other tasks than before.
    """

    def fileno(self) -> int:
        """Return the descriptor for a selector; readable when `events` does not block."""

    def start(
        self, task_id: int, scratch: Path, max_memory: int | None = None, *, warm: bool = False
    ) -> None:
        """Start the process of a task.

        Args:
            task_id: the task.
            scratch: the folder with its request.
            max_memory: the memory limit of the process and its descendants, in bytes.
            warm: whether to use a process for several tasks, one after another.
        """

    def kill(self, task_id: int) -> None:
        """Kill a task with its descendants; its end is reported as usual."""

    def events(self) -> list[dict[str, Any]] | None:
        """Wait for events and return them; None once the executor has ended."""

    def close(self) -> None:
        """End every task and the executor."""


@dataclass(frozen=True)
class WorkerState:
    """State of a worker.

    Attributes:
        name: unique among the workers.
        address: where the scheduler reaches it.
        state: `ready`; `unreachable`; `refused`, if it has another version; `full`, if its disk is.
        slots: the number of cores for tasks.
        busy: the number of them in use, also by other services.
        memory: bytes for tasks; None is unknown.
        capabilities: what tasks may need, such as names of tools.
        tasks: the keys of the tasks of this service that it runs.
        last_seen: seconds since its last answer.
        shared_dir: the folder through which files are exchanged; None for the network.
        note: why it gets no tasks.
    """

    name: str
    address: str
    state: Literal["ready", "unreachable", "refused", "full"]
    slots: int
    busy: int
    memory: int | None
    capabilities: tuple[str, ...]
    tasks: tuple[str, ...]
    last_seen: float
    shared_dir: str | None = None
    note: str = ""


class RemoteExecutor(Executor, Protocol):
    """Runs tasks on other machines."""

    @property
    def address(self) -> str:
        """The address of its scheduler."""

    def admit(self, task: ClaimedTask) -> bool:
        """Take a slot for a task; False if no worker has one that fits."""

    def release(self, task_id: int | None = None) -> None:
        """Give back the slot of a task that was admitted and not started; by default of all."""

    def free_slots(self) -> int:
        """Return the number of free cores on all workers."""

    def workers(self) -> list[WorkerState]:
        """Return the workers."""

    def why_waiting(self, needs: str, cores: int, memory: int | None) -> str:
        """Return why no worker can run such a task; empty if one can once it has a free slot."""

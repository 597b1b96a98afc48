"""The interface between the supervisor and the executors of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from labext.sandbox.core.executors.worker_states import WorkerState
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


class RemoteExecutor(Executor, Protocol):
    """Runs tasks on other machines."""

    @property
    def lease(self) -> float:
        """Seconds after which the tasks of a killed service have certainly ended."""

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

    def lost_workers(self) -> int:
        """Return how many workers have ended without notice, or were cut off for long."""

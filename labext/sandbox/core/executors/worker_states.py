"""States of workers, and the file in which the dispatching process publishes them."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from labext import messages
from labext.sandbox.core.data_folder import read_json

STALE_SECONDS = 5.0
"""Age of the published states after which workers count as unreachable."""


@dataclass(frozen=True)
class WorkerState:
    """State of a worker.

    Attributes:
        name: shown to users; several workers of a machine may have the same.
        address: where the scheduler reaches it.
        state: `ready`; `unreachable`; `refused`, if it has another version; `full`, if its disk is.
        slots: the number of cores for tasks.
        busy: the number of them in use, also by other services.
        memory: bytes for tasks; None is unknown.
        capabilities: what tasks may need, such as names of tools.
        tasks: the keys of the tasks of this service that it runs.
        last_seen: seconds since its last answer.
        shared_dir: the folder through which files are exchanged; None for the network.
        note: the reason why it gets no tasks.
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


class Executors:
    """The workers that run a service's tasks; this base class has none."""

    @property
    def address(self) -> str:
        """`local`, or the address of the scheduler of a cluster."""
        return "local"

    def workers(self) -> list[WorkerState]:
        """Return the workers; the first one is this machine, with all service processes.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the database does not respond.
        """
        return []

    def why_waiting(self, needs: str, cores: int, memory: int | None) -> str:  # noqa: ARG002
        """Return why no worker can run such a task; empty if one can once it has a free slot."""
        return ""

    def lost_workers(self) -> int:
        """Return how many workers have ended without notice, or were cut off for long."""
        return 0

    def problem(self) -> str:
        """Return why queued tasks do not run, as a sentence; empty if they do."""
        return ""


def why_waiting(
    address: str, states: Sequence[WorkerState], needs: str, cores: int, memory: int | None
) -> str:
    """Return why no worker of a scheduler can run a task; empty if one can once it has a slot.

    Args:
        address: the address of the scheduler.
        states: the workers.
        needs: what the task needs; empty for nothing.
        cores: the slots that it takes.
        memory: the bytes that it reserves.
    """
    workers = [worker for worker in states if worker.state in ("ready", "full")]
    if not workers:
        refusals = [worker.note for worker in states if worker.state == "refused"]
        return refusals[0] if refusals else f"No worker is connected to {address}."
    workers = [worker for worker in workers if not needs or needs in worker.capabilities]
    if not workers:
        return f"No worker has {needs}."
    workers = [w for w in workers if w.slots >= cores and (w.memory or 0) >= (memory or 0)]
    if not workers:
        size = f" and {messages.format_size(memory)} of memory" if memory else ""
        return f"No worker has {messages.pluralize(cores, 'core')}{size} for a task."
    return workers[0].note if all(worker.state == "full" for worker in workers) else ""


class WorkersFile:
    """The workers known to one service process, published for the others and the command line.

    Times are of the monotonic clock, which the processes of a machine share.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = time.monotonic()

    def write(self, address: str, states: Sequence[WorkerState], lost: int) -> None:
        """Replace the content; not synced to the disk, since it is outdated after a crash."""
        content = {"at": time.monotonic(), "address": address, "lost": lost}
        content["workers"] = [*map(asdict, states)]
        part = self._path.with_suffix(".part")
        # On a full disk, the readers notice that the file is outdated.
        with contextlib.suppress(OSError):
            part.write_text(json.dumps(content))
            os.replace(part, self._path)

    @property
    def address(self) -> str:
        """The address of the scheduler; empty before the first `write`."""
        return str(self._read().get("address", ""))

    def age(self) -> float:
        """Return the seconds since the last `write`, at most since this object was created."""
        return time.monotonic() - max(self._opened, float(self._read().get("at", 0.0)))

    def workers(self) -> list[WorkerState]:
        """Return the workers; as unreachable if the publishing process has ended."""
        content = self._read()
        age = time.monotonic() - content.get("at", 0.0)
        states = [_load(fields) for fields in content.get("workers", ())]
        if age > STALE_SECONDS:
            states = [replace(state, state="unreachable", busy=0, tasks=()) for state in states]
        return [replace(state, last_seen=state.last_seen + age) for state in states]

    def lost_workers(self) -> int:
        """Return how many workers have ended without notice, or were cut off for long."""
        return int(self._read().get("lost", 0))

    def _read(self) -> dict[str, Any]:
        return read_json(self._path)


def _load(fields: dict[str, Any]) -> WorkerState:
    lists = {name: tuple(fields[name]) for name in ("capabilities", "tasks")}
    return WorkerState(**fields | lists)

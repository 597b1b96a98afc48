"""Run attempts of tasks on a worker while their services renew the leases."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Literal

from labext.errors import SetupError
from labext.sandbox.core.data_folder import FileLock, read_json, remove_path
from labext.sandbox.core.database import is_disk_full
from labext.sandbox.core.executors.cluster.protocol import (
    INLINE_BYTES,
    LEASE_SECONDS,
    LOG_BYTES,
    POLL_SECONDS,
    read_chunk,
    resolve_inside,
    version_error,
    walk_files,
)
from labext.sandbox.core.executors.launcher import Launcher
from labext.sandbox.core.executors.leftover_tasks import kill_adopted, kill_leftovers

LOOK_SECONDS = 0.5
"""Interval of checking leases and logs."""

START_SECONDS = 30.0
"""How long a worker waits for others that start on its machine."""

LOG_FILE = "log.txt"

log = logging.getLogger(__name__)

_Operation = Callable[..., Awaitable[dict[str, Any]]]


@dataclass
class _Attempt:
    """An attempt, from the first message about it until its service no longer requests it.

    Attributes:
        number: its number for the fork server.
        service, epoch: the service, and an identifier of its start.
        name: the service's name for it: `TASK.ATTEMPT`.
        sequence: the number of the message that created it.
        scratch: its folder on this machine.
        job: the folder with its working folder and its inputs.
        expires: end of its lease, on the clock of the worker.
    """

    number: int
    service: str
    epoch: str
    name: str
    sequence: int
    scratch: Path
    job: Path
    cores: int
    reserved: int
    max_memory: int | None
    warm: bool
    expires: float
    phase: Literal["receiving", "starting", "running", "ended"] = "receiving"
    dropped: bool = False
    code: int = 0
    seconds: float = 0.0
    over_memory: bool = False
    lost: str = ""
    files: list[tuple[str, int]] | None = None

    @property
    def work(self) -> Path:
        return self.job / "work"

    @property
    def is_active(self) -> bool:
        return self.phase != "ended"


def _boot_clock() -> float:
    """Return the seconds since the start of the machine, including suspension."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class AttemptRunner:
    """The attempts on this machine.

    A lease is measured by the clock of this machine alone. Each answer to a service has the time,
    which the service returns in its next message; the lease of an attempt ends `LEASE_SECONDS`
    after the latest time returned in a message that asks for it. So a delayed message extends no
    lease.

    Args:
        folder: a folder on a local disk that nothing else uses; its name identifies the worker.
        slots: the number of cores for tasks.
        memory: the bytes of memory for tasks.
        capabilities: what tasks may need, such as names of tools.
        preload: modules that tasks need, loaded once.
        shared: a folder that nothing else uses and that services see under the same path.
        clock: returns the time, in seconds.
    """

    def __init__(
        self,
        folder: Path,
        *,
        slots: int,
        memory: int,
        capabilities: Sequence[str] = (),
        preload: Sequence[str] = (),
        shared: Path | None = None,
        clock: Callable[[], float] = _boot_clock,
    ) -> None:
        self.folder = folder
        self.identity = folder.name
        self.slots = slots
        self.memory = memory
        self.shared = shared
        self.refusal = ""
        self._capabilities = [*capabilities]
        self._preload = preload
        self._clock = clock
        self._attempts: dict[tuple[str, str], _Attempt] = {}
        self._numbers = 0
        self._launcher: Launcher | None = None
        self._changed = asyncio.Event()
        self._closing = False
        self._watching: asyncio.Task[None] | None = None
        self._token = secrets.token_hex(16)

    async def start(self) -> None:
        """Start the fork server and the check of leases.

        Raises:
            OSError: a folder can't be written.
        """
        for folder in (self.folder, self.shared):
            if folder is not None:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.shared is not None:
            (self.shared / "token").write_text(self._token)
        self._launch()
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """Kill every attempt and notify the services."""
        self._closing = True
        if self._watching is not None:
            self._watching.cancel()
        if self._launcher is not None:
            asyncio.get_running_loop().remove_reader(self._launcher.fileno())
            await asyncio.to_thread(self._launcher.close)
            self._launcher = None
        for attempt in self._attempts.values():
            if attempt.is_active:
                attempt.phase, attempt.lost = "ended", "The worker was stopped."
        self._notify()

    def remove_folders(self) -> None:
        """Delete the folders of this worker."""
        for folder in (self.folder, self.shared):
            if folder is not None:
                with contextlib.suppress(OSError):
                    remove_path(folder)

    def handlers(self) -> dict[str, Any]:
        """Return the operations for a dask worker to serve."""
        operations: dict[str, _Operation] = {
            "labext_sync": self.sync,
            "labext_start": self.start_attempt,
            "labext_put": self.put,
            "labext_run": self.run,
            "labext_kill": self.kill,
            "labext_read": self.read,
        }
        return {name: self._addressed(operation) for name, operation in operations.items()}

    def _addressed(self, operation: _Operation) -> _Operation:
        """Return an operation that refuses messages to an earlier worker at this address."""

        @wraps(operation)
        async def perform(identity: str, **arguments: Any) -> dict[str, Any]:
            if identity != self.identity:
                raise LookupError(f"The worker {identity} is no longer at this address.")
            return await operation(**arguments)

        return perform

    def _launch(self) -> None:
        self._launcher = Launcher(self.folder / "forkserver.lock", self._preload)
        asyncio.get_running_loop().add_reader(self._launcher.fileno(), self._note_events)

    def _note_events(self) -> None:
        launcher = self._launcher
        if launcher is None:
            return
        events = launcher.events()
        if events is None:
            asyncio.get_running_loop().remove_reader(launcher.fileno())
            self._launcher = None
            asyncio.create_task(self._recover(launcher))  # noqa: RUF006 - it ends by itself
            return
        attempts = {attempt.number: attempt for attempt in self._attempts.values()}
        for event in events:
            attempt = attempts.get(event["started" if "started" in event else "ended"])
            if attempt is None:
                continue
            if "started" in event:
                attempt.phase = "running"
            else:
                self._end(attempt, event)
        self._notify()

    def _end(self, attempt: _Attempt, event: Mapping[str, Any]) -> None:
        attempt.phase = "ended"
        attempt.code, attempt.seconds = event["code"], event["seconds"]
        attempt.over_memory = event["over_memory"]
        if attempt.dropped:
            self._remove(attempt)

    async def _recover(self, launcher: Launcher) -> None:
        """Start another fork server after the last one was killed."""
        log.error("The process that starts the tasks was killed.")
        running = [attempt for attempt in self._attempts.values() if attempt.is_active]
        await asyncio.to_thread(launcher.close)
        await asyncio.to_thread(kill_leftovers, [attempt.scratch for attempt in running])
        await asyncio.to_thread(kill_adopted)
        for attempt in running:
            attempt.phase = "ended"
            attempt.lost = "The process that starts tasks on the worker died."
            if attempt.dropped:
                self._remove(attempt)
        self._notify()
        if not self._closing:
            self._launch()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._end_leases()

    def _end_leases(self) -> None:
        """Kill the attempts whose leases are over."""
        now = self._clock()
        ended = [a for a in self._attempts.values() if now > a.expires and not a.dropped]
        if ended:
            log.warning(
                "%d tasks are killed: their services have not renewed the leases.", len(ended)
            )
        for attempt in ended:
            self._drop(attempt)

    def _attempts_of(self, service: str) -> list[_Attempt]:
        return [attempt for attempt in self._attempts.values() if attempt.service == service]

    def _drop(self, attempt: _Attempt) -> None:
        """Kill an attempt and delete its files."""
        attempt.dropped = True
        if attempt.phase in ("starting", "running"):
            if self._launcher is not None:
                self._launcher.kill(attempt.number)
        else:
            self._remove(attempt)

    def _remove(self, attempt: _Attempt) -> None:
        self._attempts.pop((attempt.service, attempt.name), None)
        for folder in (attempt.scratch, attempt.job):
            with contextlib.suppress(OSError):
                remove_path(folder)
        self._notify()

    async def sync(
        self,
        service: str,
        epoch: str,
        sequence: int,
        requested: Mapping[str, Sequence[Any]],
        versions: dict[str, str],
        clock: float | None,
        timeout: float = POLL_SECONDS,
    ) -> dict[str, Any]:
        """Renew the leases of the requested attempts, and wait for news.

        Args:
            service: the service.
            epoch: identifies the start of the service.
            sequence: the number of this message.
            requested: the attempts to continue, with the phase and the size of the log that
                it knows. All others are killed, unless they were created after this message.
            versions: its versions of labext and Python.
            clock: the time in the last answer of this worker to it; None in its first message,
                which renews nothing.
            timeout: the seconds to wait for news.
        """
        if refusal := version_error(versions):
            self.refusal = refusal
            return {"refused": refusal}
        self._end_leases()  # a message may arrive after the end of the leases that it renews
        for attempt in self._attempts_of(service):
            is_older = attempt.epoch != epoch or attempt.sequence < sequence
            if attempt.name not in requested and is_older:
                self._drop(attempt)
            elif attempt.name in requested and clock is not None:
                attempt.expires = max(attempt.expires, clock + LEASE_SECONDS)
        until = time.monotonic() + timeout
        drops = self._is_dropping(service)
        while drops == self._is_dropping(service) and not self._has_news(service, requested):
            remaining = until - time.monotonic()
            if remaining <= 0 or self._closing:
                break
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), min(remaining, LOOK_SECONDS))
        return self._report(service, epoch, requested)

    def _is_dropping(self, service: str) -> bool:
        return any(attempt.dropped for attempt in self._attempts_of(service))

    def _has_news(self, service: str, requested: Mapping[str, Sequence[Any]]) -> bool:
        attempts = {a.name: a for a in self._attempts_of(service) if not a.dropped}
        if any(name not in attempts and phase for name, (phase, _) in requested.items()):
            return True
        for name, attempt in attempts.items():
            phase, offset = requested.get(name, ("", 0))
            if attempt.phase != phase:
                return True
            if attempt.phase == "running" and _log_size(attempt) > offset:
                return True
        return False

    def _report(
        self, service: str, epoch: str, requested: Mapping[str, Sequence[Any]]
    ) -> dict[str, Any]:
        attempts = [a for a in self._attempts_of(service) if not a.dropped]
        own = {id(attempt) for attempt in attempts if attempt.epoch == epoch}
        others = [a for a in self._attempts.values() if a.is_active and id(a) not in own]
        return {
            "attempts": {a.name: _state(a, requested.get(a.name, ("", 0))[1]) for a in attempts},
            "dropping": self._is_dropping(service),
            "slots": self.slots,
            "memory": self.memory,
            "others": sum(attempt.cores for attempt in others),
            "others_memory": sum(attempt.reserved for attempt in others),
            "capabilities": self._capabilities,
            "shared": None if self.shared is None else [str(self.shared), self._token],
            "closing": self._closing,
            "clock": self._clock(),
        }

    async def start_attempt(
        self,
        service: str,
        epoch: str,
        sequence: int,
        clock: float,
        name: str,
        request: Mapping[str, Any],
        cores: int,
        reserved: int,
        max_memory: int | None,
        warm: bool,
        files: Sequence[tuple[str, bytes]] | None,
    ) -> dict[str, Any]:
        """Create an attempt, and start its process if all its input files are given.

        Returns the folder of the task, or under `refused` why there is no such attempt: `late` if
        its lease, which `clock` starts as in `sync`, is over; `busy`; or `full` if its folder
        can't be written.
        """
        self._end_leases()
        expires = clock + LEASE_SECONDS
        if self._clock() > expires:
            return {"refused": "late"}
        active = [attempt for attempt in self._attempts.values() if attempt.is_active]
        if (service, name) in self._attempts:
            return {"refused": "busy"}
        if (
            self._closing
            or self._launcher is None
            or sum(attempt.cores for attempt in active) + cores > self.slots
            or sum(attempt.reserved for attempt in active) + reserved > self.memory
        ):
            return {"refused": "busy"}
        self._numbers += 1
        scratch = self.folder / str(self._numbers)
        job = (self.shared or self.folder) / f"job-{self._numbers}"
        attempt = _Attempt(
            self._numbers,
            service,
            epoch,
            name,
            sequence,
            scratch,
            job,
            cores,
            reserved,
            max_memory,
            warm,
            expires,
        )
        self._attempts[service, name] = attempt
        try:
            for folder in (scratch, job, attempt.work):
                folder.mkdir(mode=0o700)
            whole = {**request, "work": str(attempt.work)}
            (scratch / "request.json").write_text(json.dumps(whole))
            for path, content in files or ():
                _write_chunk(job, path, 0, content)
        except OSError as error:
            self._remove(attempt)
            return _folder_refusal(error, job)
        if files is not None:
            self._start(attempt)
        return {"folder": str(job)}

    async def put(
        self, service: str, name: str, path: str, offset: int, data: bytes
    ) -> dict[str, Any]:
        """Write a part of an input file."""
        attempt = self._attempts.get((service, name))
        if attempt is None or attempt.phase != "receiving":
            return {"refused": "gone"}
        try:
            await asyncio.to_thread(_write_chunk, attempt.job, path, offset, data)
        except OSError as error:
            self._drop(attempt)
            return _folder_refusal(error, attempt.job)
        return {}

    async def run(self, service: str, name: str) -> dict[str, Any]:
        """Start the process of an attempt that has its inputs."""
        self._end_leases()
        attempt = self._attempts.get((service, name))
        if attempt is None or attempt.dropped or self._launcher is None:
            return {"refused": "gone"}
        if attempt.phase == "receiving":
            self._start(attempt)
        return {}

    def _start(self, attempt: _Attempt) -> None:
        attempt.phase = "starting"
        if self._launcher is not None:
            self._launcher.start(
                attempt.number, attempt.scratch, attempt.max_memory, warm=attempt.warm
            )

    async def kill(self, service: str, name: str) -> dict[str, Any]:
        """Kill an attempt; its end is reported as usual."""
        attempt = self._attempts.get((service, name))
        if attempt is not None and attempt.phase in ("starting", "running"):
            if self._launcher is not None:
                self._launcher.kill(attempt.number)
        elif attempt is not None and attempt.phase == "receiving":
            attempt.phase, attempt.code = "ended", -9
            self._notify()
        return {}

    async def read(self, service: str, name: str, path: str, offset: int) -> dict[str, Any]:
        """Return a part of a file in the working folder."""
        attempt = self._attempts.get((service, name))
        if attempt is None:
            return {"refused": "gone"}
        file = resolve_inside(attempt.work, path)
        try:
            return {"data": await asyncio.to_thread(read_chunk, file, offset)}
        except FileNotFoundError:
            return {"refused": "gone"}


def _log_size(attempt: _Attempt) -> int:
    try:
        return (attempt.work / LOG_FILE).stat().st_size
    except OSError:
        return 0


def _state(attempt: _Attempt, offset: int) -> dict[str, Any]:
    """Return the report about an attempt for its service."""
    state: dict[str, Any] = {"phase": attempt.phase, "lost": attempt.lost}
    if attempt.phase == "running" and _log_size(attempt) > offset:
        with contextlib.suppress(OSError), (attempt.work / LOG_FILE).open("rb") as file:
            file.seek(offset)
            state["log"] = file.read(LOG_BYTES)
    if attempt.phase == "ended" and not attempt.lost:
        if attempt.files is None:
            attempt.files = [*walk_files(attempt.work)]
        state |= {
            "code": attempt.code,
            "seconds": attempt.seconds,
            "over_memory": attempt.over_memory,
            "report": read_json(attempt.scratch / "report.json"),
            "files": attempt.files,
            "work": str(attempt.work),
        }
        if sum(size for _, size in attempt.files) <= INLINE_BYTES:
            with contextlib.suppress(OSError):
                paths = [attempt.work / name for name, _ in attempt.files]
                state["contents"] = [path.read_bytes() for path in paths]
    return state


def _folder_refusal(error: OSError, folder: Path) -> dict[str, Any]:
    what = "is full" if is_disk_full(error) else f"can't be written: {error.strerror}"
    return {"refused": "full", "note": f"The folder {folder.parent} {what}; make room there."}


def _write_chunk(folder: Path, name: str, offset: int, data: bytes) -> None:
    path = resolve_inside(folder, name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("r+b" if offset else "wb") as file:
        file.seek(offset)
        file.write(data)


def create_folder(folder: Path) -> FileLock:
    """Create and lock the folder of a worker, and delete those of workers that were killed.

    Only one worker at a time does this: a folder that is not locked yet looks like one of a killed
    worker.

    Returns:
        The lock of the folder.

    Raises:
        OSError: the folder can't be written.
        SetupError: another worker does not finish this.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    starting = FileLock(folder.parent / "starting.lock")
    if not starting.acquire(seconds=START_SECONDS):
        raise SetupError(
            f"Another worker is still deleting old folders in {folder.parent}.",
            "Start this one again later, or name another folder.",
        )
    try:
        _remove_dead_workers(folder.parent)
        folder.mkdir(mode=0o700)
        lock = FileLock(folder / "worker.lock")
        lock.acquire()
    finally:
        starting.release()
    return lock


def _remove_dead_workers(parent: Path) -> None:
    for folder in parent.iterdir():
        if folder.is_dir() and not FileLock(folder / "worker.lock").is_held():
            with contextlib.suppress(OSError):
                remove_path(folder)

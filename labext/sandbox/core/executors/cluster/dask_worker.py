"""A worker of a cluster: a dask worker that serves an `AttemptRunner`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
import stat
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from labext.actions import parameter
from labext.errors import ServiceError, SetupError
from labext.messages import pluralize
from labext.sandbox.core.executors.cluster.address import TlsFiles, check_connection, is_loopback
from labext.sandbox.core.executors.cluster.attempt_runner import AttemptRunner, create_folder
from labext.sandbox.core.executors.cluster.protocol import WORKER_PREFIX
from labext.sandbox.core.executors.task_process import adopt_orphans
from labext.storage import storage_errors

RECONNECT_SECONDS = 1.0
"""Seconds between two attempts to reach the scheduler again."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WorkerOptions:
    """The options of a worker.

    Attributes:
        address: the scheduler, as `scheduler_address` returns it.
        tls: the certificates; None for a plain connection.
        slots: the number of cores for tasks; None is all.
        memory: the bytes of memory for tasks; None is all.
        shared_dir: a folder that the service sees under the same path.
        local_dir: a folder on a local disk; None for one in the system's temporary folder.
        host: the address at which the scheduler reaches this machine; None to find out.
        name: shown to users; None is the host's name.
        capabilities: what tasks may need, such as names of tools.
        preload: modules that tasks need, loaded once.
    """

    address: str
    tls: TlsFiles | None = None
    slots: int | None = None
    memory: int | None = None
    shared_dir: Path | None = None
    local_dir: Path | None = None
    host: str | None = None
    name: str | None = None
    capabilities: Sequence[str] = ()
    preload: Sequence[str] = ()


def run_worker(options: WorkerOptions, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; every task is then ended.

    The scheduler may be restarted meanwhile: tasks continue while their service renews the leases.

    Raises:
        SetupError: the scheduler can't be reached, or a folder can't be written.
        ServiceError: the service has another version.
    """
    check_connection(options.address, options.tls)
    adopt_orphans()
    asyncio.run(_serve(options, announce))


async def _serve(options: WorkerOptions, announce: Callable[[str], None]) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    identity = secrets.token_hex(4)
    local = create_local_folder(options.local_dir or Path(tempfile.gettempdir()))
    runner = _create_runner(options, local, identity)
    try:
        lock = create_folder(runner.folder)
        await runner.start()
    except OSError as error:
        runner.remove_folders()
        raise SetupError(
            f"The folder {error.filename} can't be written: {error.strerror}.",
            "Make room in it, or name another folder.",
        ) from error
    try:
        await _stay_connected(options, runner, identity, stopped, announce)
    finally:
        await runner.close()
        runner.remove_folders()
        lock.release()
    if runner.refusal:
        raise ServiceError("The service refuses this worker.", runner.refusal)


def create_local_folder(parent: Path) -> Path:
    """Create the folder of this user's workers in a folder that may have other files.

    Raises:
        SetupError: another user has created it, and could exchange the files of jobs.
        StorageError: it can't be created.
    """
    folder = parent / f"labext-workers-{os.getuid()}"
    with storage_errors(folder):
        parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o022:
        raise SetupError(
            f"The folder {folder} belongs to another user, or others can change its files.",
            f"Delete it, or name another folder with {parameter('local_dir', 'DIR')}.",
        )
    return folder


def _create_runner(options: WorkerOptions, local: Path, identity: str) -> AttemptRunner:
    shared = options.shared_dir
    return AttemptRunner(
        local / identity,
        slots=options.slots or os.cpu_count() or 1,
        memory=options.memory or psutil.virtual_memory().total,
        capabilities=options.capabilities,
        preload=options.preload,
        shared=None if shared is None else shared.absolute() / f"labext-worker-{identity}",
    )


async def _stay_connected(
    options: WorkerOptions,
    runner: AttemptRunner,
    identity: str,
    stopped: asyncio.Event,
    announce: Callable[[str], None],
) -> None:
    """Register with the scheduler, again whenever the connection is lost."""
    import dask
    from distributed import Worker  # which sets the levels of its loggers

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # reported below in one line
    # The tasks are separate processes, so dask need not limit the memory of this one.
    dask.config.set(
        {
            "distributed.worker.memory.terminate": False,
            "distributed.worker.memory.pause": False,
            "distributed.worker.profile.enabled": False,
            "distributed.comm.timeouts.connect": "5s",
        }
    )
    label = (options.name or socket.gethostname()).replace("|", "-")
    connections = 0
    while not stopped.is_set() and not runner.refusal:
        connections += 1
        worker = Worker(
            options.address,
            # The scheduler may not have noticed yet that the last connection is lost.
            name=f"{WORKER_PREFIX}|{label}|{identity}|{connections}",
            nthreads=runner.slots,
            memory_limit=0,
            resources={"slots": runner.slots, "memory": runner.memory},
            security=None if options.tls is None else options.tls.security(),
            local_directory=str(runner.folder / "dask"),
            dashboard=False,
            # Without a dashboard there still is an unprotected page with the state of the worker.
            dashboard_address="127.0.0.1:0",
            host=options.host or _own_address(options.address),
            death_timeout=10,
        )
        worker.handlers.update(runner.handlers())
        try:
            await worker
        except Exception as error:  # noqa: BLE001 - any trouble of the network
            log.warning("The scheduler at %s can't be reached: %s", options.address, error)
            with contextlib.suppress(Exception):
                await worker.close(nanny=False)
            await _wait(stopped, RECONNECT_SECONDS)
            continue
        slots = pluralize(runner.slots, "slot")
        announce(f"The worker {label} with {slots} is connected to {options.address}.")
        closing = asyncio.ensure_future(worker.finished())  # type: ignore[no-untyped-call]
        while not (closing.done() or stopped.is_set() or runner.refusal):
            await asyncio.wait(
                [closing, waiting := asyncio.create_task(stopped.wait())],
                timeout=0.5,
                return_when=asyncio.FIRST_COMPLETED,
            )
            waiting.cancel()
        if not closing.done():
            await runner.close()
            await asyncio.sleep(0.3)  # time to notify the services that their tasks have ended
            with contextlib.suppress(Exception):
                await asyncio.wait_for(worker.close(nanny=False), 5)
        elif not stopped.is_set():
            log.warning("The connection to the scheduler at %s was lost.", options.address)
            await _wait(stopped, RECONNECT_SECONDS)


def _own_address(scheduler: str) -> str | None:
    """Return the address to listen on; None for all.

    A worker of a scheduler on the loopback interface listens only there, since the connection may
    be unencrypted.
    """
    host = scheduler.partition("://")[2].rpartition(":")[0]
    return "127.0.0.1" if is_loopback(host) else None


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)

"""The process that serves a sandbox: `python -m labext.sandbox.host DATA_DIR …`.

One for a data folder, which it keeps locked as long as it lives. It serves every service on a
loopback port of its own, runs the supervisor, and writes connection.json once all of them answer.
SIGTERM ends it cleanly: tasks that run are killed and start again next time. It ends by itself once
its folder is deleted or moved.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import logging
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import uvicorn

from labext.errors import ServiceError
from labext.redaction import mask
from labext.sandbox.backup import clean_up
from labext.sandbox.database import Database
from labext.sandbox.disk import is_full
from labext.sandbox.folder import DISK_FULL, LOCKED, Folder, Lock, read_json, secret, write_json
from labext.sandbox.http_timeouts import TimedProtocol
from labext.sandbox.leftovers import adopt_orphans
from labext.sandbox.queue import Base, Queue
from labext.sandbox.service import ADDRESS, Certificate, Options, Service, Site, origin
from labext.sandbox.signing import Signer
from labext.sandbox.startup import Quarantine, check_database, explain, quarantine_orphans
from labext.sandbox.supervisor import Supervisor
from labext.sandbox.web import guarded

SERVICES = (
    "labext.sandbox.lab.app:service",
    "labext.sandbox.jobs.app:service",
    "labext.sandbox.nb.app:service",
)
"""Every service, in the order lab, jobs, nb."""

FIRST_PORTS = range(20_000, 30_000)
"""Where a port is chosen: below those that systems give to outgoing connections, so that it is
still free at the next start."""

FOLDER_CHECK_SECONDS = 1.0
"""How often the host checks that its data folder is still there."""

log = logging.getLogger("labext.sandbox")


class Host:
    """The services of one sandbox, while they are served."""

    def __init__(
        self,
        folder: Folder,
        lock: Lock,
        services: Sequence[str],
        options: Options,
        workers: int | None,
        *,
        adopt_empty: bool = False,
    ) -> None:
        self._folder = folder
        self._lock = lock
        self._services = [_load(name) for name in services]
        self._database = Database.at(folder.database)
        self._queue = Queue()
        self._options = options
        self._quarantine = Quarantine(folder)
        self._adopt_empty = adopt_empty
        self._supervisor = Supervisor(
            self._database,
            self._queue,
            folder.tasks,
            workers=workers,
            preload=[module for service in self._services for module in service.preload],
            adopts=True,
        )

    async def serve(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        with contextlib.ExitStack() as stack:
            watching = asyncio.create_task(self._end_without_folder())
            stack.callback(watching.cancel)
            stack.callback(self._database.close)
            check_database(
                self._database,
                self._folder,
                self._services,
                adopt_into=self._quarantine if self._adopt_empty else None,
            )
            signer = Signer(secret(self._folder.secrets / "signing"))
            taken = {
                door: stack.enter_context(_socket(self._folder, door))
                for service in self._services
                for door in service.doors
            }
            certificates = {service.name: self._certificate(service) for service in self._services}
            sites = {
                service.name: self._site(service, certificates[service.name], taken, signer)
                for service in self._services
            }
            self._set_up(sites)
            stack.callback(self._supervisor.stop)
            self._supervisor.start()
            servers = [
                (_Server(_config(app, certificates[service.name])), taken[door])
                for service in self._services
                for door, app in service.apps(sites[service.name]).items()
            ]
            async with _serving(servers, stopped):
                stack.callback(self._folder.connection.unlink, missing_ok=True)
                self._announce(sites)
                await stopped.wait()
                log.info("The sandbox stops.")
                self._folder.connection.unlink(missing_ok=True)

    async def _end_without_folder(self) -> None:
        """End this process once its data folder is deleted or moved, or is another host's.

        It ends as if it were killed: nothing can be recorded any more, and whatever stands at the
        folder's path now is not this host's. Its fork server ends the tasks.
        """
        while self._lock.is_current():
            await asyncio.sleep(FOLDER_CHECK_SECONDS)
        log.error("The data folder %s is gone: the sandbox ends.", self._folder.path)
        os._exit(1)

    def _certificate(self, service: Service) -> Certificate | None:
        return service.certificate(self._folder.service(service.name), self._folder.secrets)

    def _site(
        self,
        service: Service,
        certificate: Certificate | None,
        taken: dict[str, socket.socket],
        signer: Signer,
    ) -> Site:
        return Site(
            folder=self._folder.service(service.name),
            secrets=self._folder.secrets,
            database=self._database,
            queue=self._queue,
            signer=signer,
            origins={
                door: origin(taken[door].getsockname()[1], certificate) for door in service.doors
            },
            options=self._options,
        )

    def _set_up(self, sites: dict[str, Site]) -> None:
        self._database.create(Base.metadata, *(service.metadata for service in self._services))
        for service in self._services:
            for kind in service.kinds(sites[service.name]):
                self._queue.add(kind)
            service.seed(sites[service.name])
            quarantine_orphans(service, sites[service.name], self._folder, self._quarantine)
        if notice := self._quarantine.notice:
            log.warning(notice)
            write_json(self._folder.state, read_json(self._folder.state) | {"notices": [notice]})

    def _announce(self, sites: dict[str, Site]) -> None:
        connection: dict[str, Any] = {
            service.name: dict(service.connection(sites[service.name]))
            for service in self._services
        }
        connection |= {"data_dir": str(self._folder.path), "pid": os.getpid()}
        write_json(self._folder.connection, connection)
        log.info("The sandbox answers at %s.", ", ".join(site.origin for site in sites.values()))


class _Server(uvicorn.Server):
    """A server that leaves the signals to the host, which has several."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def _serving(
    servers: Sequence[tuple[_Server, socket.socket]], stopped: asyncio.Event
) -> AsyncIterator[None]:
    """Serve while the block runs; enter it once all answer."""
    tasks = [asyncio.create_task(server.serve(sockets=[taken])) for server, taken in servers]
    for task in tasks:
        task.add_done_callback(lambda _task: stopped.set())
    try:
        while not all(server.started for server, _ in servers):
            if any(task.done() for task in tasks):
                raise RuntimeError("A service did not start.")
            await asyncio.sleep(0.005)
        yield
    finally:
        for server, _ in servers:
            server.should_exit = True
        await asyncio.gather(*tasks)


def _config(app: Any, certificate: Certificate | None) -> uvicorn.Config:
    # No access log: presigned addresses are as good as keys.
    return uvicorn.Config(
        guarded(app),
        http=TimedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        # Whoever asks is who is connected: else everybody here could write its own address.
        proxy_headers=False,
        timeout_graceful_shutdown=2,
        # Longer than a watcher's longest interval, so that it keeps its connection.
        timeout_keep_alive=75,
        ssl_certfile=None if certificate is None else certificate.chain,
        ssl_keyfile=None if certificate is None else certificate.key,
    )


def _socket(folder: Folder, name: str) -> socket.socket:
    """A listening socket on the service's port of last time; on another only if that is taken."""
    ports = read_json(folder.ports)
    cause = OSError()
    choices = [ports.get(name), *(secrets.choice(FIRST_PORTS) for _ in range(20)), 0]
    for port in choices:
        if type(port) is not int or not 0 <= port < 65536:
            continue
        # asyncio switches Nagle's delay (40 ms an answer) off only where the protocol is named.
        taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((ADDRESS, port))
            taken.listen(2048)
        except OSError as error:
            cause = error
            taken.close()
            continue
        write_json(folder.ports, ports | {name: taken.getsockname()[1]})
        return taken
    raise ServiceError(f"No port can be opened on {ADDRESS}: {cause.strerror}.")


def _load(name: str) -> Service:
    module, _, attribute = name.partition(":")
    service: Service = getattr(importlib.import_module(module), attribute)
    return service


class _MaskedFormatter(logging.Formatter):
    """Masks the whole text, the traceback too."""

    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record))


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_MaskedFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="labext.sandbox.host", description=__doc__)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--rate", choices=["named", "off"], default="named")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--sequences", type=int)
    parser.add_argument("--adopt-empty", action="store_true")
    parser.add_argument("--service", action="append", help="module:name, instead of all services")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the sandbox in the folder that is named; return the exit code."""
    options = _arguments(arguments)
    os.umask(0o077)
    _log_to_stderr()
    folder = Folder(options.data_dir)
    lock = Lock(folder.lock_file)
    try:
        folder.prepare()
        # Somebody who checks whether the lock is held takes it for a moment: wait that moment.
        if not lock.acquire(seconds=1.0):
            return LOCKED
        _serve(folder, lock, options)
    except Exception as error:
        log.exception("The sandbox could not be served.")
        return _report(error, folder)
    finally:
        lock.release()
    return 0


def _serve(folder: Folder, lock: Lock, options: argparse.Namespace) -> None:
    adopt_orphans()
    clean_up(folder)
    folder.connection.unlink(missing_ok=True)
    asked = Options(rate=options.rate, sequences=options.sequences)
    state = {**asdict(asked), "workers": options.workers, "started": time.time()}
    write_json(folder.state, state)
    host = Host(
        folder,
        lock,
        options.service or SERVICES,
        asked,
        options.workers,
        adopt_empty=options.adopt_empty,
    )
    asyncio.run(host.serve())


def _report(error: Exception, folder: Folder) -> int:
    """Leave the cause of a failure to whoever started this host; return the exit code."""
    cause = explain(error, folder)
    failure = {"pid": os.getpid(), "what": cause.what, "next_step": cause.next_step}
    with contextlib.suppress(OSError):  # the disk is full: the exit code says so
        write_json(folder.state, {"failure": failure})
    if not is_full(error):
        return 1
    # What the log cannot take would fail again at the interpreter's exit, and change its code.
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), sys.stderr.fileno())
    return DISK_FULL


if __name__ == "__main__":
    sys.exit(main())

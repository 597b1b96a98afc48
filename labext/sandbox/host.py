"""Serve all services of a sandbox from a single process."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import pkgutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from labext.actions import PYTHON_STYLE, Style, python_call, shell_option, use_style
from labext.errors import LabextError, SetupError
from labext.sandbox.core.data_folder import (
    DATABASE_VARIABLE,
    EXIT_CUT_OFF,
    EXIT_DISK_FULL,
    EXIT_LOCKED,
    FOLDER_VARIABLE,
    KIND_VARIABLE,
    DataFolder,
    FileLock,
    read_json,
    write_json,
)
from labext.sandbox.core.database import CoreBase, Database, is_disk_full
from labext.sandbox.core.executors.cluster.dask_executor import DaskExecutor
from labext.sandbox.core.executors.cluster.setup import Cluster, open_cluster
from labext.sandbox.core.executors.leftover_tasks import CLAIMANT_PREFIX
from labext.sandbox.core.executors.supervisor import Supervisor
from labext.sandbox.core.executors.task_process import adopt_orphans
from labext.sandbox.core.executors.worker_states import WorkersFile
from labext.sandbox.core.file_storage.objects import StorageSettings
from labext.sandbox.core.file_storage.setup import FileStorageSetup, stored_settings
from labext.sandbox.core.monitoring.health import Monitoring, prepare_metrics
from labext.sandbox.core.monitoring.request_log import start_logging
from labext.sandbox.core.postgresql import DatabaseLock, UnreachableDatabaseError
from labext.sandbox.core.queue import Queue, QueueNotifications
from labext.sandbox.core.restore import clean_up
from labext.sandbox.core.server_settings import (
    ServerSettings,
    listening_socket,
    load_certificate,
    loopback_socket,
)
from labext.sandbox.core.service_protocol import Certificate, Options, Service, Site, create_site
from labext.sandbox.core.startup_checks import (
    Quarantine,
    check_database,
    check_files,
    check_no_sample_accounts,
    exclusive_database,
    explain_failure,
    quarantine_orphans,
)
from labext.sandbox.core.web import ALLOWED_HOSTS, guard_app
from labext.sandbox.http_servers import HttpServer, run_servers, server_config
from labext.sandbox.service_processes import ServiceProcesses

SERVICES = (
    "labext.sandbox.lab.app:service",
    "labext.sandbox.jobs.app:service",
    "labext.sandbox.nb.app:service",
)
"""Every service, in the order lab, jobs, nb."""

DATA_FOLDER_CHECK_SECONDS = 1.0
"""How often the host checks that its data folder is still there."""

DISPATCHER = 0
"""The service process that hands tasks to the workers of a cluster."""

log = logging.getLogger("labext.sandbox")


class Host:
    """Serve the services of a sandbox."""

    def __init__(
        self,
        folder: DataFolder,
        lock: FileLock,
        services: Sequence[str],
        options: Options,
        workers: int | None,
        *,
        adopt_empty: bool = False,
        remote: DaskExecutor | None = None,
        cluster: Cluster | None = None,
        process: int | None = None,
        slots: int | None = None,
        storage: StorageSettings | None = None,
    ) -> None:
        self._folder = folder
        self._process = process
        self._cluster = cluster
        self._lock = lock
        self._services = [pkgutil.resolve_name(name) for name in services]
        self._database = Database(folder.database_url)
        self._queue = Queue()
        self._storage = FileStorageSetup(folder, self._database, storage)
        self._options = options
        self._server = ServerSettings.load(folder)
        self._quarantine = Quarantine(folder)
        self._adopt_empty = adopt_empty
        claimant = "" if process is None else f"{CLAIMANT_PREFIX}{process}"
        self._parent = None if process is None else os.getppid()
        self._supervisor = Supervisor(
            self._database,
            self._queue,
            folder.tasks / claimant if claimant else folder.tasks,
            claimant=claimant,
            workers=workers,
            slots=slots,
            preload=[module for service in self._services for module in service.preload],
            adopts=True,
            remote=remote,
            workers_file=None if cluster is None else WorkersFile(folder.workers),
        )
        self._database_lock: DatabaseLock | None = None

    def prepare(self, stack: contextlib.ExitStack) -> dict[str, socket.socket]:
        """Check and set up the data, once for all service processes; return the open sockets."""
        adopt_into = self._quarantine if self._adopt_empty else None
        check_database(self._database, self._folder, self._services, adopt_into=adopt_into)
        self._database_lock = stack.enter_context(exclusive_database(self._folder))
        sockets = {
            endpoint: stack.enter_context(self._listening_socket(endpoint))
            for service in self._services
            for endpoint in self._endpoints(service)
        }
        sites = self._create_sites(sockets)
        self._set_up(sites)
        self._folder.keep_database()
        return sockets

    def announce(self, sockets: Mapping[str, socket.socket]) -> None:
        """Write the addresses and keys of the services for their clients."""
        self._announce(self._create_sites(sockets))

    async def serve(
        self,
        sockets: Mapping[str, socket.socket] | None = None,
        on_ready: Callable[[], None] | None = None,
    ) -> None:
        """Serve until SIGTERM or SIGINT; the second one ends the process at once.

        Args:
            sockets: those that `prepare` has opened in the parent of several service processes.
            on_ready: called once the services respond; by default they are announced.
        """
        stopped = asyncio.Event()

        def stop() -> None:
            if stopped.is_set() and self._process is not None:
                return  # of several: a terminal and systemd signal them too; their parent kills
            if stopped.is_set():
                log.warning("Stopped immediately: running requests are cut off.")
                os._exit(EXIT_CUT_OFF)
            stopped.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        with contextlib.ExitStack() as stack:
            watching = asyncio.create_task(self._end_without_folder())
            stack.callback(watching.cancel)
            stack.callback(self.close)
            if sockets is None:
                sockets = self.prepare(stack)
            sites = self._create_sites(sockets)
            self._add_kinds(sites)
            certificates = {service.name: self._certificate(service) for service in self._services}
            if self._database.is_postgresql:
                notifications = QueueNotifications(self._database.url, self._queue)
                stack.callback(notifications.stop)
                notifications.start()
            stack.callback(self._storage.stop)
            self._storage.start()
            stack.callback(self._supervisor.stop)
            self._supervisor.start()
            monitoring = Monitoring(
                self._folder,
                self._server,
                self._database,
                self._queue,
                self._supervisor,
                self._process,
                self._storage.problem,
            )
            hosts = ALLOWED_HOSTS if self._server is None else self._server.hosts
            servers: list[tuple[HttpServer, socket.socket]] = []
            for service in self._services:
                for endpoint, app in service.apps(sites[service.name]).items():
                    app = monitoring.wrap(guard_app(app, hosts=hosts), service.name)
                    config = server_config(app, certificates[service.name], self._server)
                    servers.append((HttpServer(config), sockets[endpoint]))
            asyncio.get_running_loop().add_signal_handler(
                signal.SIGHUP, self._reload_certificate, servers
            )
            async with run_servers(servers, stopped):
                _enable_garbage_collection()
                if on_ready is None:
                    stack.callback(self._folder.connection.unlink, missing_ok=True)
                    self._announce(sites)
                else:
                    on_ready()
                await stopped.wait()
                if on_ready is None:
                    log.info("The services stop.")
                    self._folder.connection.unlink(missing_ok=True)

    def _create_sites(self, sockets: Mapping[str, socket.socket]) -> dict[str, Site]:
        ports = {name: listener.getsockname()[1] for name, listener in sockets.items()}
        data = (self._folder, self._database, self._queue, self._storage, self._options)
        return {
            service.name: create_site(service, *data, ports, self._supervisor)
            for service in self._services
        }

    def close(self) -> None:
        """Close the connections, at the end and before service processes are forked."""
        self._database.close()
        self._storage.close_connections()

    def is_current(self) -> bool:
        """Return whether the data folder and the database still belong to this host.

        Its scheduler is started again if it was killed.
        """
        if self._cluster is not None and self._process is None:
            self._cluster.keep_scheduler()
        if not self._lock.is_current():
            log.error("The data folder %s does not exist any more.", self._folder.path)
            return False
        return self._database_lock is None or self._database_lock.is_held()

    async def _end_without_folder(self) -> None:
        """Exit once the data folder or the database is gone or owned by another host.

        There is no cleanup, since a new folder at this path belongs to another host. The fork
        server ends the tasks.
        """
        await asyncio.sleep(DATA_FOLDER_CHECK_SECONDS)
        while self._parent in (None, os.getppid()) and await asyncio.to_thread(self.is_current):
            await asyncio.sleep(DATA_FOLDER_CHECK_SECONDS)
        log.error("The services end.")
        os._exit(1)

    def _endpoints(self, service: Service) -> Sequence[str]:
        return (
            service.endpoints if self._server is None else self._server.endpoints(service.endpoints)
        )

    def _listening_socket(self, endpoint: str) -> socket.socket:
        if self._server is None:
            return loopback_socket(self._folder, endpoint)
        return listening_socket(self._server.listen, self._server.port_of(endpoint))

    def _reload_certificate(self, servers: Sequence[tuple[HttpServer, socket.socket]]) -> None:
        """Use a renewed certificate for new connections; keep the old one if it can't be used."""
        if self._server is None or self._server.tls_cert is None or self._server.tls_key is None:
            return
        try:
            self._server.check()
            for server, _ in servers:
                assert server.config.ssl is not None
                chain, key = Path(self._server.tls_cert), Path(self._server.tls_key)
                load_certificate(server.config.ssl, chain, key)
        except LabextError as error:
            log.error("The certificate is not reloaded. %s", error)
        else:
            log.info("The certificate is reloaded.")

    def _certificate(self, service: Service) -> Certificate | None:
        if self._server is not None:
            chain, key = self._server.tls_cert, self._server.tls_key
            return Certificate(Path(chain), Path(key)) if chain and key else None
        return service.certificate(self._folder.service(service.name), self._folder.secrets)

    def _add_kinds(self, sites: Mapping[str, Site]) -> None:
        for service in self._services:
            for kind in service.kinds(sites[service.name]):
                if kind.name not in self._queue.kinds:
                    self._queue.add(kind)

    def _set_up(self, sites: dict[str, Site]) -> None:
        self._database.create(CoreBase.metadata, *(service.metadata for service in self._services))
        self._add_kinds(sites)
        if self._server is not None:
            check_no_sample_accounts(self._services, sites, self._folder)
        folders = {service.name: [*service.data_folders] for service in self._services}
        notices = [self._storage.check(folders)]
        if not self._adopt_empty:
            check_files(self._services, sites, self._folder)
        for service in self._services:
            service.seed(sites[service.name])
            quarantine_orphans(service, sites[service.name], self._folder, self._quarantine)
        notices = [text for text in (*notices, self._quarantine.notice) if text]
        for notice in notices:
            log.warning(notice)
        if notices:
            write_json(self._folder.state, read_json(self._folder.state) | {"notices": notices})

    def _announce(self, sites: dict[str, Site]) -> None:
        connection: dict[str, Any] = {
            service.name: dict(service.connection(sites[service.name]))
            for service in self._services
        }
        if self._server is not None and self._server.ca_bundle is not None:
            for entry in connection.values():
                entry["ca_bundle"] = self._server.ca_bundle
        if self._cluster is not None:
            connection["worker_command"] = command = self._cluster.worker_command
            log.info("Workers connect with `%s`.", command)
        connection |= {"data_dir": str(self._folder.path), "pid": os.getpid()}
        write_json(self._folder.connection, connection)
        origins = ", ".join(site.origin for site in sites.values())
        log.info("The services answer at %s.", origins)


def _parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="labext.sandbox.host", description=__doc__)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--rate", choices=["named", "off"], default="named")
    numbers = "workers sequences storage-cache max-running-per-account max-queued-per-account"
    for name in numbers.split():
        parser.add_argument(f"--{name}", type=int)
    for name in ("storage", "storage-endpoint", "executor"):
        parser.add_argument(f"--{name}")
    for name in ("adopt-empty", "allow-plaintext"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--certificates", type=Path)
    parser.add_argument("--service", action="append", help="module:name, instead of all services")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the sandbox in the given folder; return the exit code."""
    options = _parse_arguments(arguments)
    gc.disable()  # until the services respond: nearly everything that is loaded stays in use
    os.umask(0o077)
    folder = DataFolder(options.data_dir)
    requested_database = os.environ.pop(DATABASE_VARIABLE, None)
    start_logging(ServerSettings.load(folder))
    lock = FileLock(folder.lock_file)
    # A server is started by its command only.
    style = Style(python_call, shell_option) if folder.is_server() else PYTHON_STYLE
    try:
        folder.prepare()
        # A process that checks whether the lock is held acquires it for a moment.
        if not lock.acquire(seconds=1.0):
            log.error(
                "Another process runs or restores the %s in %s; see `%s`.",
                *(folder.kind, folder.path, folder.command("status")),
            )
            return EXIT_LOCKED
        if requested_database is not None:
            folder.request_database(requested_database)
        with use_style(style):
            _serve_folder(folder, lock, options)
    except Exception as error:
        cause = explain_failure(error, folder)
        if folder.is_server():
            expected = isinstance(error, LabextError) or isinstance(cause, UnreachableDatabaseError)
            log.error("The server does not start. %s", cause, exc_info=not expected)
        else:
            log.exception("The sandbox could not be served.")
        return _report_failure(error, folder)
    finally:
        lock.release()
    return 0


def _serve_folder(folder: DataFolder, lock: FileLock, options: argparse.Namespace) -> None:
    if options.processes > 1 and not folder.uses_postgresql:
        raise SetupError(
            "Several service processes need a PostgreSQL database.",
            "Start one process, or choose a PostgreSQL database for a new data folder.",
        )
    adopt_orphans()
    clean_up(folder)
    folder.connection.unlink(missing_ok=True)
    service_options = Options(
        rate=options.rate,
        sequences=options.sequences,
        max_running_per_account=options.max_running_per_account,
        max_queued_per_account=options.max_queued_per_account,
    )
    os.environ[KIND_VARIABLE] = "server" if folder.is_server() else "sandbox"
    needs_option = not (folder.is_server() or folder.is_default)
    os.environ[FOLDER_VARIABLE] = str(folder.path) if needs_option else ""
    if folder.is_server():
        prepare_metrics(folder)
    storage = stored_settings(folder)
    if options.storage is not None:
        storage = StorageSettings(options.storage, options.storage_endpoint, options.storage_cache)
        storage.check()
    state = {
        **asdict(service_options),
        "workers": options.workers,
        "started": time.time(),
        "executor": options.executor or "local",
        "processes": options.processes,
        "allow_plaintext": options.allow_plaintext,
        "certificates": None if options.certificates is None else str(options.certificates),
    }
    if storage is not None:
        state |= {
            "storage": storage.url,
            "storage_endpoint": storage.endpoint,
            "storage_cache": storage.cache_bytes,
        }
    write_json(folder.state, state)
    folder.workers.unlink(missing_ok=True)
    cluster = None
    if options.executor not in (None, "local"):
        cluster = open_cluster(
            options.executor, options.certificates, folder, allow_plaintext=options.allow_plaintext
        )
    remote = cluster.connect() if cluster is not None and options.processes == 1 else None
    create_host = partial(
        Host, folder, lock, options.service or SERVICES, service_options, cluster=cluster
    )
    host = create_host(
        options.workers, adopt_empty=options.adopt_empty, remote=remote, storage=storage
    )
    try:
        if options.processes > 1:
            _serve_with_processes(host, create_host, folder, options, cluster)
        else:
            asyncio.run(host.serve())
    finally:
        if remote is not None:
            remote.close()
        if cluster is not None:
            cluster.close()


def _serve_with_processes(
    host: Host,
    create_host: Callable[..., Host],
    folder: DataFolder,
    options: argparse.Namespace,
    cluster: Cluster | None,
) -> None:
    """Serve with processes that share the sockets, the database and the data folder.

    One of them hands tasks to the workers of a cluster. The scheduler beside the services is a
    child of their parent, so that it survives that process.
    """
    workers = options.workers or os.cpu_count() or 1
    # Together as many as are allowed, but each process at least one.
    slots = [max(1, (workers + n) // options.processes) for n in range(options.processes)]

    def serve(number: int, on_ready: Callable[[], None]) -> None:
        adopt_orphans()
        if cluster is not None:
            cluster.leave_to_parent()
        remote = cluster.connect() if cluster is not None and number == DISPATCHER else None
        process = create_host(slots[number], remote=remote, process=number, slots=sum(slots))
        asyncio.run(process.serve(sockets, on_ready))

    with contextlib.ExitStack() as stack:
        sockets = host.prepare(stack)
        host.close()
        stack.callback(folder.connection.unlink, missing_ok=True)

        def announce() -> None:
            _enable_garbage_collection()
            host.announce(sockets)
            host.close()  # a process that is forked later must not inherit a connection

        processes = ServiceProcesses(options.processes, serve, host.is_current)
        processes.run(announce)
        log.info("The services stop.")
        folder.connection.unlink(missing_ok=True)


def _enable_garbage_collection() -> None:
    """Collect garbage from now on, but not among the objects that exist already."""
    gc.freeze()
    gc.enable()


def _report_failure(error: Exception, folder: DataFolder) -> int:
    """Store the cause of a failure for the process that started this host; return the exit code."""
    cause = explain_failure(error, folder)
    failure = {"pid": os.getpid(), "message": cause.message, "next_step": cause.next_step}
    with contextlib.suppress(OSError):  # the disk is full: the exit code reports it
        write_json(folder.state, {"failure": failure})
    if not is_disk_full(error):
        return 1
    # Flushing the log to a full disk would fail at exit and change the exit code.
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), sys.stderr.fileno())
    return EXIT_DISK_FULL


if __name__ == "__main__":
    sys.exit(main())

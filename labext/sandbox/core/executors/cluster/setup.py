"""The cluster of a service."""

from __future__ import annotations

import shlex
import socket
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from labext.errors import SetupError
from labext.extras import install_line
from labext.sandbox.core.data_folder import DataFolder, ensure_secret, read_json, write_json
from labext.sandbox.core.executors.cluster.address import (
    DEFAULT_PORT,
    TlsFiles,
    check_connection,
    is_loopback,
    scheduler_address,
)
from labext.sandbox.core.executors.cluster.dask_executor import DaskExecutor
from labext.sandbox.core.executors.cluster.scheduler_process import SchedulerProcess
from labext.sandbox.core.server_settings import ServerSettings

OWN_SCHEDULER = "dask"
"""The address that selects a scheduler started together with the service."""

SCHEDULER_START_SECONDS = 30.0

PREVIOUS_PORT_SECONDS = 10.0


@dataclass(frozen=True)
class Cluster:
    """A scheduler that can be reached.

    Attributes:
        address: its address for this machine.
        tls: the certificates; None for a plain connection.
        service: identifies the service to the workers, also after a restart.
        host: the name of this machine for the workers.
        scheduler: its process, if this service has started it.
    """

    address: str
    tls: TlsFiles | None
    service: str
    host: str
    scheduler: SchedulerProcess | None = None

    @property
    def worker_command(self) -> str:
        """The command that connects a worker on another machine, or on this one."""
        scheme, _, place = self.address.partition("://")
        host, _, port = place.rpartition(":")
        is_here = self.tls is not None and place.startswith("127.")
        address = f"{scheme}://{self.host}:{port}" if is_here else self.address
        command = ["labext", "worker", "--connect", address]
        if self.tls is not None:
            command += ["--tls-ca-file", "ca.pem", "--tls-cert", "worker.pem"]
            command += ["--tls-key", "worker.key"]
        elif not is_loopback(host):
            command.append("--allow-plaintext")
        return shlex.join(command)

    def connect(self) -> DaskExecutor:
        """Return an executor; only one may exist at a time among all processes of the service."""
        return DaskExecutor(self.address, self.tls, self.service)

    def keep_scheduler(self) -> None:
        """Restart the service's own scheduler if it was killed."""
        if self.scheduler is not None:
            self.scheduler.ensure()

    def leave_to_parent(self) -> None:
        """In a forked process: let the service's own scheduler end with the parent only."""
        if self.scheduler is not None:
            self.scheduler.leave_to_parent()

    def close(self) -> None:
        """End the service's own scheduler."""
        if self.scheduler is not None:
            self.scheduler.close()


def open_cluster(
    address: str, certificates: Path | None, folder: DataFolder, *, allow_plaintext: bool = False
) -> Cluster:
    """Check that the scheduler at an address can be reached; with `dask` start one.

    Args:
        address: `dask`, or the address of a running scheduler.
        certificates: a folder with `ca.pem`, `server.pem` and `server.key`.
        folder: the data folder of the service.
        allow_plaintext: whether the connection to another machine may be unencrypted.

    Raises:
        SetupError: a package is missing, the address or the certificates are wrong, or the
            scheduler can't be reached.
    """
    if find_spec("distributed") is None:
        raise SetupError(
            "Workers on other machines need the package distributed.",
            f"Run `{install_line('cluster')}`.",
        )
    tls = None if certificates is None else certificates_in(certificates)
    service = ensure_secret(folder.secrets / "cluster")
    server = ServerSettings.load(folder)
    host = socket.getfqdn() if server is None else server.host
    if address != OWN_SCHEDULER:
        address = scheduler_address(address, tls, allow_plaintext=allow_plaintext)
        check_connection(address, tls)
        return Cluster(address, tls, service, host)
    scheduler = SchedulerProcess(choose_port(folder), tls)
    try:
        _start(scheduler, tls)
    except SetupError:
        scheduler.close()
        raise
    return Cluster(scheduler.address, tls, service, host, scheduler)


def certificates_in(folder: Path) -> TlsFiles:
    """Return the certificates of a server in a folder.

    Raises:
        SetupError: one is missing or can't be used.
    """
    files = TlsFiles(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    files.context()
    return files


def choose_port(folder: DataFolder) -> int:
    """Return the previous port of the scheduler, the usual one, or a free one.

    The previous one, to which its workers connect, may be in use for a moment after a crash.
    """
    ports = read_json(folder.ports)
    previous = ports.get("scheduler")
    until = time.monotonic() + PREVIOUS_PORT_SECONDS
    while isinstance(previous, int) and _free_port(previous) is None and time.monotonic() < until:
        time.sleep(0.1)
    for port in (previous, DEFAULT_PORT, 0):
        number = _free_port(port) if isinstance(port, int) else None
        if number is not None:
            write_json(folder.ports, ports | {"scheduler": number})
            return number
    raise SetupError("No port is free for the scheduler.", "End other programs.")


def _free_port(port: int) -> int | None:
    """Return a port if it is free, for 0 any free one; else None."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("", port))
        except OSError:
            return None
        return int(listener.getsockname()[1])


def _start(scheduler: SchedulerProcess, tls: TlsFiles | None) -> None:
    until = time.monotonic() + SCHEDULER_START_SECONDS
    while True:
        scheduler.ensure()
        try:
            check_connection(scheduler.address, tls)
        except SetupError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return

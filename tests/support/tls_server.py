"""A server on loopback with a certificate of a private authority."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import requests
import trustme

from labext.jobs import JobsClient
from labext.sandbox.core.server_settings import PORTS
from labext.sandbox.server import Server


@dataclass
class Files:
    """PEM files of a certificate, its key and its authority."""

    tls_cert: Path
    tls_key: Path
    ca_bundle: Path

    def options(self) -> dict[str, str]:
        """Return them as settings of a server."""
        return {name: str(path) for name, path in vars(self).items()}


def issue(
    folder: Path,
    *names: str,
    authority: trustme.CA | None = None,
    valid: tuple[timedelta, timedelta] = (timedelta(days=-1), timedelta(days=30)),
) -> Files:
    """Write a certificate for host names, valid from and until the given times from now."""
    folder.mkdir(exist_ok=True)
    authority = authority or trustme.CA()
    now = datetime.now(UTC)
    leaf = authority.issue_cert(*names, not_before=now + valid[0], not_after=now + valid[1])
    files = Files(folder / "cert.pem", folder / "key.pem", folder / "ca.pem")
    files.tls_cert.write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))
    files.tls_key.write_bytes(leaf.private_key_pem.bytes())
    files.tls_key.chmod(0o600)
    files.ca_bundle.write_bytes(authority.cert_pem.bytes())
    return files


def free_ports(first: int | None = None) -> int:
    """Return the first of several consecutive free ports, as many as a server needs.

    Args:
        first: the lowest port. By default it depends on the process, since other tests look for
            ports, too, and is below the ports of sandboxes and of outgoing connections.
    """
    first = first or 18_100 + os.getpid() % 80 * 20
    for port in range(first, first + 300, PORTS):
        with ExitStack() as stack:
            try:
                for number in range(port, port + PORTS):
                    stack.enter_context(socket.create_server(("127.0.0.1", number)))
            except OSError:
                continue
            return port
    raise OSError("No ports are free.")


def make_server(
    folder: Path,
    database_url: str | None = None,
    processes: int | None = None,
    executor: str | None = None,
    services: Sequence[str] | None = None,
    **values: Any,
) -> Server:
    """Return a server in a folder that is not started yet."""
    files = issue(folder / "tls", "localhost")
    storage = {name: values.pop(name, None) for name in ("storage", "storage_endpoint")}
    server = Server(
        folder / "data",
        workers=2,
        database_url=database_url,
        processes=processes,
        executor=executor,
        services=services,
        **storage,
    )
    settings = {"host": "localhost", "listen": "127.0.0.1", "port": free_ports()}
    server.configure(**(settings | files.options() | values))
    return server


def origin(server: Server, endpoint: str = "jobs") -> str:
    assert server.settings is not None
    return server.settings.origin(endpoint)


def ca(server: Server) -> str:
    assert server.settings is not None
    return str(server.settings.ca_bundle)


def jobs_client(server: Server, key: str) -> JobsClient:
    return JobsClient(f"{origin(server)}/api/", key, verify=ca(server))


def nb_password(server: Server) -> str:
    return (server.data_dir / "secrets" / "nb_password").read_text()


def post_notebook(server: Server, body: Iterable[bytes]) -> requests.Response:
    """Send the parts of a body to the notebook service."""
    headers = {"Authorization": f"Bearer {nb_password(server)}", "Content-Type": "application/json"}
    url = f"{origin(server, 'nb')}/api/notebooks"
    return requests.post(url, data=body, headers=headers, verify=ca(server), timeout=30)

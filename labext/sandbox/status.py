"""The state of a sandbox, and the addresses and credentials of its services."""

from __future__ import annotations

import json
import ssl
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Literal

HEALTH_SECONDS = 10.0
"""Time that an endpoint has to report its health."""


@dataclass(frozen=True)
class SandboxStatus:
    """State of a sandbox.

    Attributes:
        state: `running`, `starting` or `stopped`.
        data_dir: its data folder.
        pid: its process id; None when stopped.
        addresses: the base address of each service, when running.
        rate: `named` or `off`; None when stopped.
        workers: the number of concurrent jobs; None means one per core.
        started: the start time in UTC.
        cluster: the workers on other machines: name, state, slots and busy.
        worker_command: the command that connects a worker; None without a cluster.
        notices: messages for its operator, such as files that were moved at its start.
    """

    state: Literal["running", "starting", "stopped"]
    data_dir: Path
    pid: int | None = None
    addresses: dict[str, str] = field(default_factory=dict)
    rate: str | None = None
    workers: int | None = None
    started: datetime | None = None
    cluster: tuple[dict[str, Any], ...] = ()
    worker_command: str | None = None
    notices: tuple[str, ...] = ()

    @property
    def running(self) -> bool:
        """Whether its services respond."""
        return self.state == "running"


@dataclass(frozen=True)
class LabConnection:
    """Addresses and credentials of the local laboratory platform.

    Attributes:
        base_url: the address of the tenant `campus`.
        ca_bundle: the PEM file of the platform's certificate authority.
        api_key: the key of a student.
        client_id, client_secret: the credentials of an app.
        oidc_configuration_url: the configuration of the identity provider of `campus`.
        oidc_client_id, oidc_user, oidc_secret: the student's credentials there.
        tenants: the address of every tenant by its name.
    """

    base_url: str
    ca_bundle: str
    api_key: str = field(repr=False)
    client_id: str
    client_secret: str = field(repr=False)
    oidc_configuration_url: str
    oidc_client_id: str
    oidc_user: str
    oidc_secret: str = field(repr=False)
    tenants: dict[str, str]


@dataclass(frozen=True)
class JobsConnection:
    """Address and key of the local job service."""

    base_url: str
    api_key: str = field(repr=False)


@dataclass(frozen=True)
class NotebookConnection:
    """Address of the local notebook service, and its password if there is one."""

    base_url: str
    password: str | None = field(default=None, repr=False)


def endpoint_problem(host: str, port: int, *, uses_tls: bool) -> str:
    """Return why an endpoint of this machine cannot work, by its own report; empty if it can."""
    connection: HTTPConnection
    if uses_tls:
        # The certificate is not issued for this address, and nothing secret is exchanged.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = HTTPSConnection(host, port, timeout=HEALTH_SECONDS, context=context)
    else:
        connection = HTTPConnection(host, port, timeout=HEALTH_SECONDS)
    try:
        with closing(connection):
            connection.request("GET", "/health")
            answer = json.load(connection.getresponse())
    except (OSError, HTTPException, ValueError) as error:
        return f"It does not respond: {error}."
    return str(answer.get("reason", "")) if isinstance(answer, dict) else "It is another service."

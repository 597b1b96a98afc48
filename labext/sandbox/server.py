"""Run the services for a network: a group's server."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NoReturn

from labext.actions import parameter
from labext.config import server_dir
from labext.errors import ConflictError, InputError
from labext.sandbox import host_process
from labext.sandbox.core.data_folder import Kind
from labext.sandbox.core.server_settings import PORT_OFFSETS, ServerSettings
from labext.sandbox.lifecycle import Sandbox, check_system
from labext.sandbox.status import SandboxStatus, endpoint_problem

_START_OPTIONS = ("workers", "processes", "executor", "certificates", "allow_plaintext")
"""Options kept for a start without settings; the folder or the database keeps the others."""


class Server(Sandbox):
    """The services for a network, and their data folder.

    The data folder is by default that of the platform; `options` are as those of `Sandbox`.
    """

    kind: Kind = "server"

    _stop_seconds = 25.0

    def __init__(self, data_dir: str | Path | None = None, **options: Any) -> None:
        super().__init__(server_dir() if data_dir is None else data_dir, **options)
        self._settings: ServerSettings | None = None

    @property
    def settings(self) -> ServerSettings | None:
        """The settings of the last start; None if there was none."""
        return ServerSettings.load(self._folder)

    def configure(self, **values: Any) -> ServerSettings:
        """Set the settings of the next start, and return them.

        Without a host name, the others are those of the last start. Nothing is stored unchecked.

        Raises:
            InputError: the host name is missing, or the organization exists with another name.
        """
        former = self.settings
        if "host" not in values:
            if former is None:
                raise InputError(
                    "The server's host name is missing.",
                    f"Give it with {parameter('host', 'lab.example.org')}.",
                )
            values = {**vars(former), **values}
            requested = {name: value for name, value in self._options.items() if value is not None}
            self._options |= {**former.start_options, **requested}
        if former is not None and self._folder.has_database:
            name = values.setdefault("organization", former.organization)
            if name != former.organization and self._has_organization():
                raise InputError(
                    f"The first start has created the organization {former.organization}.",
                    f"Leave out {parameter('organization', name)}; "
                    f"`{self.command('jobs organizations add NAME')}` creates another one.",
                )
        self._settings = ServerSettings(**values)
        return self._settings

    def _has_organization(self) -> bool:
        """Return whether a start has created the organization; one that failed may not have."""
        from sqlalchemy import select

        from labext.sandbox.core.startup_checks import open_database
        from labext.sandbox.lab.tables import Seeded

        with open_database(self._folder) as database:
            if Seeded.__tablename__ not in database.table_names():
                return False
            with database.read() as session:
                return session.scalar(select(Seeded.name)) is not None

    def start(self) -> SandboxStatus:
        """Start the server in the background; return once its services respond.

        Raises:
            ConflictError: it is running with other settings.
            InputError, SetupError: the settings are invalid or conflict; the message states the
                reason. Others as `Sandbox.start`.
        """
        self._prepare()
        return super().start()

    def health(self) -> dict[str, str]:
        """Return the reason why each running endpoint cannot work; an empty text if it can.

        The requests are sent to the endpoints on this machine, not to their public addresses.
        """
        settings = self.settings
        if settings is None or not self.status().running:
            return {}
        address = ip_address(settings.listen)
        if address.is_unspecified:
            address = ip_address("127.0.0.1" if address.version == 4 else "::1")
        uses_tls = settings.tls_cert is not None
        return {
            name: endpoint_problem(str(address), settings.port_of(name), uses_tls=uses_tls)
            for name in PORT_OFFSETS
        }

    def run(self) -> NoReturn:
        """Replace this process by the server, so that service managers watch it.

        Raises:
            ConflictError: it is running.
            InputError, SetupError: as `start`.
        """
        self._prepare()
        if self._runs():
            raise ConflictError(
                f"The server in {self.data_dir} is running.",
                f"Stop it with `{self.command('stop')}`.",
            )
        environment = host_process.host_environment(self._requested_folder())
        sys.stdout.flush()
        # Until the services reload their certificate at SIGHUP, it would end the process.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        command = [sys.executable, "-P", "-m", "labext.sandbox.host", str(self.data_dir)]
        os.execve(sys.executable, [*command, *self._arguments()], environment)  # noqa: S606

    def _prepare(self) -> None:
        """Check the settings and store them; nothing is stored if they can't be used."""
        check_system()
        former = self.settings
        settings = self._settings or self.configure()
        settings.check()
        self._check_storage()
        self._folder.check_kind(self.kind)
        if self._runs():
            if settings != former:
                raise ConflictError(
                    f"The server in {self.data_dir} is running with other settings.",
                    f"Stop it first with `{self.command('stop')}`.",
                )
            return
        settings.check_ports()
        self._folder.prepare()
        options = {name: self._options[name] for name in _START_OPTIONS}
        replace(settings, start_options=options).save(self._folder)

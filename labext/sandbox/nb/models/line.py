"""A line to a provider that somebody else may hang up.

Writing an answer takes a model a minute or more. Whoever has asked and gone away is waited for no
longer: hanging up ends the call that runs, and the provider sees its client leave.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection


class HungUp(Exception):
    """Nobody waits for the answer any more."""


class Line:
    """Opens sessions, and ends what they are at when it is hung up, from any thread."""

    def __init__(self) -> None:
        self._connections: list[HTTPConnection] = []
        self._hung_up = False

    def session(self) -> requests.Session:
        """A session whose calls end with the line."""
        self.check()
        session = requests.Session()
        for scheme in ("http://", "https://"):
            session.mount(scheme, _Adapter(self))
        return session

    def hang_up(self) -> None:
        """End what runs, and whatever would come."""
        self._hung_up = True
        for connection in list(self._connections):
            if connection.sock is not None:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)

    def check(self) -> None:
        """See that somebody still waits.

        Raises:
            HungUp: nobody does.
        """
        if self._hung_up:
            raise HungUp

    def opened(self, connection: HTTPConnection) -> None:
        """Know a connection that has just been opened."""
        self._connections.append(connection)
        self.check()


class _Adapter(HTTPAdapter):
    def __init__(self, line: Line) -> None:
        self._line = line
        super().__init__()

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*arguments, **options)
        line, plain = self._line, pool.ConnectionCls

        class Known(plain):  # type: ignore[misc, valid-type]
            def connect(self) -> None:
                super().connect()
                line.opened(self)

        pool.ConnectionCls = Known
        return pool

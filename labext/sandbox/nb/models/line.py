"""A line to a provider that somebody else may hang up.

Writing an answer takes a model a minute or more. Whoever has asked and gone away is waited for no
longer: hanging up ends the call that runs, and the provider sees its client leave.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any, Protocol


class HungUp(Exception):
    """Nobody waits for the answer any more."""


class Connection(Protocol):
    """An open connection; `sock` is None once it is closed."""

    sock: Any


class Line:
    """Ends what goes over it when it is hung up, from any thread."""

    def __init__(self) -> None:
        self._sockets: list[Any] = []
        self._hung_up = False

    def check(self) -> None:
        """See that somebody still waits.

        Raises:
            HungUp: nobody does.
        """
        if self._hung_up:
            raise HungUp

    def opened(self, connection: Connection) -> None:
        """Know a connection that has just been opened.

        It forgets its socket where the answer has no length, and is read to its end all the same.

        Raises:
            HungUp: nobody waits for it.
        """
        self._sockets.append(connection.sock)
        self.check()

    def hang_up(self) -> None:
        """End what runs, and whatever would come."""
        self._hung_up = True
        for sock in list(self._sockets):
            if sock is not None:
                with contextlib.suppress(OSError):
                    # The socket's own, below TLS: another thread is reading there.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)

"""A lock on a PostgreSQL database: one sandbox or server at a time, with all its processes."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.errors import ConflictError
from labext.sandbox.core import postgresql

if TYPE_CHECKING:
    import psycopg

CHECK_SECONDS = 5.0
"""Interval of the checks that the connection with the lock is still there."""

WAIT_SECONDS = 15.0
"""Time that processes of a killed service have to end."""

_KEY = 2
_MAX_NAME = 63  # of an application, in PostgreSQL
_KEEPALIVES: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""Notice within 25 s that the machine of the database is gone."""
_SERVER_KEEPALIVES = (
    "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
)
"""Release the lock within 25 s of a crash of the machine that has it."""

log = logging.getLogger("labext.sandbox")


class DatabaseLock:
    """An advisory lock of a connection of its own, released when this process ends or crashes.

    The `owner` is the data folder, named in the message to others.
    """

    def __init__(self, url: str, owner: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        name = f"{socket.gethostname()}:{owner}"
        self._name = name if len(name) <= _MAX_NAME else f"...{name[3 - _MAX_NAME :]}"
        self._clock = clock
        self._checked = clock()
        self._connection: psycopg.Connection[Any] | None = None

    def acquire(self) -> None:
        """Take the lock; wait a little for the end of a service that was killed.

        Raises:
            ConflictError: another sandbox or server uses the database.
            psycopg.Error: the database cannot be reached.
        """
        until = self._clock() + WAIT_SECONDS
        while not self._try():
            if self._clock() > until:
                owner = self._owner()
                self.release()
                raise ConflictError(
                    f"The database {postgresql.display(self._url)} is in use by {owner}.",
                    "Stop that one first, or choose another database.",
                )
            time.sleep(0.2)

    def is_held(self) -> bool:
        """Return False once another service has the lock; True while the database is away."""
        import psycopg

        if self._clock() < self._checked + CHECK_SECONDS:
            return True
        self._checked = self._clock()
        try:
            if self._connection is not None:
                self._connection.execute("SELECT 1")
                return True
        except psycopg.Error:  # PostgreSQL was restarted: the lock is gone
            self.release()
        try:
            if self._try():
                return True
            log.error("The database is in use by %s.", self._owner())
        except psycopg.Error:
            return True
        return False

    def release(self) -> None:
        """Release the lock."""
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
        self._connection = None

    def _try(self) -> bool:
        import psycopg

        if self._connection is None:
            self._connection = psycopg.connect(
                postgresql.libpq_address(self._url),
                autocommit=True,
                application_name=self._name,
                connect_timeout=5,
                options=_SERVER_KEEPALIVES,
                **_KEEPALIVES,
            )
        query = "SELECT pg_try_advisory_lock(%s, %s)"
        row = self._connection.execute(query, (postgresql.LOCK_CLASS, _KEY)).fetchone()
        return bool(row and row[0])

    def _owner(self) -> str:
        """Return the data folder of the service that has the lock."""
        assert self._connection is not None
        row = self._connection.execute(
            "SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid) "
            "WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND granted",
            (postgresql.LOCK_CLASS, _KEY),
        ).fetchone()
        return str(row[0]) if row and row[0] else "another service"

"""Whether a write failed for want of room: a reason to try again later, and nobody's fault."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import OperationalError

from labext import storage

_POSTGRESQL_DISK_FULL = "53100"


def is_full(error: BaseException) -> bool:
    """Whether it is the error of a file, or of the database, that finds no room."""
    if isinstance(error, OperationalError):
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
        return (
            # SQLite tells every other reason for a write that fails as an error of the disk.
            code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
            or getattr(error.orig, "sqlstate", None) == _POSTGRESQL_DISK_FULL
        )
    return isinstance(error, OSError) and storage.is_full(error)

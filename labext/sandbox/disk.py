"""Classify errors of the disk and of the database."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, OperationalError

from labext import storage

_POSTGRESQL_DISK_FULL = "53100"


def is_full(error: BaseException) -> bool:
    """Return whether a file or the database could not be written for want of room."""
    if isinstance(error, OperationalError):
        return (
            # SQLite tells every other reason for a write that fails as an error of the disk.
            _sqlite_code(error) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
            or getattr(error.orig, "sqlstate", None) == _POSTGRESQL_DISK_FULL
        )
    return isinstance(error, OSError) and storage.is_full(error)


def is_corrupt(error: BaseException) -> bool:
    """Return whether a SQLite database is damaged, or is no database."""
    return _sqlite_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _sqlite_code(error: BaseException) -> int:
    """Return the primary result code of an SQLite error; 0 if it is none."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return int(getattr(cause, "sqlite_errorcode", 0)) & 0xFF

"""PostgreSQL: its engine, the locks that replace those of SQLite, and its errors."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from sqlalchemy import Engine, create_engine, event, func, select
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.orm import Session

from labext.errors import ConflictError, InputError, LabextError, SetupError, StorageError
from labext.extras import install_line
from labext.messages import end_sentence
from labext.redaction import register_secret

if TYPE_CHECKING:
    import psycopg


log = logging.getLogger("labext.sandbox")

DRIVER = "postgresql+psycopg"

LOCK_SECONDS = 30
"""Seconds that a transaction waits for the write lock or for a row."""

_IDLE_SECONDS = 120
"""Seconds after which a transaction of a process that has been stopped is ended."""

KEEPALIVES: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""Detect within 25 s that the machine of the database is unreachable."""

SERVER_KEEPALIVES = {
    "tcp_keepalives_idle": 10,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""End a connection, and release its locks, within 25 s of a crash of the machine that has it."""

LOCK_CLASS = 0x6C616265
"""First half of the keys of advisory locks, which other applications could also use."""

_WRITE_LOCK, _OWNER_LOCK = 1, 2
"""Second half of the keys: of the writing transaction, and of the service that owns the data."""

DISK_FULL = "53100"
_BUSY = {"40001", "40P01", "55P03"}
"""Serialization failure, deadlock, and a lock that was not released in time."""
_NO_CONNECTION = ("08", "57P", "53300", "28", "3D000")
"""Connection lost, server stops or starts, too many connections, refused, no such database."""


def parse_url(text: str) -> URL:
    """Return the address of a PostgreSQL database, with psycopg as its driver.

    A password in the query becomes that of the user.

    Raises:
        InputError: the address is not that of a PostgreSQL database.
    """
    example = f"{DRIVER}://USER:PASSWORD@HOST/NAME"
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # may contain the password
        message = "The address of the database cannot be parsed."
        raise InputError(message, f"Use {example}.") from None
    if url.drivername not in ("postgresql", DRIVER):
        raise InputError(
            f"Databases of the kind {url.drivername} are not supported.",
            f"Use a PostgreSQL database: {example}.",
        )
    if passwords := url.normalized_query.get("password"):
        url = url.set(password=passwords[-1]).difference_update_query(["password"])
    for secret in (url.password, *url.normalized_query.get("sslpassword", ())):
        register_secret(None if secret is None else str(secret))
    return url.set(drivername=DRIVER)


def make_engine(text: str) -> Engine:
    """Return an engine for a PostgreSQL database; it connects at the first use.

    Raises:
        InputError: the address is not that of a PostgreSQL database.
        SetupError: the driver is not installed.
    """
    url = parse_url(text)
    options = SERVER_KEEPALIVES | {
        "timezone": "UTC",
        "lock_timeout": f"{LOCK_SECONDS}s",
        "idle_in_transaction_session_timeout": f"{_IDLE_SECONDS}s",
    }
    try:
        engine = create_engine(
            url,
            pool_pre_ping=True,
            pool_size=5,
            max_overflow=25,
            connect_args={
                "application_name": "labext",
                "client_encoding": "utf8",
                "connect_timeout": 10,
                **KEEPALIVES,
            },
        )
    except ImportError as error:
        raise SetupError(
            "PostgreSQL databases need the package psycopg, which is not installed.",
            f"Run `{install_line('postgresql')}`.",
        ) from error
    event.listen(engine, "connect", lambda connection, _record: _configure(connection, options))
    event.listen(engine, "begin", _begin_transaction)
    return engine


def _configure(connection: psycopg.Connection[Any], settings: Mapping[str, object]) -> None:
    """Apply settings to a new connection; PgBouncer would refuse them as start-up options."""
    former, connection.autocommit = connection.autocommit, True
    columns = ", ".join(["set_config(%s, %s, false)"] * len(settings))
    values = [str(text) for setting in settings.items() for text in setting]
    connection.execute(f"SELECT {columns}", values)
    connection.autocommit = former


def _begin_transaction(connection: Connection) -> None:
    options = connection.get_execution_options()
    durable, exclusive = options.get("labext_durable"), options.get("labext_exclusive")
    if durable is None:
        return
    columns = [] if durable else ["set_config('synchronous_commit', 'off', true)"]
    if exclusive:
        # READ COMMITTED: every statement after this one sees what the last owner has committed.
        columns.append(f"pg_advisory_xact_lock({LOCK_CLASS}, {_WRITE_LOCK})")
    if columns:
        connection.exec_driver_sql(f"SELECT {', '.join(columns)}")


def check_encoding(engine: Engine) -> None:
    """Check that a database can store every text.

    Raises:
        SetupError: it has another encoding than UTF8, such as that of a cluster without a locale.
    """
    with engine.connect() as connection:
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise SetupError(
            f"The database {engine.url.database} has the encoding {encoding}, not UTF8.",
            "Use one of `CREATE DATABASE … ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0`.",
        )


def is_used_by(session: Session) -> bool:
    """Return whether the database of a session is a PostgreSQL database."""
    return session.get_bind().dialect.name == "postgresql"


def try_lock(session: Session, name: str) -> bool:
    """Take the lock of a name until the end of a transaction; return False if it is held."""
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(LOCK_CLASS, _key(name)))))


def next_ids(session: Session, table: str, count: int) -> list[int] | None:
    """Return new values of the column `id` of a table; None on SQLite.

    Rows with known ids are inserted without `RETURNING`: psycopg then prepares a short statement
    once, and does not parse one with thousands of parameters.
    """
    if not is_used_by(session):
        return None
    sequence = func.pg_get_serial_sequence(table, "id")
    numbers = func.generate_series(1, count).table_valued("number")
    return [*session.scalars(select(func.nextval(sequence)).select_from(numbers))]


def lock(session: Session, name: str) -> None:
    """Wait for the lock of a name, and hold it until the end of a transaction."""
    session.execute(select(func.pg_advisory_xact_lock(LOCK_CLASS, _key(name))))


def _key(name: str) -> int:
    return crc32(name.encode()) & 0x7FFFFFFF | 0x40000000  # none of the numbers above


def sqlstate(error: BaseException) -> str:
    """Return the SQLSTATE of a PostgreSQL error; an empty text for other errors."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return str(getattr(cause, "sqlstate", None) or "")


def is_busy(error: BaseException) -> bool:
    """Return whether a transaction was rolled back because of others, so that it can be retried."""
    return sqlstate(error) in _BUSY


def is_unreachable(error: BaseException) -> bool:
    """Return whether the server of a PostgreSQL database did not accept or lost the connection."""
    if not isinstance(error, DBAPIError) or not hasattr(error.orig, "sqlstate"):
        return False
    if error.connection_invalidated:
        return True
    state = sqlstate(error)
    return isinstance(error, OperationalError) and (not state or state.startswith(_NO_CONNECTION))


def libpq_address(text: str) -> str:
    """Return the address of a database in the form of psycopg."""
    address = parse_url(text).set(drivername="postgresql")
    # SQLAlchemy does not encode the blanks of a password, which libpq refuses.
    return address.render_as_string(hide_password=False).replace(" ", "%20")


def display(text: str) -> str:
    """Return the address of a database with *** for its password."""
    return parse_url(text).difference_update_query(["sslpassword"]).render_as_string()


class UnreachableDatabaseError(StorageError):
    """A database cannot be reached; if the connection was lost, a change may have been made."""


def explain(error: BaseException, text: str) -> LabextError:
    """Return the cause of an error of the database at an address, with its remedy."""
    where = display(text)
    cause = str(error.orig if isinstance(error, DBAPIError) else error).strip()
    # Further lines are hints, or the statement with a mark below.
    reason = end_sentence(cause.splitlines()[0].strip() if cause else type(error).__name__)
    if sqlstate(error) == DISK_FULL:
        return StorageError(
            f"The disk of the database {where} is full.", "Make room there, then start again."
        )
    if is_unreachable(error):
        return UnreachableDatabaseError(
            f"The database {where} cannot be reached: {reason}",
            "Check that PostgreSQL runs, and the address, user and password of the database.",
        )
    return StorageError(
        f"The database {where} cannot be used: {reason}",
        "Check that its user owns the database and may create tables in it.",
    )


CHECK_SECONDS = 5.0
"""Interval of the checks that the connection with the lock is still there."""

WAIT_SECONDS = 15.0
"""Time that processes of a killed service have to end."""

_MAX_NAME = 63  # limit of an application name in PostgreSQL


class DatabaseLock:
    """An advisory lock held by a separate connection, released when this process ends or crashes.

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
                    f"The database {display(self._url)} is in use by {owner}.",
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
            connection = psycopg.connect(
                libpq_address(self._url),
                autocommit=True,
                application_name=self._name,
                connect_timeout=5,
                **KEEPALIVES,
            )
            _configure(connection, SERVER_KEEPALIVES)
            self._connection = connection
        query = "SELECT pg_try_advisory_lock(%s, %s)"
        row = self._connection.execute(query, (LOCK_CLASS, _OWNER_LOCK)).fetchone()
        return bool(row and row[0])

    def _owner(self) -> str:
        """Return the data folder of the service that has the lock."""
        assert self._connection is not None
        row = self._connection.execute(
            "SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid) "
            "WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND granted "
            "AND datname = current_database()",  # pg_locks has the locks of all databases
            (LOCK_CLASS, _OWNER_LOCK),
        ).fetchone()
        return str(row[0]) if row and row[0] else "another service"

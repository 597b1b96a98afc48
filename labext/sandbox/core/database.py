"""Database engine, sessions and error classification for all sandbox services."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    String,
    TableValuedAlias,
    create_engine,
    event,
    func,
    inspect,
    select,
)
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, MappedColumn, Session, mapped_column
from sqlalchemy.sql.functions import GenericFunction

from labext import storage
from labext.errors import SetupError
from labext.sandbox.core import migrations, postgresql

log = logging.getLogger(__name__)

_CORE_TABLES = {
    *("tasks", "rate_windows", "alembic_version"),
    *("stored_files", "unused_objects", "file_storage"),
}
_SERVICE_PREFIXES = ("lab_", "jobs_", "nb_", "test_")

BUSY_SECONDS = 30
"""Seconds that a transaction waits for another process that is writing."""


class CoreBase(DeclarativeBase):
    """Base of the tables that do not belong to a service."""


def cascading_key(column: str, **options: Any) -> MappedColumn[Any]:
    """Return a column that refers to another one; its row is deleted together with that row."""
    return mapped_column(ForeignKey(column, ondelete="CASCADE"), **options)


class Database:
    """An engine and its two kinds of session.

    `with database.read() as session:` sees one consistent state and writes nothing;
    `with database.write() as session:` commits at its end and rolls back on any exception.
    Both may be used from any thread. Objects stay usable after the session has ended.

    Attributes:
        url: `sqlite:///PATH` or `postgresql+psycopg://USER:PASSWORD@HOST/NAME`.
        engine: the engine, for statements outside the two kinds of session.

    Raises:
        SetupError: another kind of database, or its driver is not installed.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _make_engine(url)
        self._reads = self._single_reads = self.engine
        if self.is_postgresql:
            self._single_reads = self.engine.execution_options(isolation_level="AUTOCOMMIT")
            self._reads = self.engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        self._writes = {
            (durable, exclusive): self.engine.execution_options(
                labext_durable=durable, labext_exclusive=exclusive
            )
            for durable in (True, False)
            for exclusive in (True, False)
        }
        self._writers = threading.Lock()
        self._writing = threading.local()

    @property
    def is_postgresql(self) -> bool:
        """Whether it is a PostgreSQL database, which several processes may serve."""
        return self.engine.dialect.name == "postgresql"

    @property
    def is_writing(self) -> bool:
        """Whether this thread is inside a writing transaction."""
        return getattr(self._writing, "inside", False)

    @classmethod
    def at(cls, path: Path) -> Database:
        """Return the SQLite database in a file, which is created if missing."""
        return cls(f"sqlite:///{path}")

    def create(self, *metadata: MetaData) -> None:
        """Create missing tables and indexes, and upgrade those of an older version of labext.

        A SQLite database is copied before an upgrade, to a file beside it.

        Raises:
            SetupError: the database was made by a newer version of labext.
        """
        stored = self.check_version(upgradable=True)
        if stored not in (None, migrations.newest_revision()):
            self._upgrade(stored)
        with self._writes[True, True].begin() as connection:
            for tables in metadata:
                tables.create_all(connection)
            migrations.stamp(connection)

    def check_version(self, *, upgradable: bool = False) -> str | None:
        """Return the revision of the tables; None without tables.

        Raises:
            SetupError: they were created by a newer version of labext, or, unless `upgradable`, by
                an older one.
        """
        with self.engine.connect() as connection:
            stored = migrations.stored_revision(connection)
        newest = migrations.newest_revision()
        if stored in (None, newest) or (upgradable and stored in migrations.revisions()):
            return stored
        name = self.engine.url.render_as_string().removeprefix("sqlite:///")
        raise SetupError(
            f"The database {name} was made by another version of labext: its "
            f"schema version is {stored}, this one needs {newest}.",
            "Use the version of labext that made it, or another data folder.",
        )

    def drop_tables(self) -> None:
        """Drop the tables of the services and of the queue, with their rows."""
        with self._writes[True, True].begin() as connection:
            for name in self.table_names():
                quoted = connection.dialect.identifier_preparer.quote(name)
                connection.exec_driver_sql(f"DROP TABLE {quoted} CASCADE")

    def table_names(self) -> list[str]:
        """Return the tables of the services and of the queue, without those of others."""
        names = inspect(self.engine).get_table_names()
        return [n for n in names if n in _CORE_TABLES or n.startswith(_SERVICE_PREFIXES)]

    def _upgrade(self, stored: str | None) -> None:
        newest = migrations.newest_revision()
        if self.is_postgresql:
            with self._writes[True, True].begin() as connection:
                migrations.upgrade(connection)
        else:
            path = Path(str(self.engine.url.database))
            copy = path.with_name(f"{path.name}.{stored}")
            log.info("The database is upgraded to version %s; a copy is %s.", newest, copy)
            with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
            with self._writes[True, True].connect() as connection:
                # A table is changed by copying and deleting it, which must not cascade. The pragma
                # has no effect in a transaction.
                driver_connection: Any = connection.connection.driver_connection
                driver_connection.execute("PRAGMA foreign_keys=OFF")
                with connection.begin():
                    migrations.upgrade(connection)
                    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
                    if broken is not None:
                        raise RuntimeError(f"The upgrade has lost rows that {broken[0]} refers to.")
                connection.invalidate()

    @contextmanager
    def read(self, *, snapshot: bool = True) -> Iterator[Session]:
        """Open a read-only session.

        With `snapshot`, all statements see the same state. Without it each sees the newest state on
        PostgreSQL, which saves two round trips.
        """
        engine = self._reads if snapshot else self._single_reads
        with Session(engine, expire_on_commit=False, autoflush=False) as session:
            yield session

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Session]:
        """Open a session with the write lock: committed at the end, rolled back on an exception.

        One transaction at a time, of all processes, has the write lock: a condition that it has
        read stays true until it commits. A commit survives a killed process; with `durable` also a
        power failure, at the price of a disk sync. Changes that can be repeated do not need it.

        Raises:
            RuntimeError: this thread is already inside a writing transaction.
        """
        with self._write(self._writes[durable, True], self._writers) as session:
            yield session
        _call_after_commit(session)

    @contextmanager
    def write_concurrently(self) -> Iterator[Session]:
        """Open a session for writing rows that it has locked, or that no condition depends on.

        Without the write lock on PostgreSQL: other transactions may read and write meanwhile, so
        lock rows with `with_for_update`. SQLite has one writer at a time in any case. A commit may
        be lost in a power failure.

        Raises:
            RuntimeError: this thread is already inside a writing transaction.
        """
        if not self.is_postgresql:
            with self.write(durable=False) as session:
                yield session
            return
        with self._write(self._writes[False, False], nullcontext()) as session:
            yield session
        _call_after_commit(session)

    @contextmanager
    def _write(self, engine: Engine, lock: threading.Lock | nullcontext[None]) -> Iterator[Session]:
        if self.is_writing:
            raise RuntimeError("A writing transaction is open in this thread already.")
        with lock:
            self._writing.inside = True
            ended = False
            try:
                with Session(engine, expire_on_commit=False) as session, session.begin():
                    yield session
                    ended = True
                _note_commit(engine)
            except DBAPIError as error:
                if ended and postgresql.is_unreachable(error):
                    _note_commit(engine)  # perhaps: the connection was lost meanwhile
                raise
            finally:
                self._writing.inside = False

    def close(self) -> None:
        """Close every pooled connection."""
        self.engine.dispose()


def count_rows(session: Session, table: type[DeclarativeBase], *where: ColumnElement[bool]) -> int:
    """Return the number of rows that match the conditions."""
    return session.scalar(select(func.count()).select_from(table).where(*where)) or 0


_commits: ContextVar[list[None] | None] = ContextVar("commits", default=None)
"""A list with one entry per durable commit of the current request."""


def track_commits() -> None:
    """Note the durable commits of the current context and of the threads that it starts."""
    _commits.set([])


def may_have_committed() -> bool:
    """Return whether the current request may have committed a durable change."""
    return bool(_commits.get())


def _note_commit(engine: Engine) -> None:
    commits = _commits.get()
    if commits is not None and engine.get_execution_options()["labext_durable"]:
        commits.append(None)


_AFTER_COMMIT = "labext_after_commit"


def after_commit(session: Session, call: Callable[[], None]) -> None:
    """Call a function after `session` has committed and released its write lock.

    Not called after a rollback. SQLAlchemy's own event fires while the lock is held, and also at
    the end of a savepoint.
    """
    session.info.setdefault(_AFTER_COMMIT, []).append(call)


def _call_after_commit(session: Session) -> None:
    for call in session.info.get(_AFTER_COMMIT, ()):
        call()


def _make_engine(url: str) -> Engine:
    if not url.startswith("sqlite"):
        return postgresql.make_engine(url)
    # A connection is just an open file, so requests never wait for a free one.
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, max_overflow=-1)
    event.listen(engine, "connect", _configure_connection)
    event.listen(engine, "begin", _begin_transaction)
    return engine


def _configure_connection(connection: DBAPIConnection, _record: Any) -> None:
    # The driver's own BEGIN comes too late and is never IMMEDIATE: see `_begin_transaction`.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_transaction(connection: Connection) -> None:
    durable = connection.get_execution_options().get("labext_durable")
    if durable is not None:
        connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
    connection.exec_driver_sql("BEGIN" if durable is None else "BEGIN IMMEDIATE")


@event.listens_for(Column, "after_parent_attach")
def _use_types_of_sqlite(column: Column[Any], _table: Any) -> None:
    """Make a column on PostgreSQL behave as on SQLite: 64-bit integers, order by code points."""
    kind = column.type
    with suppress(ArgumentError):  # a copy of an adapted column
        if isinstance(kind, String) and kind.collation is None:
            same = type(kind)(length=kind.length, collation="C")
            column.type = kind.with_variant(same, "postgresql")
        elif type(kind) is Integer:
            column.type = kind.with_variant(BigInteger(), "postgresql")


class _TextValues(GenericFunction[str]):
    """The texts of a JSON array as the column `value` of a table."""

    name = "labext_text_values"
    inherit_cache = True


@compiles(_TextValues, "sqlite")
def _compile_for_sqlite(element: _TextValues, compiler: Any, **options: Any) -> str:
    return f"json_each{compiler.process(element.clause_expr, **options)}"


@compiles(_TextValues, "postgresql")
def _compile_for_postgresql(element: _TextValues, compiler: Any, **options: Any) -> str:
    arguments = compiler.process(element.clauses, **options)
    return f"json_array_elements_text(CAST({arguments} AS json))"


def text_table(values: Collection[str]) -> TableValuedAlias:
    """Return texts as a table with the column `value`.

    Passed as a single parameter: there may be more texts than a statement may have parameters.
    """
    return func.labext_text_values(orjson.dumps(list(values)).decode()).table_valued("value")


def is_disk_full(error: BaseException) -> bool:
    """Return whether a file or the database could not be written because the disk is full."""
    if isinstance(error, (OperationalError, sqlite3.OperationalError)):
        return (
            # SQLite reports every other cause of a failed write as an I/O error.
            _sqlite_code(error) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
            or postgresql.sqlstate(error) == postgresql.DISK_FULL
        )
    return isinstance(error, OSError) and storage.is_full(error)


def is_unavailable(error: BaseException) -> bool:
    """Return whether the database is busy or cannot be reached, so that a retry may succeed."""
    return (
        isinstance(error, PoolTimeoutError)
        or _sqlite_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        or postgresql.is_busy(error)
        or postgresql.is_unreachable(error)
    )


def error_line(error: BaseException) -> str:
    """Return an error of the database in one line, without the statement and its values."""
    lines = str(error.orig if isinstance(error, DBAPIError) else error).split("\n")
    return lines[0].strip() or type(error).__name__


def is_database_corrupt(error: BaseException) -> bool:
    """Return whether a SQLite database is damaged, or the file is not a database."""
    return _sqlite_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _sqlite_code(error: BaseException) -> int:
    """Return the primary result code of an SQLite error; 0 for other errors."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return int(getattr(cause, "sqlite_errorcode", 0)) & 0xFF


def mark_seeded(session: Session, table: type[DeclarativeBase], name: str) -> bool:
    """Record a seed by name; return True if it was not recorded before."""
    if session.get(table, name) is not None:
        return False
    session.add(table(name=name))
    session.flush()
    return True

"""Transactions of concurrent writers, failed transactions, and schema versions."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Column, Integer, MetaData, String, Table, func, insert, select, text, update
from sqlalchemy.exc import InternalError, OperationalError, ProgrammingError

from labext.errors import InputError, SetupError
from labext.redaction import mask
from labext.sandbox.core import postgresql
from labext.sandbox.core.data_folder import DataFolder
from labext.sandbox.core.database import Database, after_commit, text_table
from labext.sandbox.core.startup_checks import exclusive_database

TABLES = MetaData()
COUNTER = Table("counter", TABLES, Column("n", Integer, nullable=False))


@pytest.fixture
def database(each_database: Database) -> Database:
    each_database.create(TABLES)
    with each_database.write() as session:
        session.execute(COUNTER.insert().values(n=0))
    return each_database


def _value(database: Database) -> int:
    with database.read() as session:
        return session.execute(select(COUNTER.c.n)).scalar_one()


def _add(database: Database, times: int) -> None:
    for _ in range(times):
        with database.write() as session:
            value = session.execute(select(COUNTER.c.n)).scalar_one()
            session.execute(update(COUNTER).values(n=value + 1))


def test_no_update_is_lost_among_threads(database):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: _add(database, 10), range(8)))
    assert _value(database) == 80


def test_no_update_is_lost_among_processes(database):
    code = (
        "import sys; from labext.sandbox.core.database import Database\n"
        "from sqlalchemy import text\n"
        "database = Database(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "for _ in range(40):\n"
        "    with database.write() as session:\n"
        "        n = session.execute(text('SELECT n FROM counter')).scalar_one()\n"
        "        session.execute(text('UPDATE counter SET n = :n'), {'n': n + 1})\n"
        "database.close()\n"
    )
    command = [sys.executable, "-c", code, database.url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    _add(database, 40)
    assert process.wait(60) == 0
    process.stdout.close()
    assert _value(database) == 80


def test_reader_has_a_consistent_snapshot_without_waiting(database):
    with database.write() as writer:
        writer.execute(update(COUNTER).values(n=7))
        assert _value(database) == 0
    with database.read() as reader:
        assert reader.execute(select(COUNTER.c.n)).scalar_one() == 7
        _add(database, 1)
        assert reader.execute(select(COUNTER.c.n)).scalar_one() == 7
    assert _value(database) == 8


def test_exception_rolls_back(database):
    def fail() -> None:
        with database.write() as session:
            session.execute(update(COUNTER).values(n=99))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert _value(database) == 0
    _add(database, 1)
    assert _value(database) == 1


def test_nested_write_is_refused(database):
    def nest() -> None:
        with database.write():
            _add(database, 1)

    with pytest.raises(RuntimeError, match="in this thread already"):
        nest()
    _add(database, 1)
    assert _value(database) == 1


@pytest.mark.parametrize("each_database", ["sqlite"], indirect=True)
def test_sqlite_is_durable_and_enforces_foreign_keys(database):
    for durable, synchronous in ((True, 2), (False, 1), (True, 2)):
        with database.write(durable=durable) as session:
            assert session.execute(text("PRAGMA synchronous")).scalar() == synchronous
    with database.read() as session:
        assert session.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert session.execute(text("PRAGMA foreign_keys")).scalar() == 1


def test_commit_callback_waits_for_the_outer_transaction(database):
    calls: list[str] = []
    with database.write() as session:
        after_commit(session, lambda: calls.append("stands"))
        with session.begin_nested():
            session.execute(text("SELECT 1"))
        assert calls == []
    assert calls == ["stands"]


def test_commit_callback_is_dropped_on_rollback(database):
    calls: list[str] = []

    def fail() -> None:
        with database.write() as session:
            after_commit(session, lambda: calls.append("stands"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert calls == []


def test_commit_callback_runs_without_the_lock(database):
    received: list[int | None] = []

    def look() -> None:
        with database.write() as session:
            received.append(session.execute(text("SELECT 1")).scalar())

    with database.write() as session:
        after_commit(session, look)
    assert received == [1]


ON_POSTGRESQL = pytest.mark.parametrize("each_database", ["postgresql"], indirect=True)


@ON_POSTGRESQL
def test_postgresql_is_durable_and_reads_only_in_a_read(database):
    for durable, value in ((True, "on"), (False, "off"), (True, "on")):
        with database.write(durable=durable) as session:
            assert session.scalar(text("SHOW synchronous_commit")) == value
    with pytest.raises(InternalError, match="read-only transaction"), database.read() as session:
        session.execute(update(COUNTER).values(n=1))


@ON_POSTGRESQL
def test_concurrent_writers_do_not_wait_for_the_write_lock(database):
    done = threading.Event()

    def write() -> None:
        with database.write_concurrently() as session:
            session.execute(update(COUNTER).values(n=COUNTER.c.n + 1))
        done.set()

    thread = threading.Thread(target=write)
    with database.write() as session:
        session.execute(text("SELECT 1"))
        thread.start()
        assert done.wait(10)
    thread.join()
    assert _value(database) == 1


def test_order_of_texts_and_size_of_integers_are_those_of_sqlite(each_database):
    tables = MetaData()
    values = Table(
        "texts", tables, Column("name", String(10), primary_key=True), Column("n", Integer)
    )
    each_database.create(tables)
    names = ["a", "B", "_", "b", "É", "A", "é", "z"]
    with each_database.write() as session:
        session.execute(insert(values), [{"name": name, "n": 2**40} for name in names])
    with each_database.read() as session:
        assert [*session.scalars(select(values.c.name).order_by(values.c.name))] == sorted(names)
        lower = select(func.lower(values.c.name)).where(values.c.name.in_(["É", "B"]))
        assert set(session.scalars(lower)) == {"É", "b"}


def test_text_table_has_more_texts_than_a_statement_may_have_parameters(each_database):
    texts = [f"{number}'\\\"é" for number in range(70_000)]
    with each_database.read() as session:
        assert session.scalars(select(text_table(texts).c.value)).all() == texts


def test_other_databases_are_refused():
    with pytest.raises(InputError, match="Databases of the kind mysql are not supported"):
        Database("mysql://user:secret@host/name")
    with pytest.raises(InputError, match="cannot be parsed") as caught:
        Database("secret of mine")
    assert "secret" not in f"{caught.value}"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hidden@host/lab?sslmode=require",
        "postgresql://me@host/lab?password=hidden&sslmode=require",
        "postgresql://me:hidden@host/lab?sslmode=require&sslpassword=hidden",
    ],
)
def test_displayed_address_of_a_database_has_no_password(address):
    shown = postgresql.display(address)
    assert shown == "postgresql+psycopg://me:***@host/lab?sslmode=require"
    assert postgresql.libpq_address(address).startswith("postgresql://me:hidden@host/lab?")
    assert "hidden" not in mask("the password is hidden")


def test_blank_in_a_password_is_encoded():
    address = "postgresql://me:a%20b%2Bc%25d%40e%3A@host/lab"
    assert conninfo_to_dict(postgresql.libpq_address(address))["password"] == "a b+c%d@e:"


@ON_POSTGRESQL
def test_unreachable_database_is_explained_without_its_password(each_database):
    address = each_database.url.replace("labext@", "labext:hidden@").partition("?")[0]
    database = Database(f"{address}?host=/nowhere")
    with pytest.raises(OperationalError) as caught, database.read() as session:
        session.execute(text("SELECT 1"))
    assert postgresql.is_unreachable(caught.value)
    error = postgresql.explain(caught.value, database.url)
    assert "cannot be reached: " in error.message
    assert error.message.endswith("failed: No such file or directory.")
    assert "Check that PostgreSQL runs" in str(error.next_step)
    assert "\n" not in error.message
    assert "hidden" not in f"{error.message} {error.next_step}"


@ON_POSTGRESQL
def test_connection_has_its_settings_without_startup_options(each_database):
    with each_database.engine.connect() as connection:
        assert connection.connection.driver_connection.info.options == "", "PgBouncer refuses them"
        for name, value in (("timezone", "UTC"), ("lock_timeout", "30s")):
            assert connection.exec_driver_sql(f"SHOW {name}").scalar() == value


@ON_POSTGRESQL
def test_reason_of_a_refused_statement_is_the_first_line(each_database):
    with pytest.raises(ProgrammingError) as caught, each_database.write() as session:
        session.execute(text("CREATE TABLE nowhere.missing (x INTEGER)"))
    assert len(str(caught.value.orig).splitlines()) > 1
    error = postgresql.explain(caught.value, each_database.url)
    assert 'cannot be used: schema "nowhere" does not exist.' in error.message


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_database_that_cannot_store_every_text_is_refused(postgresql_server, tmp_path, encoding):
    name = f"encoded_{encoding.lower()}"
    locale = "TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'"
    postgresql_server.run(f"CREATE DATABASE {name} ENCODING {encoding} {locale}")
    folder = DataFolder(tmp_path)
    folder.request_database(postgresql_server.url(name))
    refused = pytest.raises(SetupError, match=f"{name} has the encoding {encoding}, not UTF8")
    with refused, exclusive_database(folder):
        pass


@ON_POSTGRESQL
def test_connections_are_renewed_after_a_restart_of_the_server(database):
    with database.read() as session:
        pid = session.scalar(text("SELECT pg_backend_pid()"))
    other = Database(database.url)
    with other.write() as session:
        session.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
    other.close()
    assert _value(database) == 0


@ON_POSTGRESQL
def test_writer_does_not_wait_for_the_lock_forever(database, monkeypatch):
    monkeypatch.setattr(postgresql, "LOCK_SECONDS", 1)
    other = Database(database.url)
    with database.write() as session:
        session.execute(text("SELECT 1"))
        with pytest.raises(OperationalError) as caught, other.write() as waiting:
            waiting.execute(text("SELECT 1"))
    assert postgresql.sqlstate(caught.value) == "55P03"  # lock_not_available
    other.close()

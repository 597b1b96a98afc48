"""Transactions of concurrent writers, failed transactions, and schema versions."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, select, text, update

from labext.sandbox.core.database import Database, after_commit

TABLES = MetaData()
COUNTER = Table("counter", TABLES, Column("n", Integer, nullable=False))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database.at(tmp_path / "some.sqlite")
    database.create(TABLES)
    with database.write() as session:
        session.execute(COUNTER.insert().values(n=0))
    yield database
    database.close()


def _value(database: Database) -> int:
    with database.read() as session:
        return session.execute(select(COUNTER.c.n)).scalar_one()


def _add(database: Database, times: int) -> None:
    for _ in range(times):
        with database.write() as session:
            value = session.execute(select(COUNTER.c.n)).scalar_one()
            session.execute(update(COUNTER).values(n=value + 1))


def test_no_update_is_lost_among_threads(database):
    threads = [threading.Thread(target=_add, args=(database, 25)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _value(database) == 200


def test_no_update_is_lost_among_processes(database, tmp_path):
    code = (
        "import sys; from pathlib import Path; from labext.sandbox.core.database import Database\n"
        "from sqlalchemy import text\n"
        "database = Database.at(Path(sys.argv[1]))\n"
        "for _ in range(30):\n"
        "    with database.write() as session:\n"
        "        n = session.execute(text('SELECT n FROM counter')).scalar_one()\n"
        "        session.execute(text('UPDATE counter SET n = :n'), {'n': n + 1})\n"
        "database.close()\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "some.sqlite")]
    processes = [subprocess.Popen(command) for _ in range(3)]
    _add(database, 30)
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert _value(database) == 120


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


def test_database_is_durable_and_enforces_foreign_keys(database):
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

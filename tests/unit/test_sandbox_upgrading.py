"""Tables of an earlier version: rebuilt whole, or left exactly as they were."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, String, Table

from labext.sandbox.database import Database

OLD = """
CREATE TABLE parent (id INTEGER PRIMARY KEY AUTOINCREMENT, name VARCHAR NOT NULL, gone TEXT UNIQUE);
CREATE TABLE child (id INTEGER PRIMARY KEY, parent_id INTEGER NOT NULL
    REFERENCES parent (id) ON DELETE CASCADE);
INSERT INTO parent VALUES (1, 'a', 'x'), (2, 'b', NULL), (9, 'last', NULL);
INSERT INTO child VALUES (5, 1), (6, 2);
DELETE FROM parent WHERE id = 9;
"""


def tables(*more: Column[object]) -> MetaData:
    metadata = MetaData()
    Table(
        "parent",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("name", String, nullable=False),
        *more,
        Index("parents_by_name", "name"),
        sqlite_autoincrement=True,
    )
    Table(
        "child",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("parent_id", Integer, ForeignKey("parent.id", ondelete="CASCADE"), nullable=False),
    )
    return metadata


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as old:
        old.executescript(OLD)
    old.close()
    return path


def rows(path: Path, statement: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as database:
        found = database.execute(statement).fetchall()
    database.close()
    return found


def test_columns_come_and_go_and_rows_stay(path: Path) -> None:
    metadata = tables(Column("note", String), Column("count", Integer, nullable=False, default=3))
    database = Database.at(path)
    assert database.is_outdated(metadata)
    database.create(metadata)
    assert not database.is_outdated(metadata)
    database.create(metadata)
    database.close()
    assert rows(path, "SELECT id, name, note, count FROM parent ORDER BY id") == [
        (1, "a", None, 3),
        (2, "b", None, 3),
    ]
    assert rows(path, "SELECT id, parent_id FROM child ORDER BY id") == [(5, 1), (6, 2)]
    assert rows(path, "SELECT seq FROM sqlite_sequence WHERE name = 'parent'") == [(9,)]
    assert rows(path, "SELECT name FROM sqlite_master WHERE name = 'parents_by_name'")
    assert rows(path, "SELECT \"table\" FROM pragma_foreign_key_list('child')") == [("parent",)]


def test_what_can_not_be_renewed_is_left_as_it_was(path: Path) -> None:
    before = rows(path, "SELECT sql FROM sqlite_master ORDER BY name")
    database = Database.at(path)
    with pytest.raises(ValueError, match="needed"):
        database.create(tables(Column("needed", Integer, nullable=False)))
    database.close()
    assert rows(path, "SELECT sql FROM sqlite_master ORDER BY name") == before
    assert len(rows(path, "SELECT * FROM parent")) == 2


def test_rows_that_refer_to_none_are_told_and_nothing_changes(path: Path) -> None:
    with sqlite3.connect(path) as broken:
        broken.execute("INSERT INTO child VALUES (7, 77)")
    broken.close()
    before = rows(path, "SELECT sql FROM sqlite_master ORDER BY name")
    database = Database.at(path)
    with pytest.raises(ValueError, match="child"):
        database.create(tables())
    database.close()
    assert rows(path, "SELECT sql FROM sqlite_master ORDER BY name") == before

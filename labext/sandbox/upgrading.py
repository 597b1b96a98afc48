"""Gives the tables of an earlier version the columns that they have now; SQLite.

SQLite can't change most of a table that is there. Such a table is made anew beside the old one,
filled from it, and takes its name: the way of 'Making Other Kinds Of Table Schema Changes' in
SQLite's ALTER TABLE. All of it is one transaction, and foreign keys are checked before its end.

What belongs elsewhere than where it was is moved by the new table's own `after_create` event, while
the old tables are still as they were.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    ColumnDefault,
    ColumnElement,
    Connection,
    MetaData,
    Table,
    insert,
    literal,
    select,
)
from sqlalchemy.schema import CreateIndex, CreateTable

Columns = dict[str, bool]
"""A table's columns as they are in the database: whether each may be NULL."""


def columns_in(connection: Connection) -> dict[str, Columns]:
    """The columns of every table that is in the database; one statement."""
    found: dict[str, Columns] = {}
    statement = (
        'SELECT t.name, c.name, c."notnull" OR c.pk FROM sqlite_master AS t, '
        "pragma_table_info(t.name) AS c WHERE t.type = 'table'"
    )
    for table, column, needed in connection.exec_driver_sql(statement):
        found.setdefault(table, {})[column] = not needed
    return found


def outdated(tables: Iterable[Table], found: dict[str, Columns]) -> list[Table]:
    """The tables that are there with other columns than they should have."""
    return [
        table
        for table in tables
        if table.name in found
        and found[table.name] != {c.name: bool(c.nullable) for c in table.columns}
    ]


def upgrade(connection: Connection, metadata: Sequence[MetaData]) -> None:
    """Create what isn't there and rebuild what differs, inside the caller's transaction.

    Args:
        connection: of an SQLite database that does not enforce foreign keys meanwhile.
        metadata: the tables as they should be.

    Raises:
        ValueError: a new column has neither a default nor NULL, or rows refer to none.
    """
    for tables in metadata:
        tables.create_all(connection)
        found = columns_in(connection)
        for table in outdated(tables.sorted_tables, found):
            _rebuild(connection, table, found[table.name])
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    if broken:
        raise ValueError(f"{len(broken)} rows of {broken[0][0]} refer to rows that are not there.")


def _rebuild(connection: Connection, table: Table, old: Columns) -> None:
    beside = MetaData()
    for other in table.metadata.sorted_tables:  # what its foreign keys refer to
        other.to_metadata(beside)
    made = table.to_metadata(beside, name=f"{table.name}_{uuid.uuid4().hex[:8]}")
    source = Table(table.name, MetaData(), *(Column(name) for name in old))
    pairs = [(c.name, source.c[c.name] if c.name in old else _default(c)) for c in table.columns]
    connection.execute(CreateTable(made))
    connection.execute(
        insert(made).from_select(
            [name for name, _ in pairs],
            select(*(value.label(name) for name, value in pairs)).select_from(source),
            include_defaults=False,
        )
    )
    _keep_numbers(connection, table.name, made.name)
    quoted = connection.dialect.identifier_preparer.quote
    connection.exec_driver_sql(f"DROP TABLE {quoted(table.name)}")
    connection.exec_driver_sql(f"ALTER TABLE {quoted(made.name)} RENAME TO {quoted(table.name)}")
    for index in table.indexes:
        connection.execute(CreateIndex(index))


def _keep_numbers(connection: Connection, old: str, new: str) -> None:
    """A table that never uses a number again goes on where it was, also past deleted rows."""
    if "sqlite_sequence" not in columns_in(connection):
        return
    last = connection.exec_driver_sql(
        "SELECT seq FROM sqlite_sequence WHERE name = ?", (old,)
    ).scalar()
    if last is not None:
        connection.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = ?", (new,))
        connection.exec_driver_sql("INSERT INTO sqlite_sequence VALUES (?, ?)", (new, last))


def _default(column: Column[Any]) -> ColumnElement[Any]:
    """What a column gets in the rows that were there before it."""
    default = column.default
    if isinstance(default, ColumnDefault) and default.is_scalar:
        return literal(default.arg, column.type)
    if not column.nullable:
        raise ValueError(f"The new column {column.name} has no value for the rows there are.")
    return literal(None, column.type)

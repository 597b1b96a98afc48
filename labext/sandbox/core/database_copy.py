"""Copy the tables of a SQLite database to a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import JSON, MetaData, Table, func, insert, inspect, select
from sqlalchemy.engine import Connection
from sqlalchemy.types import NullType

from labext.errors import StorageError
from labext.sandbox.core import migrations
from labext.sandbox.core.database import Database

_NOT_COPIED = {"alembic_version", "rate_windows", "nb_words"}
"""Tables that are not copied: the revision, rate limits, and an index that the start builds."""

_ROWS = 500
"""Rows per statement."""


def copy_tables(source: Path, target: Database) -> None:
    """Replace the tables in a PostgreSQL database by those of a SQLite file, in one transaction.

    The tables in the file are upgraded to the newest revision.

    Raises:
        DBAPIError: PostgreSQL refuses a row, or cannot be reached; nothing has changed there.
        StorageError: the numbers of rows differ; nothing has changed there.
    """
    origin = Database.at(source)
    try:
        origin.create()
        with origin.engine.connect() as reader, target.write() as session:
            writer = session.connection()
            former = MetaData()
            former.reflect(writer, only=target.table_names())
            former.drop_all(writer)
            migrations.upgrade(writer)
            _copy_all(reader, writer, {*origin.table_names()} - _NOT_COPIED)
    finally:
        origin.close()


def _copy_all(reader: Connection, writer: Connection, names: set[str]) -> None:
    old, new = MetaData(), MetaData()
    old.reflect(reader, only=[*names])
    new.reflect(writer, only=[*names.intersection(inspect(writer).get_table_names())])
    last_ids: dict[str, int] = {}
    if "sqlite_sequence" in inspect(reader).get_table_names(sqlite_include_internal=True):
        rows = reader.exec_driver_sql("SELECT name, seq FROM sqlite_sequence")
        last_ids = {row.name: row.seq for row in rows}
    for table in new.sorted_tables:  # referenced tables come first
        _copy_rows(reader, writer, old.tables[table.name], table)
        _advance_ids(writer, table, last_ids)


def _copy_rows(reader: Connection, writer: Connection, old: Table, new: Table) -> None:
    for table in (old, new):
        for column in table.columns:
            if isinstance(column.type, JSON):
                column.type = NullType()  # the stored text: SQL's NULL differs from JSON's null
    columns = [old.columns[column.name] for column in new.columns if column.name in old.columns]
    statement = insert(new)
    rows = reader.execute(select(*columns).order_by(*old.primary_key))
    for part in rows.mappings().partitions(_ROWS):
        writer.execute(statement, [dict(row) for row in part])
    counts = [
        connection.scalar(select(func.count()).select_from(table))
        for connection, table in ((reader, old), (writer, new))
    ]
    if counts[0] != counts[1]:
        raise StorageError(
            f"{counts[1]} of {counts[0]} rows of {new.name} were copied.", "Restore it again."
        )


def _advance_ids(writer: Connection, table: Table, last_ids: Mapping[str, int]) -> None:
    """Continue a table's sequence of ids after the last one, also that of a deleted row."""
    if "id" not in table.columns:
        return
    sequence = writer.scalar(select(func.pg_get_serial_sequence(table.name, "id")))
    if sequence is None:
        return
    last = max(writer.scalar(select(func.max(table.c.id))) or 0, last_ids.get(table.name, 0))
    if last:
        writer.execute(select(func.setval(sequence, last)))

"""Files sequences into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import insert
from sqlalchemy.orm import Session

from labext.sandbox.lab import identifiers, search_values, store
from labext.sandbox.lab.records import Entry, Home, row
from labext.sandbox.lab.store import Record, User


def add(
    session: Session, folder: store.Folder, entries: Sequence[Entry], creator: User
) -> list[Record]:
    """Add sequences to a folder; the first is the latest, so that lists keep their order.

    Two of one name are two sequences.

    Args:
        session: a writing one.
        folder: where they are filed.
        entries: the sequences, see `reading.entries`.
        creator: who is shown to have made them.

    Returns:
        `{id, name, length, isCircular}` of each.
    """
    home = Home.of(session, folder, creator)
    last, step = datetime.now(UTC), timedelta(microseconds=1)
    rows = [
        row(entry, home, identifiers.new("seq"), store.written(last - place * step))
        for place, entry in enumerate(entries)
    ]
    insert_rows(session, rows)
    return [
        {
            "id": each["id"],
            "name": entry.name,
            "length": len(entry.bases),
            "isCircular": entry.circular,
        }
        for each, entry in zip(rows, entries, strict=True)
    ]


def insert_rows(session: Session, rows: Sequence[Record]) -> None:
    """Insert rows as `records.row` makes them, with the values by which they are found."""
    if rows:
        session.connection().execute(insert(store.Sequence), rows)
        search_values.insert_values(session, [each["record"] for each in rows])

"""Files sequences into a folder: those of a file, or some that are at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import insert
from sqlalchemy.orm import Session

from labext.sandbox.lab import identifiers, reading, store
from labext.sandbox.lab.records import Entry, Home, row
from labext.sandbox.lab.store import Record, User


def add(
    session: Session, folder: store.Folder, source: Path | Iterable[Entry], creator: User
) -> list[Record]:
    """Add sequences to a folder; the first of a file is the latest, so that lists keep its order.

    Two of one name are two sequences.

    Args:
        session: a writing one.
        folder: where they are filed.
        source: a FASTA or GenBank file, gzipped or not; or the sequences.
        creator: who is shown to have made them.

    Returns:
        `{id, name, length, isCircular}` of each.

    Raises:
        InputError: the file can't be used, see `reading.entries`; nothing is added then.
    """
    found = reading.entries(source) if isinstance(source, Path) else list(source)
    home = Home.of(session, folder, creator)
    last, step = datetime.now(UTC), timedelta(microseconds=1)
    rows = [
        row(entry, home, identifiers.new("seq"), store.written(last - place * step))
        for place, entry in enumerate(found)
    ]
    insert_rows(session, rows)
    return [
        {
            "id": each["id"],
            "name": entry.name,
            "length": len(entry.bases),
            "isCircular": entry.circular,
        }
        for each, entry in zip(rows, found, strict=True)
    ]


def insert_rows(session: Session, rows: Sequence[Record]) -> None:
    """Insert rows as `records.row` makes them, in one statement."""
    if rows:
        session.connection().execute(insert(store.Sequence), rows)

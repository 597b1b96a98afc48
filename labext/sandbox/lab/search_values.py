"""Store the values by which sequences are found exactly, one row each.

`store.Sequence` holds what the common filters compare. The aliases as they are written, the entry
in a registry and the fields of a schema are rows of `store.SearchValue`, taken from the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson
from sqlalchemy import insert
from sqlalchemy.orm import Session

from labext.sandbox.lab import store
from labext.sandbox.lab.records import ORIGIN
from labext.sandbox.lab.store import Record

ALIAS, REGISTRY, NUMBER = "alias", "registryId", "entityRegistryId"


def schema_field(name: str) -> str:
    """Return the value of `SearchValue.field` for a field of a schema."""
    return f"fields.{name}"


def insert_values(session: Session, records: Iterable[str]) -> None:
    """Insert the search values of records that have none yet.

    Args:
        session: a writing one.
        records: as `store.Sequence.record` has them.
    """
    rows = [row for record in records for row in _rows(orjson.loads(record.replace(ORIGIN, "")))]
    if rows:
        session.connection().execute(insert(store.SearchValue), rows)


def _rows(record: Record) -> Iterator[Record]:
    yield from _field_rows(record["id"], ALIAS, record["aliases"])
    for field in (REGISTRY, NUMBER):
        if record[field] is not None:
            yield from _field_rows(record["id"], field, [record[field]])
    for name, cell in record["fields"].items():
        value = cell["value"]
        values = value if isinstance(value, list) else [value]
        # An empty field has a row too: it is a field of the schema.
        yield from _field_rows(record["id"], schema_field(name), values or [None])


def _field_rows(identifier: str, field: str, values: Sequence[Any]) -> Iterator[Record]:
    for position, value in enumerate(values):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        yield {
            "sequence_id": identifier,
            "field": field,
            "position": position,
            "text": None if value is None else str(value),
            "number": value if number else None,
        }

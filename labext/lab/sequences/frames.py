"""DataFrames of sequences and their display."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from labext import messages
from labext.frames.conversion import Column, FrameBuilder, Kind
from labext.frames.views import RowView, cell_text
from labext.lab.api import Record
from labext.lab.sequences.columns import COLUMN_KINDS, CUSTOM_FIELDS, NESTED_FIELDS, field_value
from labext.sanitize import strip_control

_COLUMN_KINDS: dict[str, Kind] = dict(COLUMN_KINDS)
_COLUMN_KINDS |= {
    f"{name}.{part}": "text" for name, parts in NESTED_FIELDS.items() for part in parts
}


def sequences_frame(
    pages: Iterable[Sequence[Record]], names: Sequence[str] | None, *, spread: bool = False
) -> pd.DataFrame:
    """Return records as a typed DataFrame; each page is freed before the next one is requested.

    Args:
        pages: lists of records.
        names: the columns, in order; None for `COLUMN_KINDS` followed by all other fields.
        spread: replace `fields`, `customFields`, `creator` and `schema` by one column per member:
            `fields.Volume`, `creator.name`.
    """
    columns = list(COLUMN_KINDS) if names is None else list(names)
    if spread:
        columns = [column for name in columns for column in _nested_columns(name)]
    typed_columns = [
        name for name in columns if name in _COLUMN_KINDS and not (spread and name in CUSTOM_FIELDS)
    ]
    builder = FrameBuilder([Column(name, _COLUMN_KINDS[name]) for name in typed_columns])
    for page in pages:
        builder.add_rows([_spread_record(record) for record in page] if spread else page)
    table = builder.build()
    order = _column_order(columns, list(table.columns), whole=names is None)
    return table if order == list(table.columns) else table.reindex(columns=order)


def _spread_record(record: Record) -> Record:
    """Return a record with nested fields replaced by their members."""
    flat = dict(record)
    for name in NESTED_FIELDS.keys() & flat.keys():
        cell = flat.pop(name)
        members = cell if isinstance(cell, dict) else {}
        flat |= {
            column: members.get(column.removeprefix(f"{name}.")) for column in _nested_columns(name)
        }
    for name in CUSTOM_FIELDS:
        cell = flat.pop(name, None)
        if isinstance(cell, dict):
            flat |= {f"{name}.{key}": field_value(value) for key, value in cell.items()}
    return flat


def _nested_columns(name: str) -> list[str]:
    return [f"{name}.{part}" for part in NESTED_FIELDS[name]] if name in NESTED_FIELDS else [name]


def _column_order(requested: list[str], existing: list[str], *, whole: bool) -> list[str]:
    """Return the columns in order, with spread columns at the position of the original column."""
    spread_columns = {
        name: [column for column in existing if column.startswith(f"{name}.")]
        for name in CUSTOM_FIELDS
        if name not in existing
    }
    order = [
        column for name in requested for column in spread_columns.get(name, [strip_control(name)])
    ]
    return list(dict.fromkeys([*order, *(existing if whole else ())]))


_FIRST = ("name", "length", "isCircular", "schema", "schema.name")
_LAST = ("id", "folderId", "createdAt", "modifiedAt", "creator", "aliases", "webURL", "apiURL")


def _format_names(cell: Any) -> str:
    """Format a list of annotations, primers or people as the count and the first names."""
    if not isinstance(cell, list) or not cell:
        return cell_text(cell)
    names = [
        cell_text(item.get("name")) if isinstance(item, dict) else cell_text(item) for item in cell
    ]
    return f"{len(cell)}: {messages.join_words(filter(None, names), 3)}"


def _format_name(cell: Any) -> str:
    return (
        cell_text(cell.get("name"))
        if isinstance(cell, dict) and "name" in cell
        else cell_text(cell)
    )


def _format_values(cell: Any) -> str:
    """Format custom fields with the platform's display values."""
    if not isinstance(cell, dict):
        return cell_text(cell)
    values = {
        key: (isinstance(item, dict) and item.get("displayValue")) or field_value(item)
        for key, item in cell.items()
    }
    return cell_text({key: value for key, value in values.items() if value not in (None, "", [])})


_FORMATS = {
    "annotations": _format_names,
    "authors": _format_names,
    "primers": _format_names,
    "parts": _format_names,
    "creator": _format_name,
    "schema": _format_name,
    "fields": _format_values,
    "customFields": _format_values,
}

SEQUENCES = RowView(
    name="sequences",
    empty="No accessible sequences match.",
    first=_FIRST,
    last=_LAST,
    formats=_FORMATS,
)
SELECTED_COLUMNS = RowView(
    name="selected columns", empty=SEQUENCES.empty, formats=_FORMATS, with_empty_columns=True
)
"""View of sequences with the selected columns, in that order."""

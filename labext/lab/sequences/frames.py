"""Columns and DataFrames of sequences, and their display."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from labext import messages
from labext.actions import parameter
from labext.errors import InputError
from labext.frames.conversion import Column, FrameBuilder, Kind
from labext.frames.views import RowView, cell_text
from labext.lab.api import Record
from labext.sanitize import strip_control

COLUMN_KINDS: Mapping[str, Kind] = {
    "id": "text",
    "name": "text",
    "length": "integer",
    "isCircular": "boolean",
    "bases": "text",
    "createdAt": "time",
    "modifiedAt": "time",
    "folderId": "text",
    "creator": "text",
    "schema": "text",
    "aliases": "value",
    "annotations": "value",
    "fields": "value",
    "customFields": "value",
    "authors": "value",
    "registryId": "text",
    "entityRegistryId": "text",
    "registrationOrigin": "value",
    "archiveRecord": "value",
    "translations": "value",
    "transcriptions": "value",
    "parts": "value",
    "primers": "value",
    "dnaAlignmentIds": "value",
    "url": "text",
    "webURL": "text",
    "apiURL": "text",
    "schema.id": "text",
    "creator.id": "text",
    "creator.handle": "text",
}
"""Columns of a DataFrame of sequences and their kinds (`labext.frames.conversion.Column`), in
display order; `creator` and `schema` are names.
"""

NESTED_FIELDS = {"creator": ("id", "name", "handle"), "schema": ("id", "name")}
"""Fields with fixed members, which `spread` turns into one column per member."""

CUSTOM_FIELDS = ("fields", "customFields")
"""Fields with user-defined members, each with a `value`."""


def field_value(cell: Any) -> Any:
    """Return the `value` of a custom field, or the cell itself if it has no `value`."""
    return cell.get("value") if isinstance(cell, dict) and "value" in cell else cell


def _spread_fields(fields: Any) -> Record:
    """Return the values of custom fields by name, and their units by `NAME.unit`."""
    values = {}
    for name, cell in fields.items() if isinstance(fields, dict) else ():
        values[name] = field_value(cell)
        if isinstance(cell, dict) and cell.get("unit") and f"{name}.unit" not in fields:
            values[f"{name}.unit"] = cell["unit"]
    return values


class ColumnSelection:
    """The selected columns, including paths to nested values such as `fields.Volume`.

    Args:
        selected: column names, as a list or a comma-separated string; None for whole records.
        filter_fields: the fields that filters read.
    """

    def __init__(
        self, selected: Iterable[str] | str | None, filter_fields: Sequence[str] = ()
    ) -> None:
        self.names = None if selected is None else _column_names(selected)
        self._filter_fields = filter_fields
        self._paths = [(name, *name.partition(".")[::2]) for name in self.names or ()]
        unknown = [(name, field) for name, field, _ in self._paths if field not in COLUMN_KINDS]
        self._unknown = dict(unknown)
        self._missing_members = {
            name
            for name, field, member in self._paths
            if member and member not in NESTED_FIELDS.get(field, ())
        }

    @property
    def fields(self) -> list[str] | None:
        """The fields to request; None for all fields, also while a column name is unverified."""
        if self.names is None or self._unknown:
            return None
        # The ID is needed to skip duplicates.
        names = ["id", *(field for _, field, _ in self._paths), *self._filter_fields]
        return list(dict.fromkeys(names))

    def check(self, records: Sequence[Record]) -> None:
        """Check that columns unknown to labext exist in the first records."""
        present = set().union(*records)
        for name, field in self._unknown.items():
            if field not in present:
                suggestion = messages.did_you_mean(field, [*COLUMN_KINDS, *sorted(present)])
                raise InputError(
                    f'Sequences have no column "{name}"{suggestion}.',
                    f"They have {', '.join(COLUMN_KINDS)}.",
                )
        self._unknown = {}

    def check_members(self, count: int) -> None:
        """Check the nested columns after `count` records were selected."""
        if count and self._missing_members:
            missing = messages.join_words(sorted(self._missing_members))
            raise InputError(
                f"No sequence in this list has {missing}.",
                f"Show all columns with {parameter('spread')}.",
            )

    def select(self, record: Record) -> Record:
        """Return the selected columns of a record."""
        if self.names is None:
            return record
        selected = {}
        for name, field, member in self._paths:
            cell = record.get(field)
            if member:
                members = _spread_fields(cell)
                if member in members:
                    self._missing_members.discard(name)
                cell = members.get(member)
            selected[name] = cell
        return selected


def _column_names(selected: Iterable[str] | str) -> list[str]:
    names = selected.split(",") if isinstance(selected, str) else selected
    names = list(names) if isinstance(names, Iterable) else []
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise InputError(
            f"{messages.quote_value(selected)} is not a list of column names.",
            "Give names of columns, such as id,name,bases.",
        )
    return list(dict.fromkeys(name.strip() for name in names))


_COLUMN_KINDS: dict[str, Kind] = dict(COLUMN_KINDS)
_COLUMN_KINDS |= {
    f"{name}.{part}": "text" for name, parts in NESTED_FIELDS.items() for part in parts
}


def sequences_frame(
    pages: Iterable[Sequence[Record]], names: Sequence[str] | None, *, spread: bool = False
) -> pd.DataFrame:
    """Return records as a typed DataFrame; each page is freed before the next one is requested.

    Columns `creator` and `schema` have the names; other members are columns such as `schema.id`.

    Args:
        pages: lists of records.
        names: the columns, in order; None for `COLUMN_KINDS` followed by all other fields.
        spread: replace `fields`, `customFields`, `creator` and `schema` by one column per member:
            `fields.Volume`, `creator.name`. Units are in columns such as `fields.Volume.unit`.
    """
    columns = list(COLUMN_KINDS) if names is None else list(names)
    if spread:
        columns = [column for name in columns for column in _nested_columns(name)]
    typed_columns = [
        name for name in columns if name in _COLUMN_KINDS and not (spread and name in CUSTOM_FIELDS)
    ]
    convert = _spread_record if spread else _name_record
    builder = FrameBuilder([Column(name, _COLUMN_KINDS[name]) for name in typed_columns])
    for page in pages:
        builder.add_rows([convert(record) for record in page])
    table = builder.build()
    order = _column_order(columns, list(table.columns), whole=names is None)
    return table if order == list(table.columns) else table.reindex(columns=order)


def _name_record(record: Record) -> Record:
    """Return a record with nested fields replaced by their names, and their other members."""
    flat = dict(record)
    for name in NESTED_FIELDS.keys() & flat.keys():
        cell = flat[name]
        if isinstance(cell, dict):
            members = {part: cell.get(part) for part in NESTED_FIELDS[name]}
            flat[name] = members.pop("name")
            flat |= {f"{name}.{part}": member for part, member in members.items()}
    return flat


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
        fields = _spread_fields(flat.pop(name, None))
        flat |= {f"{name}.{key}": value for key, value in fields.items()}
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
_CREATOR = "creator", *(f"creator.{member}" for member in NESTED_FIELDS["creator"])
_LAST = ("id", "folderId", "schema.id", "createdAt", "modifiedAt", *_CREATOR)
_LAST += ("aliases", "webURL", "apiURL")


def _format_names(cell: Any) -> str:
    """Format a list of annotations, primers or people as the count and the first names."""
    if not isinstance(cell, list) or not cell:
        return cell_text(cell)
    names = [
        cell_text(item.get("name")) if isinstance(item, dict) else cell_text(item) for item in cell
    ]
    return f"{len(cell)}: {messages.join_words(filter(None, names), 3)}"


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

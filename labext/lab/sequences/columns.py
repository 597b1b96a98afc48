"""Fields of a sequence record and the selection of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.actions import parameter
from labext.errors import InputError
from labext.lab.api import Record

if TYPE_CHECKING:
    from labext.frames.conversion import Kind

COLUMN_KINDS: Mapping[str, Kind] = {
    "id": "text",
    "name": "text",
    "length": "integer",
    "isCircular": "boolean",
    "bases": "text",
    "createdAt": "time",
    "modifiedAt": "time",
    "folderId": "text",
    "creator": "value",
    "schema": "value",
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
}
"""Columns of a DataFrame of sequences and their kinds (`labext.frames.conversion.Column`), in
display order.
"""

NESTED_FIELDS = {"creator": ("id", "name", "handle"), "schema": ("id", "name")}
"""Fields with fixed members, which `spread` turns into one column per member."""

CUSTOM_FIELDS = ("fields", "customFields")
"""Fields with user-defined members, each with a `value`."""


def field_value(cell: Any) -> Any:
    """Return the `value` of a custom field, or the cell itself if it has no `value`."""
    return cell.get("value") if isinstance(cell, dict) and "value" in cell else cell


class ColumnSelection:
    """The selected columns, including paths to nested values such as `fields.Volume`.

    Args:
        selected: column names, as a list or a comma-separated string; None for whole records.
        filter_fields: the fields that filters read.

    Raises:
        InputError: there are no names, or a name is empty or not a string.
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
        """Check that columns unknown to labext exist in the first records.

        Raises:
            InputError: no record has the column; the error suggests a close match.
        """
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
        """Check the nested columns after `count` records were selected.

        Raises:
            InputError: none of the records has a value at the path.
        """
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
                members = cell if isinstance(cell, dict) else {}
                if member in members:
                    self._missing_members.discard(name)
                cell = field_value(members.get(member))
            selected[name] = cell
        return selected


def _column_names(selected: Iterable[str] | str) -> list[str]:
    names = selected.split(",") if isinstance(selected, str) else list(selected)
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise InputError(
            f"{messages.quote_value(selected)} is not a list of column names.",
            "Give names of columns, such as id,name,bases.",
        )
    return list(dict.fromkeys(name.strip() for name in names))

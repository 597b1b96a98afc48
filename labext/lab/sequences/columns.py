"""Fields of a sequence record and the columns chosen from them."""

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
"""The columns of a frame of sequences and their kinds (`labext.frames.conversion.Column`): the most
important ones first.
"""

NESTED_FIELDS = {"creator": ("id", "name", "handle"), "schema": ("id", "name")}
"""Fields with the same members in every record; spread, each member has a column."""

CUSTOM_FIELDS = ("fields", "customFields")
"""Fields whose members are named by the laboratory, each with a `value`."""


def field_value(cell: Any) -> Any:
    """Return a field's `value`, or the cell itself if it has none."""
    return cell.get("value") if isinstance(cell, dict) and "value" in cell else cell


class ColumnSelection:
    """The columns that a user chose, of which one may be within a field: `fields.Volume`.

    Args:
        chosen: their names, as several texts or as one with commas; None for whole records.
        needed: the fields that filters look at.

    Raises:
        InputError: there are none, or one is not a text.
    """

    def __init__(self, chosen: Iterable[str] | str | None, needed: Sequence[str] = ()) -> None:
        self.names = None if chosen is None else _column_names(chosen)
        self._needed = needed
        self._paths = [(name, *name.partition(".")[::2]) for name in self.names or ()]
        unknown = [(name, field) for name, field, _ in self._paths if field not in COLUMN_KINDS]
        self._unsure = dict(unknown)
        self._absent = {
            name
            for name, field, within in self._paths
            if within and within not in NESTED_FIELDS.get(field, ())
        }

    @property
    def fields(self) -> list[str] | None:
        """The fields to request; None for all, also if the platform may not know one of them."""
        if self.names is None or self._unsure:
            return None
        # The ID distinguishes a record from earlier ones.
        names = ["id", *(field for _, field, _ in self._paths), *self._needed]
        return list(dict.fromkeys(names))

    def check(self, records: Sequence[Record]) -> None:
        """Check columns unknown to labext against the first records.

        Raises:
            InputError: no record has them; the error names a close match.
        """
        present = set().union(*records)
        for name, field in self._unsure.items():
            if field not in present:
                suggestion = messages.did_you_mean(field, [*COLUMN_KINDS, *sorted(present)])
                raise InputError(
                    f'Sequences have no column "{name}"{suggestion}.',
                    f"They have {', '.join(COLUMN_KINDS)}.",
                )
        self._unsure = {}

    def check_within(self, count: int) -> None:
        """Check the columns within fields, after all of a list's records were taken.

        Raises:
            InputError: there were records, and none has them.
        """
        if count and self._absent:
            missing = messages.join_words(sorted(self._absent))
            raise InputError(
                f"No sequence in this list has {missing}.",
                f"Show all columns with {parameter('spread')}.",
            )

    def select(self, record: Record) -> Record:
        """Return the selected columns of a record."""
        if self.names is None:
            return record
        selected = {}
        for name, field, within in self._paths:
            cell = record.get(field)
            if within:
                members = cell if isinstance(cell, dict) else {}
                if within in members:
                    self._absent.discard(name)
                cell = field_value(members.get(within))
            selected[name] = cell
        return selected


def _column_names(chosen: Iterable[str] | str) -> list[str]:
    names = chosen.split(",") if isinstance(chosen, str) else list(chosen)
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise InputError(
            f"{messages.quote_value(chosen)} names no columns.",
            "Give their names, like id,name,bases.",
        )
    return list(dict.fromkeys(name.strip() for name in names))

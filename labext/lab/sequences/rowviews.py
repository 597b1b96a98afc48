"""Views of sequences."""

from __future__ import annotations

from typing import Any

from labext import wording
from labext.lab.sequences.fields import value_of
from labext.rowviews import RowView
from labext.views import words

_FIRST = ("name", "length", "isCircular", "schema", "schema.name")
_LAST = ("id", "folderId", "createdAt", "modifiedAt", "creator", "aliases", "webURL", "apiURL")


def _names(cell: Any) -> str:
    """Return the names in a list of annotations, primers or people: how many, and the first."""
    if not isinstance(cell, list) or not cell:
        return words(cell)
    names = [words(each.get("name")) if isinstance(each, dict) else words(each) for each in cell]
    return f"{len(cell)}: {wording.listed(filter(None, names), 3)}"


def _name(cell: Any) -> str:
    return words(cell.get("name")) if isinstance(cell, dict) and "name" in cell else words(cell)


def _values(cell: Any) -> str:
    """Return fields with the words that the platform itself shows for their values."""
    if not isinstance(cell, dict):
        return words(cell)
    told = {
        key: (isinstance(each, dict) and each.get("displayValue")) or value_of(each)
        for key, each in cell.items()
    }
    return words({key: value for key, value in told.items() if value not in (None, "", [])})


_FORMATS = {
    "annotations": _names,
    "authors": _names,
    "primers": _names,
    "parts": _names,
    "creator": _name,
    "schema": _name,
    "fields": _values,
    "customFields": _values,
}

SEQUENCES = RowView(
    name="sequences",
    empty="There are no such sequences that you may see.",
    first=_FIRST,
    last=_LAST,
    formats=_FORMATS,
)
CHOSEN_SEQUENCES = RowView(
    name="chosen sequences", empty=SEQUENCES.empty, formats=_FORMATS, with_empty_columns=True
)
"""With the columns that a user chose, in that order."""

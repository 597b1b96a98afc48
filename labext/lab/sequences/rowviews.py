"""How rows of sequences are shown: what tells them apart first, their bases cut short."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from labext import wording
from labext.lab.sequences.fields import value_of
from labext.rowviews import Rows
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


class SequenceRows(Rows):
    """A DataFrame with a row a sequence."""

    _none = "There are no such sequences that you may see."
    _always = ("name", "id")
    _told: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "annotations": _names,
        "authors": _names,
        "primers": _names,
        "parts": _names,
        "creator": _name,
        "schema": _name,
        "fields": _values,
        "customFields": _values,
    }

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return _FIRST, _LAST


class ChosenRows(SequenceRows):
    """As `SequenceRows`, of columns that a user chose: in that order, empty ones too."""

    @property
    def _always(self) -> Collection[str]:  # type: ignore[override]
        return [str(label) for label in self.columns]

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return (), ()

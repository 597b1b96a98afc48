"""What the client's groups of methods have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from labext.errors import InputError
from labext.nb.dialects.choosing import Spoken
from labext.nb.dialects.contract import Contract
from labext.nb.records import Record
from labext.nb.titles import Titles
from labext.nb.wire import Wire


class Group:
    """The methods about one kind of thing.

    Wherever a method takes a thing, it takes its identifier or its title. A title that fits
    nothing is a NotFoundError that tells a near one, one that fits several a ConflictError that
    lists them.
    """

    def __init__(self, wire: Wire, spoken: Spoken, titles: Titles) -> None:
        self._wire = wire
        self._spoken = spoken
        self._titles = titles

    @property
    def _dialect(self) -> Contract:
        return self._spoken.dialect

    def _notebook(self, given: str | None) -> str | None:
        return None if given is None else self._titles.find("notebook", given)


UNCHANGED = "Give what is to be changed."
"""The next step where a change names nothing."""


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {key: value for key, value in values.items() if value is not None}


def changes(
    noun: str, values: Mapping[str, Any], clearable: Collection[str] = ()
) -> dict[str, Any]:
    """Return what is to be changed: what is None stays, an empty value of a `clearable` goes.

    Raises:
        InputError: nothing is to be changed.
    """
    changed = {
        key: None if key in clearable and value in ("", 0) else value
        for key, value in given(values).items()
    }
    if not changed:
        raise InputError(f"Nothing of the {noun} is to be changed.", UNCHANGED)
    return changed


def names_of(records: Iterable[Record]) -> list[str]:
    """Return what things are called, each once, in their order."""
    return [*dict.fromkeys(str(each["name"]) for each in records if each["name"])]

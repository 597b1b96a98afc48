"""One sequence, by what a user calls it: its name or its ID."""

from __future__ import annotations

from typing import Any

from labext import wording
from labext.errors import ConflictError, InputError, LabextError, NotFoundError
from labext.lab.sequences.columns import Columns
from labext.lab.sequences.filters import Filters
from labext.lab.sequences.listing import Lister
from labext.lab.sequences.paging import Record

_ID = "seq_"

_NEAR = 1000
"""Names among which a near one is looked for."""


def one(lister: Lister, name: str) -> Record:
    """Return the record of a sequence.

    Raises:
        NotFoundError: none that the caller may see is called so; a near name is told.
        ConflictError: several are.
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(
            f"{wording.shown(name)} is no name of a sequence.", "Give its name or its ID."
        )
    name = name.strip()
    ways = [_by_id, _by_name] if name.startswith(_ID) else [_by_name, _by_id]
    for way in ways:
        found = way(lister, name)
        if len(found) == 1:
            return found[0]
        if found:
            ids = wording.listed(str(record.get("id")) for record in found)
            raise ConflictError(
                f'{len(found)} sequences are called "{name}": {ids}.',
                f"Give one of the IDs in its place, such as `{found[0].get('id')}`.",
            )
    near = wording.did_you_mean(name, _names(lister))
    raise NotFoundError(
        f'No sequence that you may see is called "{name}"{near}.', "See `%lab sequences`."
    )


def names(lister: Lister, limit: int | None) -> list[str]:
    """Return the names of sequences, each once, those that were changed last first."""
    found = lister.pages(limit, Columns(["name"]), Filters({}))
    every = (record["name"] for page in found for record in page)
    return list(dict.fromkeys(name for name in every if isinstance(name, str)))


def _by_name(lister: Lister, name: str) -> list[Record]:
    found = _listed(lister, name=name)
    same = [record for record in found if record.get("name") == name]
    # Found by an alias, or in other letters: only where none has the very name.
    return same or found


def _by_id(lister: Lister, name: str) -> list[Record]:
    if "," in name:
        return []
    try:
        return [record for record in _listed(lister, ids=name) if record.get("id") == name]
    except InputError as error:
        if error.status not in (400, 404):  # the platform says so of an ID that it doesn't know
            raise
        return []


def _listed(lister: Lister, **filters: Any) -> list[Record]:
    pages = lister.pages(None, Columns(None), Filters(filters))
    return [record for page in pages for record in page]


def _names(lister: Lister) -> list[str]:
    try:
        return names(lister, _NEAR)
    except LabextError:
        return []  # the error that is told is that of the name

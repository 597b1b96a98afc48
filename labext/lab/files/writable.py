"""What a file of sequences can be made of: records with bases, each with a name of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from labext import wording
from labext.errors import ConflictError, InputError
from labext.lab.files import texts
from labext.lab.files.keeping import Fields

_BASES = re.compile(r"[A-Za-z*.-]+")


def rows(records: Any) -> list[Fields]:
    """Return a frame, a record or several as records that a file can be made of.

    Raises:
        ConflictError: two have one name.
        InputError: there are none, a column is missing, or a row lacks bases or a name.
    """
    found = _listed(records)
    _check_bases(found)
    _check_names(found)
    return found


def names(found: Iterable[Fields], longest: Callable[[Fields], int]) -> Iterator[str]:
    """Yield each record's name as one word, of at most so many characters, no two alike."""
    taken: set[str] = set()
    for row in found:
        most = longest(row)
        word = texts.unlike(texts.token(title(row), most), taken, most)
        taken.add(word)
        yield word


def title(row: Mapping[str, Any]) -> str:
    """Return what a sequence is called: its name, or else its identifier."""
    return next(
        (each for each in (row.get("name"), row.get("id")) if isinstance(each, str) and each), ""
    )


def _listed(records: Any) -> list[Fields]:
    if hasattr(records, "columns") and hasattr(records, "to_dict"):
        for column in ("name", "bases"):
            if column not in records.columns:
                raise InputError(
                    f'The frame has no column "{column}".',
                    "Fetch it along: --columns id,name,bases.",
                )
        return [
            {str(name): _value(cell) for name, cell in row.items()}
            for row in records.to_dict("records")
        ]
    if isinstance(records, Mapping):
        return [dict(records)]
    return [dict(record) for record in records]


def _value(cell: Any) -> Any:
    """Return a frame's cell as the record had it: text for times, None for what is missing."""
    if hasattr(cell, "isoformat"):
        return None if cell != cell else cell.isoformat()
    if hasattr(cell, "item") and getattr(cell, "ndim", None) == 0:
        cell = cell.item()
    if type(cell).__name__ == "NAType" or (isinstance(cell, float) and cell != cell):
        return None
    return cell


def _check_bases(found: Sequence[Fields]) -> None:
    if not found:
        raise InputError("There is no sequence to write.", "Widen the search, or name another one.")
    without = [_called(row, place) for place, row in enumerate(found) if not _has_bases(row)]
    if without:
        raise InputError(
            f"Without bases: {wording.listed(without)}.",
            "Fetch the column `bases` too, or leave those rows out.",
        )
    for place, row in enumerate(found):
        odd = _BASES.sub("", row["bases"])
        if odd:
            raise InputError(
                f"{_called(row, place)}: {wording.shown(odd[0])} is no base.",
                "Give the bases as letters alone, without blanks and numbers.",
            )


def _check_names(found: Sequence[Fields]) -> None:
    unnamed = [place for place, row in enumerate(found) if not title(row)]
    if unnamed:
        raise InputError(
            f"Without a name: {wording.listed([f'row {place}' for place in unnamed])}.",
            "Name those rows, or leave them out.",
        )
    twins = _twins(found)
    if twins:
        shown = [f"{name} ({wording.listed(ids)})" if ids else name for name, ids in twins]
        raise ConflictError(
            f"Several sequences have one name: {wording.listed(shown)}.",
            'Take one of each, as `seqs.drop_duplicates("name")` does, or give them names of '
            "their own.",
        )


def _has_bases(row: Fields) -> bool:
    return isinstance(row.get("bases"), str) and bool(row["bases"])


def _called(row: Fields, place: int) -> str:
    return title(row) or f"row {place}"


def _twins(found: Iterable[Fields]) -> list[tuple[str, list[str]]]:
    """Return each name that several have, and their IDs."""
    by_name: dict[str, list[Fields]] = {}
    for row in found:
        by_name.setdefault(title(row), []).append(row)
    return [
        (name, [str(row["id"]) for row in rows if row.get("id")])
        for name, rows in by_name.items()
        if len(rows) > 1
    ]

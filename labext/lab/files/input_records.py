"""Convert frames and records to the records of a file, and check them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from labext import messages
from labext.actions import parameter
from labext.errors import ConflictError, InputError
from labext.lab.files import encoding
from labext.lab.files.encoding import Fields

_BASES_PATTERN = re.compile(r"[A-Za-z*.-]+")


def to_records(records: Any) -> list[Fields]:
    """Return the checked records of a frame, of one record or of several.

    Raises:
        ConflictError: two records have the same name.
        InputError: there are no records, a column is missing, or a row lacks bases or a name.
    """
    rows = _as_records(records)
    _check_bases(rows)
    _check_names(rows)
    return rows


def unique_names(sequences: Iterable[Fields], longest: Callable[[Fields], int]) -> Iterator[str]:
    """Yield a unique one-word name for each record, of at most `longest(record)` characters."""
    used: set[str] = set()
    for row in sequences:
        most = longest(row)
        word = encoding.unique_name(encoding.to_token(display_name(row), most), used, most)
        used.add(word)
        yield word


def display_name(row: Mapping[str, Any]) -> str:
    """Return a sequence's name, or else its identifier."""
    return next(
        (value for value in (row.get("name"), row.get("id")) if isinstance(value, str) and value),
        "",
    )


def _as_records(records: Any) -> list[Fields]:
    if hasattr(records, "columns") and hasattr(records, "to_dict"):
        for column in ("name", "bases"):
            if column not in records.columns:
                raise InputError(
                    f'The frame has no column "{column}".',
                    f"Include it: {parameter('columns', 'id,name,bases')}.",
                )
        return [
            {str(name): _cell_value(cell) for name, cell in row.items()}
            for row in records.to_dict("records")
        ]
    if isinstance(records, Mapping):
        return [dict(records)]
    return [dict(record) for record in records]


def _cell_value(cell: Any) -> Any:
    """Return a frame's cell as in the record: text for times, None for missing values."""
    if hasattr(cell, "isoformat"):
        return None if cell != cell else cell.isoformat()
    if hasattr(cell, "item") and getattr(cell, "ndim", None) == 0:
        cell = cell.item()
    if type(cell).__name__ == "NAType" or (isinstance(cell, float) and cell != cell):
        return None
    return cell


def _check_bases(sequences: Sequence[Fields]) -> None:
    if not sequences:
        raise InputError("There is no sequence to write.", "Widen the search, or name another one.")
    without = [_row_label(row, place) for place, row in enumerate(sequences) if not _has_bases(row)]
    if without:
        raise InputError(
            f"Without bases: {messages.join_words(without)}.",
            "Fetch the column `bases` too, or leave those rows out.",
        )
    for place, row in enumerate(sequences):
        odd = _BASES_PATTERN.sub("", row["bases"])
        if odd:
            raise InputError(
                f"{_row_label(row, place)}: {messages.quote_value(odd[0])} is not a base.",
                "Give only letters, without spaces and numbers.",
            )


def _check_names(sequences: Sequence[Fields]) -> None:
    unnamed = [place for place, row in enumerate(sequences) if not display_name(row)]
    if unnamed:
        raise InputError(
            f"Without a name: {messages.join_words([f'row {place}' for place in unnamed])}.",
            "Name those rows, or leave them out.",
        )
    twins = _duplicate_names(sequences)
    if twins:
        duplicates = [
            f"{name} ({messages.join_words(ids)})" if ids else name for name, ids in twins
        ]
        raise ConflictError(
            f"Several sequences have the same name: {messages.join_words(duplicates)}.",
            'Take one of each, as `seqs.drop_duplicates("name")` does, or give them names of '
            "their own.",
        )


def _has_bases(row: Fields) -> bool:
    return isinstance(row.get("bases"), str) and bool(row["bases"])


def _row_label(row: Fields, place: int) -> str:
    return display_name(row) or f"row {place}"


def _duplicate_names(sequences: Iterable[Fields]) -> list[tuple[str, list[str]]]:
    """Return each name that several have, and their IDs."""
    by_name: dict[str, list[Fields]] = {}
    for row in sequences:
        by_name.setdefault(display_name(row), []).append(row)
    return [
        (name, [str(row["id"]) for row in rows if row.get("id")])
        for name, rows in by_name.items()
        if len(rows) > 1
    ]

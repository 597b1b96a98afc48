"""Convert DataFrames and records to validated records for a file."""

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
    """Return the validated records of a DataFrame, one record or several records.

    Raises:
        ConflictError: several records have the same name.
        InputError: there are no records, a column is missing, or a record has no name, no bases
            or invalid bases.
    """
    rows = _as_records(records)
    _check_bases(rows)
    _check_names(rows)
    return rows


def unique_names(sequences: Iterable[Fields], max_length: Callable[[Fields], int]) -> Iterator[str]:
    """Yield a unique one-word name of at most `max_length(record)` characters per record."""
    used: set[str] = set()
    for row in sequences:
        limit = max_length(row)
        word = encoding.unique_name(encoding.to_token(display_name(row), limit), used, limit)
        used.add(word)
        yield word


def display_name(row: Mapping[str, Any]) -> str:
    """Return a sequence's name, its ID if it has no name, or an empty string."""
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
    """Convert a DataFrame cell to a JSON value: text for times, None for missing values."""
    if hasattr(cell, "isoformat"):
        return None if cell != cell else cell.isoformat()
    if hasattr(cell, "item") and getattr(cell, "ndim", None) == 0:
        cell = cell.item()
    if type(cell).__name__ == "NAType" or (isinstance(cell, float) and cell != cell):
        return None
    return cell


def _check_bases(sequences: Sequence[Fields]) -> None:
    if not sequences:
        raise InputError("There is no sequence to write.", "Change the filters or the names.")
    missing = [_row_label(row, n) for n, row in enumerate(sequences) if not _has_bases(row)]
    if missing:
        raise InputError(
            f"Sequences without bases: {messages.join_words(missing)}.",
            "Fetch the column `bases` too, or omit these rows.",
        )
    for n, row in enumerate(sequences):
        invalid = _BASES_PATTERN.sub("", row["bases"])
        if invalid:
            raise InputError(
                f"{_row_label(row, n)}: {messages.quote_value(invalid[0])} is not a base.",
                "Use only letters, without spaces and numbers.",
            )


def _check_names(sequences: Sequence[Fields]) -> None:
    unnamed = [n for n, row in enumerate(sequences) if not display_name(row)]
    if unnamed:
        raise InputError(
            f"Sequences without a name: {messages.join_words([f'row {n}' for n in unnamed])}.",
            "Name these rows, or omit them.",
        )
    duplicates = [
        f"{name} ({messages.join_words(ids)})" if ids else name
        for name, ids in _duplicate_names(sequences)
    ]
    if duplicates:
        raise ConflictError(
            f"Several sequences have the same name: {messages.join_words(duplicates)}.",
            'Keep one of each, as with `seqs.drop_duplicates("name")`, or rename them.',
        )


def _has_bases(row: Fields) -> bool:
    return isinstance(row.get("bases"), str) and bool(row["bases"])


def _row_label(row: Fields, position: int) -> str:
    return display_name(row) or f"row {position}"


def _duplicate_names(sequences: Iterable[Fields]) -> list[tuple[str, list[str]]]:
    """Return the names that several sequences have, with the IDs of these sequences."""
    by_name: dict[str, list[Fields]] = {}
    for row in sequences:
        by_name.setdefault(display_name(row), []).append(row)
    return [
        (name, [str(row["id"]) for row in rows if row.get("id")])
        for name, rows in by_name.items()
        if len(rows) > 1
    ]

"""What a column's cells become: one array of a real type, whatever the cells are.

What does not fit its column becomes missing (or stays text, in a JSON column). Characters that
steer a terminal are taken out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
import orjson
import pandas as pd

from labext.steering import steers, tame, tamed

Kind = Literal["text", "time", "number", "integer", "boolean", "category", "json", "value"]


def made(kind: Kind, cells: list[Any]) -> Any:
    """Return cells as an array of their kind; `labext.frames.Column` says what each is."""
    return _MAKERS[kind](cells)


def missing(kind: Kind, count: int) -> Any:
    """Return an array of nothing but missing cells."""
    return made(kind, [None]).take(np.zeros(count, dtype=np.intp))


def as_it_is(cells: list[Any]) -> Any:
    """Return cells of an unknown kind: as pandas sees them, or else as objects.

    Whole numbers and truth values stay what they are where a cell is missing.
    """
    kinds = {type(cell) for cell in cells}
    if not kinds.isdisjoint((str, dict, list)):
        cells = tamed(cells)
    if kinds == {int, type(None)} and all(-(2**63) <= (cell or 0) < 2**63 for cell in cells):
        return _integer(cells)
    if kinds == {bool, type(None)}:
        return _boolean(cells)
    try:
        return pd.Series(cells, dtype=None if cells else object).array
    except (TypeError, ValueError, OverflowError):
        return _objects(cells)


def is_missing(cell: Any) -> bool:
    """Say whether a cell holds nothing."""
    return cell is None or (isinstance(cell, float) and np.isnan(cell))


def _text_type() -> Any:
    try:
        return pd.StringDtype(na_value=np.nan)  # the `str` of pandas 3
    except TypeError:
        return pd.StringDtype("python")  # pandas 2.2


_TEXT = _text_type()


def _text(cells: list[Any]) -> Any:
    if not _only_text(cells):
        cells = [
            cell if cell is None or isinstance(cell, str) else _written(cell) for cell in cells
        ]
    if any(map(steers, _joined(cells))):
        cells = [cell and tame(cell) for cell in cells]
    if not all(map(_is_storable, _joined(cells))):
        cells = [cell and cell.encode("utf-8", "replace").decode() for cell in cells]
    return pd.array(cells, dtype=_TEXT)


def _is_storable(text: str) -> bool:
    """Say whether no half of a surrogate pair is in a text, which can be neither kept nor shown."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeError:
        return False
    return True


def _only_text(cells: list[Any]) -> bool:
    return {str, type(None)}.issuperset(map(type, cells))


def _category(cells: list[Any]) -> Any:
    return pd.Categorical(_text(cells))


def _time(cells: list[Any]) -> Any:
    if not _only_text(cells):
        cells = [cell if isinstance(cell, str) else None for cell in cells]
    return pd.to_datetime(cells, utc=True, format="ISO8601", errors="coerce").as_unit("us")


def _number(cells: list[Any]) -> Any:
    try:
        numbers = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = None
    if numbers is None or numbers.ndim != 1:  # some cell is no number, or a list
        numbers = np.array([_float(cell) for cell in cells], dtype=np.float64)
    return numbers


def _float(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _integer(cells: list[Any]) -> Any:
    return pd.array([_whole(cell) for cell in cells], dtype="Int64")


def _whole(cell: Any) -> int | None:
    number = _float(cell)
    if not np.isfinite(number) or not number.is_integer() or abs(number) >= 2**63:
        return None
    return cell if type(cell) is int else int(number)


def _boolean(cells: list[Any]) -> Any:
    return pd.array([cell if isinstance(cell, bool) else None for cell in cells], dtype="boolean")


_PIECE = 250
"""Cells looked at together: one by one takes as long as making them, all at once much memory."""


def _pieces(cells: list[Any]) -> Iterator[list[Any]]:
    return (cells[start : start + _PIECE] for start in range(0, len(cells), _PIECE))


def _joined(cells: list[Any]) -> Iterator[str]:
    return ("".join(filter(None, piece)) for piece in _pieces(cells))


def _json(cells: list[Any]) -> Any:
    try:
        found = list(map(orjson.loads, cells))
    except ValueError:  # some cell is missing, came parsed, or is no JSON
        return _objects([_read(cell) if isinstance(cell, str) else tamed(cell) for cell in cells])
    return _objects(tamed(found) if any(map(steers, _joined(cells))) else found)


def _read(cell: str) -> Any:
    value = _parsed(cell)
    return tamed(value) if steers(cell) else value


def _parsed(cell: str) -> Any:
    try:
        return orjson.loads(cell)
    except ValueError:
        pass
    try:
        return json.loads(cell)  # reads NaN and Infinity too, which Python's servers write
    except (ValueError, RecursionError):
        return cell


def _objects(cells: list[Any]) -> Any:
    made = np.empty(len(cells), dtype=object)
    made[:] = cells
    return made


def _written(cell: Any) -> str:
    try:
        return json.dumps(cell, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(type(cell).__name__)


_MAKERS: Mapping[Kind, Callable[[list[Any]], Any]] = {
    "text": _text,
    "time": _time,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "category": _category,
    "json": _json,
    "value": lambda cells: _objects(cells),
}

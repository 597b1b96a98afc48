"""Records to DataFrames: real types, a stable order, and no cell that stops the list.

Built by columns, since a DataFrame made of records has its types guessed and then mended. What
does not fit its column becomes missing (or stays text, in a JSON column), since a list of 10,000
jobs must not fail for one of them. Characters that steer a terminal are taken out: a frame is shown
there as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import orjson
import pandas as pd

from labext.steering import steers, tame, tamed

Kind = Literal["text", "time", "number", "integer", "boolean", "category", "json"]


class Column(NamedTuple):
    """A column's name and what its cells are.

    `text` is a string; `time` a UTC timestamp in microseconds; `number` a float; `integer` and
    `boolean` may be missing; `category` is a state or another word of few; `json` is what a string
    of JSON says, or the value itself where it came parsed.
    """

    name: str
    kind: Kind


def frame(records: Iterable[Mapping[str, Any]], columns: Sequence[Column]) -> pd.DataFrame:
    """Return records as a DataFrame: the named columns in their order, then what else came.

    An empty list has the same columns and types. A key that no column names is appended as it is,
    in the order in which such keys appear.
    """
    rows = list(records)
    keys: set[str] = set().union(*rows)
    data: dict[str, Any] = {}
    for name, kind in columns:
        make = _MAKERS[kind]
        # Most lists lack some column; all its cells are then one missing cell, repeated.
        data[name] = make(_cells(rows, name)) if name in keys else _repeated(make, len(rows))
    if extra := keys.difference(data):
        for name in dict.fromkeys(key for row in rows for key in row if key in extra):
            data[tame(name)] = _as_it_is(_cells(rows, name))
    return _table(data, pd.RangeIndex(len(rows)))


def spread(table: pd.DataFrame, column: str, prefix: str) -> pd.DataFrame:
    """Return the table with a column of dictionaries replaced by one column for each of their keys.

    They stand where the column stood, in the order in which the keys appear, and are called
    `prefix.key`. What is no dictionary (a bare number as a score) stands in a column called
    `prefix`, which there is only then.
    """
    cells = list(table[column])
    keys = dict.fromkeys(key for cell in cells if isinstance(cell, dict) for key in cell)
    made: dict[str, Any] = {}
    bare = [None if isinstance(cell, dict) else cell for cell in cells]
    if any(not _is_missing(cell) for cell in bare):
        made[prefix] = _as_it_is(bare)
    for key in keys:
        made[f"{prefix}.{key}"] = _as_it_is(
            [cell.get(key) if isinstance(cell, dict) else None for cell in cells]
        )
    place = list(table.columns).index(column)
    others = {name: table[name] for name in table.columns if name not in {column, *made}}
    before = {name: others.pop(name) for name in table.columns[:place] if name in others}
    return _table({**before, **made, **others}, table.index)


def _table(data: Mapping[str, Any], index: pd.Index[Any]) -> pd.DataFrame:
    typed = {
        # Of objects the type would be guessed again.
        name: pd.Series(values, index, dtype=object) if values.dtype == object else values
        for name, values in data.items()
    }
    return pd.DataFrame(typed, index=index, copy=False)


def _cells(rows: list[Mapping[str, Any]], name: str) -> list[Any]:
    try:
        return [row[name] for row in rows]
    except KeyError:
        return [row.get(name) for row in rows]


def _repeated(make: Callable[[list[Any]], Any], count: int) -> Any:
    return make([None]).take(np.zeros(count, dtype=np.intp))


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
    whole = "".join(filter(None, cells))
    if steers(whole):
        cells = [cell and tame(cell) for cell in cells]
    if not _is_storable(whole):
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


def _json(cells: list[Any]) -> Any:
    try:
        found = list(map(orjson.loads, cells))
    except ValueError:  # some cell is missing, came parsed, or is no JSON
        return _objects([_read(cell) if isinstance(cell, str) else tamed(cell) for cell in cells])
    # Some hundred at a time: one by one takes as long as reading them.
    pieces = ("".join(cells[start : start + _PIECE]) for start in range(0, len(cells), _PIECE))
    return _objects(tamed(found) if any(map(steers, pieces)) else found)


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


def _as_it_is(cells: list[Any]) -> Any:
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


def _objects(cells: list[Any]) -> Any:
    made = np.empty(len(cells), dtype=object)
    made[:] = cells
    return made


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and np.isnan(cell))


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
}

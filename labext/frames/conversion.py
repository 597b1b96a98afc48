"""Convert records to DataFrames with typed columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import orjson
import pandas as pd

from labext.sanitize import contains_control, strip_control, strip_control_json


class Column(NamedTuple):
    """A column's name and kind.

    Kinds: `text`: string; `time`: UTC timestamp in microseconds; `number`: float; `integer` and
    `boolean`: nullable; `category`: a state or another value from a small set; `json`: a JSON
    string to parse, or an already parsed value; `value`: a parsed value that is kept unchanged and
    must be sanitized by the caller (`labext.sanitize.strip_control_json`).
    """

    name: str
    kind: Kind


def make_columns(**kinds: Kind) -> list[Column]:
    """Return columns, given by their names and kinds."""
    return [Column(name, kind) for name, kind in kinds.items()]


class FrameBuilder:
    """Collect cells column by column, so that records can be freed page by page.

    For lists with many pages, this halves the peak memory.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._kinds = {column.name: column.kind for column in columns}
        self._cells: dict[str, list[Any]] = {}
        self._count = 0

    def add_rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add the cells of further records."""
        keys: set[str] = set().union(*rows)
        new = keys.difference(self._cells)
        # Undeclared columns keep the order in which they first appear.
        all_declared = new <= self._kinds.keys()
        order = (
            new if all_declared else dict.fromkeys(key for row in rows for key in row if key in new)
        )
        self._cells |= {name: [None] * self._count for name in order}
        for name, cells in self._cells.items():
            cells += _column_cells(rows, name) if name in keys else [None] * len(rows)
        self._count += len(rows)

    def build(self) -> pd.DataFrame:
        """Return a DataFrame of the collected rows and reset the builder."""
        cells, count = self._cells, self._count
        self._cells, self._count = {}, 0
        # `pop` frees each list once its array is built, to keep the peak memory low.
        data = {
            name: to_array(kind, cells.pop(name)) if name in cells else missing_array(kind, count)
            for name, kind in self._kinds.items()
        }
        data |= {strip_control(name): infer_array(cells.pop(name)) for name in list(cells)}
        return _build_frame(data, pd.RangeIndex(count))


def records_to_frame(
    records: Iterable[Mapping[str, Any]], columns: Sequence[Column]
) -> pd.DataFrame:
    """Return records as a DataFrame with the declared columns, followed by all other keys.

    An empty list has the same columns and types. Undeclared keys become columns of an inferred type
    in order of first appearance.
    """
    builder = FrameBuilder(columns)
    builder.add_rows(list(records))
    return builder.build()


def spread_column(table: pd.DataFrame, column: str, prefix: str) -> pd.DataFrame:
    """Replace a column of dictionaries by one column per key.

    The new columns `prefix.key` are inserted at the position of the original column, in order of
    first appearance. Cells that are not dictionaries, such as a score that is a single number, go
    into an additional column `prefix`.
    """
    cells = list(table[column])
    keys = dict.fromkeys(key for cell in cells if isinstance(cell, dict) for key in cell)
    parts: dict[str, Any] = {}
    scalars = [None if isinstance(cell, dict) else cell for cell in cells]
    if any(not is_missing(cell) for cell in scalars):
        parts[prefix] = infer_array(scalars)
    for key in keys:
        parts[f"{prefix}.{key}"] = infer_array(
            [cell.get(key) if isinstance(cell, dict) else None for cell in cells]
        )
    position = list(table.columns).index(column)
    kept = [
        (n, name, table.iloc[:, n])  # by position, as names may occur twice
        for n, name in enumerate(table.columns)
        if name != column and name not in parts
    ]
    preceding = [(name, values) for n, name, values in kept if n < position]
    following = [(name, values) for n, name, values in kept if n > position]
    columns = [*preceding, *parts.items(), *following]
    frame = _build_frame({n: values for n, (_, values) in enumerate(columns)}, table.index)
    return frame.set_axis([name for name, _ in columns], axis=1)


def _build_frame(data: Mapping[Any, Any], index: pd.Index[Any]) -> pd.DataFrame:
    typed = {
        # pandas would infer the type of an object array again.
        name: pd.Series(values, index, dtype=object) if values.dtype == object else values
        for name, values in data.items()
    }
    return pd.DataFrame(typed, index=index, copy=False)


def _column_cells(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    try:
        return [row[name] for row in rows]
    except KeyError:
        return [row.get(name) for row in rows]


Kind = Literal["text", "time", "number", "integer", "boolean", "category", "json", "value"]


def to_array(kind: Kind, cells: list[Any]) -> Any:
    """Convert cells to an array of the type of a column kind."""
    return _CONVERTERS[kind](cells)


def missing_array(kind: Kind, count: int) -> Any:
    """Return an array of missing values."""
    return to_array(kind, [None]).take(np.zeros(count, dtype=np.intp))


def infer_array(cells: list[Any]) -> Any:
    """Convert cells to an array of the type that pandas infers; objects if it can't infer one.

    Integers and booleans become nullable types if a cell is missing.
    """
    kinds = {type(cell) for cell in cells}
    if not kinds.isdisjoint((str, dict, list)):
        cells = strip_control_json(cells)
    if kinds == {int, type(None)} and all(-(2**63) <= (cell or 0) < 2**63 for cell in cells):
        return _integer_array(cells)
    if kinds == {bool, type(None)}:
        return _boolean_array(cells)
    try:
        return pd.Series(cells, dtype=None if cells else object).array
    except (TypeError, ValueError, OverflowError):
        return _object_array(cells)


def is_missing(cell: Any) -> bool:
    """Return True if a cell is None, NaN or pandas' NA."""
    return cell is None or cell is pd.NA or (isinstance(cell, float) and np.isnan(cell))


def _text_type() -> Any:
    try:
        return pd.StringDtype(na_value=np.nan)  # the `str` of pandas 3
    except TypeError:
        return pd.StringDtype("python")  # pandas 2.2


_TEXT = _text_type()


def _text_array(cells: list[Any]) -> Any:
    if not _only_text(cells):
        cells = [cell if isinstance(cell, str) else _cell_to_text(cell) for cell in cells]
    if any(map(contains_control, _joined_chunks(cells))):
        cells = [cell and strip_control(cell) for cell in cells]
    return pd.array(cells, dtype=_TEXT)


def _only_text(cells: list[Any]) -> bool:
    return {str, type(None)}.issuperset(map(type, cells))


def _time_array(cells: list[Any]) -> Any:
    if not _only_text(cells):
        cells = [cell if isinstance(cell, str) else None for cell in cells]
    return pd.to_datetime(cells, utc=True, format="ISO8601", errors="coerce").as_unit("us")


def _number_array(cells: list[Any]) -> Any:
    try:
        numbers = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = None
    if numbers is None or numbers.ndim != 1:  # some cell is not a number, or is a list
        numbers = np.array([_to_float(cell) for cell in cells], dtype=np.float64)
    return numbers


def _to_float(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _integer_array(cells: list[Any]) -> Any:
    return pd.array([_to_int(cell) for cell in cells], dtype="Int64")


def _to_int(cell: Any) -> int | None:
    number = _to_float(cell)
    if not np.isfinite(number) or not number.is_integer() or abs(number) >= 2**63:
        return None
    return cell if type(cell) is int else int(number)


def _boolean_array(cells: list[Any]) -> Any:
    return pd.array([cell if isinstance(cell, bool) else None for cell in cells], dtype="boolean")


_CHUNK_SIZE = 250
"""Number of cells to check at once: single cells are slow, whole columns need much memory."""


def _joined_chunks(cells: list[Any]) -> Iterator[str]:
    for start in range(0, len(cells), _CHUNK_SIZE):
        yield "".join(filter(None, cells[start : start + _CHUNK_SIZE]))


def _json_array(cells: list[Any]) -> Any:
    try:
        values = list(map(orjson.loads, cells))
    except ValueError:  # some cell is missing, already parsed, or not JSON
        return _object_array(
            [
                _load_json(cell) if isinstance(cell, str) else strip_control_json(cell)
                for cell in cells
            ]
        )
    return _object_array(
        strip_control_json(values) if any(map(contains_control, _joined_chunks(cells))) else values
    )


def _load_json(cell: str) -> Any:
    value = _parse_cell(cell)
    return strip_control_json(value) if contains_control(cell) else value


def _parse_cell(cell: str) -> Any:
    try:
        return orjson.loads(cell)
    except ValueError:
        pass
    try:
        return json.loads(cell)  # also accepts NaN and Infinity, which Python servers write
    except (ValueError, RecursionError):
        return cell


def _object_array(cells: list[Any]) -> Any:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _cell_to_text(cell: Any) -> str | None:
    if is_missing(cell):
        return None
    try:
        return json.dumps(cell, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(type(cell).__name__)


_CONVERTERS: Mapping[Kind, Callable[[list[Any]], Any]] = {
    "text": _text_array,
    "time": _time_array,
    "number": _number_array,
    "integer": _integer_array,
    "boolean": _boolean_array,
    "category": lambda cells: pd.Categorical(_text_array(cells)),
    "json": _json_array,
    "value": lambda cells: _object_array(cells),
}

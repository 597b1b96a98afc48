"""Convert records to DataFrames with typed columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from labext.frames.column_types import Kind, infer_array, is_missing, missing_array, to_array
from labext.frames.sanitize import strip_control

__all__ = ["Column", "FrameBuilder", "Kind", "records_to_frame", "spread_column"]


class Column(NamedTuple):
    """A column's name and kind.

    `text` is a string; `time` a UTC timestamp in microseconds; `number` a float; `integer` and
    `boolean` may be missing; `category` is a state or another word from a small set; `json` is the
    value of a JSON string, or the cell itself if it is already parsed; `value` is a parsed value,
    kept unchanged: its texts are already sanitized (`labext.frames.sanitize.strip_control_json`).
    """

    name: str
    kind: Kind


class FrameBuilder:
    """The cells of records by column, so that the records themselves can be let go.

    A list of many pages takes half the memory if each page's records go before the next ones come.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._kinds = {column.name: column.kind for column in columns}
        self._cells: dict[str, list[Any]] = {}
        self._count = 0

    def add_rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take the cells of some more records."""
        here: set[str] = set().union(*rows)
        new = here.difference(self._cells)
        # Those that no column names keep the order in which they come.
        all_known = new <= self._kinds.keys()
        order = (
            new if all_known else dict.fromkeys(key for row in rows for key in row if key in new)
        )
        self._cells |= {name: [None] * self._count for name in order}
        for name, cells in self._cells.items():
            cells += _column_cells(rows, name) if name in here else [None] * len(rows)
        self._count += len(rows)

    def build(self) -> pd.DataFrame:
        """Return a frame of the collected rows, and release them."""
        cells, count = self._cells, self._count
        self._cells, self._count = {}, 0
        # Column by column: as an array and as a list at once there is never more than one.
        data = {
            name: to_array(kind, cells.pop(name)) if name in cells else missing_array(kind, count)
            for name, kind in self._kinds.items()
        }
        data |= {strip_control(name): infer_array(cells.pop(name)) for name in list(cells)}
        return _build_frame(data, pd.RangeIndex(count))


def records_to_frame(
    records: Iterable[Mapping[str, Any]], columns: Sequence[Column]
) -> pd.DataFrame:
    """Return records as a DataFrame: the named columns in their order, then all further keys.

    An empty list has the same columns and types. A key that no column names is appended unchanged,
    in the order in which such keys appear.
    """
    gathered = FrameBuilder(columns)
    gathered.add_rows(list(records))
    return gathered.build()


def spread_column(table: pd.DataFrame, column: str, prefix: str) -> pd.DataFrame:
    """Return the table with a column of dictionaries replaced by one column for each of their keys.

    The new columns take the place of the old one, in the order in which the keys appear, and are
    called `prefix.key`. Cells that are not dictionaries (a bare number as a score) go into a column
    called `prefix`, which exists only then.
    """
    cells = list(table[column])
    keys = dict.fromkeys(key for cell in cells if isinstance(cell, dict) for key in cell)
    parts: dict[str, Any] = {}
    bare = [None if isinstance(cell, dict) else cell for cell in cells]
    if any(not is_missing(cell) for cell in bare):
        parts[prefix] = infer_array(bare)
    for key in keys:
        parts[f"{prefix}.{key}"] = infer_array(
            [cell.get(key) if isinstance(cell, dict) else None for cell in cells]
        )
    place = list(table.columns).index(column)
    others = {name: table[name] for name in table.columns if name not in {column, *parts}}
    before = {name: others.pop(name) for name in table.columns[:place] if name in others}
    return _build_frame({**before, **parts, **others}, table.index)


def _build_frame(data: Mapping[str, Any], index: pd.Index[Any]) -> pd.DataFrame:
    typed = {
        # Of objects the type would be guessed again.
        name: pd.Series(values, index, dtype=object) if values.dtype == object else values
        for name, values in data.items()
    }
    return pd.DataFrame(typed, index=index, copy=False)


def _column_cells(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    try:
        return [row[name] for row in rows]
    except KeyError:
        return [row.get(name) for row in rows]

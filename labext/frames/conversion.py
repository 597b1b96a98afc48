"""Convert records to DataFrames with typed columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from labext.frames.column_types import Kind, infer_array, is_missing, missing_array, to_array
from labext.frames.sanitize import strip_control

__all__ = ["Column", "FrameBuilder", "Kind", "records_to_frame", "spread_column"]


class Column(NamedTuple):
    """A column's name and what its cells are.

    `text` is a string; `time` a UTC timestamp in microseconds; `number` a float; `integer` and
    `boolean` may be missing; `category` is a state or another word of few; `json` is what a string
    of JSON says, or the value itself where it came parsed; `value` is what came parsed, kept as it
    is: its texts are tame already (`labext.frames.sanitize.strip_control_json`).
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
        """Return a frame of what was taken, which is then let go."""
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
    """Return records as a DataFrame: the named columns in their order, then what else came.

    An empty list has the same columns and types. A key that no column names is appended as it is,
    in the order in which such keys appear.
    """
    gathered = FrameBuilder(columns)
    gathered.add_rows(list(records))
    return gathered.build()


def spread_column(table: pd.DataFrame, column: str, prefix: str) -> pd.DataFrame:
    """Return the table with a column of dictionaries replaced by one column for each of their keys.

    They stand where the column stood, in the order in which the keys appear, and are called
    `prefix.key`. What is no dictionary (a bare number as a score) stands in a column called
    `prefix`, which there is only then.
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

"""Scatter, histogram, line and box plots of the columns of a table."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from labext.errors import InputError
from labext.messages import join_words, pluralize
from labext_widgets.plots.chart import (
    COLORS,
    GREY,
    HALF_DAY,
    SHAPES,
    Axis,
    Bars,
    Boxes,
    Chart,
    Line,
    Mark,
    Panel,
    Points,
    Scale,
)
from labext_widgets.plots.columns import (
    Column,
    find_column,
    label,
    numeric_columns,
    range_text,
    read_column,
    value_text,
)

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["scatter", "histogram", "line", "box"]
KINDS: tuple[Kind, ...] = ("scatter", "histogram", "line", "box")

MAX_GROUPS = 11
"""Maximum number of groups with a distinct color and shape; the others are grey."""

MAX_CATEGORIES = 40
MAX_BINS = 60
MANY_POINTS = 500
"""Number of points from which they are drawn smaller, and omitted from box plots."""


@dataclass(frozen=True)
class _Group:
    name: str
    color: str
    shape: int
    rows: list[int]
    is_dashed: bool = False


def default_columns(frame: pd.DataFrame) -> tuple[str | None, str | None]:
    """Return the columns to plot if none is named: the first two scores, or numbers, that differ.

    The second is None if only one exists, both are None if none exists.
    """
    varied = [name for name in numeric_columns(frame) if _distinct(read_column(frame, name)) > 1]
    scores = [name for name in varied if name.startswith("score.")]
    first = (scores or varied or numeric_columns(frame))[:2]
    return (first[0] if first else None), (first[1] if len(first) > 1 else None)


def table_chart(
    frame: pd.DataFrame,
    title: str,
    *,
    x: str | None,
    y: str | None,
    color: str | None,
    kind: Kind | None,
    names: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
    hint: str = "",
) -> Chart:
    """Return the chart of the columns of a table.

    Args:
        frame: the table.
        title: of the chart.
        x: the column of the horizontal axis.
        y: the column of the vertical axis; at least one of both is not None.
        color: the column that colors the points.
        kind: the kind of chart; by default that which fits the columns.
        names: what each row is called.
        units: the units of the columns.
        hint: a sentence for errors, on where further columns come from.

    Raises:
        InputError: a column does not exist, or the columns do not fit the kind.
    """
    units = units or {}
    first, *more = (
        read_column(frame, find_column(frame, name, hint)) for name in (x, y) if name is not None
    )
    second = more[0] if more else None
    colored = None if color is None else read_column(frame, find_column(frame, color, hint))
    kind = kind or choose_kind(first, second, is_series=not names)
    _check_kind(kind, first, second)
    maker = _Maker(frame, list(names), units, colored)
    if kind == "histogram":
        panel = maker.histogram(first)
    elif kind == "box":
        panel = maker.box(first, second)
    else:
        assert second is not None
        panel = maker.scatter(first, second, lines=kind == "line")
    description = panel.x.label if kind == "histogram" else f"{panel.y.label} by {panel.x.label}"
    if kind == "box" and second is None:
        description = panel.y.label
    by = f", colored by {label(colored.name, units)}" if colored is not None else ""
    return Chart(title, f"{kind} of {description}{by}; {pluralize(len(frame), 'row')}", (panel,))


def choose_kind(x: Column, y: Column | None, *, is_series: bool = False) -> Kind:
    """Return the kind of chart that fits the columns.

    One column: a histogram. A category and a number: a box plot. A time, or in a table without
    jobs a number that counts up evenly, and a number: a line. Else a scatter plot.
    """
    if y is None:
        return "histogram"
    if x.kind == "category" and y.kind == "category":
        return "scatter"
    if "category" in (x.kind, y.kind):
        category = x if x.kind == "category" else y
        many = len(category.categories) * 3 > sum(not math.isnan(v) for v in category.values)
        return "scatter" if many else "box"
    if is_series and (x.kind == "time" or _counts_up(x.values)):
        return "line"
    return "scatter"


def _check_kind(kind: Kind, x: Column, y: Column | None) -> None:
    if kind in ("scatter", "line") and y is None:
        raise InputError(
            f"A {kind} plot needs two columns.", "Name both, or make a histogram of one."
        )
    if kind == "line" and y is not None and y.kind == "category":
        raise InputError(
            f'A line plot needs numbers, and "{y.name}" has names.', "Make a scatter plot of it."
        )
    if kind == "histogram" and y is not None:
        raise InputError(
            "A histogram has one column.", "Leave one of them out, or color by the other."
        )
    if kind == "box":
        numbers = [c.kind != "category" for c in (x, y) if c is not None]
        if not any(numbers):
            raise InputError("A box plot needs a column of numbers.", "Make a histogram of one.")
        if numbers == [True, True]:
            raise InputError(
                "A box plot of two columns needs a column of categories and one of numbers.",
                "Make a scatter plot of two columns of numbers.",
            )


class _Maker:
    """Makes the panel of a chart of one table."""

    def __init__(
        self, frame: pd.DataFrame, names: list[str], units: Mapping[str, str], color: Column | None
    ) -> None:
        self._frame = frame
        self._names = names
        self._units = units
        self._color = color
        self._notes: list[str] = []

    def scatter(self, x: Column, y: Column, *, lines: bool) -> Panel:
        rows = self._rows(x, y)
        x, y = self._limit_categories(x), self._limit_categories(y)
        rows = _with_values(rows, x, y)
        size = 7 if len(rows) <= MANY_POINTS else 4
        marks: list[Mark] = []
        scale = self._scale(rows)
        if scale is not None and self._color is not None and not lines:
            values = self._color.values
            known = [row for row in rows if not math.isnan(values[row])]
            groups = [_Group("", COLORS[0], 0, known)]
            if len(known) < len(rows):
                other = [row for row in rows if math.isnan(values[row])]
                groups.append(_Group("no value", GREY, 1, other))
        else:
            groups, scale, values = self._groups(rows), None, []
        for group in groups:
            ordered = sorted(group.rows, key=lambda row: x.values[row]) if lines else group.rows
            xs, ys = [x.values[row] for row in ordered], [y.values[row] for row in ordered]
            if lines:
                marks.append(Line(xs, ys, ordered, group.name, group.color, group.is_dashed))
            if not lines or len(ordered) <= 60:
                name = "" if lines else group.name
                shape = SHAPES[group.shape]
                colored = scale is not None and group.color != GREY
                shades = [values[row] for row in ordered] if colored else []
                small = 5 if lines else size
                marks.append(Points(xs, ys, ordered, name, group.color, shape, shades, small))
        return self._panel(self._axis(x), self._axis(y), marks, scale)

    def histogram(self, column: Column) -> Panel:
        rows = self._rows(column)
        column = self._limit_categories(column)
        rows = _with_values(rows, column)
        edges, inner = _bins(column, rows)
        groups = self._groups(rows, bars=True)
        heights = [0.0] * (len(edges) - 1)
        marks: list[Mark] = []
        gap = (edges[1] - edges[0]) * inner if len(edges) > 1 else 0.0
        for group in groups:
            binned: list[list[int]] = [[] for _ in heights]
            for row in group.rows:
                binned[_bin_of(column.values[row], edges)].append(row)
            filled = [i for i, inside in enumerate(binned) if inside]
            tops = [heights[i] + len(binned[i]) for i in filled]
            marks.append(
                Bars(
                    [edges[i] + gap for i in filled],
                    [edges[i + 1] - gap for i in filled],
                    [heights[i] for i in filled],
                    tops,
                    [binned[i] for i in filled],
                    [_bin_text(column, edges, i, group.name, len(binned[i])) for i in filled],
                    group.name,
                    group.color,
                )
            )
            for i, top in zip(filled, tops, strict=True):
                heights[i] = top
        count = "jobs" if "JobName" in self._frame else "rows"
        top = max(heights, default=1) * 1.05 or 1
        y = Axis(f"number of {count}", limits=(0, top), whole=True)
        values = [column.values[row] for row in rows]
        extent = (min(values), max(values)) if values else None
        return self._panel(replace(self._axis(column), extent=extent), y, marks, None)

    def box(self, x: Column, y: Column | None) -> Panel:
        category, numbers = (x, y) if y is not None else (None, x)
        if category is None:
            category = Column("", "category", [0.0] * len(x.values), ("",))
        elif category.kind != "category":
            category, numbers = y, x
        assert category is not None
        assert numbers is not None
        rows = self._rows(category, numbers)
        category = self._limit_categories(category)
        rows = _with_values(rows, category)
        boxes: dict[int, tuple[float, ...]] = {}
        placed: dict[int, float] = {}
        for position in range(len(category.categories)):
            inside = [row for row in rows if category.values[row] == position]
            if not inside:
                continue
            box = _quartiles(sorted(numbers.values[row] for row in inside))
            boxes[position] = box
            outside = [row for row in inside if not box[0] <= numbers.values[row] <= box[4]]
            drawn = inside if len(rows) <= MANY_POINTS else outside
            placed |= {row: position + _jitter(n, len(drawn)) for n, row in enumerate(drawn)}
        marks: list[Mark] = []
        if boxes:
            low, q1, median, q3, high = (list(v) for v in zip(*boxes.values(), strict=True))
            marks.append(Boxes([float(p) for p in boxes], low, q1, median, q3, high))
        drawn_rows = [row for row in rows if row in placed]
        if len(rows) > MANY_POINTS:
            outside_of_all = f"{len(drawn_rows):,} of {len(rows):,} rows"
            self._notes.append(f"{outside_of_all} are beyond the whiskers, drawn as points")
        for group in self._groups(drawn_rows):
            xs, ys = ([places[row] for row in group.rows] for places in (placed, numbers.values))
            marks.append(
                Points(xs, ys, group.rows, group.name, group.color, SHAPES[group.shape], size=5)
            )
        return self._panel(self._axis(category), self._axis(numbers), marks, None)

    def _panel(self, x: Axis, y: Axis, marks: list[Mark], scale: Scale | None) -> Panel:
        legend = "" if self._color is None else label(self._color.name, self._units)
        note = "; ".join(self._notes)
        return Panel(
            x, y, tuple(marks), self._frame, self._names, legend=legend, scale=scale, note=note
        )

    def _axis(self, column: Column) -> Axis:
        if column.kind == "category":
            limits = (-0.6, max(len(column.categories), 1) - 0.4)
            return Axis(label(column.name, self._units), "category", column.categories, limits)
        return Axis(label(column.name, self._units), column.kind, whole=column.is_whole)

    def _rows(self, *columns: Column) -> list[int]:
        """Return the rows with a value in all columns, and note the number of the others."""
        count = len(columns[0].values)
        rows = _with_values(range(count), *columns)
        if len(rows) < count:
            missing = pluralize(count - len(rows), "row")
            self._notes.append(f"{missing} without a value left out")
        return rows

    def _limit_categories(self, column: Column) -> Column:
        """Return a column with only its first `MAX_CATEGORIES` categories."""
        if len(column.categories) <= MAX_CATEGORIES:
            return column
        named = label(column.name, {})
        self._notes.append(
            f"the first {MAX_CATEGORIES} of {len(column.categories):,} values of {named}"
        )
        values = [value if value < MAX_CATEGORIES else math.nan for value in column.values]
        return Column(column.name, "category", values, column.categories[:MAX_CATEGORIES])

    def _scale(self, rows: list[int]) -> Scale | None:
        """Return the scale of colors if the column of the colors has many numbers."""
        column = self._color
        if column is None or column.kind == "category" or _is_coded(column):
            return None
        known = [column.values[row] for row in rows if not math.isnan(column.values[row])]
        if not known:
            return None
        kind: Literal["number", "time"] = "time" if column.kind == "time" else "number"
        return Scale(label(column.name, self._units), min(known), max(known), kind)

    def _groups(self, rows: list[int], *, bars: bool = False) -> list[_Group]:
        """Return the rows by the value of the column of the colors."""
        column = self._color
        if column is None:
            return [_Group("", COLORS[0], 0, rows)]
        if column.kind != "category":
            column = _as_categories(column)
        by_value: dict[int, list[int]] = {}
        missing: list[int] = []
        for row in rows:
            value = column.values[row]
            if math.isnan(value):
                missing.append(row)
            else:
                by_value.setdefault(int(value), []).append(row)
        # the largest groups have colors; the order is that of the column
        largest = sorted(by_value, key=lambda value: -len(by_value[value]))[:MAX_GROUPS]
        most = len(COLORS) if bars else MAX_GROUPS
        visible = sorted(largest[:most])
        groups = [
            _Group(
                column.categories[value],
                COLORS[n % len(COLORS)],
                n % len(SHAPES),
                by_value[value],
                is_dashed=n >= len(COLORS),
            )
            for n, value in enumerate(visible)
        ]
        others = [
            row for value in sorted(by_value) if value not in visible for row in by_value[value]
        ]
        if others:
            name = pluralize(len(by_value) - len(visible), "other")
            groups.append(_Group(name, GREY, 0, others))
        if missing:
            groups.append(_Group("no value", GREY, 1, missing, is_dashed=bool(others)))
        return groups


def _with_values(rows: Iterable[int], *columns: Column) -> list[int]:
    """Return the rows that have a value in all columns."""
    return [n for n in rows if not any(math.isnan(column.values[n]) for column in columns)]


def _distinct(column: Column) -> int:
    return len({value for value in column.values if not math.isnan(value)})


def _is_coded(column: Column) -> bool:
    """Return whether a column of numbers has only a few whole values, such as 1, 2 and 3."""
    return column.is_whole and _distinct(column) <= 6


def _as_categories(column: Column) -> Column:
    """Return a column of numbers or times as categories: its values, or five ranges."""
    known = sorted({value for value in column.values if not math.isnan(value)})
    if len(known) <= len(COLORS) and column.kind == "number":
        names = tuple(value_text("number", value, 12) for value in known)
        positions = {value: float(n) for n, value in enumerate(known)}
        values = [positions.get(value, math.nan) for value in column.values]
        return Column(column.name, "category", values, names)
    if column.kind == "time":
        raise InputError(
            f'"{column.name}" is a time; times can color the points of a scatter plot only.',
            f"Color by another column than {join_words([column.name])}.",
        )
    low, high = known[0], known[-1]
    step = (high - low) / 5
    edges = [low + step * n for n in range(6)]
    names = tuple(range_text("number", a, b) for a, b in pairwise(edges))
    values = [
        math.nan if math.isnan(v) else float(min(int((v - low) / step), 4)) for v in column.values
    ]
    return Column(column.name, "category", values, names)


def _counts_up(values: Sequence[float]) -> bool:
    """Return whether values increase by the same step from row to row."""
    if len(values) < 5 or any(math.isnan(value) for value in values):
        return False
    steps = [b - a for a, b in pairwise(values)]
    return steps[0] > 0 and all(math.isclose(step, steps[0], rel_tol=1e-6) for step in steps)


def _bins(column: Column, rows: list[int]) -> tuple[list[float], float]:
    """Return the edges of the bins, and the share of a bin that is empty on either side."""
    import numpy as np

    if column.kind == "category":
        return [n - 0.5 for n in range(len(column.categories) + 1)], 0.15
    values = np.array([column.values[row] for row in rows])
    if not len(values):
        return [0.0, 1.0], 0.02
    low, high = float(values.min()), float(values.max())
    if low == high:
        half = HALF_DAY if column.kind == "time" else max(abs(low) * 0.05, 0.5)
        return [low - half, low + half], 0.25
    count = len(np.histogram_bin_edges(values, bins="auto")) - 1 if high - low < 1e300 else 10
    count = min(max(count, 5), MAX_BINS)
    if column.is_whole:
        # Bins with as many whole numbers each: others would differ in height for this reason.
        size = int(high) - int(low) + 1
        width = 1 if size <= MAX_BINS else -(-size // count)
        return [n - 0.5 for n in range(int(low), int(high) + width + 1, width)], 0.04
    return [float(edge) for edge in np.linspace(low, high, count + 1)], 0.02


def _bin_of(value: float, edges: Sequence[float]) -> int:
    return min(max(bisect_right(edges, value) - 1, 0), len(edges) - 2)


def _bin_text(column: Column, edges: Sequence[float], n: int, group: str, count: int) -> str:
    if column.kind == "category":
        where = column.categories[n]
    elif column.is_whole and edges[n] % 1 == 0.5:
        low, high = edges[n] + 0.5, edges[n + 1] - 0.5
        where = f"{low:.0f}" if low == high else range_text(column.kind, low, high)
    else:
        where = range_text(column.kind, edges[n], edges[n + 1])
    return f"{where}{f', {group}' if group else ''}: {count:,}"


def _quartiles(values: Sequence[float]) -> tuple[float, float, float, float, float]:
    """Return the lower whisker, the quartiles and the upper whisker of sorted values."""
    import numpy as np

    q1, median, q3 = (float(q) for q in np.percentile(values, [25, 50, 75]))
    reach = 1.5 * (q3 - q1)
    low = min((v for v in values if v >= q1 - reach), default=q1)
    high = max((v for v in values if v <= q3 + reach), default=q3)
    return min(low, q1), q1, median, q3, max(high, q3)


def _jitter(n: int, count: int) -> float:
    """Return a displacement that spreads the points of a category, the same in every run."""
    return 0.0 if count == 1 else ((n * 0.618034) % 1 - 0.5) * 0.4

"""Charts as data: drawn by matplotlib for saved pictures and by the browser for live views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

Shape = Literal["circle", "square", "triangle", "diamond", "cross"]

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colors of groups: those of Okabe and Ito that are readable on white and on black."""

GREY = "#8a8a8a"
HALF_DAY = 43_200_000
"""Milliseconds on either side of a single time."""

SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond")

VIRIDIS = (
    *("#482878", "#43398e", "#3c4f8a", "#33638d", "#2c738e", "#25838e", "#1f948c", "#22a785"),
    *("#35b779", "#56c667", "#7ad151", "#a5db36", "#d2e21b"),
)
"""Colors of numbers, from low to high, without the darkest and the lightest."""


@dataclass(frozen=True)
class Axis:
    """An axis.

    Attributes:
        label: the quantity, with its unit.
        kind: `time` values are milliseconds since 1970; `category` values are positions from 0.
        categories: the names of the positions.
        limits: the ends; by default those of the marks.
        extent: the lowest and the highest value, if the marks stand for bins of values.
        step: the distance of the ticks; by default a round one.
        log: whether the scale is logarithmic.
        reverse: whether values grow downwards.
        whole: whether all values are whole numbers; then the ticks are, too.
    """

    label: str
    kind: Literal["number", "time", "category"] = "number"
    categories: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None
    extent: tuple[float, float] | None = None
    step: float | None = None
    log: bool = False
    reverse: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Points:
    """Points of one group.

    Attributes:
        rows: the row of the panel's table for each point.
        values: numbers that are drawn as colors by the panel's scale.
        size: diameter in pixels.
    """

    x: Sequence[float]
    y: Sequence[float]
    rows: Sequence[int]
    name: str = ""
    color: str = COLORS[0]
    shape: Shape = "circle"
    values: Sequence[float] = ()
    size: float = 7


@dataclass(frozen=True)
class Line:
    """A line through points.

    Attributes:
        rows: the rows of its points.
        dashed: True if another line has the same color.
    """

    x: Sequence[float]
    y: Sequence[float]
    rows: Sequence[int] = ()
    name: str = ""
    color: str = COLORS[0]
    dashed: bool = False


@dataclass(frozen=True)
class Bars:
    """Rectangles: bars, bins, cells of a heat map.

    Attributes:
        rows: the rows of the panel's table that each rectangle stands for.
        texts: a description of each rectangle.
        values: numbers that are drawn as colors by the panel's scale.
    """

    x0: Sequence[float]
    x1: Sequence[float]
    y0: Sequence[float]
    y1: Sequence[float]
    rows: Sequence[Sequence[int]] = ()
    texts: Sequence[str] = ()
    name: str = ""
    color: str = COLORS[0]
    values: Sequence[float] = ()


@dataclass(frozen=True)
class Boxes:
    """Box plots: quartiles, and whiskers to the last values within 1.5 interquartile ranges."""

    x: Sequence[float]
    low: Sequence[float]
    q1: Sequence[float]
    median: Sequence[float]
    q3: Sequence[float]
    high: Sequence[float]
    width: float = 0.6
    name: str = ""
    color: str = COLORS[0]


@dataclass(frozen=True)
class Region:
    """An outlined area behind the marks, in several pieces."""

    outlines: Sequence[Sequence[tuple[float, float]]]
    name: str = ""


Mark = Points | Line | Bars | Boxes | Region


@dataclass(frozen=True)
class Scale:
    """The range of the numbers that are drawn as colors; `kind` is that of an axis."""

    label: str
    low: float
    high: float
    kind: Literal["number", "time"] = "number"


@dataclass(frozen=True)
class Panel:
    """One plot with its axes.

    Attributes:
        names: what each row of the table is called: a job, a residue.
        table: the table whose rows are drawn.
        square: whether both axes have the same length.
        note: a remark, such as the number of rows left out.
    """

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    table: pd.DataFrame
    names: Sequence[str] = ()
    title: str = ""
    legend: str = ""
    scale: Scale | None = None
    square: bool = False
    note: str = ""


@dataclass(frozen=True)
class Chart:
    """One or more panels with a title and a description in one line."""

    title: str
    summary: str
    panels: tuple[Panel, ...] = field(default_factory=tuple)


def chart_state(chart: Chart) -> dict[str, Any]:
    """Return a chart as JSON for the live view."""
    return {"title": chart.title, "panels": [_panel_state(panel) for panel in chart.panels]}


def _panel_state(panel: Panel) -> dict[str, Any]:
    return {
        "title": panel.title,
        "x": _fields(panel.x),
        "y": _fields(panel.y),
        "marks": [{"mark": type(m).__name__.lower(), **_fields(m)} for m in panel.marks],
        "names": list(panel.names),
        "count": len(panel.table),
        "legend": panel.legend,
        "scale": None if panel.scale is None else _fields(panel.scale),
        "square": panel.square,
        "note": panel.note,
        "palette": list(VIRIDIS) if panel.scale else [],
    }


def _fields(record: Any) -> dict[str, Any]:
    """Return the fields of a record as JSON values."""
    return {name: _json(value) for name, value in vars(record).items()}


def _json(value: Any) -> Any:
    if isinstance(value, list | tuple):
        numbers = [item for item in value if isinstance(item, float) and math.isfinite(item)]
        digits = _digits(numbers)
        return [_rounded(v, digits) if isinstance(v, float) else _json(v) for v in value]
    return _rounded(value, _MAX_DIGITS) if isinstance(value, float) else value


_DIGITS, _MAX_DIGITS = 7, 17


def _digits(numbers: Sequence[float]) -> int:
    """Return the number of digits that distinguish numbers within their range."""
    width = max(numbers, default=0.0) - min(numbers, default=0.0)
    if not width > 0:
        return _MAX_DIGITS
    common = math.log10(max(map(abs, numbers)) / width)
    return min(_DIGITS + max(math.ceil(common), 0), _MAX_DIGITS)


def _rounded(value: float, digits: int) -> float:
    is_exact = value.is_integer() or digits == _MAX_DIGITS
    return value if is_exact else float(f"{value:.{digits}g}")


def scale_color(value: float, scale: Scale) -> str:
    """Return the color of a number."""
    span = scale.high - scale.low
    share = (value - scale.low) / span if span > 0 else 0.5
    return VIRIDIS[min(max(int(share * len(VIRIDIS)), 0), len(VIRIDIS) - 1)]

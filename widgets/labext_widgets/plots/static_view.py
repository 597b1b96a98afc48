"""Render a plot as a static picture and as text."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator

from labext.messages import join_words
from labext_widgets.core.markup import MUTED, UNTYPESET, div, escape, plain
from labext_widgets.plots.chart import Axis, Bars, Chart, Line, Panel, Points
from labext_widgets.plots.drawing import picture

MAX_PICTURE = 110_000
"""Bytes from which a picture is drawn with a lower resolution."""

_SHARP, _COARSE = 140, 80
_PIXELS = 100  # width in CSS pixels per inch


def render_html(chart: Chart) -> str:
    """Return the picture with a line of text below it."""
    content = picture(chart, dpi=_SHARP)
    if len(content) > MAX_PICTURE:
        content = picture(chart, dpi=_COARSE)
    encoded = base64.b64encode(content).decode("ascii")
    width = 640 if len(chart.panels) == 1 else 960
    alt = escape("; ".join([render_text(chart), *(t for p in chart.panels for t in _ranges(p))]))
    body = (
        f'<img src="data:image/png;base64,{encoded}" alt="{alt}" '
        f'style="width:{width}px;max-width:100%;height:auto">'
        + div(escape(render_text(chart)), MUTED)
    )
    style = f"max-width:{width}px;font-size:13px"
    return f'<div class="labext {UNTYPESET}" style="{style}">{body}</div>'


def render_text(chart: Chart) -> str:
    """Return the chart in one line."""
    return plain(f"{chart.title}: {chart.summary}")


def render_table(chart: Chart) -> str:
    """Return the ranges of the axes and the groups of each panel, line by line."""
    lines = [render_text(chart)]
    for panel in chart.panels:
        if len(chart.panels) > 1:
            lines.append(f"  {plain(panel.title)}")
        indent = "    " if len(chart.panels) > 1 else "  "
        lines += [f"{indent}{plain(line)}" for line in _ranges(panel)]
    return "\n".join(lines)


def _ranges(panel: Panel) -> Iterator[str]:
    """Yield a line for each axis, for the groups and for the remark."""
    for axis, values in ((panel.x, _values(panel, "x")), (panel.y, _values(panel, "y"))):
        if axis.kind == "category":
            if axis.label or axis.categories:
                names = join_words(axis.categories, 6)
                yield f"{axis.label or 'names'}: {names}"
        elif values:
            yield f"{axis.label}: {_value(axis, min(values))} to {_value(axis, max(values))}"
    groups = [
        f"{mark.name} ({_count(mark):,})"
        for mark in panel.marks
        if isinstance(mark, Points | Bars) and mark.name
    ]
    if groups:
        yield f"{panel.legend or 'groups'}: {join_words(groups, 12)}"
    if panel.scale is not None:
        yield f"{panel.scale.label}: {panel.scale.low:.4g} to {panel.scale.high:.4g}"
    if panel.note:
        yield panel.note


def _values(panel: Panel, axis: str) -> list[float]:
    values: list[float] = []
    for mark in panel.marks:
        if isinstance(mark, Points | Line):
            values += mark.x if axis == "x" else mark.y
        elif isinstance(mark, Bars):
            sides = zip(mark.x0, mark.x1, strict=True)
            values += [(a + b) / 2 for a, b in sides] if axis == "x" else [*mark.y0, *mark.y1]
    return [value for value in values if math.isfinite(value)]


def _count(mark: Points | Bars) -> int:
    return len(mark.rows) if isinstance(mark, Points) else sum(len(rows) for rows in mark.rows)


def _value(axis: Axis, value: float) -> str:
    if axis.kind != "time":
        return f"{value:.4g}"
    from datetime import UTC, datetime

    return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")

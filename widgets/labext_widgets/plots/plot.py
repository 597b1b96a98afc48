"""A plot of a table or of a job's results, with its selection and its picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, LabextError
from labext.messages import join_words, pluralize, quote_value, truncate
from labext.storage import make_folder, user_path, write_atomic
from labext_widgets.core.arguments import as_integer
from labext_widgets.core.markup import (
    MUTED,
    WRAPPED,
    data_uri,
    div,
    escape,
    plain,
    shorten_names,
    view_html,
)
from labext_widgets.core.placeholder import LiveOutput
from labext_widgets.plots import drawing
from labext_widgets.plots.chart import Bars, Boxes, Chart, Line, Panel, Points, chart_state
from labext_widgets.plots.charts import Kind, table_chart
from labext_widgets.plots.columns import MAX_TEXT, column_units, job_names, range_text, tools_of
from labext_widgets.plots.drawing import picture
from labext_widgets.plots.figures import job_chart

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from labext_widgets.core.placeholder import Placeholder


MAX_PICTURE = 110_000
"""Bytes from which a picture is drawn with a lower resolution."""

_SHARP, _COARSE = 140, 80


def render_html(chart: Chart) -> str:
    """Return the picture with a line of text below it."""
    content = picture(chart, dpi=_SHARP)
    if len(content) > MAX_PICTURE:
        content = picture(chart, dpi=_COARSE)
    width = 640 if len(chart.panels) == 1 else 960
    alt = escape("; ".join([render_text(chart), *(t for p in chart.panels for t in _ranges(p))]))
    body = (
        f'<img src="{data_uri(content, "image/png")}" alt="{alt}" '
        f'style="width:{width}px;max-width:100%;height:auto">'
        + div(escape(render_text(chart)), MUTED)
    )
    return view_html(body, f"max-width:{width}px;font-size:13px;{WRAPPED}")


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
            low, high = axis.extent or (min(values), max(values))
            yield f"{axis.label}: {range_text(axis.kind, low, high)}"
    groups = [
        f"{mark.name} ({_count(mark):,})"
        for mark in panel.marks
        if isinstance(mark, Points | Bars) and mark.name
    ]
    if groups:
        yield f"{panel.legend or 'groups'}: {join_words(groups, 12)}"
    if (scale := panel.scale) is not None:
        yield f"{scale.label}: {range_text(scale.kind, scale.low, scale.high)}"
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
        elif isinstance(mark, Boxes) and axis == "y":
            values += [*mark.low, *mark.high]
    return [value for value in values if math.isfinite(value)]


def _count(mark: Points | Bars) -> int:
    return len(mark.rows) if isinstance(mark, Points) else sum(len(rows) for rows in mark.rows)


MAX_LIVE_ROWS = 20_000
"""Maximum number of rows in the live view; larger tables have the static picture."""


OpenJob = Callable[[str], object]
"""Returns the view of a job, which is displayed below the plot."""


class Plot(LiveOutput):
    """A plot, which renders when it is the value of a cell.

    Attributes:
        frame: the table whose rows are drawn; the first table if there are several figures.
    """

    def __init__(
        self, chart: Chart, jobs: Sequence[str] = (), open_job: OpenJob | None = None
    ) -> None:
        super().__init__()
        drawing.check_matplotlib()
        self.frame: pd.DataFrame = chart.panels[0].table
        self._chart = chart
        self._jobs = list(jobs)
        self._open_job = open_job
        self._panel = 0
        self._rows: list[int] = []

    @property
    def selection(self) -> pd.DataFrame:
        """The selected rows of the table; empty if nothing is selected."""
        return self._chart.panels[self._panel].table.iloc[self._rows]

    @cached_property
    def figure(self) -> Figure:
        """The plot as a figure of matplotlib, on white."""
        figure = drawing.draw_figure(self._chart)
        figure.patch.set(facecolor="white", alpha=1)
        return figure

    def save(self, path: Path | str, *, dpi: int = 200) -> Path:
        """Write the picture to a file and return its path; the suffix chooses the format.

        Raises:
            InputError: the suffix is not that of a format which matplotlib writes, its format needs
                TeX, which is not installed, or `dpi` is not a positive number.
            StorageError: the file can't be written.
        """
        target = user_path(path)
        formats = sorted(self.figure.canvas.get_supported_filetypes())
        format = target.suffix.lower().removeprefix(".")
        if format not in formats:
            raise InputError(
                f"{target.name} has no suffix of a picture format.",
                f"Use one of {join_words(formats, len(formats))}.",
            )
        if not isinstance(dpi, Real) or not dpi < math.inf:
            raise InputError(
                f"`dpi` is {quote_value(dpi)}, which is not a finite number.",
                "Use one such as 200.",
            )
        make_folder(target.parent)
        try:
            write_atomic(target, lambda file: drawing.save(self.figure, file, format, dpi))
        # TeX is missing, or dpi is not positive or too large.
        except (RuntimeError, ValueError, OverflowError) as failure:
            reason = str(failure).partition(";")[0].splitlines()[0].rstrip(".")
            others = [name for name in formats if name != "pgf"]
            raise InputError(
                f"{target.name} can't be written with dpi={truncate(repr(dpi), 20)}: {reason}.",
                f"Use one of {join_words(others, len(others))}, and a `dpi` such as 200.",
            ) from failure
        return target

    def select(self, rows: Sequence[int], panel: int = 0) -> pd.DataFrame:
        """Select rows by their positions, in the live view too, and return them.

        Raises:
            InputError: there is no such row or panel.
        """
        number = as_integer(panel)
        if number is None or not 0 <= number < len(self._chart.panels):
            raise InputError(
                f"There is no panel {panel!r}.", f"Count from 0 to {len(self._chart.panels) - 1}."
            )
        table = self._chart.panels[number].table
        positions = [as_integer(row) for row in rows] if isinstance(rows, Iterable) else [None]
        if any(position is None or not 0 <= position < len(table) for position in positions):
            raise InputError(
                f"The table has {pluralize(len(table), 'row')}, selected by their positions.",
                "Give a list of positions, counted from 0; of a condition, np.flatnonzero(…).",
            )
        self._select(number, [position for position in positions if position is not None], "")
        return self.selection

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Plot {render_text(self._chart)}>"

    def __str__(self) -> str:
        """Return the ranges of the axes and the groups, and how to save the picture."""
        return f"{render_table(self._chart)}\n  Save the picture: .save('plot.png')"

    def _render(self) -> tuple[str, str]:
        return render_html(self._chart), render_text(self._chart)

    def _mount(self, output: Placeholder) -> None:
        if max(len(panel.table) for panel in self._chart.panels) > MAX_LIVE_ROWS:
            return
        below = output.add_below() if self._open_job is not None else None
        output.live("plot", self._state(), lambda message, _: self._receive(message, below))

    def _state(self) -> dict[str, Any]:
        return {
            **chart_state(self._chart),
            "summary": render_text(self._chart),
            "opens": self._open_job is not None,
            "selection": self._selection_state(""),
        }

    def _selection_state(self, sender: str) -> dict[str, Any]:
        return {"panel": self._panel, "rows": self._rows, "sender": sender}

    def _select(self, panel: int, rows: Sequence[int], sender: str) -> None:
        self._panel, self._rows = panel, sorted(set(rows))
        self._send_change({"selection": self._selection_state(sender)})

    def _receive(self, message: Any, below: Any) -> None:
        """Apply a selection made in a live view, or open the job of a row."""
        if not isinstance(message, dict):
            return
        if message.get("do") == "select":
            panel, rows = message.get("panel"), message.get("rows")
            if isinstance(panel, int) and isinstance(rows, list) and self._has(panel, rows):
                self._select(panel, rows, str(message.get("sender")))
        elif message.get("do") == "open" and below is not None:
            row = message.get("row")
            if isinstance(row, int) and self._has(0, [row]) and self._open_job is not None:
                _show_job(self._jobs[row], self._open_job, below)

    def _has(self, panel: int, rows: list[Any]) -> bool:
        if not 0 <= panel < len(self._chart.panels):
            return False
        count = len(self._chart.panels[panel].table)
        return all(isinstance(row, int) and 0 <= row < count for row in rows)


def _show_job(job: str, open_job: OpenJob, below: Any) -> None:
    """Show the view of a job below the plot, or the error in one line."""
    from labext_widgets.core.display import render_message

    try:
        below.show(open_job(job))
    except LabextError as error:
        below.show(None)
        below.update(*render_message(str(error)))


def _unit_of_type(dtype: Any) -> str:
    """Return the unit to which values of a type are converted: times in other zones, durations."""
    if str(getattr(dtype, "tz", "UTC")) != "UTC":
        return "UTC"
    return "s" if dtype.kind == "m" else ""


def table_plot(
    frame: pd.DataFrame,
    title: str,
    *,
    x: str | None,
    y: str | None = None,
    color: str | None = None,
    kind: Kind | None = None,
    units: Mapping[str, str] | None = None,
    open_job: OpenJob | None = None,
    hint: str = "",
) -> Plot:
    """Return the plot of columns of a table, such as a list of jobs.

    Args:
        frame: the table; with a column JobName its rows are jobs.
        title: the name of the table.
        x: the column of the horizontal axis.
        y: the column of the vertical axis.
        color: the column that colors the points.
        kind: scatter, histogram, line or box; by default the one that fits the columns.
        units: the units of columns; those of the tools' scores are known.
        open_job: returns the view of a job, which is displayed below the plot; by default points
            can be selected only.
        hint: a sentence for errors, on where further columns come from.

    Raises:
        InputError: a column does not exist, or the columns do not fit the kind.
        PlotError: matplotlib is not installed.
    """
    drawing.check_matplotlib()
    converted = {str(name): _unit_of_type(dtype) for name, dtype in frame.dtypes.items()}
    known = {name: unit for name, unit in converted.items() if unit} | column_units(
        [str(column) for column in frame.columns], tools_of(frame)
    )
    chart = table_chart(
        frame,
        plain(title, MAX_TEXT),
        x=x,
        y=y,
        color=color,
        kind=kind,
        names=shorten_names([plain(name) for name in job_names(frame)], MAX_TEXT),
        units=known | dict(units or {}),
        hint=hint,
    )
    jobs = [str(name) for name in frame["JobName"]] if "JobName" in frame else []
    return Plot(chart, jobs, open_job if jobs else None)


def job_plot(name: str, tables: Mapping[str, pd.DataFrame]) -> Plot | None:
    """Return the standard figures of a job's tables by file name, or None if there are none.

    Raises:
        PlotError: matplotlib is not installed.
    """
    drawing.check_matplotlib()
    chart = job_chart(plain(name, MAX_TEXT), tables)
    return None if chart is None else Plot(chart)

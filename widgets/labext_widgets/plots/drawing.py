"""Draw charts with matplotlib, without its global state."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from labext.errors import LabextError
from labext.extras import install_line
from labext_widgets.core.markup import shorten_names, truncate
from labext_widgets.plots.chart import (
    VIRIDIS,
    Axis,
    Bars,
    Boxes,
    Chart,
    Line,
    Panel,
    Points,
    Region,
    Scale,
    scale_color,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#222222"
MID_INK = "#7c7c7c"
"""Ink that is readable on white and on black."""

MAX_LEGEND = 14
_MANY_BARS = 300
"""Number of bars beside each other from which each has an edge, about a pixel wide."""

_LETTERS_BELOW = 48
"""Number of letters that fit below the smallest panel."""

_MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "x"}
_POINT = 0.75  # points of matplotlib per pixel
_DAY = 86_400_000


class PlotError(LabextError):
    """A plot can't be drawn."""


def check_matplotlib() -> None:
    """Check that matplotlib is installed; raise PlotError if it is not."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise PlotError(
            "Plots need matplotlib, in the extra `plots`.", f"Install it: {install_line('plots')}"
        ) from None


def draw_figure(chart: Chart, ink: str = INK) -> Figure:
    """Return a figure of the chart, with a transparent background."""
    check_matplotlib()
    from matplotlib.figure import Figure

    count = len(chart.panels)
    columns = 1 if count == 1 else 2
    lines = -(-count // columns)
    width = 6.4 if count == 1 else 9.6
    figure = Figure(figsize=(width, 4.2 * lines), layout="constrained")
    figure.patch.set_alpha(0)
    for number, panel in enumerate(chart.panels, 1):
        _draw_panel(figure.add_subplot(lines, columns, number), panel, ink)
    return figure


def picture(chart: Chart, format: str = "png", dpi: int = 110, ink: str = MID_INK) -> bytes:
    """Return the chart as a file, the same bytes for the same chart."""
    file = io.BytesIO()
    save(draw_figure(chart, ink), file, format, dpi)
    return file.getvalue()


def save(figure: Figure, to: Any, format: str, dpi: int = 200, **options: Any) -> None:
    """Write a figure to a file."""
    import warnings

    from matplotlib import rc_context

    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with rc_context({"svg.hashsalt": "labext"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(to, format=format, dpi=dpi, metadata=metadata.get(format), **options)


def _draw_panel(axes: Axes, panel: Panel, ink: str) -> None:
    axes.set_facecolor("none")
    entries: list[tuple[Any, str]] = []
    for mark in panel.marks:
        artist = _DRAW[type(mark)](axes, panel, mark, ink)
        if mark.name and artist is not None:
            entries.append((artist, mark.name))
    _set_axis(axes, "x", panel.x)
    _set_axis(axes, "y", panel.y)
    if panel.square:
        axes.set_box_aspect(1)
    _style(axes, ink)
    if panel.title:
        axes.set_title(_text(panel.title), fontsize=10, color=ink, loc="left")
    if panel.note:
        axes.text(1, 1.01, _text(panel.note), transform=axes.transAxes, ha="right", va="bottom")
        axes.texts[-1].set(fontsize=8, color=ink)
    if entries:
        legend = axes.legend(
            [artist for artist, _ in entries[:MAX_LEGEND]],
            [*map(_text, shorten_names([name for _, name in entries[:MAX_LEGEND]], 28))],
            title=_text(panel.legend, 32) or None,
            loc="center left",
            bbox_to_anchor=(1.01, 0.5),
            frameon=False,
            fontsize=8,
            title_fontsize=8,
            labelcolor=ink,
            alignment="left",
        )
        legend.get_title().set_color(ink)
    if panel.scale is not None:
        _draw_scale(axes, panel, ink)


def _style(axes: Axes, ink: str) -> None:
    axes.tick_params(colors=ink, labelsize=8, which="both")
    axes.xaxis.label.set(color=ink, fontsize=9)
    axes.yaxis.label.set(color=ink, fontsize=9)
    for side, spine in axes.spines.items():
        spine.set_color(ink)
        spine.set_linewidth(0.8)
        spine.set_visible(side in ("left", "bottom"))
    axes.grid(visible=True, color=ink, alpha=0.18, linewidth=0.6)
    axes.set_axisbelow(True)
    for which in (axes.xaxis, axes.yaxis):
        which.get_offset_text().set(color=ink, fontsize=8)


def _set_axis(axes: Axes, which: str, axis: Axis) -> None:
    from matplotlib import ticker

    own = axes.xaxis if which == "x" else axes.yaxis
    own.set_label_text(_text(axis.label))
    if axis.log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    if axis.kind == "category":
        names = map(_text, shorten_names(axis.categories, 24))
        own.set_ticks(range(len(axis.categories)), list(names))
        lengths = [len(name[:24]) for name in axis.categories]
        widest = max(((a + b) / 2 + 2 for a, b in pairwise(lengths)), default=0)
        if which == "x" and widest * len(lengths) > 70:  # neighbors would overlap
            own.set_tick_params(rotation=90 if len(axis.categories) > 12 else 40)
            for text in own.get_ticklabels():
                upright = len(axis.categories) > 12
                text.set_horizontalalignment("center" if upright else "right")
                text.set_rotation_mode("default" if upright else "anchor")
    elif axis.kind == "time":
        locator, formatter = _dates()
        own.set_major_locator(locator)
        own.set_major_formatter(formatter)
        low, high = own.get_data_interval()
        if low == high and axis.limits is None:
            (axes.set_xlim if which == "x" else axes.set_ylim)(low - 0.5, high + 0.5)
    elif axis.step:
        own.set_major_locator(ticker.MultipleLocator(axis.step))
    elif axis.whole and not axis.log:
        low, high = own.get_data_interval()
        if low == high and axis.limits is None:
            (axes.set_xlim if which == "x" else axes.set_ylim)(low - 1, high + 1)
        own.set_major_locator(ticker.MaxNLocator(nbins="auto", integer=True, steps=[1, 2, 5, 10]))
    if axis.limits is not None:
        (axes.set_xlim if which == "x" else axes.set_ylim)(*axis.limits)
    if axis.reverse:
        own.set_inverted(True)
    if axis.kind == "number" and not axis.log:
        own.set_major_formatter(_numbers())
        ticks = list(own.get_majorticklocs())
        longest = max((len(tick_label(tick, ticks)) for tick in ticks), default=0)
        if which == "x" and longest > 6 and not axis.step:  # the labels would overlap
            places: Any = own.get_major_locator()
            places.set_params(nbins=max(_LETTERS_BELOW // (longest + 2), 1))


def _draw_points(axes: Axes, panel: Panel, mark: Points, _ink: str) -> Any:
    colors: Any = mark.color
    if mark.values and panel.scale is not None:
        colors = [scale_color(value, panel.scale) for value in mark.values]
    filled = mark.shape != "cross"
    return axes.scatter(
        _place(mark.x, panel.x),
        _place(mark.y, panel.y),
        s=(mark.size * _POINT) ** 2,
        c=colors,
        marker=_MARKERS[mark.shape],
        linewidths=0.3 if filled else 1,
        edgecolors=MID_INK if filled else None,
        alpha=0.85,
        clip_on=False,
        zorder=3,
    )


def _draw_line(axes: Axes, panel: Panel, mark: Line, _ink: str) -> Any:
    xs, ys = _place(mark.x, panel.x), _place(mark.y, panel.y)
    style = (0, (3, 2)) if mark.dashed else "-"
    return axes.plot(xs, ys, color=mark.color, linestyle=style, linewidth=1.4, zorder=2.5)[0]


def _draw_bars(axes: Axes, panel: Panel, mark: Bars, _ink: str) -> Any:
    left, right = _place(mark.x0, panel.x), _place(mark.x1, panel.x)
    widths = [b - a for a, b in zip(left, right, strict=True)]
    colors: Any = mark.color
    if mark.values and panel.scale is not None:
        colors = [scale_color(value, panel.scale) for value in mark.values]
    # Bars narrower than a pixel would be missing in the picture.
    every = [bars for bars in panel.marks if isinstance(bars, Bars) and bars.x0]
    span = max((max(bars.x1) for bars in every), default=0) - min(
        (min(bars.x0) for bars in every), default=0
    )
    is_thin = any((b - a) * _MANY_BARS < span for a, b in zip(mark.x0, mark.x1, strict=True))
    bars = axes.bar(
        left,
        [top - bottom for top, bottom in zip(mark.y1, mark.y0, strict=True)],
        width=widths,
        bottom=list(mark.y0),
        align="edge",
        color=colors,
        zorder=2,
        **({"edgecolor": colors, "linewidth": _POINT, "snap": False} if is_thin else {}),
    )
    return bars[0] if len(bars) else None


def _draw_boxes(axes: Axes, _panel: Panel, mark: Boxes, ink: str) -> Any:
    # `Axes.bxp` reads all settings of matplotlib, which imports pyplot and selects a backend.
    left, right = _sides(mark.x, mark.width / 2)
    line: dict[str, Any] = {"colors": ink, "linewidth": 1, "capstyle": "projecting"}
    for level in (mark.low, mark.high):
        axes.hlines(level, *_sides(mark.x, mark.width / 4), **line)
    for level in (mark.q1, mark.q3):
        axes.hlines(level, left, right, **line)
    for side in (left, right):
        axes.vlines(side, mark.q1, mark.q3, **line)
    axes.vlines(mark.x, mark.low, mark.q1, **line)
    axes.vlines(mark.x, mark.q3, mark.high, **line)
    axes.hlines(mark.median, left, right, colors=ink, linewidth=2)


def _sides(xs: Sequence[float], reach: float) -> tuple[list[float], list[float]]:
    return [x - reach for x in xs], [x + reach for x in xs]


def _draw_region(axes: Axes, _panel: Panel, mark: Region, _ink: str) -> Any:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Polygon

    patch = None
    for outline in mark.outlines:
        patch = Polygon(
            list(outline),
            closed=True,
            facecolor=to_rgba(MID_INK, 0.16),
            edgecolor=MID_INK,
            linewidth=0.9,
            zorder=1,
        )
        axes.add_patch(patch)
    return patch


_DRAW: dict[type, Any] = {
    Points: _draw_points,
    Line: _draw_line,
    Bars: _draw_bars,
    Boxes: _draw_boxes,
    Region: _draw_region,
}


def _draw_scale(axes: Axes, panel: Panel, ink: str) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    scale = panel.scale
    assert scale is not None
    low, high = _place([scale.low, scale.high], scale)
    shades = ScalarMappable(
        Normalize(low, high if high > low else low + 1), ListedColormap(list(VIRIDIS))
    )
    locator, formatter = _dates() if scale.kind == "time" else (None, _numbers())
    bar = axes.figure.colorbar(
        shades, ax=axes, fraction=0.046, pad=0.02, ticks=locator, format=formatter
    )
    bar.set_label(_text(scale.label), color=ink, fontsize=9)
    bar.ax.tick_params(colors=ink, labelsize=8)
    bar.ax.yaxis.get_offset_text().set(color=ink, fontsize=8)
    bar.outline.set_visible(False)


def _dates() -> tuple[Any, Any]:
    """Return a locator and a formatter for ticks of times."""
    from matplotlib import dates

    locator = dates.AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
    return locator, dates.ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]


def _numbers() -> Any:
    """Return a formatter for ticks of numbers."""
    from matplotlib.ticker import Formatter

    class Numbers(Formatter):
        def __call__(self, value: float, _position: int | None = None) -> str:
            return tick_label(value, [value])

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return [tick_label(value, values) for value in values]

    return Numbers()


def tick_label(value: float, ticks: Sequence[float]) -> str:
    """Return the label of one of an axis's ticks, as in `values.js`."""
    size = max(map(abs, ticks), default=0) or 1
    step = min((b - a for a, b in pairwise(sorted(ticks)) if b > a), default=size)
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    digits = max(5, math.ceil(math.log10(size / step)) + 2)
    if size < 1e-4 or size >= 10 ** (digits + 4):
        number, power = f"{value:.{digits - 2}e}".split("e")
        text = f"{number.rstrip('0').rstrip('.')}e{int(power):+}" if abs(value) > step / 2 else "0"
    else:
        places += abs(round(step, places) - step) > 1e-3 * step  # 2.5, 0.25
        text = f"{value:{',' if size >= 1e6 else ''}.{places}f}"
        text = text if float(text.replace(",", "")) else text.lstrip("-")
    return text.replace("-", "\N{MINUS SIGN}")


def _place(values: Sequence[float], axis: Axis | Scale) -> list[float]:
    return [value / _DAY for value in values] if axis.kind == "time" else list(values)


def _text(text: str, limit: int = 80) -> str:
    """Escape a text so that matplotlib does not draw it as a formula."""
    return truncate(text, limit).replace("$", r"\$")

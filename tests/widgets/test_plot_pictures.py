"""Pictures of plots: layout, texts, legends, marks and color scales as matplotlib draws them."""

from __future__ import annotations

import io
import itertools
import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labext_widgets.plots.chart import (
    COLORS,
    VIRIDIS,
    Axis,
    Bars,
    Boxes,
    Chart,
    Line,
    Mark,
    Panel,
    Points,
    Region,
    Scale,
    Shape,
    scale_color,
)
from labext_widgets.plots.charts import table_chart
from labext_widgets.plots.drawing import MAX_LEGEND, MID_INK, draw_figure, picture

INK = "#123456"
CORNERS = [(0, 0), (2, 0), (1, 1)]
DAY = 86_400_000
MARCH = 1_772_323_200_000
"""March 1, 2026 in milliseconds."""


def panel(*marks: Mark, **options: Any) -> Panel:
    options = {"x": Axis("x"), "y": Axis("y"), "table": pd.DataFrame()} | options
    return Panel(marks=marks, **options)


def draw(*marks: Mark, **options: Any) -> Any:
    """Return the axes of a panel, and of its color scale if it has one."""
    figure = draw_figure(Chart("t", "", (panel(*marks, **options),)), INK)
    figure.draw_without_rendering()
    return figure.axes


def hexes(colors: Any) -> list[str]:
    from matplotlib.colors import to_hex

    return [to_hex(color) for color in colors]


@pytest.mark.parametrize(
    ("count", "grid", "size"),
    [(1, (1, 1), (6.4, 4.2)), (2, (1, 2), (9.6, 4.2)), (3, (2, 2), (9.6, 8.4))],
)
def test_panels_are_drawn_in_two_columns(
    count: int, grid: tuple[int, int], size: tuple[float, float]
) -> None:
    figure = draw_figure(Chart("t", "", (panel(),) * count))
    assert tuple(figure.get_size_inches()) == pytest.approx(size)
    places = [axes.get_subplotspec().get_geometry() for axes in figure.axes]
    assert places == [(*grid, number, number) for number in range(count)]


def test_picture_has_a_transparent_background() -> None:
    figure = draw_figure(Chart("t", "", (panel(),)))
    assert figure.patch.get_alpha() == 0
    assert figure.axes[0].get_facecolor()[3] == 0


def test_only_the_axes_are_framed_and_the_grid_is_behind_the_marks() -> None:
    (axes,) = draw(Line([0, 1], [0, 1]))
    assert {name for name, spine in axes.spines.items() if spine.get_visible()} == {
        "left",
        "bottom",
    }
    assert axes.get_axisbelow() is True
    assert all(line.get_visible() for line in axes.get_xgridlines() + axes.get_ygridlines())


def test_titles_and_notes_are_short_and_no_formulas() -> None:
    (axes,) = draw(title="$a$" + "b" * 100, note="$2$ rows left out")
    title = axes.get_title(loc="left")
    assert title.startswith(r"\$a\$b")
    assert len(title) == 82  # 80 and two backslashes
    assert [text.get_text() for text in axes.texts] == [r"\$2\$ rows left out"]
    assert axes.texts[0].get_position()[1] > 1, "above the plot"
    assert [*draw()[0].texts] == []


def test_legend_is_beside_the_plot_and_names_the_first_groups() -> None:
    marks = [Line([0, 1], [0, 1], name=f"{n} {'x' * 40}") for n in range(MAX_LEGEND + 3)]
    (axes,) = draw(*marks, Line([0, 1], [1, 0]), legend="y" * 40)
    legend = axes.get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    assert [name.partition(" ")[0] for name in names] == [*map(str, range(MAX_LEGEND))]
    assert {len(name) for name in names} == {28}
    assert len(legend.legend_handles) == MAX_LEGEND
    assert len(legend.get_title().get_text()) == 32
    assert legend.get_window_extent().x0 > axes.get_window_extent().x1


def test_names_that_differ_at_the_end_have_labels_that_differ() -> None:
    names = ("gene", *(f"transcription factor of group {n}" for n in range(3)))
    (axes,) = draw(Points([0, 1], [0, 1], [0, 1]), x=Axis("x", "category", names))
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["gene", *(f"transcriptio…of group {n}" for n in range(3))]


def test_labels_of_large_numbers_are_whole_and_apart() -> None:
    axes, bar = draw(
        Points([0, 6e8], [0, 4e6], [0, 1], values=[0, 2e6]), scale=Scale("n", 0, 2_000_000)
    )
    for axis in (axes.xaxis, axes.yaxis, bar.yaxis):
        assert axis.get_offset_text().get_text() == ""
        assert any(label.get_text().endswith("000,000") for label in axis.get_ticklabels())
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert len(boxes) >= 3
    assert all(left.x1 + 6 < right.x0 for left, right in itertools.pairwise(boxes))


@pytest.mark.parametrize("value", [0, 7, 12])
def test_equal_whole_numbers_have_ticks_of_whole_numbers(value: int) -> None:
    (axes,) = draw(Points([value], [3.5], [0]), x=Axis("x", whole=True))
    labels = [label.get_text().replace("\N{MINUS SIGN}", "-") for label in axes.get_xticklabels()]
    assert labels == [str(value + n) for n in (-1, 0, 1)]


def test_times_are_labeled_by_dates() -> None:
    days = [MARCH + day * DAY for day in range(5)]
    axes, bar = draw(
        Points(days, [1] * 5, [0] * 5, values=days),
        x=Axis("seen", "time"),
        scale=Scale("seen", days[0], days[-1], "time"),
    )
    month = axes.xaxis.get_offset_text()
    assert (month.get_text(), month.get_color(), month.get_fontsize()) == ("2026-Mar", INK, 8)
    assert {"02", "03", "04"} <= {label.get_text() for label in axes.get_xticklabels()}
    assert {"02", "03", "04"} <= {label.get_text() for label in bar.get_yticklabels()}


def test_whole_numbers_on_a_logarithmic_axis_have_ticks_at_powers_of_ten() -> None:
    (axes,) = draw(x=Axis("length", log=True, whole=True, limits=(1, 10_000)))
    ticks = [tick for tick in axes.get_xticks() if 1 <= tick <= 10_000]
    assert ticks == [1, 10, 100, 1000, 10_000]


@pytest.mark.parametrize(
    ("shape", "marker"),
    [("circle", "o"), ("square", "s"), ("triangle", "^"), ("diamond", "D"), ("cross", "x")],
)
def test_points_have_the_shape_color_and_size_of_their_group(shape: Shape, marker: str) -> None:
    from matplotlib.markers import MarkerStyle

    (axes,) = draw(Points([1, 2], [3, 4], [0, 1], color="#d55e00", shape=shape, size=10))
    (points,) = axes.collections
    style = MarkerStyle(marker)
    path = style.get_path().transformed(style.get_transform())
    assert np.array_equal(points.get_paths()[0].vertices, path.vertices)
    assert points.get_sizes().tolist() == [7.5**2]
    assert not points.get_clip_on(), "points on the edge are whole"
    if shape == "cross":
        assert set(hexes(points.get_edgecolors())) == {"#d55e00"}
        assert points.get_linewidths().tolist() == [1]
    else:
        assert set(hexes(points.get_facecolors())) == {"#d55e00"}
        assert set(hexes(points.get_edgecolors())) == {MID_INK}
        assert points.get_linewidths().tolist() == [0.3]


def test_values_of_points_and_bars_are_colors_of_the_scale() -> None:
    scale = Scale("$n$", 0, 10)
    values = [0, 5, 10]
    expected = [scale_color(value, scale) for value in values]
    axes, bar = draw(
        Points([1, 2, 3], [1, 2, 3], [0, 1, 2], values=values),
        Bars([0, 1, 2], [1, 2, 3], [0] * 3, [1] * 3, values=values),
        scale=scale,
    )
    assert hexes(axes.collections[0].get_facecolors()) == expected
    assert hexes(rectangle.get_facecolor() for rectangle in axes.patches) == expected
    assert bar.get_ylabel() == r"\$n\$"
    (shades,) = [item for item in bar.collections if item.get_array() is not None]
    assert hexes(shades.cmap(np.linspace(0, 1, len(VIRIDIS)))) == [*VIRIDIS]
    assert (shades.norm.vmin, shades.norm.vmax) == (0, 10)
    assert {label.get_color() for label in bar.get_yticklabels()} == {INK}


def test_scale_of_a_single_value_has_a_range() -> None:
    _axes, bar = draw(Points([1], [1], [0], values=[3]), scale=Scale("n", 3, 3))
    assert bar.get_ylim() == (3, 4)


def test_lines_have_their_color_and_regions_are_closed() -> None:
    (axes,) = draw(Line([0, 1], [0, 1], color="#d55e00"), Region([CORNERS]))
    assert axes.lines[0].get_color() == "#d55e00"
    (region,) = axes.patches
    assert region.get_facecolor()[3] > 0
    assert region.get_closed()


def test_marks_are_drawn_over_areas_and_points_over_lines() -> None:
    (axes,) = draw(
        Points([1], [1], [0]), Line([0, 1], [0, 1]), Bars([0], [1], [0], [1]), Region([CORNERS])
    )
    bar, region = axes.patches
    layers = [region, bar, axes.lines[0], axes.collections[0]]
    orders = [mark.get_zorder() for mark in layers]
    assert all(lower < upper for lower, upper in itertools.pairwise(orders))


def test_median_of_a_box_is_a_thick_line() -> None:
    (axes,) = draw(Boxes([0], [1], [2], [3], [4], [5]))
    widths = {
        line[0][1]: lines.get_linewidths()[0]
        for lines in axes.collections
        for line in lines.get_segments()
        if line[0][1] == line[1][1]
    }
    assert widths == {1: 1, 2: 1, 3: 2, 4: 1, 5: 1}


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_file_of_a_picture_has_neither_a_date_nor_random_names(format: str) -> None:
    chart = Chart("t", "", (panel(Region([CORNERS]), Points([1], [2], [0]), title="\U0001f9ec"),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a character that the font lacks
        content = picture(chart, format)
    assert content == picture(chart, format)
    for word in (b"Software", b"<dc:date>", b"CreationDate"):
        assert word not in content


def test_cells_smaller_than_a_pixel_are_drawn() -> None:
    from PIL import Image

    def cells(first: int, last: int, color: str) -> Bars:
        low, high = ([n + side for n in range(first, last)] for side in (-0.5, 0.5))
        return Bars(low, high, low, high, color=color)

    helices = cells(1, 900, COLORS[0]), cells(990, 1000, COLORS[1])
    content = picture(Chart("t", "", (panel(*helices, square=True),)), dpi=60)
    image = np.asarray(Image.open(io.BytesIO(content)).convert("RGBA")).astype(int)
    for color, least in (((0, 114, 178), 150), ((213, 94, 0), 1)):
        distance = np.abs(image[:, :, :3] - color).sum(axis=2)
        assert ((distance < 30) & (image[:, :, 3] > 60)).sum() >= least


def test_long_names_in_a_legend_that_differ_at_their_ends_are_told_apart() -> None:
    marks = [Points([n], [n], [0], f"{'medium ' * 5}{n}") for n in range(2)]
    (axes,) = draw(*marks)
    assert [text.get_text()[-1] for text in axes.get_legend().get_texts()] == ["0", "1"]


def test_date_beside_a_scale_of_times_looks_like_its_ticks() -> None:
    scale = Scale("created", MARCH, MARCH + DAY / 8, "time")
    _, bar = draw(Points([1, 2], [1, 2], [0, 1], values=[scale.low, scale.high]), scale=scale)
    date, tick = bar.yaxis.get_offset_text(), bar.get_yticklabels()[0]
    assert date.get_text() == "2026-Mar-01"
    assert (date.get_color(), date.get_size()) == (INK, tick.get_size())


def test_a_single_time_is_on_an_axis_of_one_day() -> None:
    (axes,) = draw(Points([MARCH], [1], [0]), x=Axis("seen", "time"))
    assert float(np.diff(axes.get_xlim())[0]) == 1
    frame = pd.DataFrame({"seen": [pd.Timestamp(MARCH, unit="ms")]})
    chart = table_chart(frame, "T", x="seen", y=None, color=None, kind=None)
    (bars,) = chart.panels[0].marks
    assert isinstance(bars, Bars)
    assert bars.texts == ["2026-02-28 12:00:00 to 2026-03-01 12:00:00: 1"]


RECTANGLES = [[0, 0, 1, 3], [1, -1, 2, 0]]
BOX = [
    *([[-1, 2], [-1, 4]], [[-1, 2], [1, 2]], [[-1, 3], [1, 3]], [[-1, 4], [1, 4]]),
    *([[-0.5, 1], [0.5, 1]], [[-0.5, 5], [0.5, 5]], [[0, 1], [0, 2]], [[0, 4], [0, 5]]),
    [[1, 2], [1, 4]],
]


@pytest.mark.parametrize(
    ("mark", "read", "places"),
    [
        (
            Points([1, 2], [3, 4], [0, 1]),
            lambda axes: axes.collections[0].get_offsets().tolist(),
            [[1, 3], [2, 4]],
        ),
        (Line([1, 2], [3, 4]), lambda axes: axes.lines[0].get_xydata().tolist(), [[1, 3], [2, 4]]),
        (
            Bars([0, 1], [1, 2], [0, -1], [3, 0]),
            lambda axes: [bar.get_bbox().extents.tolist() for bar in axes.patches],
            RECTANGLES,
        ),
        (
            Boxes([0], [1], [2], [3], [4], [5], width=2),
            lambda axes: sorted(
                line.tolist() for lines in axes.collections for line in lines.get_segments()
            ),
            BOX,
        ),
        (
            Region([CORNERS]),
            lambda axes: [tuple(corner) for corner in axes.patches[0].get_xy()][:3],
            CORNERS,
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Mark) else "",
)
def test_picture_has_the_marks_and_their_names(mark: Mark, read: Any, places: Any) -> None:
    (axes,) = draw(mark)
    assert read(axes) == places
    assert axes.get_legend() is None
    if not isinstance(mark, Boxes):
        (axes,) = draw(replace(mark, name="some name"), legend="groups")
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["some name"]
        assert axes.get_legend().get_title().get_text() == "groups"


def test_drawing_selects_no_backend_of_matplotlib() -> None:
    region, line, bars = Region([CORNERS]), Line([1, 2], [3, 4]), Bars([0], [1], [0], [1])
    draw(region, line, bars, Points([1], [2], [0]), Boxes([0], [1], [2], [3], [4], [5]))
    assert "matplotlib.pyplot" not in sys.modules


def test_picture_has_the_axes_of_the_chart() -> None:
    x = Axis("length", limits=(10, 1000), log=True)
    (axes,) = draw(x=x, y=Axis("$y$", limits=(0, 10), step=2.5, reverse=True), square=True)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("length", r"\$y\$")
    assert (axes.get_xscale(), axes.get_xlim()) == ("log", (10, 1000))
    assert (axes.get_yscale(), axes.get_ylim()) == ("linear", (10, 0))
    assert set(np.diff(axes.get_yticks())) == {2.5}
    assert axes.get_box_aspect() == 1
    assert draw()[0].get_box_aspect() is None


@pytest.mark.parametrize(
    ("names", "angle"),
    [
        (["short"] * 10, 0),
        (["x" * 60] * 2, 0),
        (["a longer name"] * 12, 40),
        (["two longer names", "beside each other", "x", "y", "z"], 40),
        (["long"] * 13, 90),
    ],
)
def test_names_on_the_x_axis_are_turned_if_they_are_crowded(names: list[str], angle: int) -> None:
    axis = Axis("name", "category", tuple(names))
    (axes,) = draw(x=axis, y=axis)
    labels = axes.get_xticklabels()
    assert [len(label.get_text()) for label in labels] == [min(len(name), 24) for name in names]
    assert {label.get_rotation() for label in labels} == {angle}
    aligned = {(label.get_ha(), label.get_rotation_mode() or "default") for label in labels}
    assert aligned == {("right", "anchor") if angle == 40 else ("center", "default")}
    assert {label.get_rotation() for label in axes.get_yticklabels()} == {0}


def test_every_text_of_a_picture_has_the_same_readable_color() -> None:
    from matplotlib.colors import to_hex
    from matplotlib.text import Text

    marks = Points([1e9, 1e9 + 1], [3, 4], [0, 1], "a", values=[0, 1]), Boxes(*[[1]] * 6)
    scale = Scale("s", 0, 1)
    axes, _bar = draw(*marks, title="Title", note="A note", legend="groups", scale=scale)
    texts = [text for text in axes.figure.findobj(Text) if text.get_text().strip()]
    assert {"x", "y", "Title", "A note", "groups", "a", "s", "1e+9"} <= {
        text.get_text() for text in texts
    }
    assert {to_hex(text.get_color()) for text in texts} == {INK}
    assert {line.get_color() for line in axes.get_xticklines()} == {INK}
    boxes = axes.collections[1:]
    assert {to_hex(color) for lines in boxes for color in lines.get_colors()} == {INK}

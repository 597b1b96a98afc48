"""Plots: the default kind, labels, missing values, and the selection."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from widget_fakes import ParsedHtml, Placeholders

from labext.errors import InputError, StorageError
from labext.frames.views import frame_html
from labext.jobs import frames
from labext_widgets.core import placeholder
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.plots import Plot, job_table, table_plot
from labext_widgets.plots import plot as module
from labext_widgets.plots.chart import Bars, Boxes, Chart, Line, Points, chart_state
from labext_widgets.plots.charts import default_columns, table_chart
from labext_widgets.plots.drawing import PlotError

JOBS = pd.DataFrame(
    {
        "Name": ["a", "b", "c", "d", "e", "f"],
        "Type": "rna_fold",
        "JobName": [f"folds-{name}" for name in "abcdef"],
        "JobStatus": pd.Categorical(["Complete"] * 5 + ["Stopped"]),
        "score.mfe": [-1.5, -2.5, -3.5, -4.5, -9.0, np.nan],
        "score.pairs": pd.array([3, 4, 5, 6, 7, None], dtype="Int64"),
        "family": ["x", "y", "x", "y", "x", "y"],
        "seen": pd.to_datetime(["2026-03-01 10:00"] * 3 + ["2026-03-02 11:30"] * 3, utc=True),
        "Settings": [{"sequence": "ACGU", "temperature": 30 + n} for n in range(6)],
        "Started": pd.to_datetime(["2026-03-01 10:00:00"] * 6, utc=True),
        "Completed": pd.to_datetime(["2026-03-01 10:00:02.5"] * 6, utc=True),
    }
)


def chart_of(frame: pd.DataFrame = JOBS, **options: Any) -> Chart:
    arguments = {"x": None, "y": None, "color": None, "kind": None} | options
    return table_chart(frame, "t", **arguments)


def marks_of(chart: Chart, kind: type) -> list[Any]:
    return [mark for mark in chart.panels[0].marks if isinstance(mark, kind)]


@pytest.mark.parametrize(
    ("options", "kind", "mark"),
    [
        ({"x": "score.mfe", "y": "score.pairs"}, "scatter", Points),
        ({"x": "score.mfe"}, "histogram", Bars),
        ({"y": "family"}, "histogram", Bars),
        ({"x": "family", "y": "score.mfe"}, "box", Boxes),
        ({"x": "score.mfe", "y": "family"}, "box", Boxes),
        ({"x": "JobName", "y": "score.mfe"}, "scatter", Points),
        ({"x": "seen", "y": "score.mfe"}, "line", Line),
        ({"x": "seen", "y": "score.mfe", "names": list("abcdef")}, "scatter", Points),
        ({"x": "score.pairs", "y": "score.mfe", "kind": "line"}, "line", Line),
    ],
)
def test_kind_follows_from_the_columns(options: dict[str, Any], kind: str, mark: type) -> None:
    chart = chart_of(**options)
    assert chart.summary.startswith(f"{kind} of ")
    assert marks_of(chart, mark)


def test_column_that_counts_up_is_a_line_unless_rows_are_jobs() -> None:
    frame = pd.DataFrame({"step": range(1, 9), "energy": np.arange(8.0) ** 2})
    assert marks_of(chart_of(frame, x="step", y="energy"), Line)
    assert not marks_of(chart_of(frame, x="energy", y="step"), Line)
    assert not marks_of(chart_of(frame, x="step", y="energy", names=list("abcdefgh")), Line)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"x": "lenght"}, 'no column "lenght"'),
        ({"x": "Settings"}, 'no column|"Settings" can\'t be plotted'),
        ({"x": "score.mfe", "kind": "scatter"}, "needs two columns"),
        ({"x": "score.mfe", "y": "score.pairs", "kind": "histogram"}, "has one column"),
        ({"x": "score.mfe", "y": "score.pairs", "kind": "box"}, "a column of categories"),
        ({"x": "family", "kind": "box"}, "needs a column of numbers"),
        ({"x": "score.mfe", "y": "family", "kind": "line"}, '"family" has names'),
    ],
)
def test_columns_that_do_not_fit_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        chart_of(**options)


def test_unknown_column_is_answered_with_a_close_match_and_all_columns() -> None:
    with pytest.raises(InputError) as caught:
        chart_of(x="famly", hint="More come from --from.")
    assert 'Did you mean "family"?' in caught.value.next_step
    assert "score.mfe, score.pairs" in caught.value.next_step
    assert caught.value.next_step.endswith("More come from --from.")
    assert "Settings" not in caught.value.next_step
    with pytest.raises(InputError) as caught:
        chart_of(x="pars")
    assert 'Did you mean "pairs"?' in caught.value.next_step


def test_table_of_jobs_has_settings_and_run_time_with_units() -> None:
    table = job_table(JOBS)
    assert table["setting.temperature"].tolist() == [30, 31, 32, 33, 34, 35]
    plot = table_plot(table, "folds", x="temperature", y="mfe", color="RunTime")
    (panel,) = plot._chart.panels
    assert (panel.x.label, panel.y.label) == ("temperature (°C)", "mfe (kcal/mol)")
    assert panel.legend == "RunTime (s)"
    assert plot.frame is table
    assert panel.note == "1 row without a value left out"
    other = table_plot(table.assign(Type="unknown"), "folds", x="mfe", units={"score.mfe": "J"})
    assert other._chart.panels[0].x.label == "mfe (J)"


def test_names_of_jobs_are_plotted_by_their_column_in_the_input() -> None:
    jobs = JOBS.copy()
    jobs.attrs["name_column"] = "gene"
    plot = table_plot(job_table(jobs), "folds", x="gene", y="mfe")
    assert plot._chart.panels[0].x.label == "gene"
    jobs.attrs["name_column"] = "family"
    assert job_table(jobs)["family"].tolist() == JOBS["family"].tolist()


def test_selected_jobs_are_displayed_like_a_list_of_jobs() -> None:
    jobs = frames.JOBS.show(JOBS.assign(Reason=None))
    plot = table_plot(job_table(jobs), "folds", x="mfe")
    plot.select([0, 1])
    html = str(frame_html(plot.selection))
    assert "folds-a" in html
    assert "Reason" not in html  # no job has one


def test_default_columns_are_scores_that_differ() -> None:
    assert default_columns(JOBS) == ("score.mfe", "score.pairs")
    assert default_columns(JOBS.assign(**{"score.mfe": 1.0})) == ("score.pairs", None)
    assert default_columns(JOBS[["family"]]) == (None, None)


def test_values_that_are_no_numbers_and_constant_columns() -> None:
    frame = pd.DataFrame(
        {
            "a": [1.0, np.nan, np.inf, -np.inf, 2.0],
            "b": 3.0,
            "c": ["", None, "x", "x", "y"],
            "empty": np.nan,
            "mixed": [1, "2", 3.5, None, "4"],
            "large": [10**400, 1, -(10**400), 2.5, None],
        }
    )
    (points,) = marks_of(chart_of(frame, x="a", y="b"), Points)
    assert list(points.rows) == [0, 4]
    (bars,) = marks_of(chart_of(frame, x="b"), Bars)
    assert [list(rows) for rows in bars.rows] == [[0, 1, 2, 3, 4]]
    assert list(marks_of(chart_of(frame, x="mixed", y="b"), Points)[0].x) == [1, 2, 3.5, 4]
    assert list(marks_of(chart_of(frame, x="large", y="b"), Points)[0].x) == [1, 2.5]
    with pytest.raises(InputError, match='"empty" has no values'):
        chart_of(frame, x="empty")
    json.dumps(chart_state(chart_of(frame, x="a", y="b", color="c")), allow_nan=False)
    for options in ({"x": "a"}, {"x": "c", "y": "a"}, {"x": "b", "y": "b", "color": "b"}):
        assert table_plot(frame, "t", **options)._render()[0].startswith("<div")
    none = frame.iloc[:0]
    with pytest.raises(InputError, match="The table is empty"):
        chart_of(none, x="a")


def test_colors_are_groups_or_a_scale() -> None:
    count = 40
    frame = pd.DataFrame(
        {"v": np.arange(count) * 0.5, "w": 1.0, "g": [f"g{n % 20}" for n in range(count)]}
    )
    groups = marks_of(chart_of(frame, x="v", y="w", color="g", kind="scatter"), Points)
    assert [group.name for group in groups][-1] == "9 others"
    frame["twelve"] = [f"g{n % 12}" for n in range(count)]
    twelve = marks_of(chart_of(frame, x="v", y="w", color="twelve", kind="scatter"), Points)
    assert [group.name for group in twelve][-1] == "1 other"
    looks = {(group.color, group.shape) for group in groups}
    assert len(looks) == len(groups) == 12, "all groups look different"
    scaled = chart_of(frame, x="v", y="w", color="v", kind="scatter").panels[0]
    assert (scaled.scale.low, scaled.scale.high) == (0, 19.5)
    coded = chart_of(frame.assign(n=[1, 2] * 20), x="v", y="w", color="n", kind="scatter")
    assert [group.name for group in marks_of(coded, Points)] == ["1", "2"]


def test_large_whole_numbers_are_shown_exactly() -> None:
    frame = pd.DataFrame({"run": [20240101, 20240102] * 4, "place": range(123456781, 123456789)})
    points = chart_of(frame, x="place", y="run", color="run", kind="scatter")
    assert [mark.name for mark in marks_of(points, Points)] == ["20240101", "20240102"]
    assert chart_state(points)["panels"][0]["marks"][0]["x"][:2] == [123456781, 123456783]
    (bars,) = marks_of(chart_of(frame, x="run"), Bars)
    assert bars.texts == ["20240101: 4", "20240102: 4"]
    assert "  place: 123456781 to 123456788" in str(table_plot(frame, "t", x="place", y="run"))


@pytest.mark.parametrize("first", [123456781, 123456.7891])
def test_live_view_has_the_places_of_close_values(first: float) -> None:
    values = [first + n / 10 for n in range(9)]
    state = chart_state(chart_of(pd.DataFrame({"v": values, "w": values}), x="v", y="w"))
    assert state["panels"][0]["marks"][0]["x"] == pytest.approx(values, abs=1e-4, rel=0)
    (bars,) = chart_state(chart_of(pd.DataFrame({"v": values}), x="v"))["panels"][0]["marks"]
    assert all(low < high for low, high in zip(bars["x0"], bars["x1"], strict=True))


def test_ranges_of_close_values_differ() -> None:
    frame = pd.DataFrame({"v": np.linspace(12345.1, 12345.9, 50)})
    (bars,) = marks_of(chart_of(frame, x="v"), Bars)
    assert len(set(bars.texts)) == len(bars.texts)
    assert bars.texts[0].startswith("12345.1 to 12345.")


def test_times_as_colors_are_shown_as_times() -> None:
    frame = JOBS.assign(seen=pd.date_range("2026-03-01", periods=6, freq="D", tz="UTC"))
    chart = chart_of(frame, x="mfe", y="pairs", color="seen", kind="scatter")
    assert chart.panels[0].scale.kind == "time"
    plot = table_plot(frame, "folds", x="mfe", y="pairs", color="seen", kind="scatter")
    assert "  seen: 2026-03-01 00:00:00 to 2026-03-05 00:00:00" in str(plot).splitlines()
    labels = [label.get_text() for label in drawn_labels(plot)]
    assert any("Mar" in label or label.startswith("0") for label in labels), labels


def drawn_labels(plot: Plot) -> list[Any]:
    plot.figure.canvas.draw()
    return list(plot.figure.axes[1].get_yticklabels())


@pytest.mark.parametrize("days", [0.01, 4, 300, 9000])
def test_any_range_of_times_is_drawn_without_a_warning(days: float) -> None:
    times = pd.date_range("2020-01-01", periods=10, freq=pd.Timedelta(days=days / 9))
    frame = pd.DataFrame({"t": times, "v": range(10)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "<img" in table_plot(frame, "t", x="t", y="v")._render()[0]


def test_categories_that_differ_beyond_the_displayed_letters_stay_apart() -> None:
    frame = pd.DataFrame({"sequence": ["A" * 80 + "C", "A" * 80 + "G"] * 5, "v": range(10)})
    (boxes,) = marks_of(chart_of(frame, x="sequence", y="v", kind="box"), Boxes)
    assert boxes.median == [4, 5]
    frame["JobName"] = [f"{'A' * 80}{n}" for n in range(10)]
    plot = table_plot(frame, "t", x="v", y="v", color="sequence", kind="scatter")
    (panel,) = plot._state()["panels"]
    assert {mark["name"][-2:] for mark in panel["marks"]} == {"AC", "AG"}
    assert len(set(panel["names"])) == 10


@pytest.mark.parametrize("rows", [[True, False], [0.0], ["0"], 3, "ab"])
def test_rows_that_are_no_positions_are_refused(rows: Any) -> None:
    plot = table_plot(JOBS, "folds", x="mfe", y="pairs")
    with pytest.raises(InputError, match="selected by their positions"):
        plot.select(rows)
    assert len(plot.select(np.flatnonzero(JOBS["score.mfe"] < -3))) == 3


def test_ticks_of_whole_numbers_are_whole_numbers() -> None:
    frame = pd.DataFrame({"residues": [16, 17, 18.0, None], "mass": [1.5, 2.0, 3.0, 4.0]})
    chart = chart_of(frame, x="residues", y="mass")
    assert (chart.panels[0].x.whole, chart.panels[0].y.whole) == (True, False)
    figure = table_plot(frame, "f", x="residues", y="mass").figure
    assert all(float(tick).is_integer() for tick in figure.axes[0].get_xticks())
    assert len(figure.axes[0].get_xticks()) >= 3


def test_ten_thousand_points_are_a_small_picture() -> None:
    drawn = np.random.default_rng(1)
    frame = pd.DataFrame(drawn.normal(size=(10_000, 2)), columns=["a", "b"])
    frame["g"] = drawn.choice(["x", "y"], 10_000)
    html, text = table_plot(frame, "many", x="a", y="b", color="g")._render()
    assert len(html) < 200_000
    assert text == "many: scatter of b by a, colored by g; 10,000 rows"
    assert len(json.dumps(chart_state(chart_of(frame, x="a", y="b")))) < 1_000_000


def test_hostile_names_are_displayed_unchanged() -> None:
    name = '<script>alert(1)</script>"\x1b[31m\u202e $x^2$'
    frame = pd.DataFrame({name: [1.0, 2.0], "y": [1, 2], "c": [name, "&<b>"]})
    html, text = table_plot(frame, name, x=name, y="y", color="c", kind="scatter")._render()
    parsed = ParsedHtml(html)
    assert parsed.tags == {"div", "img"}
    assert parsed.attribute_names == {"class", "style", "src", "alt"}
    assert "\x1b" not in html + text
    assert "\u202e" not in text


def test_selection_comes_from_the_live_view(placeholders: Placeholders, set_front_end: Any) -> None:
    set_front_end(FrontEnd.INTERACTIVE, placeholder)
    plot = table_plot(JOBS, "folds", x="mfe", y="pairs", open_job=str)
    assert plot.selection.empty
    assert list(plot.selection.columns) == list(JOBS.columns)
    plot._ipython_display_()
    live = placeholders[0]
    assert live.state["opens"]
    assert live.state["panels"][0]["names"][1] == "b"
    live.message(do="select", panel=0, rows=[4, 1, 1], sender="v1")
    assert plot.selection["Name"].tolist() == ["b", "e"]
    assert live.changes[-1] == {"selection": {"panel": 0, "rows": [1, 4], "sender": "v1"}}
    for rows in ([6], [-1], ["0"], None, [0.5]):
        live.message(do="select", panel=0, rows=rows)
    live.message(do="select", panel=1, rows=[0])
    live.receive("?", [])
    assert plot.selection["Name"].tolist() == ["b", "e"]
    assert plot.select([0])["Name"].tolist() == ["a"]
    with pytest.raises(InputError, match="6 rows"):
        plot.select([6])
    plot.close()


def test_large_table_has_the_picture_alone(
    placeholders: Placeholders, set_front_end: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_front_end(FrontEnd.INTERACTIVE, placeholder)
    for most, states in ((len(JOBS), 1), (len(JOBS) - 1, 0)):
        monkeypatch.setattr(module, "MAX_LIVE_ROWS", most)
        table_plot(JOBS, "folds", x="mfe", y="pairs")._ipython_display_()
        assert len(placeholders[-1].states) == states
        assert "<img" in placeholders[-1].html


def test_click_opens_the_job_below(
    placeholders: Placeholders, set_front_end: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_front_end(FrontEnd.INTERACTIVE, placeholder)
    opened: list[Any] = []

    def refuse(job: str) -> Any:
        if job == "folds-f":
            raise InputError(f"{job} was stopped.", "Look at its log.")
        return job

    from widget_fakes import FakePlaceholder

    monkeypatch.setattr(
        FakePlaceholder, "show", lambda self, view: opened.append(view), raising=False
    )
    plot = table_plot(JOBS, "folds", x="mfe", y="pairs", open_job=refuse)
    plot._ipython_display_()
    live, below = placeholders
    live.message(do="open", row=1)
    assert opened == ["folds-b"]
    live.message(do="open", row=5)
    assert opened == ["folds-b", None]
    assert "folds-f was stopped. Look at its log." in below.text
    live.message(do="open", row=99)
    assert len(opened) == 2


def test_picture_is_saved_in_the_format_of_the_suffix(tmp_path: Path) -> None:
    plot = table_plot(JOBS, "folds", x="mfe", y="pairs")
    assert plot.save(tmp_path / "new" / "p.png").read_bytes().startswith(b"\x89PNG")
    first, two = (table_plot(JOBS, "folds", x="mfe").save(tmp_path / f"{n}.svg") for n in range(2))
    assert first.read_text() == two.read_text(), "the same picture is the same file"
    with pytest.raises(InputError, match="no suffix of a picture format"):
        plot.save(tmp_path / "p.docx")
    assert plot.figure is plot.figure


@pytest.mark.parametrize(
    ("name", "dpi", "reason"),
    [("p.pgf", 200, r"'xelatex' not found\."), ("p.png", 0, r"dpi must be positive\.")],
)
def test_picture_that_matplotlib_can_not_draw_names_the_formats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, dpi: int, reason: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    plot = table_plot(JOBS, "folds", x="mfe")
    with pytest.raises(InputError, match=rf"{reason} Use one of .*pdf, png, .*svg") as raised:
        plot.save(tmp_path / name, dpi=dpi)
    assert "\n" not in str(raised.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dpi", ["a", None, [200], JOBS, math.inf, math.nan, 10**400])
def test_dpi_that_is_no_usable_number_is_refused_in_one_line(tmp_path: Path, dpi: Any) -> None:
    plot = table_plot(JOBS, "folds", x="mfe")
    with pytest.raises(InputError, match="dpi") as raised:
        plot.save(tmp_path / "p.png", dpi=dpi)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500
    assert not list(tmp_path.iterdir())


def test_picture_that_can_not_be_written_is_a_storage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plot = table_plot(JOBS, "folds", x="mfe", y="pairs")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="can't be written"):
        plot.save(tmp_path / "file" / "p.png")
    before = plot.save(tmp_path / "p.png").read_bytes()

    def run_out_of_space(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", run_out_of_space)
    with pytest.raises(StorageError, match=r"The disk is full: .*p\.png can't be written"):
        plot.save(tmp_path / "p.png", dpi=40)
    assert (tmp_path / "p.png").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "p.png"]


def test_terminal_shows_the_ranges() -> None:
    plot = table_plot(JOBS, "folds", x="pairs", y="mfe", color="family")
    assert repr(plot) == (
        "<Plot folds: scatter of mfe (kcal/mol) by pairs, colored by family; 6 rows>"
    )
    assert str(plot).splitlines()[1:] == [
        "  pairs: 3 to 7",
        "  mfe (kcal/mol): -9 to -1.5",
        "  family: x (3), y (2)",
        "  1 row without a value left out",
        "  Save the picture: .save('plot.png')",
    ]


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlotError, match=r"extra `plots`.*labext-jupyter\[plots\]"):
        table_plot(JOBS, "folds", x="mfe")


@pytest.mark.parametrize("last", [59, 60, 119, 400])
def test_bins_of_whole_numbers_have_as_many_numbers_each(last: int) -> None:
    frame = pd.DataFrame({"length": [*range(last + 1)] * 3})
    (bars,) = marks_of(chart_of(frame, x="length"), Bars)
    assert sum(bars.y1) == len(frame)
    assert len(set(bars.y1[:-1])) == 1
    assert len(bars.y1) <= 60
    words = bars.texts[0].partition(":")[0].split(" to ")
    assert int(words[-1]) - int(words[0]) + 1 == bars.y1[0] / 3


def test_counts_have_ticks_of_whole_numbers() -> None:
    plot = table_plot(pd.DataFrame({"x": [3.3] * 20}), "counts", x="x")
    assert plot._chart.panels[0].y.whole


def test_lines_of_the_same_color_differ_in_dashes() -> None:
    frame = pd.DataFrame({"x": range(40), "y": range(40), "group": [*"abcdefgh"] * 5})
    plot = table_plot(frame, "lines", x="x", y="y", color="group", kind="line")
    lines = [mark for mark in plot._chart.panels[0].marks if isinstance(mark, Line)]
    assert len({(line.color, line.dashed) for line in lines}) == len(lines) == 8
    drawn = plot.figure.axes[0].get_lines()
    assert [line.is_dashed() for line in drawn] == [line.dashed for line in lines]

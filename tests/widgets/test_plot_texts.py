"""Texts of plots: ranges, units and notes, as a terminal and a screen reader show them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labext_widgets.plots import table_plot


@pytest.mark.parametrize("axes", [{"x": "a", "y": "b"}, {"x": "a"}, {"x": "c", "y": "a"}])
def test_values_too_large_for_an_axis_are_left_out(axes: dict[str, str], tmp_path: Path) -> None:
    """Programs write the largest float for an infinite value."""
    largest = np.finfo(float).max
    frame = pd.DataFrame({"a": [1, 2, largest, -largest], "b": range(4), "c": list("xyxy")})
    plot = table_plot(frame, "limits", **axes)
    assert "a: 1 to 2" in str(plot)
    assert "2 rows without a value left out" in str(plot)
    plot.save(tmp_path / "plot.png")


def test_text_of_a_histogram_has_the_range_of_the_values() -> None:
    frame = pd.DataFrame({"share": [0.004, 0.1, 0.2, 0.3, 0.92]})
    assert "  share: 0.004 to 0.92" in str(table_plot(frame, "t", x="share")).splitlines()


def test_text_of_a_box_plot_has_the_range_of_all_values() -> None:
    frame = pd.DataFrame({"kind": "a", "size": [*(n / 600 for n in range(600)), 5.5]})
    lines = str(table_plot(frame, "t", x="kind", y="size")).splitlines()
    assert "  size: 0 to 5.5" in lines
    assert "  1 of 601 rows are beyond the whiskers, drawn as points" in lines


def test_times_of_another_zone_are_labelled_as_utc() -> None:
    times = pd.to_datetime(["2026-07-01 12:00", "2026-07-02 12:00"])
    frame = pd.DataFrame({"local": times, "zoned": times.tz_localize("Europe/Berlin"), "n": [1, 2]})
    plot = str(table_plot(frame, "t", x="zoned", y="n")).splitlines()
    assert "  zoned (UTC): 2026-07-01 10:00:00 to 2026-07-02 10:00:00" in plot
    assert "  local: 2026-07-01 12:00:00 to 2026-07-02 12:00:00" in str(
        table_plot(frame, "t", x="local", y="n")
    )


def test_text_has_a_digit_behind_the_point_of_larger_numbers() -> None:
    frame = pd.DataFrame({"sasa": [3835.64, 35125.34], "n": [1, 2]})
    assert "  sasa: 3835.6 to 35125.3" in str(table_plot(frame, "t", x="sasa", y="n")).splitlines()


def test_durations_are_labelled_in_seconds() -> None:
    frame = pd.DataFrame({"wait": pd.to_timedelta([90, 150], unit="s"), "n": [1, 2]})
    assert "  wait (s): 90 to 150" in str(table_plot(frame, "t", x="wait", y="n")).splitlines()


def test_rows_with_names_are_no_jobs() -> None:
    frame = pd.DataFrame({"Name": ["Arabidopsis", "Oryza"], "size": [1, 2]})
    assert "  number of rows: 0 to 1" in str(table_plot(frame, "t", x="size")).splitlines()

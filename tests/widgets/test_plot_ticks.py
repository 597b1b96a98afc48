"""Values and ticks of plots have the same texts in pictures and in live views."""

from __future__ import annotations

from javascript import run_javascript

from labext_widgets.plots.drawing import tick_label

JAVASCRIPT = """
import { findTicks, formatValue } from "./plot/values.js";
import { truncate, truncateMiddle } from "./svg.js";
const number = { kind: "number" };
const long = "transcription factor 12";
const answers = [
  [123456, 20240101123, 3.14159265, -5.5, 2e20, 35125.34].map(
    (value) => formatValue(number, value)),
  [[123456781, 123456785], [1732636800.2, 1732640000]].map(
    ([low, high]) => findTicks(number, low, high, 3).map(({ label }) => label)),
  formatValue({ kind: "time" }, 1772359200000),
  [truncate("gene 🧬🧬", 7), truncate("gene 🧬🧬", 6)],
  [22, 10, 4].map((letters) => truncateMiddle(long, letters)),
];
"""


TICKS = """
import { findTicks } from "./plot/values.js";
const ranges = [
  [0, 1], [0, 0.3], [-5, 5], [0, 70], [0, 2e5], [0, 3e6], [-4e6, 6e6], [0, 5e8], [0, 1e9],
  [0, 3e12], [1e6, 1e6 + 40], [99999.5, 100000.5], [0, 0.002], [-5e-6, 5e-6], [0, 2e-12],
];
const answers = ranges.map((range) => findTicks({ kind: "number" }, ...range, 5));
"""


def test_ticks_have_the_same_labels_in_the_picture_as_in_the_live_view() -> None:
    for ticks in run_javascript(TICKS):
        values = [tick["value"] for tick in ticks]
        assert [tick_label(value, values) for value in values] == [tick["label"] for tick in ticks]


def test_javascript_formats_large_numbers_exactly() -> None:
    values, ticks, time, names, middles = run_javascript(JAVASCRIPT)
    assert values == ["123,456", "20,240,101,123", "3.1416", "−5.5", "2e+20", "35,125.3"]
    assert ticks == [["123,456,782", "123,456,784"], ["1,732,638,000", "1,732,640,000"]]
    assert time == "2026-03-01 10:00:00"
    assert names == ["gene 🧬🧬", "gene…"], "an emoji is not cut in two"
    assert middles == ["transcripti…factor 12", "trans…r 12", "tr…2"]


def test_a_single_time_is_on_an_axis_of_one_day_in_the_live_view() -> None:
    low, high = run_javascript("""
import { axisRange } from "./plot/scale.js";
const marks = [{ mark: "points", x: [1772359200000], y: [1] }];
const answers = axisRange({ x: { kind: "time" }, marks }, "x");
""")
    assert high - low == 86_400_000

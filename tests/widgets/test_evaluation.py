"""The summary of an evaluation."""

from __future__ import annotations

import pandas as pd

from labext.nb.records import EVALUATION_SUMMARY, to_frame
from labext_widgets.answers.evaluation import summary_html, summary_text

ROWS = [
    {"kind": "<b>fact</b>", "questions": 2, "right": 0.5, "cited_right": 1.0, "seconds": 0.25},
    {"kind": "near miss", "questions": 1, "right": 1.0, "refused_right": 1.0, "seconds": 0.25},
    {"kind": "all", "questions": 3, "right": 2 / 3, "seconds": 0.25, "tokens": 12345},
]


def summary() -> pd.DataFrame:
    return to_frame(EVALUATION_SUMMARY, [dict.fromkeys(EVALUATION_SUMMARY) | row for row in ROWS])


def test_kinds_are_escaped_and_shares_are_bars() -> None:
    html = summary_html(summary())
    assert "&lt;b&gt;fact&lt;/b&gt;" in html
    assert "width:50%" in html
    assert "12,345" in html
    assert "mean reciprocal rank" not in html
    assert "<script" not in html
    assert "<style" not in html


def test_text_is_aligned() -> None:
    lines = summary_text(summary()).splitlines()
    assert [line.split()[-1] for line in lines] == ["tokens", "0.25", "0.25", "12,345"]
    assert len({line.index("0.25") for line in lines[1:]}) == 1

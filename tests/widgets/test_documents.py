"""Texts of models and sources as documents, and summaries of evaluations."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest

from labext.frames.views import frame_html, frame_text
from labext.nb import views
from labext.nb.records import EVALUATION_SUMMARY, to_frame
from labext_widgets.answers import documents
from labext_widgets.answers.documents import INSIGHTS, MESSAGES, SourceText
from labext_widgets.answers.evaluation import summary_html, summary_text
from labext_widgets.core.front_end import FrontEnd

MARKDOWN = "# Methods\n\n- **LB** medium\n- `pBAD30`\n\nInduced with\narabinose."
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)> [x](javascript:alert(1))\x1b[2J"


def insights(*contents: str | None) -> pd.DataFrame:
    rows = [
        {"id": f"insight:{n}", "source_id": "source:1", "insight_type": "Methods", "content": text}
        for n, text in enumerate(contents)
    ]
    return INSIGHTS.show(views.insight_frame(rows))


def messages(*pairs: tuple[str, str]) -> pd.DataFrame:
    rows = [{"id": str(n), "type": kind, "content": text} for n, (kind, text) in enumerate(pairs)]
    return MESSAGES.show(views.message_frame(rows))


@pytest.fixture
def displayed(set_front_end: Any, record_displays: Any) -> list[tuple[str, str]]:
    set_front_end(FrontEnd.INTERACTIVE, documents)
    displayed: list[tuple[str, str]] = record_displays(documents)
    return displayed


def test_insights_are_rendered_as_markdown() -> None:
    frame = insights(MARKDOWN)
    html = str(frame_html(frame))
    assert "<strong>Methods</strong>" in html
    assert '<li dir="auto"><strong>LB</strong> medium</li>' in html
    assert ">pBAD30</code>" in html
    assert "insight:0" in html
    assert frame_text(frame) == f"Methods · insight:0 · source:1\n{MARKDOWN}"
    assert frame["content"].tolist() == [MARKDOWN], "the frame has the original text"
    assert type(frame) is pd.DataFrame


def test_times_beside_a_heading_are_in_utc_and_given_once() -> None:
    time = "2026-11-29T14:18:15Z"
    rows = [{"insight_type": "Methods", "content": "A.", "created_at": time, "updated_at": time}]
    html = str(frame_html(INSIGHTS.show(views.insight_frame(rows))))
    assert html.count("2026-11-29 14:18:15 UTC") == 1


def test_filtered_insights_are_drawn_too() -> None:
    frame = insights(MARKDOWN, "Other.")
    assert "<li" in str(frame_html(frame.head(1)))
    assert frame_text(frame[["insight_type"]]) == repr(frame[["insight_type"]])
    assert frame_text(insights()) == "There are no insights."
    assert "<details" in str(frame_html(insights(None)))


def test_long_documents_are_folded() -> None:
    long = insights("word " * 3000, "word " * 3000)
    assert "<details open" in str(frame_html(insights(MARKDOWN)))
    assert "<details open" not in str(frame_html(long))
    assert max(map(len, frame_text(long).splitlines())) <= 80


def test_only_model_messages_of_a_chat_are_markdown() -> None:
    html = str(frame_html(messages(("human", "Is *this* 2*3?\nYes"), ("ai", "It **is**."))))
    assert "Is *this* 2*3?\nYes</div>" in html
    assert "It <strong>is</strong>." in html
    text = frame_text(messages(("human", "a\nb"), ("ai", "c")))
    assert text == "human\na\nb\n\nai\nc"


CITATION = {
    "id": "source:1",
    "title": "Paper <b>",
    "passage_id": 7,
    "page": 3,
    "quote": "Glucose represses.",
    "passage": "It is so. Glucose represses. Thus it is added.",
}


def test_citations_of_messages_are_displayed_as_those_of_an_answer() -> None:
    rows = [
        {"type": "human", "content": "Why?", "citations": []},
        {"type": "ai", "content": "**It** does [source:1].", "citations": [CITATION]},
    ]
    frame = MESSAGES.show(views.message_frame(rows))
    html = str(frame_html(frame))
    assert "<strong>It</strong> does" in html
    assert "[1] Paper &lt;b&gt;, page 3</summary>" in html
    assert ">Glucose represses.</mark>" in html
    text = frame_text(frame)
    assert "[1] Paper <b>, page 3: “Glucose represses.”" in text
    for rendering in (html, text):
        assert "passage_id" not in rendering
        assert "[source:1]" not in rendering
    assert frame["citations"].tolist() == [[], [CITATION]]
    assert "It** does" in frame_text(frame[["type", "content"]])


@pytest.mark.parametrize(
    "html",
    [
        frame_html(insights(HOSTILE)),
        frame_html(messages(("human", HOSTILE), ("ai", HOSTILE), (HOSTILE, "x"))),
    ],
)
def test_html_in_a_document_is_escaped(html: Any) -> None:
    assert "&lt;script&gt;" in html
    for markup in ("<script", "<img", "<a ", "\x1b"):
        assert markup not in html


def test_markdown_source_is_rendered(displayed: list[tuple[str, str]]) -> None:
    SourceText(MARKDOWN, "Bench notes")._ipython_display_()
    ((html, text),) = displayed
    assert '<li dir="auto"><strong>LB</strong> medium</li>' in html
    assert text == MARKDOWN


def test_plain_text_has_its_own_direction(displayed: list[tuple[str, str]]) -> None:
    SourceText("نص عربي", "a.txt", "a.txt")._ipython_display_()
    assert 'dir="auto">نص عربي' in displayed[0][0]


def test_plain_text_keeps_its_line_breaks(displayed: list[tuple[str, str]]) -> None:
    plain = "Table 1\n  LB   10 g\n  NaCl  5 g\n\n- 4 -\n2 * 3 * 4 < 30 & more"
    SourceText(plain, "paper.pdf", "paper.pdf")._ipython_display_()
    ((html, text),) = displayed
    assert "Table 1\n  LB   10 g\n  NaCl  5 g\n\n- 4 -\n2 * 3 * 4 &lt; 30 &amp; more" in html
    assert "white-space:pre-wrap" in html
    assert 'tabindex="0" role="region" aria-label="paper.pdf"' in html, "scrolled by keyboard"
    assert text == plain


@pytest.mark.parametrize(
    ("text", "file_name", "expected"),
    [
        ("plain words", "notes.md", True),
        ("plain words", None, False),
        ("# Heading\n\nWords", None, True),
        ("# Heading\n\nWords", "paper.pdf", True),
        ("# a comment\nx = 1", "script.py", False),
        ("#1 of 3\n#2 of 3", "paper.pdf", False),
        ("Some **bold** words", "page.html", True),
        ("2 ** 3 ** 4", None, False),
        ("See [the paper](https://doi.org/10.1/x)", None, True),
        ("```\ncode\n```", None, True),
        (">seq1\nACGT", "a.fasta", False),
    ],
)
def test_markdown_detection(text: str, file_name: str | None, expected: bool) -> None:
    assert documents.is_markdown(text, file_name) is expected


def test_markup_in_a_source_is_escaped(displayed: list[tuple[str, str]]) -> None:
    for file_name in ("a.md", "a.txt"):
        SourceText(HOSTILE, HOSTILE, file_name)._ipython_display_()
    for html, text in displayed:
        assert "<script" not in html
        assert "<img" not in html
        assert "\x1b" not in html + text


def test_very_long_text_is_truncated_with_a_note(displayed: list[tuple[str, str]]) -> None:
    source = SourceText("word\n" * 60_000, "book.txt", "book.txt")
    source._ipython_display_()
    ((html, text),) = displayed
    assert len(text) < 201_000
    assert "200,000 of 299,999 characters" in html
    assert "200,000 of 299,999 characters" in text
    assert len(source.text) == 300_000


def test_terminal_prints_the_whole_text(
    set_front_end: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    set_front_end(FrontEnd.TERMINAL, documents)
    SourceText("word\x1b[2J\n" * 60_000)._ipython_display_()
    out = capsys.readouterr().out
    assert out.count("word") == 60_000
    assert "\x1b" not in out


def test_empty_text_is_noted(displayed: list[tuple[str, str]]) -> None:
    SourceText("")._ipython_display_()
    assert "The text is empty." in displayed[0][0]
    assert displayed[0][1] == "The text is empty."


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


def test_only_all_right_answers_are_100_percent() -> None:
    rows = [{"kind": "fact", "questions": 1000, "right": 0.999, "cited_right": 0.001}]
    table = to_frame(EVALUATION_SUMMARY, [dict.fromkeys(EVALUATION_SUMMARY) | row for row in rows])
    assert re.findall("over 99%|under 1%", summary_text(table)) == ["over 99%", "under 1%"]
    assert "over 99%" in summary_html(table)


def test_text_is_aligned() -> None:
    lines = summary_text(summary()).splitlines()
    assert [line.split()[-1] for line in lines] == ["tokens", "0.25", "0.25", "12,345"]
    assert len({line.index("0.25") for line in lines[1:]}) == 1

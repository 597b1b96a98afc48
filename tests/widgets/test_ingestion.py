"""The display of sources during processing: in a notebook, a terminal, and an executed notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from widget_fakes import FakeTerminal, ParsedHtml, words

import labext_widgets
from labext.errors import WatchInterrupted
from labext.nb.polling import Ingestion, SourceRow
from labext.progress import Outcome
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.progress import live_view, static_view, watch
from labext_widgets.progress.watch import ingestion_progress

AGAIN = "%nb sources wait"
READING = SourceRow("source:1", "paper.pdf", "running", "Reading the pages", "", 42.0)
WAITING = SourceRow("source:2", "notes.docx", "new")
DONE = SourceRow("source:3", "page.html", "completed")
REMARKED = SourceRow("source:5", "e.md", "completed", "", "It has no insights.")
BROKEN = SourceRow("source:4", "scan.pdf", "failed", "", "The PDF is encrypted.", 60.0)
MIDWAY = Ingestion((READING, WAITING, DONE, BROKEN), 43.0)
OVER = Ingestion((DONE, BROKEN), 50.0, Outcome.FAILED)


def drawn(*rows: SourceRow, **more: Any) -> str:
    return words(static_view.render_html(ingestion_progress(Ingestion(rows, **more))))


def test_each_source_has_a_row_with_stage_stall_and_reason() -> None:
    output = words(static_view.render_html(ingestion_progress(MIDWAY)))
    assert "1 Complete ■ 1 Failed ■ 1 Running ■ 1 In Queue" in output
    rows = output.partition("1 In Queue ● ")[2]
    assert rows == (
        "paper.pdf Reading the pages, no progress for 0:42 ○ notes.docx In Queue "
        "✓ page.html Complete ✕ scan.pdf Failed The PDF is encrypted."
    )


def test_several_sources_share_one_bar() -> None:
    html = static_view.render_html(ingestion_progress(MIDWAY))
    assert html.count('role="progressbar"') == 1
    assert 'aria-valuenow="1"' in html
    assert 'aria-valuemax="4"' in html


def test_stall_of_all_sources_is_shown_once() -> None:
    stall_message = "No progress for 0:42."
    assert stall_message in drawn(READING, BROKEN, elapsed=60.0)
    assert stall_message not in drawn(READING, WAITING), "one of them has just changed"
    assert stall_message not in drawn(DONE, BROKEN, outcome=Outcome.FAILED)


def test_single_source_has_no_row() -> None:
    progress = ingestion_progress(Ingestion((READING,), 7.0))
    assert static_view.render_text(progress) == (
        "paper.pdf: Reading the pages (ingestion, watched 0:07, no progress for 0:42)"
    )
    ended = ingestion_progress(Ingestion((BROKEN,), 7.0, Outcome.FAILED))
    assert static_view.render_lines(ended) == (
        "scan.pdf: Failed: The PDF is encrypted. (ingestion, watched 0:07)"
    )


def test_reason_of_several_sources_is_stated_once() -> None:
    other = replace(REMARKED, id="source:9", title="f.md")
    ended = ingestion_progress(Ingestion((REMARKED, other), 7.0, Outcome.COMPLETE))
    assert static_view.render_lines(ended).endswith("\n  e.md, f.md: It has no insights.")


def test_unknown_status_is_shown_unchanged() -> None:
    assert "● odd.txt Pondering" in drawn(SourceRow("source:5", "odd.txt", "Pondering"), DONE)


def test_reconnect_note_is_shown_once() -> None:
    row = SourceRow("source:1", "paper.pdf", "running", "", "No response, trying again.")
    output = drawn(row, DONE)
    assert output.count("No response, trying again.") == 1, (
        "the hint is displayed once for all running sources"
    )


def test_failed_and_running_sources_are_listed_first() -> None:
    many = [SourceRow(f"source:{i}", f"file {i}", "completed") for i in range(1000)]
    output = drawn(*many[:600], BROKEN, READING, *many[600:])
    rows = output.partition("✕ scan.pdf")[2]
    assert rows.startswith(" Failed The PDF is encrypted. ● paper.pdf")
    assert rows.count("Complete") == static_view.MAX_PARTS - 2
    assert output.endswith("… and 952 more")


def test_terminal_redraws_one_line_and_lists_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    out = FakeTerminal()
    monkeypatch.setattr(sys, "stdout", out)
    over = Ingestion((DONE, BROKEN, REMARKED), 50.0, Outcome.FAILED)
    assert labext_widgets.watch_ingestion(iter([MIDWAY, over]), again=AGAIN) is over
    first, last = out.getvalue().split("\r")[1], out.getvalue().split("\r")[-1]
    assert first.startswith("Sources: Running, 1 of 4 complete, 1 Failed, 1 Running, 1 In Queue")
    assert "\n" not in first
    assert last == (
        "\x1b[KSources: Failed, 2 of 3 complete, 1 Failed (ingestion, watched 0:50)\n"
        "  scan.pdf: The PDF is encrypted.\n"
        "  e.md: It has no insights.\n"
    )


@pytest.fixture
def displayed(set_front_end: Any, record_displays: Any) -> list[tuple[str, str]]:
    set_front_end(FrontEnd.EXECUTED, watch)
    displayed: list[tuple[str, str]] = record_displays(live_view)
    return displayed


def test_interrupt_says_that_the_ingestion_continues(displayed: list[tuple[str, str]]) -> None:
    def interrupted() -> Iterator[Ingestion]:
        yield MIDWAY
        raise KeyboardInterrupt

    with pytest.raises(WatchInterrupted, match=r"the ingestion continues.* `%nb sources wait`"):
        labext_widgets.watch_ingestion(interrupted(), again=AGAIN)
    assert "Watching stopped; the ingestion continues." in displayed[-1][1]


HOSTILE = st.text() | st.sampled_from(["<script>x</script>", "\"'onclick=x", "\x1b[2J", "\u202e"])


@given(st.lists(st.builds(SourceRow, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE), max_size=4))
def test_source_texts_are_escaped(rows: list[SourceRow]) -> None:
    progress = ingestion_progress(Ingestion(tuple(rows)))
    html = ParsedHtml(static_view.render_html(progress))
    assert html.tags <= {"div", "span"}
    assert all(
        name in {"style", "class", "role"} or name.startswith("aria-")
        for name in html.attribute_names
    )
    assert "\x1b" not in static_view.render_lines(progress)
    assert "\u202e" not in static_view.render_lines(progress)

from __future__ import annotations

import io

import pytest
from widget_fakes import FakeTerminal

from labext.progress import Outcome, Progress
from labext_widgets.progress import static_view
from labext_widgets.progress.terminal import Line


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")


def snapshot(done: int, outcome: Outcome | None = None) -> Progress:
    phase = "Complete" if outcome else "Running"
    return Progress("folds", "batch", phase, {"Complete": done, "Running": 9 - done}, 9, outcome)


def test_terminal_redraws_one_line() -> None:
    out = FakeTerminal()
    moments = iter([0.0, 0.0, 0.05, 0.2, 0.2])
    line = Line(out, clock=lambda: next(moments))
    for done in (1, 1, 2, 3):
        line.show(snapshot(done))
    line.finish(snapshot(9, Outcome.COMPLETE))
    drawn = out.getvalue()
    assert drawn.count("\r") == 3, "unchanged or too frequent updates are not displayed"
    assert drawn.count("\n") == 1
    assert drawn.endswith(static_view.render_text(snapshot(9, Outcome.COMPLETE)) + "\n")


def test_message_replaces_the_line() -> None:
    out = FakeTerminal()
    line = Line(out)
    line.show(snapshot(1))
    line.replace_by_text("It is\x1b there.")
    assert out.getvalue().endswith("\r\x1b[KIt is there.\n")


def test_line_is_cut_to_the_terminal_width() -> None:
    out = FakeTerminal()
    Line(out).show(Progress("f" * 200, "job", "Running"))
    assert len(out.getvalue().strip("\r").removesuffix("\x1b[K")) == 59


@pytest.mark.parametrize("how", ["a file", "a dumb terminal", "while somebody types"])
def test_non_interactive_output_gets_first_and_last_line(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO() if how == "a file" else FakeTerminal()
    if how == "a dumb terminal":
        monkeypatch.setenv("TERM", "dumb")
    line = Line(out, still=how == "while somebody types")
    for done in (1, 2, 3):
        line.show(snapshot(done))
    line.finish(snapshot(9, Outcome.COMPLETE), "Kept.")
    assert out.getvalue().splitlines() == [
        static_view.render_text(snapshot(1)),
        static_view.render_text(snapshot(9, Outcome.COMPLETE), "Kept."),
    ]
    assert "\x1b" not in out.getvalue()


def test_ended_job_is_printed_once() -> None:
    out = io.StringIO()
    line = Line(out)
    line.show(snapshot(9, Outcome.COMPLETE))
    line.finish(snapshot(9, Outcome.COMPLETE))
    assert out.getvalue() == static_view.render_text(snapshot(9, Outcome.COMPLETE)) + "\n"

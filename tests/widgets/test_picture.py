from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

import labext_widgets
from labext.progress import Outcome, Progress
from labext_widgets.core import placeholder
from labext_widgets.core.display import render_message
from labext_widgets.progress.live_view import (
    LIVE_INTERVAL,
    SAVE_INTERVAL,
    Control,
    FinalState,
    LiveView,
)

RUNNING = Progress("folds", "batch", "Running", {"Running": 9}, 9)
COMPLETE = Progress("folds", "batch", "Complete", {"Complete": 9}, 9, Outcome.COMPLETE)
STOP = Control(do="stop", label="Stop batch", description="Stop batch folds", question="Stop?")


class Fake:
    """A placeholder that remembers."""

    can_live = True

    def __init__(self, html: str, text: str, on_close: Any = None) -> None:
        self.saved = [(html, text)]
        self.states: list[dict[str, Any]] = []
        self.on_message: Any = None

    def live(self, view: str, state: dict[str, Any], on_message: Any = None) -> bool:
        assert view == "progress"
        self.states.append(state)
        self.on_message = on_message
        return self.can_live

    def update(self, html: str, text: str) -> None:
        self.saved.append((html, text))

    def set_state(self, state: dict[str, Any]) -> None:
        self.states.append(state)

    def close(self) -> None:
        self.saved.append(("closed", ""))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Fake]:
    found: list[Fake] = []

    def make(*given: Any, **named: Any) -> Fake:
        found.append(Fake(*given, **named))
        return found[-1]

    monkeypatch.setattr(placeholder, "Placeholder", make)
    return found


def test_the_live_view_follows_at_ten_a_second_and_the_file_every_two(made: list[Fake]) -> None:
    clock = Clock()
    picture = LiveView(clock=clock)
    for step in range(1001):
        clock.now = step * 0.01
        done = step // 2
        picture.show(replace(RUNNING, states={"Complete": done, "Running": 500 - done}, total=500))
    assert len(made) == 1
    assert 90 <= len(made[0].states) <= 10 / LIVE_INTERVAL + 2
    assert 5 <= len(made[0].saved) <= 10 / SAVE_INTERVAL + 2


def test_the_clock_alone_changes_the_live_view_but_not_the_file(made: list[Fake]) -> None:
    clock = Clock()
    picture = LiveView(clock=clock)
    for second in range(20):
        clock.now = float(second)
        picture.show(replace(RUNNING, elapsed=clock.now))
    assert len(made[0].states) == 20
    assert len(made[0].saved) == 1


def test_the_end_is_always_saved(made: list[Fake]) -> None:
    picture = LiveView([STOP], clock=Clock())
    picture.show(RUNNING)
    picture.finish(COMPLETE)
    assert "9 of 9 complete" in made[0].saved[-1][1]
    assert made[0].states[-1]["controls"] == []
    assert made[0].states[0]["controls"] == [STOP]


def test_without_a_live_view_the_file_follows_as_fast(
    made: list[Fake], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "can_live", False)
    clock = Clock()
    picture = LiveView(clock=clock)
    for step in range(10):
        clock.now = step * 0.1001
        picture.show(replace(RUNNING, states={"Complete": step, "Running": 9 - step}))
    assert len(made[0].saved) == 10


def test_where_no_widget_can_be_made_the_picture_is_enough(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shown: list[str] = []
    monkeypatch.setitem(sys.modules, "labext_widgets.core.hub", None)
    monkeypatch.delattr(labext_widgets.core, "hub", raising=False)  # another test has imported it
    monkeypatch.setattr(placeholder, "display_html", lambda html, text, name: shown.append(text))
    monkeypatch.setattr(placeholder, "update_html", lambda html, text, name: shown.append(text))
    picture = LiveView(clock=Clock())
    picture.show(RUNNING)
    picture.finish(COMPLETE)
    placeholder.close_all()
    assert [each.split(":")[1].split(",")[0] for each in shown] == [" Running", " Complete"]
    assert "showing the static view" in caplog.text


def test_what_is_said_and_asked(made: list[Fake]) -> None:
    heard: list[Any] = []
    picture = LiveView([STOP], on_message=heard.append, clock=Clock())
    picture.show(RUNNING)
    made[0].on_message({"do": "stop"}, [])
    made[0].on_message("nonsense", [])
    assert heard == ["stop"]
    picture.set_note("", pending="Stopping…")
    assert made[0].states[-1]["pending"] == "Stopping…"
    picture.set_note("Not stopped: no.")
    assert made[0].states[-1]["pending"] == ""
    assert "Not stopped: no." in made[0].states[-1]["html"]
    assert made[0].states[-1]["controls"] == [STOP]


def test_a_picture_gives_way_to_a_message(made: list[Fake]) -> None:
    picture = LiveView(clock=Clock())
    picture.show(replace(RUNNING, moved=1, size=2))
    picture.replace_by_text("It is <b>there</b>.")
    said, closed = made[0].saved[-2:]
    assert said == render_message("It is <b>there</b>.")
    assert "labext-bar" not in said[0]
    assert closed == ("closed", "")


def test_bytes_are_saved_with_the_picture(made: list[Fake]) -> None:
    clock = Clock()
    picture = LiveView(clock=clock)
    for second in range(10):
        clock.now = float(second)
        picture.show(Progress("folds", "results", "Fetching", moved=second, size=10))
    assert [text for _, text in made[0].saved] == [
        f"folds: Fetching, {n} of 10 bytes (0:00)" for n in range(0, 10, 2)
    ]


def test_an_executed_notebook_has_one_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(
        "labext_widgets.progress.live_view.display_html",
        lambda html, text, name=None: shown.append(text),
    )
    still = FinalState()
    still.show(RUNNING)
    still.show(replace(RUNNING, reason="No response, trying again."))
    still.show(COMPLETE)
    still.finish(COMPLETE)
    assert shown == ["folds: Complete, 9 of 9 complete (batch, watched 0:00)"]

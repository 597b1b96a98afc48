from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest
from widget_fakes import FakeClock, FakePlaceholder, Placeholders

import labext_widgets
from labext.progress import Outcome, Progress
from labext_widgets.core import placeholder
from labext_widgets.core.display import render_message
from labext_widgets.progress import live_view
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


def test_live_view_updates_ten_times_a_second_and_the_file_every_two_seconds(
    placeholders: Placeholders, clock: FakeClock
) -> None:
    picture = LiveView(clock=clock)
    for step in range(1001):
        clock.now = step * 0.01
        done = step // 2
        picture.show(replace(RUNNING, states={"Complete": done, "Running": 500 - done}, total=500))
    assert len(placeholders) == 1
    assert 90 <= len(placeholders[0].states) <= 10 / LIVE_INTERVAL + 2
    assert 5 <= len(placeholders[0].saved) <= 10 / SAVE_INTERVAL + 2


def test_elapsed_time_updates_only_the_live_view(
    placeholders: Placeholders, clock: FakeClock
) -> None:
    picture = LiveView(clock=clock)
    for second in range(20):
        clock.now = float(second)
        picture.show(replace(RUNNING, elapsed=clock.now))
    assert len(placeholders[0].states) == 20
    assert len(placeholders[0].saved) == 1


def test_final_state_is_always_saved(placeholders: Placeholders) -> None:
    picture = LiveView([STOP], clock=FakeClock())
    picture.show(RUNNING)
    picture.finish(COMPLETE)
    assert "9 of 9 complete" in placeholders[0].saved[-1][1]
    assert placeholders[0].states[-1]["controls"] == []
    assert placeholders[0].states[0]["controls"] == [STOP]
    assert placeholders[0].view == "progress"


def test_file_is_saved_at_live_rate_without_live_view(
    placeholders: Placeholders, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakePlaceholder, "can_live", False)
    picture = LiveView(clock=clock)
    for step in range(10):
        clock.now = step * 0.1001
        picture.show(replace(RUNNING, states={"Complete": step, "Running": 9 - step}))
    assert len(placeholders[0].saved) == 10


def test_static_view_is_the_fallback_without_widgets(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    outputs: list[str] = []
    monkeypatch.setitem(sys.modules, "labext_widgets.core.hub", None)
    monkeypatch.delattr(labext_widgets.core, "hub", raising=False)  # another test has imported it
    monkeypatch.setattr(placeholder, "display_html", lambda html, text, name: outputs.append(text))
    monkeypatch.setattr(placeholder, "update_html", lambda html, text, name: outputs.append(text))
    picture = LiveView(clock=FakeClock())
    picture.show(RUNNING)
    picture.finish(COMPLETE)
    placeholder.close_all()
    assert [output.split(":")[1].split(",")[0] for output in outputs] == [" Running", " Complete"]
    assert "showing the static view" in caplog.text


def test_controls_and_notes(placeholders: Placeholders) -> None:
    messages: list[Any] = []
    picture = LiveView([STOP], on_message=messages.append, clock=FakeClock())
    picture.show(RUNNING)
    placeholders[0].message(do="stop")
    placeholders[0].receive("nonsense", [])
    assert messages == ["stop"]
    picture.set_note("", pending="Stopping…")
    assert placeholders[0].states[-1]["pending"] == "Stopping…"
    picture.set_note("Not stopped: no.")
    assert placeholders[0].states[-1]["pending"] == ""
    assert "Not stopped: no." in placeholders[0].states[-1]["html"]
    assert placeholders[0].states[-1]["controls"] == [STOP]


def test_message_replaces_the_picture(placeholders: Placeholders) -> None:
    picture = LiveView(clock=FakeClock())
    picture.show(replace(RUNNING, moved=1, size=2))
    picture.replace_by_text("It is <b>there</b>.")
    last_output, closed = placeholders[0].saved[-2:]
    assert last_output == render_message("It is <b>there</b>.")
    assert "labext-bar" not in last_output[0]
    assert closed == ("closed", "")


def test_transfer_progress_is_saved_with_the_picture(
    placeholders: Placeholders, clock: FakeClock
) -> None:
    picture = LiveView(clock=clock)
    for second in range(10):
        clock.now = float(second)
        picture.show(Progress("folds", "results", "Fetching", moved=second, size=10))
    assert [text for _, text in placeholders[0].saved] == [
        f"folds: Fetching, {n} of 10 bytes (0:00)" for n in range(0, 10, 2)
    ]


def test_final_state_displays_one_picture(record_displays: Any) -> None:
    displayed = record_displays(live_view)
    still = FinalState()
    still.show(RUNNING)
    still.show(replace(RUNNING, reason="No response, trying again."))
    still.show(COMPLETE)
    still.finish(COMPLETE)
    assert [text for _, text in displayed] == [
        "folds: Complete, 9 of 9 complete (batch, watched 0:00)"
    ]

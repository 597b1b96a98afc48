from __future__ import annotations

import logging
from typing import Any

import pytest
from widget_fakes import FakeClock, FakeSurface

from labext.errors import StorageError, TransferInterrupted
from labext.progress import Outcome, Progress
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.progress import transfer
from labext_widgets.progress.live_view import LiveView
from labext_widgets.progress.terminal import Line
from labext_widgets.progress.transfer import Transfer

MB = 1_000_000


@pytest.fixture
def surface(monkeypatch: pytest.MonkeyPatch) -> FakeSurface:
    fake_surface = FakeSurface()
    monkeypatch.setattr(transfer, "_surface", lambda: fake_surface)
    return fake_surface


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    message: list[str] = []
    monkeypatch.setattr(transfer, "display_message", message.append)
    return message


@pytest.fixture
def moving(clock: FakeClock, surface: FakeSurface) -> Transfer:
    return Transfer("folds", "results", "%jobs results folds --to out", clock=clock)


def test_quick_transfer_is_not_drawn(
    moving: Transfer, clock: FakeClock, surface: FakeSurface, messages: list[str]
) -> None:
    with moving:
        moving.phase("Fetching")
        clock.now = 9.0
        for done in range(100):
            clock.now += 0.0099
            moving.bytes(done, 100)
        moving.phase("Unpacking")
        moving.end("Fetched.")
    assert messages == ["Fetched."]
    assert (surface.shown, surface.finished, surface.texts) == ([], [], [])


def test_transfer_is_drawn_after_a_second_at_four_frames_a_second(
    moving: Transfer, clock: FakeClock, surface: FakeSurface, messages: list[str]
) -> None:
    with moving:
        moving.phase("Fetching")
        for step in range(10_001):
            clock.now = step / 1000
            moving.bytes(step, 20_000)
        moving.phase("Unpacking")
        clock.now += 1
        moving.bytes(7, 9)
        moving.end("Fetched.")
    *fetching, unpacking = surface.shown
    assert fetching[0] == Progress(
        "folds", "results", "Fetching", elapsed=1.0, moved=1000, size=20_000
    )
    assert len(fetching) == 9 * 4 + 1
    assert (unpacking.phase, unpacking.moved, unpacking.size) == ("Unpacking", 7, 9)
    assert surface.texts == ["Fetched."]
    assert messages == []
    assert surface.finished == []


def test_full_bar_is_not_drawn(
    moving: Transfer, clock: FakeClock, surface: FakeSurface, messages: list[str]
) -> None:
    with moving:
        moving.bytes(1, 2)
        clock.now = 3.0
        moving.bytes(2, 2)
        moving.end("Fetched.")
    assert surface.shown == []
    assert messages == ["Fetched."]


@pytest.mark.parametrize("breaks", ["show", "replace_by_text"])
def test_drawing_error_does_not_end_the_transfer(
    moving: Transfer,
    clock: FakeClock,
    surface: FakeSurface,
    messages: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    breaks: str,
) -> None:
    tried = []

    def broken(_: Any) -> None:
        tried.append(breaks)
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(surface, breaks, broken)
    with caplog.at_level(logging.WARNING), moving:
        for step in range(10):
            clock.now = float(step)
            moving.bytes(step, 20)
        moving.end("Fetched.")
    assert tried == [breaks]
    assert messages == ["Fetched."]
    assert "cannot be displayed" in caplog.text


def breaks_off(moving: Transfer, clock: FakeClock, error: BaseException, **at: int) -> None:
    """Move bytes, each count after so many seconds, until an error."""
    with moving:
        moving.phase("Fetching")
        for second, done in at.items():
            clock.now = float(second.removeprefix("second"))
            moving.bytes(done, 340 * MB)
        raise error


@pytest.mark.parametrize("drawn", [True, False])
def test_interrupt_reports_progress_and_how_to_resume(
    moving: Transfer, clock: FakeClock, surface: FakeSurface, drawn: bool
) -> None:
    at = {"second0": 1, "second5" if drawn else "second0.5": 120 * MB}
    with pytest.raises(TransferInterrupted) as caught:
        breaks_off(moving, clock, KeyboardInterrupt(), **at)
    assert str(caught.value) == (
        "Fetching was stopped at 120 of 340 MB. "
        "`%jobs results folds --to out` continues from there."
    )
    stopped = [(call.phase, call.outcome) for call, _ in surface.finished]
    assert stopped == ([("Stopped", Outcome.STOPPED)] if drawn else [])


def test_interrupt_before_the_first_byte(moving: Transfer, clock: FakeClock) -> None:
    with pytest.raises(TransferInterrupted, match=r"^Fetching was stopped\. `"):
        breaks_off(moving, clock, KeyboardInterrupt())


def test_error_is_drawn_and_raised(
    moving: Transfer, clock: FakeClock, surface: FakeSurface
) -> None:
    with pytest.raises(StorageError):
        breaks_off(moving, clock, StorageError("It is full.", "Make room."), second0=1, second2=2)
    ((last, _),) = surface.finished
    assert (last.phase, last.outcome, last.moved) == ("Failed", Outcome.FAILED, 2)


@pytest.mark.parametrize(
    ("front", "terminal", "kind"),
    [
        (FrontEnd.INTERACTIVE, False, LiveView),
        (FrontEnd.TERMINAL, True, Line),
        (FrontEnd.TERMINAL, False, type(None)),
        (FrontEnd.EXECUTED, False, type(None)),
    ],
)
def test_surface_by_front_end(
    front: FrontEnd, terminal: bool, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "front_end", lambda: front)
    monkeypatch.setattr("labext_widgets.progress.terminal._is_terminal", lambda _: terminal)
    assert type(transfer._surface()) is kind


def test_transfer_without_surface_shows_only_its_message(
    monkeypatch: pytest.MonkeyPatch, clock: FakeClock, messages: list[str]
) -> None:
    monkeypatch.setattr(transfer, "front_end", lambda: FrontEnd.EXECUTED)
    with Transfer("folds", "results", "%jobs results folds", clock=clock) as moving:
        for step in range(10):
            clock.now = float(step)
            moving.bytes(step, 20)
        moving.end("Fetched.")
    assert messages == ["Fetched."]

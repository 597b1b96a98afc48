from __future__ import annotations

import logging
from typing import Any

import pytest

from labext.errors import StorageError, TransferInterrupted
from labext.progress import Outcome, Progress
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.progress import transfer
from labext_widgets.progress.live_view import LiveView
from labext_widgets.progress.terminal import Line
from labext_widgets.progress.transfer import Transfer

MB = 1_000_000


class Surface:
    """Remembers what was drawn on it."""

    def __init__(self) -> None:
        self.shown: list[Progress] = []
        self.last: list[Progress] = []
        self.said: list[str] = []

    def show(self, progress: Progress) -> None:
        self.shown.append(progress)

    def finish(self, progress: Progress, note: str = "") -> None:
        self.last.append(progress)

    def replace_by_text(self, text: str) -> None:
        self.said.append(text)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def surface(monkeypatch: pytest.MonkeyPatch) -> Surface:
    made = Surface()
    monkeypatch.setattr(transfer, "_surface", lambda: made)
    return made


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(transfer, "display_message", said.append)
    return said


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def moving(clock: Clock, surface: Surface) -> Transfer:
    return Transfer("folds", "results", "%jobs results folds --to out", clock=clock)


def test_what_is_over_quickly_is_not_drawn(
    moving: Transfer, clock: Clock, surface: Surface, messages: list[str]
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
    assert (surface.shown, surface.last, surface.said) == ([], [], [])


def test_drawn_after_a_second_four_times_a_second(
    moving: Transfer, clock: Clock, surface: Surface, messages: list[str]
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
    assert surface.said == ["Fetched."]
    assert messages == []
    assert surface.last == []


def test_a_bar_that_would_be_full_is_not_begun(
    moving: Transfer, clock: Clock, surface: Surface, messages: list[str]
) -> None:
    with moving:
        moving.bytes(1, 2)
        clock.now = 3.0
        moving.bytes(2, 2)
        moving.end("Fetched.")
    assert surface.shown == []
    assert messages == ["Fetched."]


@pytest.mark.parametrize("breaks", ["show", "replace_by_text"])
def test_a_drawing_that_fails_ends_the_drawing_alone(
    moving: Transfer,
    clock: Clock,
    surface: Surface,
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


def breaks_off(moving: Transfer, clock: Clock, error: BaseException, **at: int) -> None:
    """Move bytes, each count after so many seconds, until an error."""
    with moving:
        moving.phase("Fetching")
        for second, done in at.items():
            clock.now = float(second.removeprefix("second"))
            moving.bytes(done, 340 * MB)
        raise error


@pytest.mark.parametrize("drawn", [True, False])
def test_an_interrupt_says_how_far_it_was_and_what_goes_on(
    moving: Transfer, clock: Clock, surface: Surface, drawn: bool
) -> None:
    at = {"second0": 1, "second5" if drawn else "second0.5": 120 * MB}
    with pytest.raises(TransferInterrupted) as caught:
        breaks_off(moving, clock, KeyboardInterrupt(), **at)
    assert str(caught.value) == (
        "Fetching was stopped at 120 of 340 MB. "
        "`%jobs results folds --to out` continues from there."
    )
    stopped = [(each.phase, each.outcome) for each in surface.last]
    assert stopped == ([("Stopped", Outcome.STOPPED)] if drawn else [])


def test_an_interrupt_before_anything_came(moving: Transfer, clock: Clock) -> None:
    with pytest.raises(TransferInterrupted, match=r"^Fetching was stopped\. `"):
        breaks_off(moving, clock, KeyboardInterrupt())


def test_an_error_is_drawn_and_raised(moving: Transfer, clock: Clock, surface: Surface) -> None:
    with pytest.raises(StorageError):
        breaks_off(moving, clock, StorageError("It is full.", "Make room."), second0=1, second2=2)
    (last,) = surface.last
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
def test_drawn_only_where_it_can_be_drawn_again(
    front: FrontEnd, terminal: bool, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "front_end", lambda: front)
    monkeypatch.setattr("labext_widgets.progress.terminal._is_terminal", lambda _: terminal)
    assert type(transfer._surface()) is kind


def test_where_nothing_can_be_drawn_the_message_is_all(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, messages: list[str]
) -> None:
    monkeypatch.setattr(transfer, "front_end", lambda: FrontEnd.EXECUTED)
    with Transfer("folds", "results", "%jobs results folds", clock=clock) as moving:
        for step in range(10):
            clock.now = float(step)
            moving.bytes(step, 20)
        moving.end("Fetched.")
    assert messages == ["Fetched."]

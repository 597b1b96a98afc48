"""Watches and transfers on each front end: outcomes, errors and interrupts."""

from __future__ import annotations

import io
import logging
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from waiting import wait_until
from widget_fakes import FakeClock, FakeSurface, Placeholders

import labext_widgets
from labext.errors import StorageError, TransferInterrupted, UnreachableError, WatchInterrupted
from labext.progress import Outcome, Progress
from labext_widgets import unload
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.progress import background, transfer
from labext_widgets.progress import watch as progress_watch
from labext_widgets.progress.live_view import LiveView
from labext_widgets.progress.terminal import Line
from labext_widgets.progress.transfer import ListProgress, Transfer

watch = partial(labext_widgets.watch, again="%jobs watch folds")


RUNNING = Progress("folds", "batch", "Running")
COMPLETE = Progress("folds", "batch", "Complete", outcome=Outcome.COMPLETE)


@pytest.fixture
def surface(monkeypatch: pytest.MonkeyPatch) -> FakeSurface:
    fake_surface = FakeSurface()
    monkeypatch.setattr(progress_watch, "progress_surface", lambda front: fake_surface)
    monkeypatch.setattr(background, "Line", lambda **_: fake_surface)
    return fake_surface


def watches() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("labext-watch")]


def then(error: BaseException) -> Iterator[Progress]:
    yield RUNNING
    raise error


def forever() -> Iterator[Progress]:
    while True:
        yield RUNNING
        time.sleep(0.01)


def test_watch_draws_every_snapshot_and_returns_the_last(surface: FakeSurface) -> None:
    assert watch(iter([RUNNING, COMPLETE])) is COMPLETE
    assert surface.shown == [RUNNING, COMPLETE]
    assert surface.finished == [(COMPLETE, "")]


def test_interrupt_explains_how_to_resume(surface: FakeSurface) -> None:
    with pytest.raises(WatchInterrupted, match=r"the batch continues.* `%jobs watch folds`"):
        watch(then(KeyboardInterrupt()))
    assert surface.finished == [(RUNNING, "Watching stopped; the batch continues.")]


def test_interrupt_before_the_first_snapshot(surface: FakeSurface) -> None:
    def nothing() -> Iterator[Progress]:
        raise KeyboardInterrupt
        yield RUNNING

    with pytest.raises(WatchInterrupted, match=r"the service continues.* `%jobs watch folds`"):
        watch(nothing())
    assert surface.finished == []


def test_error_is_drawn_and_raised(surface: FakeSurface) -> None:
    with pytest.raises(UnreachableError):
        watch(then(UnreachableError("No service answers.", "Start it.")))
    assert surface.finished == [(RUNNING, "Watching ended: No service answers. Start it.")]


def test_error_is_not_printed_in_a_terminal_before_it_is_raised() -> None:
    out = io.StringIO()
    failing = then(UnreachableError("No service answers.", "Start it."))
    with pytest.raises(UnreachableError):
        progress_watch.watch_in_foreground(failing, Line(out), "%jobs watch folds")
    assert out.getvalue().endswith(" Watching ended.\n")
    assert "No service answers." not in out.getvalue()


def test_stopped_watch_says_that_the_batch_continues(surface: FakeSurface) -> None:
    assert watch(iter([RUNNING])) is RUNNING
    assert "the batch continues" in surface.finished[-1][1]


def test_empty_stream_returns_none(surface: FakeSurface) -> None:
    assert watch(iter([])) is None
    assert surface.finished == []


def test_background_watch_raises_an_error_of_the_first_snapshot(surface: FakeSurface) -> None:
    def missing() -> Iterator[Progress]:
        raise UnreachableError("No service answers.", "Start it.")
        yield RUNNING

    with pytest.raises(UnreachableError):
        watch(missing(), background=True)
    assert not watches()


def test_background_watch_returns_at_once_and_continues(surface: FakeSurface) -> None:
    gate = threading.Event()

    def gated() -> Iterator[Progress]:
        yield RUNNING
        gate.wait(5)
        yield COMPLETE

    assert watch(gated(), background=True) is None
    assert surface.shown == [RUNNING]
    assert len(watches()) == 1
    gate.set()
    wait_until(lambda: surface.finished)
    assert surface.finished == [(COMPLETE, "")]
    wait_until(lambda: not watches())


def test_stop_that_returns_after_the_outcome_leaves_it_unchanged(
    placeholders: Placeholders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_watch, "front_end", lambda: FrontEnd.INTERACTIVE)
    requested, returned = threading.Event(), threading.Event()

    def snapshots() -> Iterator[Progress]:
        yield RUNNING
        assert requested.wait(60)
        yield Progress("folds", "batch", "Stopped", outcome=Outcome.STOPPED)

    def stop() -> None:
        requested.set()
        assert returned.wait(60)

    watch(snapshots(), background=True, stop=stop)
    (output,) = placeholders
    output.message(do="stop")
    wait_until(lambda: not watches())
    returned.set()
    wait_until(lambda: not [t for t in threading.enumerate() if t.name == "labext-stop"])
    assert output.text == "folds: Stopped (batch, watched 0:00)"
    assert not output.buttons


def test_end_of_a_watch_is_confirmed_while_a_request_takes_long(
    placeholders: Placeholders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_watch, "front_end", lambda: FrontEnd.INTERACTIVE)
    answered = threading.Event()

    def snapshots() -> Iterator[Progress]:
        yield RUNNING
        assert answered.wait(60)
        yield RUNNING

    watch(snapshots(), background=True)
    (output,) = placeholders
    output.message(do="stop watching")
    assert output.state["pending"] == "Ending the watch…"
    answered.set()
    wait_until(lambda: not watches())
    assert "Watching stopped; the batch continues." in output.text
    output.message(do="stop watching")  # a click that arrives late
    assert not output.state["pending"]


def test_error_in_the_background_is_drawn(surface: FakeSurface) -> None:
    watch(then(UnreachableError("No service answers.", "Start it.")), background=True)
    wait_until(lambda: surface.finished)
    assert surface.finished == [(RUNNING, "Watching ended: No service answers. Start it.")]


def test_unexpected_error_is_logged_without_secrets(
    surface: FakeSurface, caplog: pytest.LogCaptureFixture
) -> None:
    watch(then(RuntimeError("api_key=swordfish-1 failed")), background=True)
    wait_until(lambda: surface.finished)
    assert "The watch of folds failed" in caplog.text
    assert "RuntimeError" in caplog.text
    assert "swordfish" not in caplog.text


def test_unload_ends_background_watches(surface: FakeSurface) -> None:
    ended = []

    def closing() -> Iterator[Progress]:
        try:
            yield from forever()
        finally:
            ended.append(True)

    watch(closing(), background=True)
    unload()
    assert "resumes watching" in surface.finished[-1][1]
    assert ended == [True]
    assert not watches()


def test_executed_notebook_waits_for_the_end(
    surface: FakeSurface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_watch, "front_end", lambda: FrontEnd.EXECUTED)
    assert watch(iter([RUNNING, COMPLETE]), background=True) is COMPLETE


MB = 1_000_000


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> FakeSurface:
    fake_surface = FakeSurface()
    monkeypatch.setattr(transfer, "_surface", lambda: fake_surface)
    return fake_surface


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    message: list[str] = []
    monkeypatch.setattr(transfer, "display_message", message.append)
    return message


@pytest.fixture
def moving(clock: FakeClock, bar: FakeSurface) -> Transfer:
    return Transfer("folds", "results", "%jobs results folds --to out", clock=clock)


def test_quick_transfer_is_not_drawn(
    moving: Transfer, clock: FakeClock, bar: FakeSurface, messages: list[str]
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
    assert (bar.shown, bar.finished, bar.texts) == ([], [], [])


def test_transfer_is_drawn_after_a_second_at_four_frames_a_second(
    moving: Transfer, clock: FakeClock, bar: FakeSurface, messages: list[str]
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
    *fetching, unpacking = bar.shown
    assert fetching[0] == Progress(
        "folds", "results", "Fetching", elapsed=1.0, transferred=1000, size=20_000
    )
    assert len(fetching) == 9 * 4 + 1
    assert (unpacking.phase, unpacking.transferred, unpacking.size) == ("Unpacking", 7, 9)
    assert bar.texts == ["Fetched."]
    assert messages == []
    assert bar.finished == []


def test_full_bar_is_not_drawn(
    moving: Transfer, clock: FakeClock, bar: FakeSurface, messages: list[str]
) -> None:
    with moving:
        moving.bytes(1, 2)
        clock.now = 3.0
        moving.bytes(2, 2)
        moving.end("Fetched.")
    assert bar.shown == []
    assert messages == ["Fetched."]


@pytest.mark.parametrize("breaks", ["show", "replace_by_text"])
def test_drawing_error_does_not_end_the_transfer(
    moving: Transfer,
    clock: FakeClock,
    bar: FakeSurface,
    messages: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    breaks: str,
) -> None:
    tried = []

    def broken(_: Any) -> None:
        tried.append(breaks)
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(bar, breaks, broken)
    with caplog.at_level(logging.WARNING), moving:
        for step in range(10):
            clock.now = float(step)
            moving.bytes(step, 20)
        moving.end("Fetched.")
    assert tried == [breaks]
    assert messages == ["Fetched."]
    assert "cannot be displayed" in caplog.text


def breaks_off(moving: Transfer, clock: FakeClock, error: BaseException, **at: int) -> None:
    """Transfer bytes, each count after a number of seconds, until an error."""
    with moving:
        moving.phase("Fetching")
        for second, done in at.items():
            clock.now = float(second.removeprefix("second"))
            moving.bytes(done, 340 * MB)
        raise error


@pytest.mark.parametrize("drawn", [True, False])
def test_interrupt_reports_progress_and_how_to_resume(
    moving: Transfer, clock: FakeClock, bar: FakeSurface, drawn: bool
) -> None:
    at = {"second0": 1, "second5" if drawn else "second0.5": 120 * MB}
    with pytest.raises(TransferInterrupted) as caught:
        breaks_off(moving, clock, KeyboardInterrupt(), **at)
    assert str(caught.value) == (
        "Fetching was stopped at 120 of 340 MB. "
        "`%jobs results folds --to out` continues from there."
    )
    stopped = [(call.phase, call.outcome) for call, _ in bar.finished]
    assert stopped == ([("Stopped", Outcome.STOPPED)] if drawn else [])


def test_interrupt_before_the_first_byte(moving: Transfer, clock: FakeClock) -> None:
    with pytest.raises(TransferInterrupted, match=r"^Fetching was stopped\. `"):
        breaks_off(moving, clock, KeyboardInterrupt())


def test_error_of_a_transfer_is_drawn_and_raised(
    moving: Transfer, clock: FakeClock, bar: FakeSurface
) -> None:
    with pytest.raises(StorageError):
        breaks_off(moving, clock, StorageError("It is full.", "Make room."), second0=1, second2=2)
    ((last, _),) = bar.finished
    assert (last.phase, last.outcome, last.transferred) == ("Failed", Outcome.FAILED, 2)


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


def read_list(clock: FakeClock, total: int | None, error: BaseException | None = None) -> None:
    """Read 2,900 items of a list in three seconds; then it ends, or fails with the error."""
    with ListProgress("Sequences", clock=clock) as reading:
        for step in range(1, 30):
            clock.now = step / 10
            reading.items(100 * step, total)
        if error is not None:
            raise error


def test_list_is_drawn_with_its_counts_after_a_second(
    clock: FakeClock, bar: FakeSurface, messages: list[str]
) -> None:
    read_list(clock, 3000)
    first = bar.shown[0]
    assert (first.done, first.total, first.phase) == (1100, 3000, "Reading")
    ((last, _),) = bar.finished
    assert (last.done, last.outcome, messages) == (3000, Outcome.COMPLETE, [])


def test_complete_list_of_unknown_length_has_no_count_without_its_last_page(
    clock: FakeClock, bar: FakeSurface
) -> None:
    read_list(clock, None)
    assert bar.shown[-1].phase == "Reading, 2,900 so far"
    ((last, _),) = bar.finished
    assert (last.phase, last.states, last.total) == ("Complete", {}, None)


def test_list_of_many_pages_is_drawn_at_once(clock: FakeClock, bar: FakeSurface) -> None:
    with ListProgress("Sequences", clock=clock) as reading:
        reading.items(100, 5000)
        assert [shown.done for shown in bar.shown] == [100]


def test_interrupted_list_says_nothing_of_resuming(clock: FakeClock, bar: FakeSurface) -> None:
    with pytest.raises(KeyboardInterrupt):
        read_list(clock, None, KeyboardInterrupt())
    ((last, _),) = bar.finished
    assert (last.phase, last.total) == ("Stopped, 2,900 so far", None)
    assert last.outcome is Outcome.STOPPED


@pytest.mark.parametrize(("more", "phase"), [((), "Fetching"), (("Sending",), "Sending")])
def test_transfer_has_a_phase_from_the_start(
    more: tuple[str, ...], phase: str, clock: FakeClock, bar: FakeSurface
) -> None:
    with Transfer("paper.pdf", "source", "%nb add paper.pdf", *more, clock=clock) as moving:
        for clock.now in (0.0, 2.0):
            moving.bytes(1, 20)
        moving.end("Added.")
    assert [progress.phase for progress in bar.shown] == [phase]


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

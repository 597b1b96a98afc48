from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import labext_widgets
from labext.errors import UnreachableError, WatchInterrupted
from labext.progress import Outcome, Progress
from labext_widgets import unload
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.progress import background
from labext_widgets.progress import watch as progress_watch

watch = partial(labext_widgets.watch, again="%jobs watch folds")


class Surface:
    """Remembers what was drawn on it."""

    def __init__(self) -> None:
        self.shown: list[Progress] = []
        self.last: tuple[Progress, str] | None = None

    def show(self, progress: Progress) -> None:
        self.shown.append(progress)

    def finish(self, progress: Progress, note: str = "") -> None:
        assert self.last is None
        self.last = (progress, note)


RUNNING = Progress("folds", "batch", "Running")
COMPLETE = Progress("folds", "batch", "Complete", outcome=Outcome.COMPLETE)


@pytest.fixture
def surface(monkeypatch: pytest.MonkeyPatch) -> Surface:
    made = Surface()
    monkeypatch.setattr(progress_watch, "progress_surface", lambda front: made)
    monkeypatch.setattr(background, "Line", lambda **_: made)
    return made


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def watches() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("labext-watch")]


def then(error: BaseException) -> Iterator[Progress]:
    yield RUNNING
    raise error


def forever() -> Iterator[Progress]:
    while True:
        yield RUNNING
        time.sleep(0.01)


def test_draws_to_the_end_and_returns_the_last(surface: Surface) -> None:
    assert watch(iter([RUNNING, COMPLETE])) is COMPLETE
    assert surface.shown == [RUNNING, COMPLETE]
    assert surface.last == (COMPLETE, "")


def test_an_interrupt_says_what_goes_on_and_how_to_take_it_up(surface: Surface) -> None:
    with pytest.raises(WatchInterrupted, match=r"the batch continues.* `%jobs watch folds`"):
        watch(then(KeyboardInterrupt()))
    assert surface.last == (RUNNING, "Watching stopped; the batch continues.")


def test_an_interrupt_before_anything_was_seen(surface: Surface) -> None:
    def nothing() -> Iterator[Progress]:
        raise KeyboardInterrupt
        yield RUNNING

    with pytest.raises(WatchInterrupted, match=r"the service continues.* `%jobs watch folds`"):
        watch(nothing())
    assert surface.last is None


def test_an_error_is_drawn_and_raised(surface: Surface) -> None:
    with pytest.raises(UnreachableError):
        watch(then(UnreachableError("No service answers.", "Start it.")))
    assert surface.last == (RUNNING, "Watching ended: No service answers. Start it.")


def test_a_watch_that_was_told_to_stop_says_so(surface: Surface) -> None:
    assert watch(iter([RUNNING])) is RUNNING
    assert surface.last is not None
    assert "the batch continues" in surface.last[1]


def test_nothing_to_watch(surface: Surface) -> None:
    assert watch(iter([])) is None
    assert surface.last is None


def test_in_the_background_the_first_look_is_the_cells(surface: Surface) -> None:
    def missing() -> Iterator[Progress]:
        raise UnreachableError("No service answers.", "Start it.")
        yield RUNNING

    with pytest.raises(UnreachableError):
        watch(missing(), background=True)
    assert not watches()


def test_in_the_background_it_returns_at_once_and_goes_on(surface: Surface) -> None:
    gate = threading.Event()

    def gated() -> Iterator[Progress]:
        yield RUNNING
        gate.wait(5)
        yield COMPLETE

    assert watch(gated(), background=True) is None
    assert surface.shown == [RUNNING]
    assert len(watches()) == 1
    gate.set()
    until(lambda: surface.last)
    assert surface.last == (COMPLETE, "")
    until(lambda: not watches())


def test_an_error_in_the_background_is_drawn(surface: Surface) -> None:
    watch(then(UnreachableError("No service answers.", "Start it.")), background=True)
    until(lambda: surface.last)
    assert surface.last == (RUNNING, "Watching ended: No service answers. Start it.")


def test_what_nobody_foresaw_is_logged_without_its_secret(
    surface: Surface, caplog: pytest.LogCaptureFixture
) -> None:
    watch(then(RuntimeError("api_key=swordfish-1 failed")), background=True)
    until(lambda: surface.last)
    assert "The watch of folds failed" in caplog.text
    assert "RuntimeError" in caplog.text
    assert "swordfish" not in caplog.text


def test_unloading_ends_the_threads_and_closes_what_is_watched(surface: Surface) -> None:
    ended = []

    def closing() -> Iterator[Progress]:
        try:
            yield from forever()
        finally:
            ended.append(True)

    watch(closing(), background=True)
    unload()
    assert surface.last is not None
    assert "resumes watching" in surface.last[1]
    assert ended == [True]
    assert not watches()


def test_a_notebook_that_a_program_executes_waits_for_the_end(
    surface: Surface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_watch, "front_end", lambda: FrontEnd.EXECUTED)
    assert watch(iter([RUNNING, COMPLETE]), background=True) is COMPLETE

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest
from own_server import until
from widget_fakes import FakeSurface

import labext_widgets
from labext.errors import UnreachableError, WatchInterrupted
from labext.progress import Outcome, Progress
from labext_widgets import unload
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.progress import background
from labext_widgets.progress import watch as progress_watch

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
    until(lambda: surface.finished)
    assert surface.finished == [(COMPLETE, "")]
    until(lambda: not watches())


def test_error_in_the_background_is_drawn(surface: FakeSurface) -> None:
    watch(then(UnreachableError("No service answers.", "Start it.")), background=True)
    until(lambda: surface.finished)
    assert surface.finished == [(RUNNING, "Watching ended: No service answers. Start it.")]


def test_unexpected_error_is_logged_without_secrets(
    surface: FakeSurface, caplog: pytest.LogCaptureFixture
) -> None:
    watch(then(RuntimeError("api_key=swordfish-1 failed")), background=True)
    until(lambda: surface.finished)
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

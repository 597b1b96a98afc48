"""Watch progress in a thread after the cell has returned."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextvars import copy_context
from typing import Any

from labext.errors import LabextError
from labext.progress import Progress
from labext.redaction import get_logger
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.progress.live_view import Control, LiveView
from labext_widgets.progress.static_view import resume_hint
from labext_widgets.progress.terminal import Line

_log = get_logger("labext.widgets")
_running: set[Background] = set()

STOP_WATCHING, STOP = "stop watching", "stop"


class Background:
    """A watch in its own thread, which may update displays but never create them."""

    def __init__(
        self, snapshots: Iterator[Progress], stop: Callable[[], None] | None, again: str
    ) -> None:
        self._snapshots = snapshots
        self._stop = stop
        self._again = again
        self._context = copy_context()  # the context of a magic, in which messages suggest magics
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._last: Progress | None = None  # the last snapshot, once the watch has ended
        self._threads: list[threading.Thread] = []
        self._surface: LiveView | Line = Line(still=True)

    def start(self, front: FrontEnd) -> None:
        """Render the first snapshot in the foreground, then continue in the thread."""
        first = next(self._snapshots, None)
        if first is None:
            return
        if front is FrontEnd.INTERACTIVE:
            controls = buttons(first, self._stop is not None)
            self._surface = LiveView(controls, on_message=self._on_click, on_close=self._closed.set)
        self._surface.show(first)
        _running.add(self)  # before the thread starts, since it may be stopped immediately
        self._start_thread(f"labext-watch-{first.subject}", lambda: self._run(first))

    def end(self) -> None:
        """Stop watching; the job continues."""
        self._closed.set()

    def join(self, seconds: float) -> None:
        """Wait until the threads have ended, each for at most `seconds`, as requests may block."""
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(seconds)

    def _start_thread(self, name: str, target: Callable[[], None]) -> None:
        context = self._context.copy()  # only one thread at a time can run in a context
        thread = threading.Thread(target=context.run, args=(target,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self, first: Progress) -> None:
        _running.add(self)
        try:
            self._follow(first)
        finally:
            _running.discard(self)  # only after the final state is rendered

    def _follow(self, first: Progress) -> None:
        last, self._last = first, None
        note = ""
        try:
            while (
                not self._closed.is_set() and (snapshot := next(self._snapshots, None)) is not None
            ):
                last = snapshot
                self._surface.show(last)
        except LabextError as error:
            note = f"Watching ended: {error}"
        except Exception as error:  # noqa: BLE001 - the thread ends here, and the user must see why
            _log.exception("The watch of %s failed", last.subject)
            note = f"Watching ended: {type(error).__name__}: {error}"
        finally:
            if isinstance(self._snapshots, Generator):
                self._snapshots.close()
        if not note and last.outcome is None:
            note = " ".join(resume_hint(last, self._again))
        with self._lock:
            self._last = last
        self._surface.finish(last, note)
        self._on_end(last)

    def _on_end(self, last: Progress) -> None:
        """Handle the end of the watch."""

    def _on_click(self, action: Any) -> None:
        """Handle a click; it runs in the kernel's main thread, so a thread sends requests."""
        if action == STOP_WATCHING:
            if self._last is not None:
                return  # the watch ended before the click arrived
            self._report("", pending="Ending the watch…")  # a request may take long to return
            self._closed.set()
        elif action == STOP and self._stop is not None:
            self._start_thread("labext-stop", self._stop_job)

    def _stop_job(self) -> None:
        assert self._stop is not None
        self._report("", pending="Stopping…")
        try:
            self._stop()
        except LabextError as error:
            self._report(f"Not stopped: {error}")
        except Exception as error:  # noqa: BLE001 - the thread ends here, and the user must see why
            _log.exception("Stopping failed")
            self._report(f"Not stopped: {type(error).__name__}: {error}")
        else:
            self._report("Stop requested; waiting for the service.", controls=False)

    def _report(self, note: str, *, pending: str = "", controls: bool = True) -> None:
        """Display the effect of a click; after the end only a note, and none beside an outcome."""
        assert isinstance(self._surface, LiveView)
        with self._lock:
            if self._last is None or (note and self._last.outcome is None):
                self._surface.set_note(note, pending=pending, controls=controls)


def end_all() -> None:
    """End all watches, and wait up to two seconds for each of their threads."""
    ending = list(_running)
    for watch in ending:
        watch.end()
    for watch in ending:
        watch.join(2.0)


def buttons(first: Progress, can_stop: bool) -> list[Control]:
    """Return the buttons below a watch in the background."""
    subject, kind, stop = first.subject, first.kind, f"Stop {first.kind}"
    watch = f"Stop watching {subject}; the {kind} continues"
    controls = [Control(do=STOP_WATCHING, label="Stop watching", description=watch, question="")]
    if can_stop:
        effect = (
            "Completed jobs are kept; the others are stopped."
            if kind in ("batch", "pipeline")
            else "It stops at once."
        )
        question = f"Stop the {kind} {subject}? {effect}"
        controls.append(
            Control(do=STOP, label=stop, description=f"{stop} {subject}", question=question)
        )
    return controls

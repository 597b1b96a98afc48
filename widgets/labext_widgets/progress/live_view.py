"""Show progress in a notebook, live or as its final state."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from labext.progress import Progress
from labext_widgets.core.display import display_html, render_message
from labext_widgets.core.markup import current_time, view_html
from labext_widgets.progress import static_view

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder

LIVE_INTERVAL, SAVE_INTERVAL = 0.1, 2.0
"""Minimum intervals in seconds between two updates of the live view, and of the static view."""


class Control(TypedDict):
    """A button: the message it sends, its label, description and confirmation question."""

    do: str
    label: str
    description: str
    question: str


class Surface(Protocol):
    """An output on which progress is rendered."""

    def show(self, progress: Progress) -> None:
        """Render a snapshot."""

    def finish(self, progress: Progress, note: str = "") -> None:
        """Render the last snapshot, with a note about the watch."""


class FinalState:
    """A single display at the end, for notebooks that are executed by a program.

    Not every such program can update displays, and each further display would add another bar to
    the saved notebook.
    """

    def show(self, progress: Progress) -> None:
        """Display nothing yet."""

    def finish(self, progress: Progress, note: str = "") -> None:
        """Display the last snapshot."""
        html = view_html(static_view.render_html(progress, note))
        display_html(html, static_view.render_lines(progress, note))


class LiveView:
    """A placeholder with a live view, created at the first snapshot.

    The live view is updated at 10 Hz at most. The static view is updated when a phase or a count
    has changed, every two seconds at most, and at the end; without a live view it is updated as
    often as one.
    """

    def __init__(
        self,
        controls: Sequence[Control] = (),
        *,
        on_message: Callable[[Any], None] | None = None,
        on_close: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._controls = list(controls)
        self._pending = ""
        self._on_message = on_message
        self._on_close = on_close
        self._clock = clock
        self._lock = threading.RLock()
        self._placeholder: Any = None
        self._progress: Progress | None = None
        self._note = ""
        self._state: dict[str, Any] = {}
        self._sent = self._saved = float("-inf")
        self._saved_key: object = None
        self._pause = SAVE_INTERVAL

    def show(self, progress: Progress) -> None:
        """Render a snapshot, unless the last update was too recent."""
        with self._lock:
            self._progress = progress
            if self._placeholder is None:
                self._open()
            else:
                self._draw()

    def set_note(self, note: str, *, pending: str = "", controls: bool = True) -> None:
        """Display a note below the view; `pending` replaces the buttons."""
        with self._lock:
            self._note, self._pending = note, pending
            if not controls:
                self._controls = []
            self._draw(now=True)

    def set_controls(self, controls: Sequence[Control], progress: Progress) -> None:
        """Render a snapshot immediately, with these buttons and without a note."""
        with self._lock:
            self._progress, self._note = progress, ""
            self._controls, self._pending = list(controls), ""
            self._draw(now=True)

    def finish(self, progress: Progress, note: str = "") -> None:
        """Render the last snapshot, and remove the buttons."""
        with self._lock:
            self._progress, self._note = progress, note
            self._controls, self._pending = [], ""
            if self._placeholder is None:
                self._open()
            self._draw(now=True)

    def replace_with(self, draw: Callable[[Placeholder], None]) -> None:
        """Call `draw` with the placeholder, to replace the view after the last snapshot."""
        with self._lock:
            if self._placeholder is not None:
                draw(self._placeholder)

    def replace_by_text(self, text: str) -> None:
        """Replace the view by one line of text."""
        with self._lock:
            if self._placeholder is not None:
                self._placeholder.update(*render_message(text))
                self._placeholder.close()

    def _open(self) -> None:
        from labext_widgets.core.placeholder import Placeholder

        assert self._progress is not None
        self._mark_saved()
        self._placeholder = Placeholder(*self._render(), on_close=self._on_close)
        self._state, self._sent = self._live_state(), self._clock()
        live = self._placeholder.live("progress", self._state, self._receive)
        self._pause = SAVE_INTERVAL if live else LIVE_INTERVAL

    def _draw(self, *, now: bool = False) -> None:
        if self._placeholder is None or self._progress is None:
            return
        state, time_now = self._live_state(), self._clock()
        if state != self._state and (now or time_now - self._sent >= LIVE_INTERVAL):
            self._state, self._sent = state, time_now
            self._placeholder.set_state(state)
        if self._key() != self._saved_key and (now or time_now - self._saved >= self._pause):
            self._mark_saved()
            self._placeholder.update(*self._render())

    def _mark_saved(self) -> None:
        self._saved_key, self._saved = self._key(), self._clock()

    def _key(self) -> object:
        """Return what the static view shows, apart from times."""
        progress = self._progress
        assert progress is not None
        return (
            (progress.phase, progress.stage, progress.outcome, progress.reason, self._note),
            (dict(progress.states), progress.total, progress.transferred, progress.size),
            [(part.name, part.state, part.stage, part.reason) for part in progress.parts],
        )

    def _render(self) -> tuple[str, str]:
        assert self._progress is not None
        timestamp = current_time()
        return (
            static_view.render_html(self._progress, self._note, timestamp),
            static_view.render_lines(self._progress, self._note),
        )

    def _live_state(self) -> dict[str, Any]:
        assert self._progress is not None
        return {
            "name": self._progress.subject,
            "html": static_view.render_html(self._progress, self._note),
            "announcement": static_view.announcement(self._progress),
            "busy": self._progress.outcome is None and not self._note,
            "pending": self._pending,
            "controls": self._controls,
        }

    def _receive(self, content: Any, _buffers: list[Any]) -> None:
        if self._on_message is not None and isinstance(content, dict):
            self._on_message(content.get("do"))

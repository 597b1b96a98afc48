"""Show progress in a notebook, live or as its final state."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from labext.progress import Progress
from labext_widgets.core.display import display_html, render_message
from labext_widgets.core.markup import UNTYPESET
from labext_widgets.progress import static_view

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder

LIVE, SAVED = 0.1, 2.0
"""Seconds at least between two states of the live view, and between two saved pictures."""


class Control(TypedDict):
    """A button: what it sends, what it says, and what it asks before it does anything."""

    do: str
    label: str
    description: str
    question: str


class Surface(Protocol):
    """What a watch is drawn on."""

    def show(self, progress: Progress) -> None:
        """Draw one more snapshot."""

    def finish(self, progress: Progress, note: str = "") -> None:
        """Draw the last one, with a sentence about the watching."""


class FinalState:
    """One display, at the end; for notebooks that a program executes.

    Displays could not be updated there by every program, and each one more would be another bar in
    the saved notebook.
    """

    def show(self, progress: Progress) -> None:
        """Display nothing yet."""

    def finish(self, progress: Progress, note: str = "") -> None:
        """Display the last snapshot."""
        html = f'<div class="labext {UNTYPESET}">{static_view.render_html(progress, note)}</div>'
        display_html(html, static_view.render_lines(progress, note))


class LiveView:
    """A placeholder with a live view, made at the first snapshot.

    The live view follows at 10 Hz at most. The saved picture follows when a phase or a count has
    changed, every two seconds at most, and at the end; without a live view it follows as fast.
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
        self._asked = ""
        self._on_message = on_message
        self._on_close = on_close
        self._clock = clock
        self._lock = threading.RLock()
        self._placeholder: Any = None
        self._progress: Progress | None = None
        self._note = ""
        self._state: dict[str, Any] = {}
        self._sent = self._saved = float("-inf")
        self._kept: object = None
        self._pause = SAVED

    def show(self, progress: Progress) -> None:
        """Draw one more snapshot, if it is time to."""
        with self._lock:
            self._progress = progress
            if self._placeholder is None:
                self._open()
            else:
                self._draw()

    def say(self, note: str, *, asked: str = "", controls: bool = True) -> None:
        """Say a sentence below the picture; `asked` stands in the place of the buttons."""
        with self._lock:
            self._note, self._asked = note, asked
            if not controls:
                self._controls = []
            self._draw(now=True)

    def offer(self, controls: Sequence[Control], progress: Progress) -> None:
        """Draw a snapshot at once, with these buttons below it and no sentence."""
        with self._lock:
            self._progress, self._note = progress, ""
            self._controls, self._asked = list(controls), ""
            self._draw(now=True)

    def finish(self, progress: Progress, note: str = "") -> None:
        """Draw the last snapshot, take the buttons away and leave the picture there."""
        with self._lock:
            self._progress, self._note = progress, note
            self._controls, self._asked = [], ""
            if self._placeholder is None:
                self._open()
            self._draw(now=True)

    def give_over(self, draw: Callable[[Placeholder], None]) -> None:
        """Let something else be drawn in the picture's place; after the last snapshot."""
        with self._lock:
            if self._placeholder is not None:
                draw(self._placeholder)

    def give_way(self, text: str) -> None:
        """Show one line in the picture's place, as a message is shown."""
        with self._lock:
            if self._placeholder is not None:
                self._placeholder.update(*render_message(text))
                self._placeholder.close()

    def _open(self) -> None:
        from labext_widgets.core.placeholder import Placeholder

        assert self._progress is not None
        self._keep()
        self._placeholder = Placeholder(*self._drawn(), on_close=self._on_close)
        self._state, self._sent = self._live_state(), self._clock()
        live = self._placeholder.live("progress", self._state, self._receive)
        self._pause = SAVED if live else LIVE

    def _draw(self, *, now: bool = False) -> None:
        if self._placeholder is None or self._progress is None:
            return
        state, moment = self._live_state(), self._clock()
        if state != self._state and (now or moment - self._sent >= LIVE):
            self._state, self._sent = state, moment
            self._placeholder.set_state(state)
        if self._key() != self._kept and (now or moment - self._saved >= self._pause):
            self._keep()
            self._placeholder.update(*self._drawn())

    def _keep(self) -> None:
        self._kept, self._saved = self._key(), self._clock()

    def _key(self) -> object:
        seen = self._progress
        assert seen is not None
        counts = tuple(sorted(seen.states.items()))
        bytes_ = (seen.moved, seen.size)
        phase = (seen.phase, seen.stage)
        parts = [(each.name, each.state, each.stage, each.reason) for each in seen.parts]
        return (phase, counts, seen.total, seen.outcome, seen.reason, self._note, bytes_, parts)

    def _drawn(self) -> tuple[str, str]:
        assert self._progress is not None
        seen = time.strftime("%Y-%m-%d %H:%M")
        return (
            static_view.render_html(self._progress, self._note, seen),
            static_view.render_lines(self._progress, self._note),
        )

    def _live_state(self) -> dict[str, Any]:
        assert self._progress is not None
        return {
            "name": self._progress.subject,
            "html": static_view.render_html(self._progress, self._note),
            "spoken": static_view.announcement(self._progress),
            "busy": self._progress.outcome is None and not self._note,
            "asked": self._asked,
            "controls": self._controls,
        }

    def _receive(self, content: Any, _buffers: list[Any]) -> None:
        if self._on_message is not None and isinstance(content, dict):
            self._on_message(content.get("do"))

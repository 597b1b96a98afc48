"""What an answer is drawn on: a live picture, a terminal, or an output that can't be changed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from labext_widgets.answers import drawing, words
from labext_widgets.answers.told import Told
from labext_widgets.displays import show
from labext_widgets.front import FrontEnd
from labext_widgets.markup import UNTYPESET

SAVED = 2.0
"""Seconds at least between two saved pictures while an answer comes.

In the first seconds there is no such limit: the live view may not be on the page yet.
"""


class Surface(Protocol):
    """What an answer is drawn on."""

    def show(self, told: Told) -> None:
        """Draw what has come so far."""

    def finish(self, told: Told) -> None:
        """Draw all there is; nothing more comes."""


def surface_for(front: FrontEnd) -> Surface:
    """Return what an answer is drawn on in a front end."""
    if front is FrontEnd.TERMINAL:
        return Printed()
    return Picture() if front is FrontEnd.INTERACTIVE else Whole()


class Whole:
    """One plain display at the end; for notebooks that a program executes."""

    def show(self, told: Told) -> None:
        """Wait for the end."""

    def finish(self, told: Told) -> None:
        """Display everything that came."""
        show(f'<div class="labext {UNTYPESET}">{drawing.html(told)}</div>', words.text(told))


class Printed:
    """Lines of plain text, each printed as soon as it is known."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._printed = 0

    def show(self, told: Told) -> None:
        """Print what is new of the way to the answer."""
        rows = [words.searching(told), *(words.partial(*each) for each in told.partials)]
        self._print([each for each in rows if each])

    def finish(self, told: Told) -> None:
        """Print the answer and its citations, or why there is none."""
        self._stream.write("\n" if self._printed and told.answer is not None else "")
        end = words.broken(told) if told.answer is None else words.whole(told.answer)
        self._stream.write(f"{end}\n")
        self._stream.flush()

    def _print(self, rows: list[str]) -> None:
        for row in rows[self._printed :]:
            self._stream.write(f"{row}\n")
        self._stream.flush()
        self._printed = len(rows)


class Picture:
    """A placeholder with a live view, which has every event at once; the saved picture follows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._placeholder: Any = None
        self._live = False
        self._opened = self._saved = float("-inf")

    def show(self, told: Told) -> None:
        """Draw what has come so far."""
        self._draw(told, over=False)

    def finish(self, told: Told) -> None:
        """Draw all there is, in the saved picture too."""
        self._draw(told, over=True)

    def _draw(self, told: Told, *, over: bool) -> None:
        if self._placeholder is None:
            self._open(told)
            return
        self._placeholder.set_state(drawing.live(told))
        now = self._clock()
        if over or not self._live or now - self._opened < SAVED or now - self._saved >= SAVED:
            self._saved = now
            self._placeholder.update(drawing.html(told), words.text(told))

    def _open(self, told: Told) -> None:
        from labext_widgets.placeholder import Placeholder

        self._placeholder = Placeholder(drawing.html(told), words.text(told))
        self._live = self._placeholder.live("answer", drawing.live(told))
        self._opened = self._saved = self._clock()

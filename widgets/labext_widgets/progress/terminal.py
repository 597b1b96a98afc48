"""Show progress on one line of a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from labext.progress import Progress
from labext_widgets.core.display import MAX_MESSAGE
from labext_widgets.core.markup import plain
from labext_widgets.progress import static_view

REFRESH_INTERVAL = 0.1
"""Seconds at least between two drawings of the line."""

_CLEAR = "\x1b[K"


class Line:
    """Draws on one line of a terminal; elsewhere prints the first line, the last, and what is new.

    New is a line with a reason that none before has had.

    Args:
        stream: where to; standard output when not given.
        still: print only those in a terminal too: while somebody types there.

    Attributes:
        redraws: whether the line can be drawn again.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        still: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream or sys.stdout
        self.redraws = not still and _is_terminal(self._stream)
        self._drawn: str | None = None
        self._said: set[str] = set()
        self._clock = clock
        self._due = float("-inf")

    def show(self, progress: Progress) -> None:
        """Draw the line if it says something new."""
        line = static_view.render_text(progress)
        if self.redraws:
            width = shutil.get_terminal_size().columns - 1
            self._draw(line if len(line) <= width else f"{line[: width - 1]}…")
        elif progress.outcome is None and self._is_news(progress.reason):
            self._print(line)

    def finish(self, progress: Progress, note: str = "") -> None:
        """Draw the last line whole and leave it there, with a line for every part that failed."""
        self._leave(static_view.render_lines(progress, note))

    def give_way(self, text: str) -> None:
        """Print one line in the place of what was drawn."""
        self._leave(plain(text, MAX_MESSAGE))

    def _is_news(self, reason: str) -> bool:
        """Whether nothing was printed yet, or nothing of this."""
        if self._drawn is not None and (not reason or reason in self._said):
            return False
        self._said.add(reason)
        return True

    def _leave(self, line: str) -> None:
        if self.redraws:
            self._stream.write(f"\r{_CLEAR}")
        self._print(line)

    def _draw(self, line: str) -> None:
        if line != self._drawn and self._clock() >= self._due:
            self._stream.write(f"\r{line}{_CLEAR}")
            self._stream.flush()
            self._drawn, self._due = line, self._clock() + REFRESH_INTERVAL

    def _print(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()
        self._drawn = line


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"

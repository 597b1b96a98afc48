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
"""Minimum interval in seconds between two updates of the line."""

_CLEAR = "\x1b[K"


class Line:
    """Progress on one line of a terminal; in other streams only important lines are printed.

    Those are the first line, the last one, and each with a new reason.

    Args:
        stream: the output stream; standard output by default.
        still: print only those lines in a terminal too, while the user may be typing.

    Attributes:
        redraws: whether the line can be redrawn.
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
        self._printed_reasons: set[str] = set()
        self._clock = clock
        self._due = float("-inf")

    def show(self, progress: Progress) -> None:
        """Redraw the line if it has changed."""
        line = static_view.render_text(progress)
        if self.redraws:
            width = shutil.get_terminal_size().columns - 1
            self._draw(line if len(line) <= width else f"{line[: width - 1]}…")
        elif progress.outcome is None and self._is_news(progress.reason):
            self._print(line)

    def finish(self, progress: Progress, note: str = "") -> None:
        """Print the final line, and a line for each failed part."""
        self._leave(static_view.render_lines(progress, note))

    def replace_by_text(self, text: str) -> None:
        """Replace the progress line by a line of text."""
        self._leave(plain(text, MAX_MESSAGE))

    def _is_news(self, reason: str) -> bool:
        """Return whether nothing was printed yet, or the reason is new."""
        if self._drawn is not None and (not reason or reason in self._printed_reasons):
            return False
        self._printed_reasons.add(reason)
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

"""Limit how often the view of a growing text is drawn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_PAUSE_PER_DRAWING = 3.0


class Throttle:
    """Decides when a view may be drawn again.

    Drawings begin at least `interval` seconds after the last one, and take at most a quarter of the
    time: a long text, which takes long to draw, is drawn less often.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._due = float("-inf")

    def is_due(self) -> bool:
        """Return whether the view may be drawn now."""
        return time.monotonic() >= self._due

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Measure the drawing in the body of the `with` statement."""
        started = time.monotonic()
        yield
        ended = time.monotonic()
        self._due = max(started + self._interval, ended + _PAUSE_PER_DRAWING * (ended - started))

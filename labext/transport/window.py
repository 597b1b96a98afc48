"""A limit that is named, and the requests that count against it."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from dataclasses import dataclass

_MARGIN = 1.001
"""The window is kept a little longer than named: two machines' clocks run unequally fast."""


@dataclass(frozen=True)
class Rate:
    """A limit: `requests` in any `seconds`.

    `Rate(None)` names no limit and only follows what the service's headers say.
    """

    requests: int | None
    seconds: float = 10.0

    def __post_init__(self) -> None:
        if self.requests is not None and self.requests < 1:
            raise ValueError("a rate needs at least one request in its window")
        if self.seconds <= 0:
            raise ValueError("a rate's window is longer than 0 seconds")

    def stricter(self, other: Rate) -> Rate:
        """Return the one that allows less: fewer a second, then fewer at once."""
        return min(self, other, key=Rate._allows)

    def _allows(self) -> tuple[float, float]:
        if self.requests is None:
            return math.inf, math.inf
        return self.requests / self.seconds, self.requests


class Window:
    """One's own requests as a service with a sliding window counts them, never fewer.

    A service counts a request at some moment between its departure and its answer. So it stands
    here from its departure on, and until the window's length after its answer.

    Attributes:
        flying: requests on their way.
        departed: all requests there ever were.
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.flying = self.departed = 0
        self._over: list[float] = []

    def departs(self) -> None:
        """Count a request that begins."""
        self.flying += 1
        self.departed += 1

    def ends(self, now: float) -> None:
        """Note that a request was answered, or is lost."""
        self.flying -= 1
        if self.rate.requests is not None:
            insort(self._over, now)

    def count(self, now: float) -> int:
        """Return how many requests the service may still count."""
        del self._over[: bisect_right(self._over, now - self.rate.seconds * _MARGIN)]
        return self.flying + len(self._over)

    def due(self, now: float) -> float:
        """Return the earliest moment at which another request may go."""
        if self.rate.requests is None:
            return now
        surplus = self.count(now) - self.rate.requests
        if surplus < 0:
            return now
        # What still flies leaves the window after its length from now on, at the earliest.
        leaving = self._over[surplus] if surplus < len(self._over) else now
        return leaving + self.rate.seconds * _MARGIN

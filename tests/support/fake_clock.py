"""A clock that advances only when a test sleeps on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest


class Clock:
    """A monotonic clock; `sleep` advances it and runs the calls scheduled by then."""

    START = 1000.0

    def __init__(self) -> None:
        self.now = self.START
        self.slept: list[float] = []
        self._scheduled: list[tuple[float, Callable[[], object]]] = []

    def __call__(self) -> float:
        return self.now

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self.now - self.START

    def at(self, seconds: float, action: Callable[[], object]) -> None:
        """Run an action at this number of seconds after the start."""
        self._scheduled.append((self.START + seconds, action))

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.slept.append(seconds)
        self.now += seconds
        for due in [
            scheduled_call for scheduled_call in self._scheduled if scheduled_call[0] <= self.now
        ]:
            self._scheduled.remove(due)
            due[1]()


@pytest.fixture
def clock() -> Clock:
    return Clock()

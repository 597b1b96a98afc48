"""Keeping within a service's rate limit on this side, so that a 429 is the exception."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from labext.errors import BusyError

_MARGIN = 1.02
"""The window is kept a little longer than named: two requests may travel unequally fast."""


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


class Turn:
    """One request's turn: it learns the headers of the answer, if there is one."""

    def __init__(self) -> None:
        self.headers: Mapping[str, str] = {}

    def answered(self, headers: Mapping[str, str]) -> None:
        """Note what the answer's headers say of the rate."""
        self.headers = headers


class Pacer:
    """Lets a request through when the limit allows it; shared by threads.

    Two limits: the named rate, as a window that slides, until the service speaks; then what its
    headers `x-rate-limit-remaining` and `x-rate-limit-reset` (seconds left) allow, until that
    window is over. A pause that the service asks for by Retry-After holds for every thread.
    """

    def __init__(
        self,
        rate: Rate,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._sent: deque[float] = deque(maxlen=rate.requests)
        self._flying = 0
        self._allowed: int | None = None
        self._resets = 0.0
        self._paused_until = 0.0

    @contextmanager
    def turn(self, patience: float) -> Iterator[Turn]:
        """Begin when the next request may go, and end when its answer has begun or is lost.

        Raises:
            BusyError: it may not go within `patience` seconds.
        """
        self._wait(patience)
        turn = Turn()
        try:
            yield turn
        finally:
            self._over(turn.headers)

    def pause(self, seconds: float) -> None:
        """Hold every request for `seconds`."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def _wait(self, patience: float) -> None:
        deadline = self._clock() + patience
        while True:
            with self._lock:
                now = self._clock()
                due = self._due(now)
                if due <= now:
                    self._take(now)
                    return
            if due > deadline:
                raise BusyError(
                    f"The service asks to wait {due - now:.0f} seconds.",
                    f"Try again after {due - now:.0f} seconds.",
                )
            self._sleep(due - now)

    def _over(self, headers: Mapping[str, str]) -> None:
        with self._lock:
            now = self._clock()
            self._flying -= 1
            remaining = _number(headers.get("x-rate-limit-remaining"))
            resets = _number(headers.get("x-rate-limit-reset"))
            if remaining is not None and resets is not None:
                self._follow(now, int(remaining), now + resets)

    def _due(self, now: float) -> float:
        if now < self._paused_until:
            return self._paused_until
        if self._allowed is not None and now < self._resets:
            return now if self._allowed > 0 else self._resets
        if self._rate.requests is None or len(self._sent) < self._rate.requests:
            return now
        return self._sent[0] + self._rate.seconds * _MARGIN

    def _take(self, now: float) -> None:
        self._flying += 1
        if self._rate.requests is not None:
            self._sent.append(now)
        if self._allowed is not None and now < self._resets:
            self._allowed -= 1

    def _follow(self, now: float, remaining: int, resets: float) -> None:
        # The service has not yet counted what is still on its way.
        allowed = remaining - self._flying
        same_window = self._allowed is not None and now < self._resets
        if same_window and self._allowed is not None and resets <= self._resets + 1:
            # Answers overtake each other: within a window the allowance only falls.
            allowed = min(allowed, self._allowed)
        self._allowed, self._resets = allowed, resets


class Unpaced(Pacer):
    """Lets every request through at once."""

    def __init__(self) -> None:
        super().__init__(Rate(None))

    @contextmanager
    def turn(self, patience: float) -> Iterator[Turn]:  # noqa: ARG002 - nothing to wait for
        """Begin at once."""
        yield Turn()

    def pause(self, seconds: float) -> None:
        """Hold nobody: whoever was told to wait does so alone."""


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that `Retry-After` asks for: a number, or an HTTP date."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - (now or datetime.now(UTC))).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < 1e9 else None

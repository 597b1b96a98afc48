"""Keeping within a service's rate limit on this side, so that a 429 is the exception."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from labext.errors import BusyError
from labext.transport.rate_headers import RateWord, asked_to_wait
from labext.transport.retries import backoff
from labext.transport.window import Rate, Window

_PROBE_SECONDS = 2.0
"""So long the others wait for the answer of the one that was sent ahead."""

_GLANCE = 0.02
"""Seconds between two looks whether it has come."""


class Turn:
    """One request's turn: it learns what the answer says, if there is one.

    Attributes:
        began: when the request could go.
        reach: the requests that the service could count then, less all that had ever departed.
    """

    def __init__(self, began: float = 0.0, reach: int = 0) -> None:
        self.began, self.reach = began, reach
        self.status = 0
        self.headers: Mapping[str, str] = {}

    def answered(self, headers: Mapping[str, str], status: int = 200) -> None:
        """Note the answer's status and headers."""
        self.headers, self.status = headers, status


@dataclass
class _Allowance:
    """What the service allows, by its own word, until `ends`.

    Attributes:
        remaining: the least that an answer has named: of answers that overtake each other it is
            the newest.
        uncounted: requests that it may not include: on their way, or lost.
    """

    remaining: int
    uncounted: int
    ends: float

    def hears(self, word: RateWord, now: float) -> None:
        """Take in the word of another answer."""
        self.uncounted -= 1
        if word.remaining <= self.remaining:
            # Of a window that slides, what was to leave may have left, and something else is next.
            self.remaining, self.ends = word.remaining, max(self.ends, now + word.resets)


class Pacer:
    """Lets a request through when the limit allows it; shared by threads, and by clients.

    Two limits, of which one holds at a time. The named rate is exact: requests are counted here as
    a window that slides. It holds until the service's headers say something else: another limit, a
    longer window, or fewer requests left than one's own would leave, since somebody else uses the
    allowance too. Then their word holds: what they leave, and nothing more until they say so.

    Where nobody knows what is left (at first, after a window that the service told, after a 429)
    one request goes ahead, and the others wait for what its answer tells. A pause that the service
    asks for, or a 429 without one, holds everybody.
    """

    def __init__(
        self,
        rate: Rate,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._own = Window(rate)
        self._told: _Allowance | None = None
        self._unsure = rate.requests is not None
        self._ahead: Turn | None = None
        self._since = -float("inf")
        self._refusals = 0
        self._paused_until = -float("inf")

    @contextmanager
    def turn(self, patience: float) -> Iterator[Turn]:
        """Begin when the next request may go, and end when its answer has begun or is lost.

        Raises:
            BusyError: it may not go within `patience` seconds.
        """
        turn = self._wait(patience)
        try:
            yield turn
        finally:
            with self._lock:
                self._over(turn, self._clock())

    def pause(self, seconds: float) -> None:
        """Hold every request for `seconds`."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def keep(self, rate: Rate) -> None:
        """Keep this rate too: of two the stricter one."""
        with self._lock:
            self._own.rate = self._own.rate.stricter(rate)

    def _wait(self, patience: float) -> Turn:
        deadline = self._clock() + patience
        while True:
            with self._lock:
                now = self._clock()
                due = self._due(now)
                if due <= now:
                    return self._begun(now)
            if due > deadline:
                raise BusyError(
                    f"The service asks to wait {due - now:.0f} seconds.",
                    f"Try again after {due - now:.0f} seconds.",
                )
            self._sleep(due - now)

    def _due(self, now: float) -> float:
        if now < self._paused_until:
            return self._paused_until
        if self._told is None:
            due = self._own.due(now)
            if due > now:
                return due
        elif now < self._told.ends:
            return now if self._told.remaining > self._told.uncounted else self._told.ends
        if self._ahead is None or not self._is_unsure(now):
            return now
        return now + _GLANCE if now < self._ahead.began + _PROBE_SECONDS else now

    def _is_unsure(self, now: float) -> bool:
        return self._unsure or (self._told is not None and now >= self._told.ends)

    def _begun(self, now: float) -> Turn:
        self._own.departs()
        turn = Turn(now, self._own.count(now) - self._own.departed)
        if self._told is not None:
            self._told.uncounted += 1
        if self._is_unsure(now):
            self._ahead = turn
        return turn

    def _over(self, turn: Turn, now: float) -> None:
        self._own.ends(now)
        if self._ahead is turn:
            self._ahead = None
        if not turn.status or turn.began < self._since:
            return  # lost, or from before what is known now: it stays uncounted
        if turn.status == 429:
            self._refused(turn, now)
            return
        self._refusals = 0
        self._learn(turn, RateWord.of(turn.headers), now)

    def _refused(self, turn: Turn, now: float) -> None:
        self._refusals += 1
        asked = asked_to_wait(turn.status, turn.headers)
        wait = backoff(self._refusals) if asked is None else asked
        self._paused_until = max(self._paused_until, now + wait)
        self._told, self._unsure, self._since = None, True, now

    def _learn(self, turn: Turn, word: RateWord | None, now: float) -> None:
        told = self._told
        if told is not None and turn.began < told.ends:
            if word is not None:
                told.hears(word, now)
        elif word is None or self._is_ours(word, turn):
            self._told, self._unsure = None, False
        else:
            self._told = _Allowance(word.remaining, self._own.flying, now + word.resets)
            self._unsure, self._since = False, turn.began

    def _is_ours(self, word: RateWord, turn: Turn) -> bool:
        """Say whether the service counts by the named rate, and counts nobody else's requests."""
        rate = self._own.rate
        if rate.requests is None or word.limit not in (None, rate.requests):
            return False
        most = turn.reach + self._own.departed
        # Services round the seconds up.
        return rate.requests - word.remaining <= most and word.resets <= rate.seconds + 1


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


def new_pacer(
    rate: Rate | None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Pacer:
    """Return a pacer that nobody shares; None is no pacing."""
    return Unpaced() if rate is None else Pacer(rate, clock=clock, sleep=sleep)

"""Client-side rate limiting, shared by the clients of one identity."""

from __future__ import annotations

import math
import random
import threading
import time
from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self
from weakref import WeakValueDictionary

from labext.config.profiles import origin
from labext.errors import BusyError
from labext.http.headers import header_number, parse_http_date

_CLOCK_MARGIN = 1.001
"""The window is extended by this factor, since the clocks of two machines differ."""


@dataclass(frozen=True)
class Rate:
    """A limit: `requests` in any `seconds`.

    `Rate(None)` sets no limit and only follows the service's headers.
    """

    requests: int | None
    seconds: float = 10.0

    def __post_init__(self) -> None:
        if self.requests is not None and self.requests < 1:
            raise ValueError("a rate needs at least one request in its window")
        if self.seconds <= 0:
            raise ValueError("a rate's window is longer than 0 seconds")

    def stricter(self, other: Rate) -> Rate:
        """Return the stricter rate: fewer requests per second, then a smaller burst."""
        return min(self, other, key=Rate._allows)

    def _allows(self) -> tuple[float, float]:
        if self.requests is None:
            return math.inf, math.inf
        return self.requests / self.seconds, self.requests


class SlidingWindow:
    """The requests of this client that a service with a sliding window may count.

    A service counts a request at some moment between its start and its response. It is therefore
    counted here from its start until one window length after its response.

    Attributes:
        in_flight: requests without a response yet.
        sent: number of all requests so far.
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.in_flight = self.sent = 0
        self._ended: list[float] = []

    def start_request(self) -> None:
        """Count a request that begins."""
        self.in_flight += 1
        self.sent += 1

    def end_request(self, now: float) -> None:
        """Record that a request was answered or lost."""
        self.in_flight -= 1
        if self.rate.requests is not None:
            insort(self._ended, now)

    def count(self, now: float) -> int:
        """Return how many requests the service may still count."""
        del self._ended[: bisect_right(self._ended, now - self.rate.seconds * _CLOCK_MARGIN)]
        return self.in_flight + len(self._ended)

    def next_start(self, now: float) -> float:
        """Return the earliest time at which another request may start."""
        if self.rate.requests is None:
            return now
        surplus = self.count(now) - self.rate.requests
        if surplus < 0:
            return now
        # Requests in flight leave the window one window length from now, at the earliest.
        leaving = self._ended[surplus] if surplus < len(self._ended) else now
        return leaving + self.rate.seconds * _CLOCK_MARGIN


_LONGEST_PAUSE = 300.0
"""Seconds for which one response holds back other requests, at most: a service that asks for hours
may be back earlier."""

_PROBE_SECONDS = 2.0
"""Seconds that other requests wait for the response of the one sent ahead."""

_PROBE_INTERVAL = 0.02
"""Seconds between checks for that response."""


class RequestSlot:
    """Permission for one request; it records the rate headers of the response, if there is one.

    Attributes:
        started: when the request was allowed to start.
        offset: the number of requests in the window at that time, minus all requests sent so far.
    """

    def __init__(self, started: float = 0.0, offset: int = 0) -> None:
        self.started, self.offset = started, offset
        self.status = 0
        self.headers: Mapping[str, str] = {}

    def record_response(self, headers: Mapping[str, str], status: int = 200) -> None:
        """Record the response's status and headers."""
        self.headers, self.status = headers, status


@dataclass
class _ServerAllowance:
    """The service's allowance as its headers state it, until `ends`.

    Attributes:
        remaining: the lowest number in any response; if responses overtake each other, that is the
            newest.
        uncounted: requests that `remaining` may not include: in flight, or lost.
    """

    remaining: int
    uncounted: int
    ends: float

    def update(self, status: RateLimitStatus, now: float) -> None:
        """Update the allowance from another response."""
        self.uncounted -= 1
        if status.remaining <= self.remaining:
            # In a sliding window the requests due to expire may be gone, with others next.
            self.remaining = status.remaining
            self.ends = max(self.ends, _pause_end(now, status.resets))


def _pause_end(now: float, seconds: float) -> float:
    return now + min(seconds, _LONGEST_PAUSE)


class RateLimiter:
    """Delay requests to keep the rate limit; shared by threads and by clients.

    One of two limits applies at a time. The configured rate is exact: requests are counted here in
    a sliding window. It applies until the service's headers say otherwise: another limit, a longer
    window, or fewer requests left than counted here, because another client uses the same
    allowance. From then on the service's allowance applies: no more requests than it has left, then
    none until the service reports a new allowance.

    While the remaining allowance is unknown (at first, after a window that the service announced,
    after a 429) one request goes ahead, and the others wait for the headers of its response. A
    delay that the service requests, or a 429 without one, holds back all requests.
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
        self._window = SlidingWindow(rate)
        self._allowance: _ServerAllowance | None = None
        self._is_unknown = rate.requests is not None
        self._probe: RequestSlot | None = None
        self._allowance_start = -float("inf")
        self._refusals = 0
        self._paused_until = -float("inf")

    @contextmanager
    def slot(self, patience: float) -> Iterator[RequestSlot]:
        """Wait for a slot, and hold it until the response has begun or is lost.

        Raises:
            BusyError: no slot within `patience` seconds.
        """
        slot = self._wait(patience)
        try:
            yield slot
        finally:
            with self._lock:
                self._finish(slot, self._clock())

    def pause(self, seconds: float) -> None:
        """Hold every request for `seconds`."""
        with self._lock:
            self._paused_until = max(self._paused_until, _pause_end(self._clock(), seconds))

    def tighten(self, rate: Rate) -> None:
        """Apply this rate too; the stricter one wins."""
        with self._lock:
            self._window.rate = self._window.rate.stricter(rate)

    def _wait(self, patience: float) -> RequestSlot:
        deadline = self._clock() + patience
        while True:
            with self._lock:
                now = self._clock()
                due = self._due(now)
                if due <= now:
                    return self._start(now)
            if due > deadline:
                raise BusyError(
                    f"The service asks to wait {due - now:.0f} seconds.",
                    f"Try again after {due - now:.0f} seconds.",
                    retry_after=due - now,
                )
            self._sleep(due - now)

    def _due(self, now: float) -> float:
        if now < self._paused_until:
            return self._paused_until
        if self._allowance is None:
            due = self._window.next_start(now)
            if due > now:
                return due
        elif now < self._allowance.ends:
            has_slots = self._allowance.remaining > self._allowance.uncounted
            return now if has_slots else self._allowance.ends
        if self._probe is None or not self._needs_probe(now):
            return now
        return now + _PROBE_INTERVAL if now < self._probe.started + _PROBE_SECONDS else now

    def _needs_probe(self, now: float) -> bool:
        return self._is_unknown or (self._allowance is not None and now >= self._allowance.ends)

    def _start(self, now: float) -> RequestSlot:
        self._window.start_request()
        slot = RequestSlot(now, self._window.count(now) - self._window.sent)
        if self._allowance is not None:
            self._allowance.uncounted += 1
        if self._needs_probe(now):
            self._probe = slot
        return slot

    def _finish(self, slot: RequestSlot, now: float) -> None:
        self._window.end_request(now)
        if self._probe is slot:
            self._probe = None
        if not slot.status or slot.started < self._allowance_start:
            return  # lost, or older than the current allowance
        if slot.status == 429:
            self._on_refusal(slot, now)
            return
        self._refusals = 0
        self._update_allowance(slot, RateLimitStatus.from_headers(slot.headers), now)

    def _on_refusal(self, slot: RequestSlot, now: float) -> None:
        self._refusals += 1
        delay = requested_delay(slot.status, slot.headers)
        wait = backoff(self._refusals) if delay is None else delay
        self._paused_until = max(self._paused_until, _pause_end(now, wait))
        self._allowance, self._is_unknown, self._allowance_start = None, True, now

    def _update_allowance(
        self, slot: RequestSlot, status: RateLimitStatus | None, now: float
    ) -> None:
        allowance = self._allowance
        if allowance is not None and slot.started < allowance.ends:
            if status is not None:
                allowance.update(status, now)
        elif status is None or self._confirms_window(status, slot):
            self._allowance, self._is_unknown = None, False
        else:
            self._allowance = _ServerAllowance(
                status.remaining, self._window.in_flight, _pause_end(now, status.resets)
            )
            self._is_unknown, self._allowance_start = False, slot.started

    def _confirms_window(self, status: RateLimitStatus, slot: RequestSlot) -> bool:
        """Return whether the service uses the configured rate, and counts only our requests."""
        rate = self._window.rate
        if rate.requests is None or status.limit not in (None, rate.requests):
            return False
        countable = slot.offset + self._window.sent
        # Services round the seconds up.
        return rate.requests - status.remaining <= countable and status.resets <= rate.seconds + 1


class UnlimitedRateLimiter(RateLimiter):
    """A rate limiter without a limit."""

    def __init__(self) -> None:
        super().__init__(Rate(None))

    @contextmanager
    def slot(self, patience: float) -> Iterator[RequestSlot]:  # noqa: ARG002 - nothing to wait for
        """Return at once."""
        yield RequestSlot()

    def pause(self, seconds: float) -> None:
        """Do nothing: each client waits on its own."""


_limiters: WeakValueDictionary[tuple[Any, str], RateLimiter] = WeakValueDictionary()
_limiters_lock = threading.Lock()


def shared_rate_limiter(address: str, identity: str, rate: Rate | None) -> RateLimiter:
    """Return the rate limiter that all clients with one identity at a service share.

    A service counts an identity's requests together, whichever client or thread sends them
    (LAB-90). A rate limiter lives as long as it is referenced.

    Args:
        address: the service's; its origin counts.
        identity: identifies the caller, without being a secret.
        rate: the limit; of different limits the strictest applies to all clients, until the service
            reports its own. None disables rate limiting.
    """
    if rate is None:
        return UnlimitedRateLimiter()
    key = origin(address), identity
    with _limiters_lock:
        rate_limiter = _limiters.get(key)
        if rate_limiter is None:
            rate_limiter = _limiters[key] = RateLimiter(rate)
        else:
            rate_limiter.tighten(rate)
    return rate_limiter


@dataclass(frozen=True)
class RateLimitStatus:
    """The rate limit as one response reports it.

    Attributes:
        limit: requests of a whole window, if known (`x-rate-limit-limit`).
        remaining: requests that are left (`x-rate-limit-remaining`).
        resets: seconds until there are more (`x-rate-limit-reset`: a duration, not a time).
    """

    limit: int | None
    remaining: int
    resets: float

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> Self | None:
        """Return the allowance in a response's headers; None if it is missing or implausible."""
        limit = header_number(headers.get("x-rate-limit-limit"))
        remaining = header_number(headers.get("x-rate-limit-remaining"))
        resets = header_number(headers.get("x-rate-limit-reset"))
        if remaining is None or resets is None:
            return None
        return cls(None if limit is None else int(limit), int(remaining), resets)


def requested_delay(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the longest delay in seconds that a rejection demands.

    `Retry-After` counts with any status; `x-rate-limit-reset` counts with a 429, unless the headers
    report remaining requests: then another limit caused the 429.
    """
    delays = [retry_after_seconds(headers)]
    if status == 429 and not header_number(headers.get("x-rate-limit-remaining")):
        delays.append(header_number(headers.get("x-rate-limit-reset")))
    return max((seconds for seconds in delays if seconds is not None), default=None)


def retry_after_seconds(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the delay in seconds of `Retry-After`, which is a number or an HTTP date.

    A date is compared with the server's own clock (`Date`): that of this machine may be wrong.
    """
    value = headers.get("Retry-After")
    if value is None:
        return None
    seconds = header_number(value)
    if seconds is not None:
        return seconds
    then = parse_http_date(value)
    now = parse_http_date(headers.get("Date", "")) or now or datetime.now(UTC)
    return None if then is None else max(0.0, (then - now).total_seconds())


FIRST_WAIT = 0.4
LONGEST_WAIT = 20.0


def backoff(failures: int) -> float:
    """Return the seconds to wait after a number of failures: 0.4, doubled up to 20, with jitter.

    Jitter, so that threads and users that failed together don't retry together.
    """
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(failures - 1, 10))
    return random.uniform(longest / 2, longest)  # noqa: S311 - nothing secret

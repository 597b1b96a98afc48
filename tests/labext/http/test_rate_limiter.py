"""A paced client keeps within a service's limit, whatever the limit is told by."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import BusyError
from labext.http.rate_limiter import Rate, RateLimiter, retry_after_seconds


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


class FixedWindow:
    """A service that counts the requests of each window, and says what is left."""

    def __init__(self, clock: Clock, limit: int, seconds: float) -> None:
        self.clock, self.limit, self.seconds = clock, limit, seconds
        self.count = self.refused = 0
        self.ends = clock.now + seconds

    def ask(self) -> dict[str, str]:
        if self.clock.now >= self.ends:
            self.count, self.ends = 0, self.clock.now + self.seconds
        self.count += 1
        self.refused += self.count > self.limit
        return {
            "x-rate-limit-limit": str(self.limit),
            "x-rate-limit-remaining": str(max(0, self.limit - self.count)),
            "x-rate-limit-reset": str(self.ends - self.clock.now),
        }


def pacer(rate: Rate, clock: Clock) -> RateLimiter:
    return RateLimiter(rate, clock=clock, sleep=clock.sleep)


def ask(paced: RateLimiter, headers: dict[str, str] | None = None, patience: float = 60) -> float:
    """Take a turn, and return when it came."""
    with paced.slot(patience) as turn:
        turn.record_response(headers or {})
        return paced._clock()


@given(
    st.integers(1, 20),
    st.floats(0.1, 30),
    st.lists(st.floats(0, 3), min_size=1, max_size=80),
)
def test_no_window_ever_holds_more_than_the_rate(
    limit: int, seconds: float, gaps: list[float]
) -> None:
    clock = Clock()
    paced = pacer(Rate(limit, seconds), clock)
    sent = []
    for gap in gaps:
        clock.now += gap
        with paced.slot(1e6):
            sent.append(clock.now)
    for early, late in zip(sent, sent[limit:], strict=False):
        assert late - early >= seconds


def test_250_pages_at_100_in_10_seconds_take_20_and_are_never_refused() -> None:
    clock = Clock()
    service = FixedWindow(clock, 100, 10)
    paced = pacer(Rate(100, 10), clock)
    for _ in range(250):
        with paced.slot(60) as turn:
            clock.now += 0.01
            turn.record_response(service.ask())
    assert service.refused == 0
    assert clock.now - 1000 < 25


@pytest.mark.parametrize(("limit", "seconds"), [(60, 30.0), (300, 30.0), (5, 1.0)])
def test_the_service_s_own_limit_takes_over(limit: int, seconds: float) -> None:
    clock = Clock()
    service = FixedWindow(clock, limit, seconds)
    paced = pacer(Rate(100, 10), clock)
    for _ in range(3 * limit):
        with paced.slot(60) as turn:
            clock.now += 0.001
            turn.record_response(service.ask())
    assert service.refused == 0
    assert clock.now - 1000 < 2.5 * seconds


def test_what_is_on_its_way_counts() -> None:
    clock = Clock()
    paced = pacer(Rate(None), clock)
    with paced.slot(60), paced.slot(60), paced.slot(60):
        # The service has seen one of four: of the three it still allows, three are taken.
        ask(paced, {"x-rate-limit-remaining": "3", "x-rate-limit-reset": "10"})
        assert ask(paced) == 1010


def test_an_answer_that_was_overtaken_allows_nothing_more() -> None:
    clock = Clock()
    paced = pacer(Rate(None), clock)
    with ExitStack() as others:
        early = [others.enter_context(paced.slot(60)) for _ in range(2)]
        ask(paced, {"x-rate-limit-remaining": "0", "x-rate-limit-reset": "10"})
        for left, turn in enumerate(early, 1):
            turn.record_response({"x-rate-limit-remaining": str(left), "x-rate-limit-reset": "10"})
    assert ask(paced) == 1010


def test_a_pause_holds_everybody_and_is_not_begun_beyond_patience() -> None:
    clock = Clock()
    paced = pacer(Rate(None), clock)
    paced.pause(30)
    with pytest.raises(BusyError, match="30 seconds"):
        ask(paced, patience=10)
    assert clock.now == 1000
    assert ask(paced, patience=40) == 1030


@pytest.mark.parametrize(
    "headers",
    [
        {"x-rate-limit-remaining": "many", "x-rate-limit-reset": "10"},
        {"x-rate-limit-remaining": "0", "x-rate-limit-reset": "nan"},
        {"x-rate-limit-remaining": "-1", "x-rate-limit-reset": "10"},
        {"x-rate-limit-remaining": "0", "x-rate-limit-reset": "inf"},
        {"x-rate-limit-remaining": "0"},
    ],
)
def test_headers_that_make_no_sense_are_not_followed(headers: dict[str, str]) -> None:
    clock = Clock()
    paced = pacer(Rate(None), clock)
    ask(paced, headers)
    assert ask(paced) == 1000


def test_a_turn_that_ends_badly_takes_nothing_with_it() -> None:
    paced = pacer(Rate(None), Clock())
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt), paced.slot(60):
            raise KeyboardInterrupt
    ask(paced, {"x-rate-limit-remaining": "1", "x-rate-limit-reset": "10"})
    assert ask(paced) == 1000
    assert ask(paced) == 1010


def test_threads_share_one_limit() -> None:
    paced = RateLimiter(Rate(5, 0.2))
    sent: list[float] = []
    lock = threading.Lock()

    def ask() -> None:
        for _ in range(5):
            with paced.slot(30), lock:
                sent.append(time.monotonic())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    sent.sort()
    assert len(sent) == 20
    assert sent[-1] - sent[0] >= 3 * 0.2


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("Fri, 20 Nov 2026 12:00:30 GMT", 30.0),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        (None, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str | None, seconds: float | None) -> None:
    headers: dict[str, Any] = {} if value is None else {"Retry-After": value}
    assert retry_after_seconds(headers, datetime(2026, 11, 20, 12, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(("requests", "seconds"), [(0, 10), (5, 0)])
def test_a_rate_that_lets_nothing_through_is_refused(requests: int, seconds: float) -> None:
    with pytest.raises(ValueError, match="rate"):
        Rate(requests, seconds)

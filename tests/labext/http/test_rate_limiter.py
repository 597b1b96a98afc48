"""Keep the client within a rate limit, named or reported by response headers."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
from fake_clock import Clock
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import BusyError
from labext.http.rate_limiter import Rate, RateLimiter, retry_after_seconds


def make_limiter(rate: Rate, clock: Clock) -> RateLimiter:
    return RateLimiter(rate, clock=clock, sleep=clock.sleep)


def ask(limiter: RateLimiter, headers: dict[str, str] | None = None, patience: float = 60) -> float:
    """Send one request and return the time at which it was allowed."""
    with limiter.slot(patience) as slot:
        slot.record_response(headers or {})
        return limiter._clock()


@given(
    st.integers(1, 20),
    st.floats(0.1, 30),
    st.lists(st.floats(0, 3), min_size=1, max_size=80),
)
def test_any_window_holds_at_most_the_rate(limit: int, seconds: float, gaps: list[float]) -> None:
    clock = Clock()
    limiter = make_limiter(Rate(limit, seconds), clock)
    sent = []
    for gap in gaps:
        clock.now += gap
        with limiter.slot(1e6):
            sent.append(clock.now)
    for early, late in zip(sent, sent[limit:], strict=False):
        assert late - early >= seconds


def test_requests_in_flight_count_against_remaining() -> None:
    clock = Clock()
    limiter = make_limiter(Rate(None), clock)
    with limiter.slot(60), limiter.slot(60), limiter.slot(60):
        # The service has counted one of four requests; its remaining three are taken by the others.
        ask(limiter, {"x-rate-limit-remaining": "3", "x-rate-limit-reset": "10"})
        assert ask(limiter) == 1010


def test_late_response_headers_do_not_raise_remaining() -> None:
    clock = Clock()
    limiter = make_limiter(Rate(None), clock)
    with ExitStack() as others:
        early = [others.enter_context(limiter.slot(60)) for _ in range(2)]
        ask(limiter, {"x-rate-limit-remaining": "0", "x-rate-limit-reset": "10"})
        for left, slot in enumerate(early, 1):
            slot.record_response({"x-rate-limit-remaining": str(left), "x-rate-limit-reset": "10"})
    assert ask(limiter) == 1010


def test_pause_delays_requests_or_raises_busy_error_beyond_patience() -> None:
    clock = Clock()
    limiter = make_limiter(Rate(None), clock)
    limiter.pause(30)
    with pytest.raises(BusyError, match="30 seconds"):
        ask(limiter, patience=10)
    assert clock.now == 1000
    assert ask(limiter, patience=40) == 1030


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
def test_invalid_rate_limit_headers_are_ignored(headers: dict[str, str]) -> None:
    clock = Clock()
    limiter = make_limiter(Rate(None), clock)
    ask(limiter, headers)
    assert ask(limiter) == 1000


def test_interrupted_slot_is_released() -> None:
    limiter = make_limiter(Rate(None), Clock())
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt), limiter.slot(60):
            raise KeyboardInterrupt
    ask(limiter, {"x-rate-limit-remaining": "1", "x-rate-limit-reset": "10"})
    assert ask(limiter) == 1000
    assert ask(limiter) == 1010


def test_threads_share_one_limit() -> None:
    limiter = RateLimiter(Rate(5, 0.2))
    sent: list[float] = []
    lock = threading.Lock()

    def ask() -> None:
        for _ in range(5):
            with limiter.slot(30), lock:
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
def test_rate_of_zero_is_refused(requests: int, seconds: float) -> None:
    with pytest.raises(ValueError, match="rate"):
        Rate(requests, seconds)

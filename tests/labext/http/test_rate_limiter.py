"""Keep clients within a rate limit, named, reported by headers, or shared."""

from __future__ import annotations

import gc
import weakref
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
from fake_clock import Clock

from labext.errors import BusyError
from labext.http.rate_limiter import (
    Rate,
    RateLimiter,
    UnlimitedRateLimiter,
    requested_delay,
    retry_after_seconds,
    shared_rate_limiter,
)

URL = "https://tenant.example/api/v2"
NOTHING_LEFT = {
    "x-rate-limit-limit": "100",
    "x-rate-limit-remaining": "0",
    "x-rate-limit-reset": "7",
}


def make_limiter(clock: Clock, rate: Rate = Rate(100, 10)) -> RateLimiter:  # noqa: B008 - never changed
    return RateLimiter(rate, clock=clock, sleep=clock.sleep)


def send(limiter: RateLimiter, status: int = 200, patience: float = 60, **headers: str) -> float:
    """Send a request and return the time at which it was allowed."""
    with limiter.slot(patience) as slot:
        slot.record_response(
            {name.replace("_", "-"): value for name, value in headers.items()}, status
        )
        return limiter._clock()


def test_requests_in_flight_count_against_remaining(clock: Clock) -> None:
    limiter = make_limiter(clock, Rate(None))
    with limiter.slot(60), limiter.slot(60), limiter.slot(60):
        # The service has counted one of four requests; its remaining three are taken by the others.
        send(limiter, x_rate_limit_remaining="3", x_rate_limit_reset="10")
        assert send(limiter) == 1010


def test_late_response_headers_do_not_raise_remaining(clock: Clock) -> None:
    limiter = make_limiter(clock, Rate(None))
    with ExitStack() as others:
        early = [others.enter_context(limiter.slot(60)) for _ in range(2)]
        send(limiter, x_rate_limit_remaining="0", x_rate_limit_reset="10")
        for left, slot in enumerate(early, 1):
            slot.record_response({"x-rate-limit-remaining": str(left), "x-rate-limit-reset": "10"})
    assert send(limiter) == 1010


def test_pause_delays_requests_or_raises_busy_error_beyond_patience(clock: Clock) -> None:
    limiter = make_limiter(clock, Rate(None))
    limiter.pause(30)
    with pytest.raises(BusyError, match="30 seconds"):
        send(limiter, patience=10)
    assert clock.now == 1000
    assert send(limiter, patience=40) == 1030


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (429, {"Retry-After": "86400"}),
        (429, {"x-rate-limit-remaining": "0", "x-rate-limit-reset": "86400"}),
        (200, {"x-rate-limit-remaining": "0", "x-rate-limit-reset": "86400"}),
    ],
)
def test_service_that_asks_for_hours_is_asked_again_after_five_minutes(
    status: int, headers: dict[str, str], clock: Clock
) -> None:
    limiter = make_limiter(clock, Rate(None))
    for _ in range(2):
        with limiter.slot(60) as slot:
            slot.record_response(headers, status)
        limiter.pause(86_400)
        with pytest.raises(BusyError, match="300 seconds"):
            send(limiter)
        clock.now += 300
    send(limiter)


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
def test_invalid_rate_limit_headers_are_ignored(headers: dict[str, str], clock: Clock) -> None:
    limiter = make_limiter(clock, Rate(None))
    send(limiter, **headers)
    assert send(limiter) == 1000


def test_interrupted_slot_is_released() -> None:
    limiter = make_limiter(Clock(), Rate(None))
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt), limiter.slot(60):
            raise KeyboardInterrupt
    send(limiter, x_rate_limit_remaining="1", x_rate_limit_reset="10")
    assert send(limiter) == 1000
    assert send(limiter) == 1010


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("Fri, 20 Nov 2026 12:00:30 GMT", 30.0),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("Fri, 20 Nov 99999999999 12:00:30 GMT", None),
        ("Fri, 20 Nov 2026 12:00:30 +99999999999999", None),
        (None, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str | None, seconds: float | None) -> None:
    headers: dict[str, Any] = {} if value is None else {"Retry-After": value}
    assert retry_after_seconds(headers, datetime(2026, 11, 20, 12, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("date", "seconds"), [("Fri, 20 Nov 2026 09:00:00 GMT", 30), ("yesterday", 10830)]
)
def test_date_of_retry_after_is_compared_with_the_clock_of_the_server(
    date: str, seconds: float
) -> None:
    headers = {"Retry-After": "Fri, 20 Nov 2026 09:00:30 GMT", "Date": date}
    here = datetime(2026, 11, 20, 6, tzinfo=UTC)
    assert retry_after_seconds(headers, here) == seconds


@pytest.mark.parametrize(("requests", "seconds"), [(0, 10), (5, 0)])
def test_rate_of_zero_is_refused(requests: int, seconds: float) -> None:
    with pytest.raises(ValueError, match="rate"):
        Rate(requests, seconds)


def test_clients_of_one_identity_share_a_limiter() -> None:
    first = shared_rate_limiter(URL, "app notebook", Rate(2, 10))
    again = shared_rate_limiter("https://TENANT.example:443/", "app notebook", Rate(2, 10))
    send(first)
    send(again)
    with pytest.raises(BusyError):
        send(first, patience=1)
    with pytest.raises(BusyError):
        send(again, patience=1)


@pytest.mark.parametrize(
    ("address", "identity"),
    [
        (URL, "app other"),
        ("https://another.example/api/v2", "app notebook"),
        ("https://tenant.example:8443/api/v2", "app notebook"),
        ("http://tenant.example/api/v2", "app notebook"),
    ],
)
def test_other_identity_or_origin_has_its_own_limiter(address: str, identity: str) -> None:
    mine = shared_rate_limiter(URL, "app notebook", Rate(1, 10))
    send(mine)
    send(shared_rate_limiter(address, identity, Rate(1, 10)), patience=1)


@pytest.mark.parametrize(
    ("one", "other", "most"),
    [
        (Rate(3, 10), Rate(100, 10), 3),
        (Rate(100, 10), Rate(3, 10), 3),
        (Rate(None), Rate(3, 10), 3),
        (Rate(3, 10), Rate(None), 3),
        (Rate(20, 200), Rate(2, 20), 2),
    ],
)
def test_stricter_of_two_rates_applies_to_both(one: Rate, other: Rate, most: int) -> None:
    first, second = (
        shared_rate_limiter(URL, "two rates", one),
        shared_rate_limiter(URL, "two rates", other),
    )
    for number in range(most):
        send((first, second)[number % 2], patience=1)
    with pytest.raises(BusyError):
        send(first, patience=1)


def test_limiter_is_garbage_collected_with_its_last_client() -> None:
    shared_limiter = shared_rate_limiter(URL, "short-lived", Rate(1, 10))
    send(shared_limiter)
    limiter_ref = weakref.ref(shared_limiter)
    del shared_limiter
    gc.collect()
    assert limiter_ref() is None


def test_unlimited_limiter_never_waits() -> None:
    limiter = shared_rate_limiter(URL, "nobody", None)
    assert isinstance(limiter, UnlimitedRateLimiter)
    send(limiter, 429, x_rate_limit_remaining="0", x_rate_limit_reset="7")
    limiter.pause(7)
    send(limiter, patience=1)


def test_429_delays_all_requests_until_the_window_ends(clock: Clock) -> None:
    limiter = make_limiter(clock)
    send(limiter, 429, x_rate_limit_remaining="0", x_rate_limit_reset="7")
    send(limiter)
    assert clock.now == 1007


def test_single_request_probes_after_a_429(clock: Clock) -> None:
    limiter = make_limiter(clock, Rate(None))
    send(limiter)
    send(limiter, 429, x_rate_limit_remaining="0", x_rate_limit_reset="7")
    with limiter.slot(60):
        assert clock.now == 1007
        send(limiter)
        assert clock.now > 1008  # waits for the response of the probe


def test_429_without_headers_backs_off_exponentially(clock: Clock) -> None:
    limiter = make_limiter(clock)
    waits = []
    for _ in range(9):
        before = clock.now
        send(limiter, 429)
        waits.append(clock.now - before)
    for refusals, waited in enumerate(waits[1:]):
        longest = min(20, 0.4 * 2**refusals)
        assert longest / 2 <= waited <= longest
    send(limiter)
    before = clock.now
    send(limiter, 429)
    send(limiter)
    assert clock.now - before <= 0.4  # a success resets the backoff


def test_backoff_has_jitter() -> None:
    waits = set()
    for _ in range(20):
        clock = Clock()
        limiter = make_limiter(clock)
        send(limiter, 429)
        send(limiter)
        waits.add(clock.now)
    assert len(waits) > 10


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, NOTHING_LEFT, 7.0),
        (429, {"x-rate-limit-reset": "7"}, 7.0),
        (429, {"Retry-After": "3"}, 3.0),
        (429, NOTHING_LEFT | {"Retry-After": "3"}, 7.0),
        (429, NOTHING_LEFT | {"Retry-After": "12"}, 12.0),
        (429, NOTHING_LEFT | {"x-rate-limit-remaining": "40"}, None),
        (429, {"x-rate-limit-reset": "1795284000"}, None),
        (503, NOTHING_LEFT, None),
        (503, {"Retry-After": "3"}, 3.0),
        (429, {}, None),
    ],
)
def test_requested_delay_of_a_response(
    status: int, headers: dict[str, str], seconds: float | None
) -> None:
    assert requested_delay(status, headers) == seconds


def test_lost_response_lets_the_next_request_probe(clock: Clock) -> None:
    limiter = make_limiter(clock)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), limiter.slot(60):
            raise KeyboardInterrupt
    send(limiter)
    assert clock.now == 1000


def test_missing_response_delays_others_only_briefly(clock: Clock) -> None:
    limiter = make_limiter(clock)
    with limiter.slot(60):
        send(limiter)
        assert 1001 < clock.now < 1005
        before = clock.now
        send(limiter)
        assert clock.now == before


def test_remaining_is_unknown_after_the_window(clock: Clock) -> None:
    limiter = make_limiter(clock, Rate(None))
    send(limiter, x_rate_limit_remaining="0", x_rate_limit_reset="30")
    with limiter.slot(60):
        assert clock.now == 1030
        send(limiter)
        assert clock.now > 1031  # waits for the first response


@pytest.mark.parametrize(
    ("rate", "reports", "expected"),
    [
        # Another client's requests count.
        (Rate(100, 10), [(0, 100, 1, 4), (0, 100, 0, 4)], 1004.0),
        # A window longer than the named one.
        (Rate(2, 10), [(0, 2, 1, 30), (0, 2, 0, 30)], 1030.0),
        # Seconds rounded up by the service are not waited for if no other client sends.
        (Rate(2, 1.5), [(0, 2, 1, 2), (0, 2, 0, 2)], 1001.5),
        # A later response prolongs the wait.
        (Rate(None), [(0, None, 5, 5), (4, None, 0, 10)], 1014.0),
        (Rate(None), [(0, None, 1, 5), (4, None, 1, 10), (0, None, 0, 10)], 1014.0),
    ],
)
def test_latest_headers_decide_the_next_request(
    rate: Rate, reports: list[tuple[int, int | None, int, int]], expected: float, clock: Clock
) -> None:
    limiter = make_limiter(clock, rate)
    for passed, limit, remaining, reset in reports:
        clock.now += passed
        before = clock.now
        headers = {} if limit is None else {"x_rate_limit_limit": str(limit)}
        headers |= {"x_rate_limit_remaining": str(remaining), "x_rate_limit_reset": str(reset)}
        send(limiter, **headers)
        assert clock.now == before
    send(limiter)
    assert expected <= clock.now < expected + 0.1


def test_named_rate_applies_once_headers_stop(clock: Clock) -> None:
    limiter = make_limiter(clock, Rate(3, 10))
    send(limiter, x_rate_limit_limit="9", x_rate_limit_remaining="0", x_rate_limit_reset="5")
    for _ in range(2):
        send(limiter)
    assert clock.now == 1005
    send(limiter)
    assert clock.now > 1010


def test_larger_reported_limit_replaces_the_named_one(clock: Clock) -> None:
    limiter = make_limiter(clock, Rate(2, 10))
    send(limiter, x_rate_limit_limit="9", x_rate_limit_remaining="8", x_rate_limit_reset="10")
    for _ in range(8):
        send(limiter)
    assert clock.now == 1000
    send(limiter)
    assert clock.now == 1010

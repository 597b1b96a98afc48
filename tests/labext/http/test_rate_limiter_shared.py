"""Clients of one identity share one allowance; refusals and lost answers hold nobody for ever."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest

from labext.errors import BusyError
from labext.http import HttpClient
from labext.http.rate_limiter import (
    Rate,
    RateLimiter,
    UnlimitedRateLimiter,
    requested_delay,
    shared_rate_limiter,
)

HERE = "https://tenant.example/api/v2"
NOTHING_LEFT = {
    "x-rate-limit-limit": "100",
    "x-rate-limit-remaining": "0",
    "x-rate-limit-reset": "7",
}


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def pacer(clock: Clock, rate: Rate = Rate(100, 10)) -> RateLimiter:  # noqa: B008 - never changed
    return RateLimiter(rate, clock=clock, sleep=clock.sleep)


def ask(paced: RateLimiter, status: int = 200, patience: float = 60, **headers: str) -> None:
    with paced.slot(patience) as turn:
        turn.record_response(
            {name.replace("_", "-"): value for name, value in headers.items()}, status
        )


# --- sharing -----------------------------------------------------------------------------------


def test_one_identity_at_one_service_has_one_allowance() -> None:
    first = shared_rate_limiter(HERE, "app notebook", Rate(2, 10))
    again = shared_rate_limiter("https://TENANT.example:443/", "app notebook", Rate(2, 10))
    ask(first)
    ask(again)
    with pytest.raises(BusyError):
        ask(first, patience=1)
    with pytest.raises(BusyError):
        ask(again, patience=1)


@pytest.mark.parametrize(
    ("address", "identity"),
    [
        (HERE, "app other"),
        ("https://another.example/api/v2", "app notebook"),
        ("https://tenant.example:8443/api/v2", "app notebook"),
        ("http://tenant.example/api/v2", "app notebook"),
    ],
)
def test_others_have_another(address: str, identity: str) -> None:
    mine = shared_rate_limiter(HERE, "app notebook", Rate(1, 10))
    ask(mine)
    ask(shared_rate_limiter(address, identity, Rate(1, 10)), patience=1)


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
def test_of_two_rates_the_stricter_holds_for_both(one: Rate, other: Rate, most: int) -> None:
    first, second = (
        shared_rate_limiter(HERE, "two rates", one),
        shared_rate_limiter(HERE, "two rates", other),
    )
    for number in range(most):
        ask((first, second)[number % 2], patience=1)
    with pytest.raises(BusyError):
        ask(first, patience=1)


def test_an_allowance_is_forgotten_with_its_last_client() -> None:
    pacer = shared_rate_limiter(HERE, "short-lived", Rate(1, 10))
    ask(pacer)
    gone = weakref.ref(pacer)
    del pacer
    gc.collect()
    assert gone() is None


def test_a_clock_of_its_own_or_no_pacing_is_not_shared(clock: Clock) -> None:
    assert isinstance(shared_rate_limiter(HERE, "nobody", None), UnlimitedRateLimiter)
    ask(shared_rate_limiter(HERE, "simulated", Rate(1, 10), clock=clock, sleep=clock.sleep))
    ask(shared_rate_limiter(HERE, "simulated", Rate(1, 10), clock=clock, sleep=clock.sleep))
    assert clock.now == 1000


def test_transports_with_one_pacer_keep_its_pace() -> None:
    paced = shared_rate_limiter(HERE, "two transports", Rate(100, 10))
    one, other = (HttpClient(HERE, auth=None, rate=None, rate_limiter=paced) for _ in range(2))
    assert one._rate_limiter is other._rate_limiter is paced


def test_threads_that_make_clients_at_once_share() -> None:
    made: list[RateLimiter] = []
    start = threading.Barrier(8)

    def make() -> None:
        start.wait(10)
        made.append(shared_rate_limiter(HERE, "at once", Rate(100, 10)))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(set(map(id, made))) == 1


# --- refusals ----------------------------------------------------------------------------------


def test_a_refusal_holds_everybody_until_the_window_is_over(clock: Clock) -> None:
    paced = pacer(clock)
    ask(paced, 429, x_rate_limit_remaining="0", x_rate_limit_reset="7")
    ask(paced)
    assert clock.now == 1007


def test_one_request_goes_ahead_after_a_refusal(clock: Clock) -> None:
    paced = pacer(clock, Rate(None))
    ask(paced)
    ask(paced, 429, x_rate_limit_remaining="0", x_rate_limit_reset="7")
    with paced.slot(60):
        assert clock.now == 1007
        ask(paced)
        assert clock.now > 1008  # waits for the response of the one that went ahead


def test_refusals_that_tell_nothing_are_waited_out_ever_longer(clock: Clock) -> None:
    paced = pacer(clock)
    waits = []
    for _ in range(9):
        before = clock.now
        ask(paced, 429)
        waits.append(clock.now - before)
    for refusals, waited in enumerate(waits[1:]):
        longest = min(20, 0.4 * 2**refusals)
        assert longest / 2 <= waited <= longest
    ask(paced)
    before = clock.now
    ask(paced, 429)
    ask(paced)
    assert clock.now - before <= 0.4  # the next storm begins anew


def test_waits_differ_from_client_to_client() -> None:
    waits = set()
    for _ in range(20):
        clock = Clock()
        paced = pacer(clock)
        ask(paced, 429)
        ask(paced)
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
def test_how_long_a_refusal_asks_to_wait(
    status: int, headers: dict[str, str], seconds: float | None
) -> None:
    assert requested_delay(status, headers) == seconds


# --- one ahead of the others -------------------------------------------------------------------


def test_one_goes_ahead_where_nobody_knows_what_is_left() -> None:
    paced = RateLimiter(Rate(100, 10))
    flying, most = 0, 0
    lock = threading.Lock()

    def act() -> None:
        nonlocal flying, most
        with paced.slot(30) as turn:
            with lock:
                flying += 1
                most = max(most, flying)
            time.sleep(0.05)
            with lock:
                flying -= 1
            # Three, then nothing for a moment: eight threads must not ask all at once after it.
            turn.record_response({"x-rate-limit-remaining": "0", "x-rate-limit-reset": "0.1"})

    threads = [threading.Thread(target=act) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert most == 1


def test_a_lost_answer_lets_the_next_one_go_ahead(clock: Clock) -> None:
    paced = pacer(clock)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), paced.slot(60):
            raise KeyboardInterrupt
    ask(paced)
    assert clock.now == 1000


def test_an_answer_that_does_not_come_holds_the_others_for_a_moment(clock: Clock) -> None:
    paced = pacer(clock)
    with paced.slot(60):
        ask(paced)
        assert 1001 < clock.now < 1005
        before = clock.now
        ask(paced)
        assert clock.now == before


def test_after_a_window_is_over_it_is_not_known_what_is_left(clock: Clock) -> None:
    paced = pacer(clock, Rate(None))
    ask(paced, x_rate_limit_remaining="0", x_rate_limit_reset="30")
    with paced.slot(60):
        assert clock.now == 1030
        ask(paced)
        assert clock.now > 1031  # for it waits for the first one's answer


# --- whose word holds --------------------------------------------------------------------------


def test_somebody_else_s_requests_count(clock: Clock) -> None:
    paced = pacer(clock)
    ask(paced, x_rate_limit_limit="100", x_rate_limit_remaining="1", x_rate_limit_reset="4")
    ask(paced, x_rate_limit_limit="100", x_rate_limit_remaining="0", x_rate_limit_reset="4")
    ask(paced)
    assert clock.now == 1004


def test_seconds_rounded_up_cost_nothing_where_nobody_else_asks(clock: Clock) -> None:
    paced = pacer(clock, Rate(2, 1.5))
    ask(paced, x_rate_limit_limit="2", x_rate_limit_remaining="1", x_rate_limit_reset="2")
    ask(paced, x_rate_limit_limit="2", x_rate_limit_remaining="0", x_rate_limit_reset="2")
    ask(paced)
    assert 1001.5 <= clock.now < 1001.6


def test_a_longer_window_than_the_named_one_is_kept(clock: Clock) -> None:
    paced = pacer(clock, Rate(2, 10))
    ask(paced, x_rate_limit_limit="2", x_rate_limit_remaining="1", x_rate_limit_reset="30")
    ask(paced, x_rate_limit_limit="2", x_rate_limit_remaining="0", x_rate_limit_reset="30")
    ask(paced)
    assert clock.now == 1030


def test_a_service_that_falls_silent_is_asked_by_the_named_rate_again(clock: Clock) -> None:
    paced = pacer(clock, Rate(3, 10))
    ask(paced, x_rate_limit_limit="9", x_rate_limit_remaining="0", x_rate_limit_reset="5")
    for _ in range(2):
        ask(paced)
    assert clock.now == 1005
    ask(paced)
    assert clock.now > 1010


def test_a_later_word_prolongs_the_wait(clock: Clock) -> None:
    paced = pacer(clock, Rate(None))
    ask(paced, x_rate_limit_remaining="5", x_rate_limit_reset="5")
    clock.now = 1004
    ask(paced, x_rate_limit_remaining="0", x_rate_limit_reset="10")
    ask(paced)
    assert clock.now == 1014


def test_a_larger_limit_than_the_named_one_is_used_up_and_not_exceeded(clock: Clock) -> None:
    paced = pacer(clock, Rate(2, 10))
    ask(paced, x_rate_limit_limit="9", x_rate_limit_remaining="8", x_rate_limit_reset="10")
    for _ in range(8):
        ask(paced)
    assert clock.now == 1000
    ask(paced)
    assert clock.now == 1010


def test_a_later_word_of_as_many_requests_prolongs_the_wait(clock: Clock) -> None:
    paced = pacer(clock, Rate(None))
    ask(paced, x_rate_limit_remaining="1", x_rate_limit_reset="5")
    clock.now = 1004
    ask(paced, x_rate_limit_remaining="1", x_rate_limit_reset="10")
    ask(paced)
    assert clock.now == 1004
    ask(paced)
    assert clock.now == 1014

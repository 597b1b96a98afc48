"""A 429 and what it asks for, over a real connection."""

from __future__ import annotations

from typing import Any

import pytest

from labext.http import HttpClient, Operation, Rate, RetryMode
from labext.http.rate_limiter import RateLimiter

pytestmark = pytest.mark.faults

READ = Operation("list sequences", "GET", "dna-sequences", RetryMode.ALWAYS, answer="json")
GOOD = {"dnaSequences": []}


def transport_to(server: Any, clock: Any, **options: Any) -> HttpClient:
    return HttpClient(
        server.url, auth=None, clock=clock, sleep=clock.sleep, **({"rate": Rate(100, 10)} | options)
    )


@pytest.mark.parametrize("rate", [None, Rate(None), Rate(100, 10)])
def test_the_window_that_a_429_names_is_waited_out(
    rate: Rate | None, faulty: Any, clock: Any
) -> None:
    busy = faulty.answer({}, 429, x_rate_limit_remaining="0", x_rate_limit_reset="8")
    server = faulty(busy, faulty.answer(GOOD))
    with transport_to(server, clock, rate=rate) as transport:
        assert transport.send(READ).json() == GOOD
    assert server.count == 2
    assert 8 <= sum(clock.slept) < 9


def test_429s_that_tell_nothing_are_tried_again_ever_later(faulty: Any, clock: Any) -> None:
    busy = faulty.answer({}, 429)
    server = faulty(busy, busy, busy, faulty.answer(GOOD))
    with transport_to(server, clock) as transport:
        assert transport.send(READ).json() == GOOD
    assert server.count == 4
    assert 1.4 <= sum(clock.slept) <= 2.8 + 0.1


def test_what_one_client_is_told_the_other_keeps(faulty: Any, clock: Any) -> None:
    told = {"x_rate_limit_limit": "60", "x_rate_limit_remaining": "0", "x_rate_limit_reset": "30"}
    server = faulty(faulty.answer(GOOD, **told), faulty.answer(GOOD))
    pacer = RateLimiter(Rate(100, 10), clock=clock, sleep=clock.sleep)
    with (
        transport_to(server, clock, rate_limiter=pacer) as one,
        transport_to(server, clock, rate_limiter=pacer) as other,
    ):
        one.send(READ)
        assert clock.slept == []
        other.send(READ)
    assert sum(clock.slept) == 30

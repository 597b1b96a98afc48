"""Pacing beside simulated services: alone never a 429, and the whole allowance is used."""

from __future__ import annotations

import heapq
import math
import threading
from bisect import bisect_right
from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.http.rate_limiter import Rate, RateLimiter


class Time:
    """Time for several threads, of which one runs at a time: it passes when all of them sleep."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._wakes: list[tuple[float, int, threading.Event]] = []
        self._order = count()
        self._over = threading.Event()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        woken = self._asleep(seconds)
        self._wake_next()
        assert woken.wait(20)

    def run(self, *acts: Callable[[], object]) -> None:
        failures: list[BaseException] = []

        def live(act: Callable[[], object], born: threading.Event) -> None:
            assert born.wait(20)
            try:
                act()
            except BaseException as failure:  # noqa: BLE001 - raised where it is seen
                failures.append(failure)
            self._wake_next()

        threads = [
            threading.Thread(target=live, args=(act, self._asleep(0)), daemon=True) for act in acts
        ]
        for thread in threads:
            thread.start()
        self._wake_next()
        assert self._over.wait(20)
        if failures:
            raise failures[0]

    def _asleep(self, seconds: float) -> threading.Event:
        woken = threading.Event()
        heapq.heappush(self._wakes, (self.now + seconds, next(self._order), woken))
        return woken

    def _wake_next(self) -> None:
        if not self._wakes:
            self._over.set()
            return
        self.now, _, woken = heapq.heappop(self._wakes)
        woken.set()


class Service:
    """Counts what it lets through, and says what is left; seconds are told rounded up."""

    def __init__(self, clock: Time, limit: int, seconds: float, *, tells: bool = True) -> None:
        self.clock, self.limit, self.seconds, self.tells = clock, limit, seconds, tells
        self.counted: list[float] = []
        self.asked = 0

    def ask(self) -> tuple[int, dict[str, str]]:
        self.asked += 1
        now = self.clock.now
        allowed = self.used(now) < self.limit
        if allowed:
            self.counted.append(now)
        headers = {
            "x-rate-limit-limit": str(self.limit),
            "x-rate-limit-remaining": str(self.limit - self.used(now)),
            "x-rate-limit-reset": str(math.ceil(self.more_at(now) - now)),
        }
        return (200 if allowed else 429), headers if self.tells else {}

    def used(self, now: float) -> int:
        raise NotImplementedError

    def more_at(self, now: float) -> float:
        raise NotImplementedError


class Sliding(Service):
    """`limit` requests in any `seconds`."""

    def used(self, now: float) -> int:
        return len(self.counted) - bisect_right(self.counted, now - self.seconds)

    def more_at(self, now: float) -> float:
        return self.counted[-self.used(now)] + self.seconds


class Fixed(Service):
    """`limit` requests in each window, of which the first began some time ago."""

    began = 1000.0

    def used(self, now: float) -> int:
        return sum(moment >= self.more_at(now) - self.seconds for moment in self.counted)

    def more_at(self, now: float) -> float:
        return self.began + (math.floor((now - self.began) / self.seconds) + 1) * self.seconds


class Client:
    """Asks through a pacer, with a latency there and back, and counts the refusals."""

    def __init__(self, service: Service, rate: Rate, there: float = 0.01, back: float = 0.01):
        self.service, self.clock = service, service.clock
        self.pacer = RateLimiter(rate, clock=service.clock, sleep=service.clock.sleep)
        self.there, self.back = there, back
        self.done = self.refused = 0

    def fetch(self, pages: int) -> Callable[[], None]:
        def act() -> None:
            got = 0
            while got < pages:
                with self.pacer.slot(1e6) as turn:
                    self.clock.sleep(self.there)
                    status, headers = self.service.ask()
                    self.clock.sleep(self.back)
                    turn.record_response(headers, status)
                got += status == 200
                self.refused += status == 429
            self.done += got

        return act


def elapsed(client: Client, *acts: Callable[[], object]) -> float:
    began = client.clock.now
    client.clock.run(*acts)
    return client.clock.now - began


LATENCY = st.floats(0.001, 0.2)


@given(
    st.sampled_from([Sliding, Fixed]),
    st.integers(1, 40),
    st.floats(0.5, 40),
    st.floats(0, 40),
    st.booleans(),
    st.integers(1, 5),
    LATENCY,
    LATENCY,
)
def test_alone_nobody_is_ever_refused(
    kind: type[Service],
    limit: int,
    seconds: float,
    late: float,
    named: bool,
    threads: int,
    there: float,
    back: float,
) -> None:
    service = kind(Time(), limit, seconds)
    service.clock.now += late
    # Named as it is, or as something else, that the headers correct.
    rate = Rate(limit, seconds) if named else Rate(100, 10)
    client = Client(service, rate, there, back)
    pages = 3 * limit + 5
    took = elapsed(client, *[client.fetch(pages)] * threads)
    assert client.refused == 0
    assert client.done == threads * pages
    # The allowance is used: what a window costs beyond its length is a few journeys, and where
    # only whole seconds tell when it is over, one second.
    windows = math.ceil(threads * pages / limit)
    journey = there + back
    alone = pages * (journey + 0.05)
    lost = 0 if named else 1
    assert took < windows * (seconds * 1.001 + lost + 3 * journey + 0.1) + alone


@given(st.integers(1, 40), st.floats(0.5, 40), st.integers(1, 5), LATENCY)
def test_a_service_that_tells_nothing_is_asked_by_the_named_rate(
    limit: int, seconds: float, threads: int, there: float
) -> None:
    service = Sliding(Time(), limit, seconds, tells=False)
    client = Client(service, Rate(limit, seconds), there)
    client.clock.run(*[client.fetch(3 * limit)] * threads)
    assert client.refused == 0


@pytest.mark.parametrize("kind", [Sliding, Fixed])
@pytest.mark.parametrize("threads", [1, 4])
def test_250_pages_at_100_in_10_seconds_take_20(kind: type[Service], threads: int) -> None:
    client = Client(kind(Time(), 100, 10), Rate(100, 10), 0.002, 0.008)
    took = elapsed(client, *[client.fetch(1000 // 4 // threads)] * threads)
    assert client.refused == 0
    assert took < 20 * 1.05


@pytest.mark.parametrize("kind", [Sliding, Fixed])
@pytest.mark.parametrize("threads", [1, 4])
def test_100_pages_at_60_in_30_seconds_told_by_the_headers(
    kind: type[Service], threads: int
) -> None:
    client = Client(kind(Time(), 60, 30), Rate(100, 10), 0.002, 0.008)
    took = elapsed(client, *[client.fetch(100 // threads)] * threads)
    assert client.refused == 0
    assert took < 32


@pytest.mark.parametrize("kind", [Sliding, Fixed])
def test_a_larger_limit_is_used(kind: type[Service]) -> None:
    client = Client(kind(Time(), 300, 30), Rate(100, 10), 0.002, 0.008)
    took = elapsed(client, client.fetch(300))
    assert client.refused == 0
    assert took < 5


@given(
    st.sampled_from([Sliding, Fixed]),
    st.integers(1, 4),
    st.floats(0.5, 2),
    st.floats(0, 10),
    st.booleans(),
)
def test_beside_somebody_else_all_is_fetched_with_few_refusals(
    kind: type[Service], threads: int, gap: float, late: float, tells: bool
) -> None:
    service = kind(Time(), 30, 10, tells=tells)
    client = Client(service, Rate(30, 10))
    running = [client.fetch(60)] * threads

    def somebody() -> None:
        service.clock.sleep(late)
        while client.done < 60 * threads and service.clock.now < 5000:
            service.ask()
            service.clock.sleep(gap)

    took = elapsed(client, *running, somebody)
    assert client.done == 60 * threads
    windows = took / 10 + 1
    # Where they tell nothing, only the refusals do.
    assert client.refused <= windows * threads * (1 if tells else 6)

"""Rate limiting against simulated services: no needless 429, full use of the limit."""

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
    """A clock for several threads, run one at a time: it advances when all of them sleep."""

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

        def run_one(act: Callable[[], object], started: threading.Event) -> None:
            assert started.wait(20)
            try:
                act()
            except BaseException as failure:  # noqa: BLE001 - raised by run
                failures.append(failure)
            self._wake_next()

        threads = [
            threading.Thread(target=run_one, args=(act, self._asleep(0)), daemon=True)
            for act in acts
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
    """A service that counts accepted requests and reports the remaining ones, in whole seconds."""

    def __init__(self, clock: Time, limit: int, seconds: float, *, informs: bool = True) -> None:
        self.clock, self.limit, self.seconds, self.informs = (clock, limit, seconds, informs)
        self.counted: list[float] = []

    def ask(self) -> tuple[int, dict[str, str]]:
        now = self.clock.now
        allowed = self.used(now) < self.limit
        if allowed:
            self.counted.append(now)
        headers = {
            "x-rate-limit-limit": str(self.limit),
            "x-rate-limit-remaining": str(self.limit - self.used(now)),
            "x-rate-limit-reset": str(math.ceil(self.more_at(now) - now)),
        }
        return (200 if allowed else 429), headers if self.informs else {}

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
    """`limit` requests in each window; the first window began earlier."""

    began = 1000.0

    def used(self, now: float) -> int:
        return sum(moment >= self.more_at(now) - self.seconds for moment in self.counted)

    def more_at(self, now: float) -> float:
        return self.began + (math.floor((now - self.began) / self.seconds) + 1) * self.seconds


class Client:
    """A client with a rate limiter and network latency that counts refusals."""

    def __init__(self, service: Service, rate: Rate, outbound: float = 0.01, inbound: float = 0.01):
        self.service, self.clock = service, service.clock
        self.pacer = RateLimiter(rate, clock=service.clock, sleep=service.clock.sleep)
        self.outbound, self.inbound = outbound, inbound
        self.done = self.refused = 0

    def fetch(self, pages: int) -> Callable[[], None]:
        def act() -> None:
            fetched = 0
            while fetched < pages:
                with self.pacer.slot(1e6) as slot:
                    self.clock.sleep(self.outbound)
                    status, headers = self.service.ask()
                    self.clock.sleep(self.inbound)
                    slot.record_response(headers, status)
                fetched += status == 200
                self.refused += status == 429
            self.done += fetched

        return act


def elapsed(client: Client, *acts: Callable[[], object]) -> float:
    started_at = client.clock.now
    client.clock.run(*acts)
    return client.clock.now - started_at


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
def test_single_client_is_never_refused(
    kind: type[Service],
    limit: int,
    seconds: float,
    late: float,
    named: bool,
    threads: int,
    outbound: float,
    inbound: float,
) -> None:
    service = kind(Time(), limit, seconds)
    service.clock.now += late
    # The configured rate is the real one, or another that the headers correct.
    rate = Rate(limit, seconds) if named else Rate(100, 10)
    client = Client(service, rate, outbound, inbound)
    pages = 3 * limit + 5
    seconds_taken = elapsed(client, *[client.fetch(pages)] * threads)
    assert client.refused == 0
    assert client.done == threads * pages
    # The limit is used fully: a window costs at most a few round trips more than its length, and
    # one second if its end is only known in whole seconds.
    windows = math.ceil(threads * pages / limit)
    journey = outbound + inbound
    alone = pages * (journey + 0.05)
    lost = 0 if named else 1
    assert seconds_taken < windows * (seconds * 1.001 + lost + 3 * journey + 0.1) + alone


@given(st.integers(1, 40), st.floats(0.5, 40), st.integers(1, 5), LATENCY)
def test_named_rate_applies_to_a_service_without_headers(
    limit: int, seconds: float, threads: int, outbound: float
) -> None:
    service = Sliding(Time(), limit, seconds, informs=False)
    client = Client(service, Rate(limit, seconds), outbound)
    client.clock.run(*[client.fetch(3 * limit)] * threads)
    assert client.refused == 0


@pytest.mark.parametrize("kind", [Sliding, Fixed])
@pytest.mark.parametrize(
    ("limit", "seconds", "pages", "threads", "most"),
    [
        (100, 10, 250, 1, 21),
        (100, 10, 250, 4, 21),
        (60, 30, 100, 1, 32),
        (60, 30, 100, 4, 32),
        (300, 30, 300, 1, 5),
    ],
)
def test_pages_are_fetched_in_the_least_time_without_refusals(
    limit: int, seconds: float, pages: int, threads: int, most: float, kind: type[Service]
) -> None:
    client = Client(kind(Time(), limit, seconds), Rate(100, 10), 0.002, 0.008)
    seconds_taken = elapsed(client, *[client.fetch(pages // threads)] * threads)
    assert client.refused == 0
    assert seconds_taken < most


@given(
    st.sampled_from([Sliding, Fixed]),
    st.integers(1, 4),
    st.floats(0.5, 2),
    st.floats(0, 10),
    st.booleans(),
)
def test_other_clients_cause_few_refusals(
    kind: type[Service], threads: int, gap: float, late: float, informs: bool
) -> None:
    service = kind(Time(), 30, 10, informs=informs)
    client = Client(service, Rate(30, 10))
    running = [client.fetch(60)] * threads

    def other_client() -> None:
        service.clock.sleep(late)
        while client.done < 60 * threads and service.clock.now < 5000:
            service.ask()
            service.clock.sleep(gap)

    seconds_taken = elapsed(client, *running, other_client)
    assert client.done == 60 * threads
    windows = seconds_taken / 10 + 1
    # Without headers, only refusals reveal the other client.
    assert client.refused <= windows * threads * (1 if informs else 6)

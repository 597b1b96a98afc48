"""Rate limits of one process, and of processes that share a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from databases import Server
from fake_clock import Clock
from sqlalchemy import text
from starlette.exceptions import HTTPException

from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.rate_limits import SharedLimiter, rate_limiter
from labext.sandbox.core.web import SlidingWindowLimiter


@dataclass
class Limiters:
    """Two limiters with a common count of three requests in ten seconds."""

    one: SlidingWindowLimiter
    other: SlidingWindowLimiter
    clock: Clock


@pytest.fixture(params=["one process", "postgresql"])
def limiters(request: pytest.FixtureRequest) -> Iterator[Limiters]:
    """The limiter of a process, or those of two processes."""
    clock = Clock()
    if request.param == "one process":
        limiter = SlidingWindowLimiter(3, 10, clock)
        yield Limiters(limiter, limiter, clock)
        return
    yield from _shared(request.getfixturevalue("postgresql_server"), clock)


@pytest.fixture
def shared(postgresql_server: Server) -> Iterator[Limiters]:
    """The limiters of two processes."""
    yield from _shared(postgresql_server, Clock())


def _shared(server: Server, clock: Clock) -> Iterator[Limiters]:
    databases = [Database(server.new_schema())]
    databases[0].create(CoreBase.metadata)
    databases.append(Database(databases[0].url))
    limiters = [SharedLimiter(database, "jobs", clock) for database in databases]
    for limiter in limiters:
        limiter.requests = 3
    yield Limiters(limiters[0], limiters[1], clock)
    for database in databases:
        database.close()


def test_rate_window_slides(limiters):
    one, other, clock = limiters.one, limiters.other, limiters.clock
    remaining = []
    for limiter, moment in ((one, 0), (other, 4), (one, 8)):
        clock.now = 1000 + moment
        remaining.append(limiter.take("a").remaining)
    assert remaining == [2, 1, 0]
    clock.now = 1009.5
    refused = other.take("a")
    assert not refused.allowed
    assert refused.reset == pytest.approx(0.5)
    assert refused.retry_after == {"Retry-After": "1"}
    clock.now = 1010
    assert one.take("a").allowed
    clock.now = 1010.1
    assert not other.take("a").allowed
    assert other.take("b").allowed, "each identity has its own limit"
    clock.now = 1014
    assert one.take("a").allowed


def test_no_request_is_lost_or_counted_twice_among_threads(limiters):
    pair = limiters.one, limiters.other
    for limiter in pair:
        limiter.requests, limiter.seconds = 100, 1000
        limiter._clock = SlidingWindowLimiter(None)._clock

    def take(limiter: SlidingWindowLimiter) -> int:
        return sum(limiter.take("a").allowed for _ in range(40))

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take, (*pair, *pair))) == 100


def test_idle_identities_are_forgotten(limiters):
    for number in range(1000 if limiters.one is limiters.other else 5):
        limiters.one.take(str(number))
    limiters.clock.now += 100
    limiters.one.take("late")
    if isinstance(limiters.one, SharedLimiter):
        with limiters.one._database.read() as session:
            names = session.scalars(text("SELECT identity FROM rate_windows")).all()
        assert names == ["jobs late"]
    else:
        assert list(limiters.one._seen) == ["late"]


def test_restart_of_the_machine_forgets_earlier_requests(shared):
    for _ in range(3):
        shared.clock.now += 0.1
        shared.one.take("a")
    shared.clock.now = 5.0
    assert shared.one.take("a").allowed


def test_rate_limit_is_429_with_retry_after():
    limiter = SlidingWindowLimiter(1, 10, clock := Clock())
    limiter.check("a")
    clock.now += 2.5
    with pytest.raises(HTTPException) as caught:
        limiter.check("a")
    assert caught.value.status_code == 429
    assert caught.value.headers == {"Retry-After": "8"}


def test_rate_limit_can_be_off():
    limiter = SlidingWindowLimiter(None, 10, Clock())
    assert all(limiter.take("a").allowed for _ in range(10_000))


def test_a_sqlite_file_has_one_process_that_counts_in_memory(tmp_path):
    database = Database.at(tmp_path / "some.sqlite")
    assert type(rate_limiter(database, "jobs")) is SlidingWindowLimiter
    database.close()

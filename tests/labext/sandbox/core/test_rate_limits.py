"""Rate limits hold among service processes that share a PostgreSQL database."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text

from labext.sandbox.core.database import Database
from labext.sandbox.core.queue import QueueBase
from labext.sandbox.core.rate_limits import SharedLimiter, rate_limiter
from labext.sandbox.core.web import SlidingWindowLimiter


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def limiters(postgresql_server):
    """The limiters of two processes, of three requests in ten seconds, and their clock."""
    clock = Clock()
    databases = [Database(postgresql_server.new_database())]
    databases[0].create(QueueBase.metadata)
    databases.append(Database(databases[0].url))
    limiters = [SharedLimiter(database, "jobs", clock) for database in databases]
    for limiter in limiters:
        limiter.requests = 3
    yield *limiters, clock
    for database in databases:
        database.close()


def test_processes_count_together_in_a_sliding_window(limiters):
    one, other, clock = limiters
    remaining = []
    for limiter, moment in ((one, 0), (other, 4), (one, 8)):
        clock.now = 1000 + moment
        remaining.append(limiter.take("a").remaining)
    assert remaining == [2, 1, 0]
    clock.now = 1009.5
    refused = other.take("a")
    assert not refused.allowed
    assert refused.reset == pytest.approx(0.5)
    clock.now = 1010
    assert one.take("a").allowed
    clock.now = 1010.1
    assert not other.take("a").allowed
    assert other.take("b").allowed


def test_no_request_is_lost_or_counted_twice_among_threads(limiters):
    limits = limiters[:2]
    for limiter in limits:
        limiter.requests, limiter.seconds = 100, 1000
        limiter._clock = SlidingWindowLimiter(None)._clock
    allowed: list[bool] = []

    def ask(limiter: SharedLimiter) -> None:
        allowed.extend(limiter.take("a").allowed for _ in range(40))

    threads = [threading.Thread(target=ask, args=(limiter,)) for limiter in (*limits, *limits)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(allowed), sum(allowed)) == (160, 100)


def test_restart_of_the_machine_forgets_earlier_requests(limiters):
    one, _, clock = limiters
    for _ in range(3):
        clock.now += 0.1
        one.take("a")
    clock.now = 5.0
    assert one.take("a").allowed


def test_idle_identities_are_forgotten(limiters):
    one, _, clock = limiters
    for number in range(5):
        one.take(str(number))
    clock.now += 100
    one.take("late")
    with one._database.read() as session:
        names = session.scalars(text("SELECT identity FROM rate_windows")).all()
    assert names == ["jobs late"]


def test_a_sqlite_file_has_one_process_that_counts_in_memory(tmp_path):
    database = Database.at(tmp_path / "some.sqlite")
    assert type(rate_limiter(database, "jobs")) is SlidingWindowLimiter
    database.close()

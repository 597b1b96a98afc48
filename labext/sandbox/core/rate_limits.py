"""Rate limits that hold among all processes that serve a PostgreSQL database."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from sqlalchemy import DDL, event, text

from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.web import RateLimitStatus, SlidingWindowLimiter

event.listen(
    CoreBase.metadata,
    "after_create",
    DDL(  # type: ignore[no-untyped-call]
        "CREATE UNLOGGED TABLE IF NOT EXISTS rate_windows "
        "(identity TEXT PRIMARY KEY, times DOUBLE PRECISION[] NOT NULL)"
    ).execute_if(dialect="postgresql"),
)

# A single statement: the row is locked from the count to the commit. After a restart of the
# machine its clock is behind the times of earlier requests; a second is for concurrent ones.
_COUNT = text("""
INSERT INTO rate_windows AS stored (identity, times) VALUES (:identity, ARRAY[:now])
ON CONFLICT (identity) DO UPDATE SET times = (
    SELECT coalesce(array_agg(t ORDER BY t), '{}')
        || CASE WHEN count(*) < :requests THEN ARRAY[:now] ELSE '{}' END
    FROM unnest(stored.times) AS t WHERE t > :now - :seconds AND t < :now + 1
)
RETURNING times
""")

_SWEEP = text(
    "DELETE FROM rate_windows WHERE identity LIKE :names "
    "AND times[array_upper(times, 1)] NOT BETWEEN :now - :seconds AND :now + 1"
)


def rate_limiter(database: Database, name: str) -> SlidingWindowLimiter:
    """Return a limiter without a limit; on PostgreSQL, all processes count together.

    The name is unique among the limits of all services.
    """
    return SharedLimiter(database, name) if database.is_postgresql else SlidingWindowLimiter(None)


class SharedLimiter(SlidingWindowLimiter):
    """A sliding window whose requests are in the database.

    The processes are on one machine, whose monotonic clock they share.
    """

    def __init__(
        self, database: Database, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(None, clock=clock)
        self._database = database
        self._name = name

    def take(self, identity: str) -> RateLimitStatus:
        """Count a request of `identity` and return whether it is within the limit."""
        if self.requests is None:
            return RateLimitStatus(True, 0, 0, 0.0)
        now = self._clock()
        values = {
            "identity": f"{self._name} {identity}",
            "now": now,
            "requests": self.requests,
            "seconds": float(self.seconds),
        }
        with self._database.write_concurrently() as session:
            times: list[float] = session.execute(_COUNT, values).scalar_one()
            if self._is_sweep_due(now):
                names = {"names": f"{self._name} %", "now": now, "seconds": float(self.seconds)}
                session.execute(_SWEEP, names)
        allowed = now in times
        first = times[0] if times else now
        left, reset = max(0, self.requests - len(times)), math.fsum((first, self.seconds, -now))
        return RateLimitStatus(allowed, self.requests, left, reset)

    def _is_sweep_due(self, now: float) -> bool:
        with self._lock:
            due = now - self._swept >= max(self.seconds, 60.0)
            if due:
                self._swept = now
        return due

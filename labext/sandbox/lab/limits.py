"""Configurable limits of the platform, and the rate limit of a caller."""

from __future__ import annotations

import math

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.core.validation import YEAR_SECONDS, LimitDefinition, Limits
from labext.sandbox.core.web import RateLimitStatus, SlidingWindowLimiter
from labext.sandbox.lab.access_control import Caller
from labext.sandbox.lab.tables import Limit

LIMITS = Limits(
    Limit,
    {
        # LAB-90
        "rate_requests": LimitDefinition(
            "requests per user or app within rate_seconds, if the sandbox limits rates",
            100,
            1,
            10**9,
        ),
        "rate_seconds": LimitDefinition(
            "seconds in which rate_requests are allowed", 10, 1, 24 * 3600
        ),
        "token_seconds": LimitDefinition(
            "seconds that an app's access token is valid", 900, 1, YEAR_SECONDS
        ),
        # About 200 MB: a full disk would prevent logging, and the token endpoint needs the log.
        "audit_entries": LimitDefinition(
            "entries in the log of all tenants; the oldest are deleted", 1_000_000, 1, 10**9
        ),
    },
)


_CHANGED_LIMITS = select(Limit.name, Limit.value)


def count_call(session: Session, limiter: SlidingWindowLimiter, caller: Caller) -> RateLimitStatus:
    """Count a call against the current limits."""
    rows = session.connection().execute(_CHANGED_LIMITS).all()
    changed: dict[str, int] = {name: value for name, value in rows}  # noqa: C416
    limiter.requests = changed.get("rate_requests", LIMITS["rate_requests"].default)
    limiter.seconds = changed.get("rate_seconds", LIMITS["rate_seconds"].default)
    return limiter.take(caller.rate_limit_key)


def rate_limit_headers(status: RateLimitStatus) -> dict[str, str]:
    """Return the rate limit headers of a response (LAB-93, LAB-94).

    `x-rate-limit-reset` is the number of whole seconds left, not a point in time.
    """
    return {
        "x-rate-limit-limit": str(status.limit),
        "x-rate-limit-remaining": str(status.remaining),
        "x-rate-limit-reset": str(math.ceil(status.reset)),
    }

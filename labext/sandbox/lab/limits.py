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
            "requests of a user or an app in the time of rate_seconds, if the sandbox limits rates",
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
        # some 200 MB: the log must not fill the disk, since calls that can't be logged fail
        "audit_entries": LimitDefinition(
            "calls in the log, of all tenants; the oldest are deleted", 1_000_000, 1, 10**9
        ),
    },
)


_CHANGED_LIMITS = select(Limit.name, Limit.value)


def count_call(session: Session, guard: SlidingWindowLimiter, caller: Caller) -> RateLimitStatus:
    """Count a call against the current limits."""
    rows = session.connection().execute(_CHANGED_LIMITS).all()
    changed: dict[str, int] = {name: value for name, value in rows}  # noqa: C416
    guard.requests = changed.get("rate_requests", LIMITS["rate_requests"].default)
    guard.seconds = changed.get("rate_seconds", LIMITS["rate_seconds"].default)
    return guard.take(caller.rate_limit_key)


def rate_limit_headers(allowance: RateLimitStatus) -> dict[str, str]:
    """Return the rate limit headers of a response (LAB-93, LAB-94).

    `x-rate-limit-reset` is the number of whole seconds left, not a time.
    """
    return {
        "x-rate-limit-limit": str(allowance.limit),
        "x-rate-limit-remaining": str(allowance.remaining),
        "x-rate-limit-reset": str(math.ceil(allowance.reset)),
    }

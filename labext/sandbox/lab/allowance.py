"""How many calls a user or an app may make (contract, Limits).

A sliding window: so many calls in any so many seconds. All keys and ID tokens of a user share one
allowance, and so do all secrets of an app. A call that is refused with 429 is not counted.
"""

from __future__ import annotations

import math

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.lab.access import Caller
from labext.sandbox.lab.limits import LIMITS
from labext.sandbox.lab.store import Limit
from labext.sandbox.web import Allowance, FloodGuard

_CHANGED = select(Limit.name, Limit.value)


def count(session: Session, guard: FloodGuard, caller: Caller) -> Allowance:
    """Count a call, within the limits as they are now."""
    rows = session.connection().execute(_CHANGED).all()
    changed: dict[str, int] = {name: value for name, value in rows}  # noqa: C416
    guard.requests = changed.get("rate_requests", LIMITS["rate_requests"].default)
    guard.seconds = changed.get("rate_seconds", LIMITS["rate_seconds"].default)
    return guard.take(caller.counted_as)


def headers(allowance: Allowance) -> dict[str, str]:
    """What an answer says of the allowance (real-services.md, lab).

    `x-rate-limit-reset` is how many whole seconds are left, not a time.
    """
    return {
        "x-rate-limit-limit": str(allowance.limit),
        "x-rate-limit-remaining": str(allowance.remaining),
        "x-rate-limit-reset": str(math.ceil(allowance.reset)),
    }

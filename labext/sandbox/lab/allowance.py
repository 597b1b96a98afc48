"""How many calls a user or an app may make (contract, Limits).

A sliding window: so many calls in any so many seconds. All keys and ID tokens of a user share one
allowance, and so do all secrets of an app. A call that is refused with 429 is not counted.
"""

from __future__ import annotations

import math

from sqlalchemy.orm import Session

from labext.sandbox.lab.access import Caller
from labext.sandbox.lab.limits import LIMITS
from labext.sandbox.web import Allowance, FloodGuard


def count(session: Session, guard: FloodGuard, caller: Caller) -> Allowance:
    """Count a call, within the limits as they are now."""
    guard.requests = LIMITS.value(session, "rate_requests")
    guard.seconds = LIMITS.value(session, "rate_seconds")
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

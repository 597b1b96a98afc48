"""The platform's limits; the database has the changed ones."""

from __future__ import annotations

from labext.sandbox.lab.store import Limit
from labext.sandbox.limits import YEAR, Bounds, Limits

LIMITS = Limits(
    Limit,
    {
        # 100 in 10 seconds by default: contract, Limits
        "rate_requests": Bounds(
            "requests of a user or an app in the time of rate_seconds, with `--rate named`",
            100,
            1,
            10**9,
        ),
        "rate_seconds": Bounds("seconds in which rate_requests are allowed", 10, 1, 24 * 3600),
        "token_seconds": Bounds("seconds that an app's access token is valid", 900, 1, YEAR),
        # some 200 MB: the log may not fill the disk, since what can't be logged is not answered
        "audit_entries": Bounds(
            "calls that the log has, of all tenants; the oldest go", 1_000_000, 1, 10**9
        ),
    },
)

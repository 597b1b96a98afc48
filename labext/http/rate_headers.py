"""Parse rate limit and Retry-After headers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Self


@dataclass(frozen=True)
class RateLimitStatus:
    """The rate limit as one response reports it.

    Attributes:
        limit: requests of a whole window, if known (`x-rate-limit-limit`).
        remaining: requests that are left (`x-rate-limit-remaining`).
        resets: seconds until there are more (`x-rate-limit-reset`: seconds left, not a time;
            real-services.md, lab).
    """

    limit: int | None
    remaining: int
    resets: float

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> Self | None:
        """Return the allowance in a response's headers; None if it is missing or implausible."""
        limit = header_number(headers.get("x-rate-limit-limit"))
        remaining = header_number(headers.get("x-rate-limit-remaining"))
        resets = header_number(headers.get("x-rate-limit-reset"))
        if remaining is None or resets is None:
            return None
        return cls(None if limit is None else int(limit), int(remaining), resets)


def requested_delay(
    status: int, headers: Mapping[str, str], now: datetime | None = None
) -> float | None:
    """Return the seconds that a refusal asks to wait, by the longest that it names.

    `Retry-After` counts with any status; `x-rate-limit-reset` with a 429, unless it comes with
    requests that are left: then it was another limit that refused.
    """
    delays = [retry_after_seconds(headers, now)]
    if status == 429 and not header_number(headers.get("x-rate-limit-remaining")):
        delays.append(header_number(headers.get("x-rate-limit-reset")))
    return max((seconds for seconds in delays if seconds is not None), default=None)


def retry_after_seconds(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that `Retry-After` asks for: a number, or an HTTP date."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    seconds = header_number(value)
    if seconds is not None:
        return seconds
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - (now or datetime.now(UTC))).total_seconds())


def header_number(value: str | None) -> float | None:
    """Return a header's value as a number; None if it is not one, negative, or a point in time."""
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < 1e9 else None


FIRST_WAIT = 0.4
LONGEST_WAIT = 20.0


def backoff(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row: 0.4, doubled to 20, jittered.

    Jitter, so that threads and users that failed together don't retry together.
    """
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(failures - 1, 10))
    return random.uniform(longest / 2, longest)  # noqa: S311 - nothing secret

"""Parse the values of response headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def content_length(headers: Mapping[str, str]) -> int | None:
    """Return the Content-Length; None if it is missing or invalid."""
    length = headers.get("Content-Length", "")
    return int(length) if re.fullmatch("[0-9]{1,18}", length) else None


def parse_http_date(value: str) -> datetime | None:
    """Return the time in a header, in UTC; None if it is invalid."""
    try:
        moment = parsedate_to_datetime(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def header_number(value: str | None) -> float | None:
    """Return a header's value as a number; None if it is not one, negative, or a point in time."""
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < 1e9 else None

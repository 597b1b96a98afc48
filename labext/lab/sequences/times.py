"""Ranges of time, as the filters `created_at` and `modified_at` take them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

from labext.errors import InputError
from labext.wording import shown

_SIGNS: dict[str, Callable[[Any, Any], bool]] = {">": gt, ">=": ge, "<": lt, "<=": le}
_BOUND = re.compile(r"\s*(>=|<=|>|<)?\s*([^<>=]+?)\s*")
_AND = re.compile(r"\s+AND\s+|\s*,\s*", re.IGNORECASE)
_EXAMPLE = 'Write it like "> 2024-01-01", or like "> 2024-01-01 AND < 2024-07-01".'


class Bound(NamedTuple):
    """One end of a range: its sign, and the time as it is written and as it is."""

    sign: str
    text: str
    time: datetime

    def holds(self, time: datetime) -> bool:
        """Say whether a time is on the right side."""
        return _SIGNS[self.sign](time, self.time)


class Range(NamedTuple):
    """A range of time, of one bound or two."""

    bounds: tuple[Bound, ...]

    def __str__(self) -> str:
        """Return the range as the platform reads it: `> 2024-01-01 AND < 2024-07-01`."""
        return " AND ".join(f"{bound.sign} {bound.text}" for bound in self.bounds)

    def holds(self, written: Any) -> bool:
        """Say whether the time in a record is within; one that can't be read is not."""
        time = _instant(written)
        return time is not None and all(bound.holds(time) for bound in self.bounds)


def time_range(value: Any) -> Range:
    """Return the range that a user means.

    Args:
        value: `> 2024-01-01`, `< 2024-07-01`, both with AND between, or a pair (since, until) of
            which either may be None. Dates and times may be text (ISO 8601), `date` or `datetime`.
            One without a sign is a beginning; one without a time zone is UTC.

    Raises:
        InputError: it is none of these.
    """
    parts = value if isinstance(value, tuple | list) and len(value) == 2 else _parted(value)
    bounds = [
        _bound(part, sign)
        for part, sign in zip(parts, (">", "<"), strict=False)
        if part is not None
    ]
    if not bounds:
        raise InputError("That range of time has no bound.", _EXAMPLE)
    return Range(tuple(bounds))


def _instant(written: Any) -> datetime | None:
    """Return the time that a text of ISO 8601 tells; None where it tells none."""
    if not isinstance(written, str):
        return None
    try:
        time = datetime.fromisoformat(written)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _parted(value: Any) -> list[Any]:
    return _AND.split(value.strip(), maxsplit=1) if isinstance(value, str) else [value]


def _bound(value: Any, sign: str) -> Bound:
    if isinstance(value, date):
        value = value.isoformat()
    found = _BOUND.fullmatch(value) if isinstance(value, str) else None
    time = _instant(found[2]) if found else None
    if found is None or time is None:
        raise InputError(f"{shown(value)} is no range of time.", _EXAMPLE)
    return Bound(found[1] or sign, found[2], time)

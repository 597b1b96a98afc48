"""What the service says of usage, as a DataFrame.

The shape is `{"statistic", "scope", "total", "byTool": {…}, "byUser": {…}}` (real services, jobs);
the contract shows none, so near forms are read as well: other spellings of the two groups, records
in place of a mapping, members each with their tools, and the groups alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labext.errors import ServiceError
from labext.steering import tame

if TYPE_CHECKING:
    import pandas as pd

STATISTICS = ("weighted_hours", "jobs")
SCOPES = ("user", "organization")
"""What may be asked for (job service contract, GET /usage-statistics)."""

_TOOLS = ("byTool", "by_tool", "tools", "byType")
_USERS = ("byUser", "by_user", "users", "byMember", "by_member", "members")
_VALUES = ("value", "weightedHours", "weighted_hours", "hours", "jobs", "count", "total")
_NAMES = ("name", "tool", "type", "user", "email", "member")

_MOST = 1 << 53
"""Beyond it a float is no exact count any more; nobody has used so much."""

Numbers = dict[str, float]


def frame(answer: Any, statistic: str, scope: str) -> pd.DataFrame:
    """Return a row for the total, for each tool and for each user, the most used first.

    Raises:
        ServiceError: the answer holds no number that could be one of these.
    """
    import pandas as pd

    total, tools, users = _read(answer)
    rows: list[tuple[str, str, float]] = [] if total is None else [("total", "", total)]
    for group, numbers in (("tool", tools), ("user", users)):
        rows += [
            (group, tame(name), number)
            for name, number in sorted(numbers.items(), key=lambda each: (-each[1], each[0]))
        ]
    table = pd.DataFrame(rows, columns=["group", "name", statistic])
    whole = statistic == "jobs" and all(row[2].is_integer() for row in rows)
    table = table.astype({"group": "str", "name": "str", statistic: "Int64" if whole else float})
    shown = int(total) if total is not None and whole else total
    table.attrs = {"statistic": statistic, "scope": scope, "total": shown}
    return table


def _read(answer: Any) -> tuple[float | None, Numbers, Numbers]:
    """Return the total (None where there is none), and the numbers by tool and by user."""
    if (alone := _number(answer)) is not None:
        return alone, {}, {}
    if isinstance(answer, Mapping) and isinstance(answer.get("usage"), Mapping):
        answer = answer["usage"]
    if not isinstance(answer, Mapping):
        raise _senseless()
    by_tool, tools_of = _group(_first(answer, _TOOLS))
    by_user, tools_of_users = _group(_first(answer, _USERS))
    by_tool = by_tool or tools_of_users
    by_user = by_user or tools_of
    total = _number(answer.get("total"))
    if total is None and (parts := by_tool or by_user):
        total = math.fsum(parts.values())
    if total is None:
        raise _senseless()
    return total, by_tool, by_user


def _group(found: Any) -> tuple[Numbers, Numbers]:
    """Return a group's numbers by name, and by what stands within each where something does."""
    if isinstance(found, list):
        found = {_name(each): each for each in found if isinstance(each, Mapping)}
    outer: Numbers = {}
    inner: Numbers = {}
    for name, value in found.items() if isinstance(found, Mapping) else ():
        number = _number(value)
        if number is None and isinstance(value, Mapping):
            number = _number(_first(value, _VALUES))
            if number is None:
                within = {str(key): each for key, v in value.items() if (each := _number(v))}
                number = math.fsum(within.values())
                for key, each in within.items():
                    inner[key] = inner.get(key, 0.0) + each
        if number is not None:
            outer[str(name)] = number
    return outer, inner


def _first(record: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((record[key] for key in keys if key in record), None)


def _name(record: Mapping[str, Any]) -> str:
    return str(_first(record, _NAMES))


def _number(value: Any) -> float | None:
    """Return a number, also one that came as text, if it can be a use."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= _MOST else None


def _senseless() -> ServiceError:
    return ServiceError("The service's answer about usage makes no sense.")

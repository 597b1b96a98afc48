"""Filter job lists by state, tool and creation time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from itertools import pairwise
from typing import Any, Self

from labext import messages
from labext.errors import InputError
from labext.jobs import records
from labext.jobs.file_versions import parse_time
from labext.jobs.identity import stored_settings

STATES = (
    "Complete",
    "Running",
    "In Queue",
    "Pending",
    "Stopped",
    "Failed",
    "Aggregating",
    "AggregationFailed",
    "Deleted",
)
"""The states of jobs and batches that are known; a service may have others."""

_STATE_GROUPS = {
    # A service may say Stopped of a failure, of a time limit and of a stop by hand alike.
    "failed": frozenset({"failed", "stopped", "aggregationfailed"}),
    "queued": frozenset({"inqueue", "pending"}),
    "completed": frozenset({"complete"}),
}
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(min|[smhdw])")
_DURATION = re.compile(rf"(?:{_DURATION_PART.pattern})+", re.IGNORECASE)


@dataclass(frozen=True)
class JobFilter:
    """A filter of job rows; a field that is None matches every row.

    Attributes:
        state: a state, in any case and with or without blanks; `failed` also stands for `Stopped`
            and `AggregationFailed`, `queued` for `In Queue` and `Pending`.
        tool: the tool of a job, of a batch's jobs, or of a stage of a pipeline; or `batch` or
            `pipeline`.
        since: the earliest time of creation.
    """

    state: str | None = None
    tool: str | None = None
    since: datetime | None = None

    @classmethod
    def parse(
        cls, state: str | None, tool: str | None, since: str | datetime | timedelta | None
    ) -> Self:
        """Return a filter whose earliest time is written as for `parse_since`."""
        return cls(state, tool, None if since is None else parse_since(since))

    def __bool__(self) -> bool:
        return self != JobFilter()

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row is to be listed."""
        return (
            (
                self.state is None
                or _normalize_state(records.phase(row)) in _matching_states(self.state)
            )
            and (self.tool is None or self.tool.casefold() in row_tools(row))
            and not self._is_before(row)
        )

    def is_past(self, page: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether a page of a list, newest first, ends before the earliest time.

        A page whose times do not descend says nothing about the next one.
        """
        if self.since is None or len(page) < 2:
            return False
        times = [parse_time(row.get("Created")) for row in page]
        known_times = [time for time in times if time is not None]
        descends = all(later >= earlier for later, earlier in pairwise(known_times))
        return len(known_times) == len(times) and descends and known_times[-1] < self.since

    def check_state(self, seen: Mapping[str, int]) -> None:
        """Check a state that no row is in.

        Raises:
            InputError: it is unknown, and not in the service's tally.
        """
        if self.state is None or _normalize_state(self.state) in _STATE_GROUPS:
            return
        states = [*dict.fromkeys([*STATES, *seen])]
        if _normalize_state(self.state) not in map(_normalize_state, states):
            raise InputError(
                f'No job is "{self.state}"{messages.did_you_mean(self.state, states)}.',
                f"States are {messages.join_words(states, len(states))}.",
            )

    def _is_before(self, row: Mapping[str, Any]) -> bool:
        if self.since is None:
            return False
        created = parse_time(row.get("Created"))
        return created is None or created < self.since


ALL_JOBS = JobFilter()
"""A filter that every row matches."""


def row_tools(row: Mapping[str, Any]) -> set[str]:
    """Return the type of a row and the tools behind it, in lower case."""
    settings = stored_settings(row) or {}
    tools_named = [row.get("Type")]
    if records.is_batch(row):
        tools_named += [settings.get("type"), settings.get("tool")]
    elif records.is_pipeline(row) and isinstance(settings.get("stages"), list):
        for stage in settings["stages"]:
            tools = stage.get("toolSettings") if isinstance(stage, Mapping) else None
            tools_named += [*tools] if isinstance(tools, Mapping) else []
    return {name.casefold() for name in tools_named if isinstance(name, str)}


def parse_since(value: str | datetime | timedelta, now: datetime | None = None) -> datetime:
    """Return the time that a date, a time or a duration names.

    Args:
        value: `2026-03-01`, `2026-03-01 14:30`, `14:30` (the last one), `today`, `yesterday`, or
            how long ago: `2h`, `3d`, `1d12h`. Without a zone it is the machine's.
        now: the present.

    Raises:
        InputError: it is none of these.
    """
    now = (now or datetime.now(UTC)).astimezone()
    if not isinstance(value, str):
        if value != value:  # NaT of pandas
            raise _invalid_time(value)
        if isinstance(value, timedelta):
            return now - value
        return datetime.fromisoformat(value.isoformat()).astimezone()  # also one of pandas
    text = value.strip()
    if _DURATION.fullmatch(text):
        parts = _DURATION_PART.findall(text.lower())
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
        try:
            return now - timedelta(seconds=seconds)
        except OverflowError:
            raise _invalid_time(value) from None
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if text.lower() == "today":
        return midnight
    if text.lower() == "yesterday":
        return midnight - timedelta(days=1)
    try:
        at = clock_time.fromisoformat(text)
    except ValueError:
        pass
    else:
        if ":" in text and at.tzinfo is None:
            last = datetime.combine(now.date(), at).astimezone()
            return last if last <= now else last - timedelta(days=1)
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise _invalid_time(value) from None


def _invalid_time(value: object) -> InputError:
    return InputError(
        f"{messages.quote_value(value)} is no date, time or duration.",
        'Write 2026-03-01, "2026-03-01 14:30", 14:30, today, 2h or 3d.',
    )


def _matching_states(state: str) -> frozenset[str]:
    plain = _normalize_state(state)
    return _STATE_GROUPS.get(plain, frozenset({plain}))


def _normalize_state(state: str) -> str:
    """Return a state without case and without separators between its words."""
    return re.sub(r"[\W_]+", "", state).casefold()

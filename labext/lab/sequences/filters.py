"""Filters of a sequence list: sent to the platform and checked again locally."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from numbers import Integral
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

from labext import messages
from labext.dna import same_molecule
from labext.errors import InputError
from labext.lab.api import Record
from labext.messages import quote_value

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {">": gt, ">=": ge, "<": lt, "<=": le}
_BOUND_PATTERN = re.compile(r"\s*(>=|<=|>|<)?\s*([^<>=]+?)\s*")
_SEPARATOR = re.compile(r"\s+AND\s+|\s*,\s*", re.IGNORECASE)
_EXAMPLE = 'Write it like "> 2024-01-01", or like "> 2024-01-01 AND < 2024-07-01".'


class TimeBound(NamedTuple):
    """One end of a range: its sign, and the time as written and as parsed."""

    sign: str
    text: str
    time: datetime

    def holds(self, time: datetime) -> bool:
        """Return whether a time is on the required side."""
        return _OPERATORS[self.sign](time, self.time)


class TimeRange(NamedTuple):
    """A range of time, of one bound or two."""

    bounds: tuple[TimeBound, ...]

    def __str__(self) -> str:
        """Return the range as the platform reads it: `> 2024-01-01 AND < 2024-07-01`."""
        return " AND ".join(f"{bound.sign} {bound.text}" for bound in self.bounds)

    def holds(self, written: Any) -> bool:
        """Return whether the time in a record is within; an unreadable one is not."""
        time = _parse_time(written)
        return time is not None and all(bound.holds(time) for bound in self.bounds)


def parse_time_range(value: Any) -> TimeRange:
    """Return the range that a user means.

    Args:
        value: `> 2024-01-01`, `< 2024-07-01`, both with AND between, or a pair (since, until) of
            which either may be None. Dates and times may be text (ISO 8601), `date` or `datetime`.
            One without a sign is a beginning; one without a time zone is UTC.

    Raises:
        InputError: it is none of these.
    """
    parts = value if isinstance(value, tuple | list) and len(value) == 2 else _split_bounds(value)
    bounds = [
        _parse_bound(part, sign)
        for part, sign in zip(parts, (">", "<"), strict=False)
        if part is not None
    ]
    if not bounds:
        raise InputError("The time range has no bounds.", _EXAMPLE)
    return TimeRange(tuple(bounds))


def _parse_time(written: Any) -> datetime | None:
    """Return the time of an ISO 8601 text; None if it is not one."""
    if not isinstance(written, str):
        return None
    try:
        time = datetime.fromisoformat(written)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _split_bounds(value: Any) -> list[Any]:
    return _SEPARATOR.split(value.strip(), maxsplit=1) if isinstance(value, str) else [value]


def _parse_bound(value: Any, sign: str) -> TimeBound:
    if isinstance(value, date):
        value = value.isoformat()
    match = _BOUND_PATTERN.fullmatch(value) if isinstance(value, str) else None
    time = _parse_time(match[2]) if match else None
    if match is None or time is None:
        raise InputError(f"{quote_value(value)} is not a time range.", _EXAMPLE)
    return TimeBound(match[1] or sign, match[2], time)


_MAX_FILTER_LENGTH = 4000
"""Characters of one filter in a request: more would be too long an address for many servers."""

_NAME_FIELDS = ("name", "aliases", "entityRegistryId")


@dataclass(frozen=True)
class Filter:
    """One filter.

    Attributes:
        check: returns whether a record passes.
        reads: the fields of a record that `check` looks at.
        sent: the query, by name; empty for a filter that is only applied here.
        values: the values sent as a list under `listed`, possibly in several requests.
        listed: the query's name for `values`.
    """

    check: Callable[[Record], bool]
    reads: tuple[str, ...]
    sent: Mapping[str, str] = field(default_factory=dict)
    values: tuple[str, ...] = ()
    listed: str = ""


FilterFactory = Callable[[str, Any], Filter]
"""Makes a filter of its name, for messages, and the value that a user gave."""


def check_text(name: str, value: Any) -> str:
    """Return the text that a filter was given.

    Raises:
        InputError: it is none, or empty.
    """
    if not isinstance(value, str) or not value.strip():
        raise InputError(
            f"{quote_value(value)} is not text, as the filter {name} requires.", "Give it a text."
        )
    return value.strip()


def _check_texts(name: str, value: Any) -> tuple[str, ...]:
    """Return values given as a text with commas, or as several texts, each once."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise InputError(
            f"{quote_value(value)} is not a list of texts, as the filter {name} requires.",
            "Give it a list of texts.",
        )
    texts = tuple(dict.fromkeys(check_text(name, item) for item in value))
    if not texts:
        raise InputError(f"The filter {name} has no values.", "Leave it out, or give it some.")
    return texts


def _has_name(record: Record, right: Callable[[str], bool]) -> bool:
    """Return whether the name, an alias or the registry ID of a sequence satisfies `right`."""
    if "name" not in record:
        return True
    aliases = record.get("aliases")
    called = [record["name"], record.get("entityRegistryId")]
    called += aliases if isinstance(aliases, list) else []
    return any(right(name.casefold()) for name in called if isinstance(name, str))


def _name_filter(name: str, value: Any) -> Filter:
    required = check_text(name, value)
    folded = required.casefold()
    return Filter(lambda record: _has_name(record, folded.__eq__), _NAME_FIELDS, {"name": required})


def _name_includes_filter(name: str, value: Any) -> Filter:
    required = check_text(name, value)
    folded = required.casefold()
    return Filter(
        lambda record: _has_name(record, lambda called: folded in called),
        _NAME_FIELDS,
        {"nameIncludes": required},
    )


def _names_filter(name: str, value: Any) -> Filter:
    required = _check_texts(name, value)
    folded = {text.casefold() for text in required}
    # Of a name with a comma or a quote within the platform would make others.
    values = () if any({",", '"'}.intersection(text) for text in required) else required
    return Filter(
        lambda record: _has_name(record, folded.__contains__),
        _NAME_FIELDS,
        values=values,
        listed="names.anyOf",
    )


def _bases_filter(name: str, value: Any) -> Filter:
    required = "".join(check_text(name, value).split())

    def check(record: Record) -> bool:
        if "bases" not in record:
            return True
        bases, circular = record["bases"], record.get("isCircular") is True
        return isinstance(bases, str) and same_molecule(required, bases, circular=circular)

    parameters = {"bases": required} if len(required) <= _MAX_FILTER_LENGTH else {}
    return Filter(check, ("bases", "isCircular"), parameters)


def _equals(parameter_name: str, *path: str) -> FilterFactory:
    """Return the factory of a filter for the text at a path of a record."""

    def make(name: str, value: Any) -> Filter:
        required = check_text(name, value)
        return Filter(
            lambda record: _value_at(record, path, required) == required,
            path[:1],
            {parameter_name: required},
        )

    return make


def _any_of(parameter_name: str, *path: str) -> FilterFactory:
    """Return the maker of a filter for a text at a path that may be any of several."""

    def make(name: str, value: Any) -> Filter:
        required = _check_texts(name, value)
        allowed = set(required)
        return Filter(
            lambda record: _value_at(record, path, required[0]) in allowed,
            path[:1],
            values=required,
            listed=parameter_name,
        )

    return make


def _value_at(record: Record, path: tuple[str, ...], otherwise: str) -> Any:
    """Return a record's value at a path; `otherwise` if the record has no such field."""
    if path[0] not in record:
        return otherwise
    item: Any = record
    for name in path:
        item = item.get(name) if isinstance(item, dict) else None
    return item if isinstance(item, str) else None


def _time_filter(name: str) -> FilterFactory:
    def make(_: str, value: Any) -> Filter:
        required = parse_time_range(value)
        return Filter(
            lambda record: name not in record or required.holds(record[name]),
            (name,),
            {name: str(required)},
        )

    return make


def _archive_reason_filter(name: str, value: Any) -> Filter:
    required = check_text(name, value)

    def check(record: Record) -> bool:
        if "archiveRecord" not in record or required == "ANY_ARCHIVED_OR_NOT_ARCHIVED":
            return True
        archived = record["archiveRecord"]
        if required in ("NOT_ARCHIVED", "ANY_ARCHIVED"):
            return (archived is None) == (required == "NOT_ARCHIVED")
        return isinstance(archived, dict) and archived.get("reason") == required

    return Filter(check, ("archiveRecord",), {"archiveReason": required})


def _length_filter(holds: Callable[[int, int], bool]) -> FilterFactory:
    def make(name: str, value: Any) -> Filter:
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 0:
            raise InputError(
                f"{quote_value(value)} is not a length.", f"Give {name} a number of bases."
            )
        required = int(value)

        def check(record: Record) -> bool:
            length = _record_length(record)
            return length is not None and holds(length, required)

        return Filter(check, ("length",))

    return make


def _record_length(record: Record) -> int | None:
    length = record.get("length")
    if isinstance(length, int):
        return length
    bases = record.get("bases")
    return len(bases) if isinstance(bases, str) else None


def _circular_filter(name: str, value: Any) -> Filter:
    if not isinstance(value, bool):
        raise InputError(
            f"{quote_value(value)} is neither true nor false.", f"Give {name} one of them."
        )
    return Filter(lambda record: record.get("isCircular") is value, ("isCircular",))


FILTER_FACTORIES: Mapping[str, FilterFactory] = {
    "ids": _any_of("ids", "id"),
    "name": _name_filter,
    "name_includes": _name_includes_filter,
    "names": _names_filter,
    "bases": _bases_filter,
    "folder_id": _equals("folderId", "folderId"),
    "project_id": _equals("projectId", "projectId"),
    "schema_id": _equals("schemaId", "schema", "id"),
    "created_at": _time_filter("createdAt"),
    "modified_at": _time_filter("modifiedAt"),
    "archive_reason": _archive_reason_filter,
    "creator_ids": _any_of("creatorIds", "creator", "id"),
    "min_length": _length_filter(ge),
    "max_length": _length_filter(le),
    "circular": _circular_filter,
}


MAX_VALUES = 100
"""Values of one filter in a request; more are split over several requests."""

FILTER_NAMES = ("folder", *FILTER_FACTORIES, "sort")
"""The filters that there are; `LabClient` turns `folder` into `folder_id`."""

_SORTS = ("createdAt", "modifiedAt", "name")


class Filters:
    """The filters of one list.

    Args:
        given: as `LabClient.sequences` takes them, but for `folder`; None is no filter.

    Raises:
        InputError: one that there isn't, or a value that it can't have.
    """

    def __init__(self, filters: Mapping[str, Any]) -> None:
        self._filters: list[Filter] = []
        self._sort: str | None = None
        for name, value in filters.items():
            if name not in FILTER_FACTORIES and name != "sort":
                raise InputError(
                    f'There is no filter "{name}"{messages.did_you_mean(name, FILTER_NAMES)}.',
                    f"Filters are {', '.join(FILTER_NAMES)}.",
                )
            if name == "sort" and value is not None:
                self._sort = _check_sort(value)
            elif value is not None:
                self._filters.append(FILTER_FACTORIES[name](name, value))
        shortest, longest = filters.get("min_length"), filters.get("max_length")
        if shortest is not None and longest is not None and shortest > longest:
            raise InputError(
                "The minimum length exceeds the maximum.",
                "Give a minimum length below the maximum.",
            )

    @property
    def reads(self) -> list[str]:
        """The fields of a record that the filters look at."""
        return list(dict.fromkeys(name for filter_ in self._filters for name in filter_.reads))

    @property
    def local(self) -> bool:
        """Whether some filter is not sent, so that a page may have records that don't pass."""
        many = sum(len(filter_.values) > MAX_VALUES for filter_ in self._filters)
        return many > 1 or any(not filter_.sent and not filter_.values for filter_ in self._filters)

    def queries(self) -> Iterable[dict[str, str]]:
        """Return the queries to send: one, or one for each hundred values of a filter."""
        query = {} if self._sort is None else {"sort": self._sort}
        for filter_ in self._filters:
            query |= filter_.sent
        several = [filter_ for filter_ in self._filters if filter_.values]
        # Of two filters with many values one is enough; the other is applied here.
        longest = max(several, key=lambda item: len(item.values), default=None)
        for filter_ in several:
            if filter_ is not longest and len(filter_.values) <= MAX_VALUES:
                query[filter_.listed] = ",".join(filter_.values)
        if longest is None:
            return [query]
        return [
            {**query, longest.listed: ",".join(longest.values[start : start + MAX_VALUES])}
            for start in range(0, len(longest.values), MAX_VALUES)
        ]

    def passes(self, record: Record) -> bool:
        """Return whether a record passes every filter."""
        return all(filter_.check(record) for filter_ in self._filters)

    def __bool__(self) -> bool:
        return bool(self._filters)


def _check_sort(value: Any) -> str:
    order = check_text("sort", value)
    field, _, direction = order.partition(":")
    if field not in _SORTS or (":" in order and direction not in ("asc", "desc")):
        raise InputError(
            f'A list can\'t be sorted by "{order}"{messages.did_you_mean(field, _SORTS)}.',
            f"Sort by {', '.join(_SORTS)}, optionally with :asc or :desc.",
        )
    return order

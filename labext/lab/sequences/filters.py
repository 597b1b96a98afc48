"""Filters of a sequence list, sent to the platform and also applied by the client."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from numbers import Integral
from operator import contains, eq, ge, gt, le, lt
from typing import Any, NamedTuple
from urllib.parse import quote

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
    """One bound of a time range: a comparison operator, and the time as text and parsed."""

    operator: str
    text: str
    time: datetime

    def contains(self, time: datetime) -> bool:
        """Return True if a time satisfies the bound."""
        return _OPERATORS[self.operator](time, self.time)


class TimeRange(NamedTuple):
    """A time range with one or two bounds."""

    bounds: tuple[TimeBound, ...]

    def __str__(self) -> str:
        """Return the range in the platform's syntax: `> 2024-01-01 AND < 2024-07-01`."""
        return " AND ".join(f"{bound.operator} {bound.text}" for bound in self.bounds)

    def contains(self, value: Any) -> bool:
        """Return True if the time in a record's field is in the range; False if it is invalid."""
        time = _parse_time(value)
        return time is not None and all(bound.contains(time) for bound in self.bounds)


def parse_time_range(value: Any) -> TimeRange:
    """Parse a time range.

    Args:
        value: `> 2024-01-01`, `< 2024-07-01`, both joined by AND, or a pair (start, end), either
            of which may be None. Dates and times are ISO 8601 text, `date` or `datetime`. A time
            without an operator is a start; a time without a time zone is in UTC.
    """
    parts = value if isinstance(value, tuple | list) and len(value) == 2 else [value]
    if isinstance(value, str):
        parts = _SEPARATOR.split(value.strip(), maxsplit=1)
    bounds = [
        _parse_bound(part, default_operator)
        for part, default_operator in zip(parts, (">", "<"), strict=False)
        if part is not None
    ]
    if not bounds:
        raise InputError("The time range has no bounds.", _EXAMPLE)
    return TimeRange(tuple(bounds))


def _parse_time(value: Any) -> datetime | None:
    """Parse an ISO 8601 text; None if it is invalid."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _parse_bound(value: Any, default_operator: str) -> TimeBound:
    if isinstance(value, date):
        value = value.isoformat()
    match = _BOUND_PATTERN.fullmatch(value) if isinstance(value, str) else None
    time = _parse_time(match[2]) if match else None
    if match is None or time is None:
        raise InputError(f"{quote_value(value)} is not a time range.", _EXAMPLE)
    return TimeBound(match[1] or default_operator, match[2], time)


_MAX_FILTER_LENGTH = 4000
"""Maximum number of characters of one filter in a URL; many servers reject longer URLs."""

_NAME_FIELDS = ("name", "aliases", "entityRegistryId")


@dataclass(frozen=True)
class Filter:
    """One filter.

    Attributes:
        matches: returns True if a record passes the filter.
        fields: the fields of a record that `matches` reads.
        parameters: query parameters by name; empty if the filter is applied by the client only.
        values: values of the query parameter `values_parameter`, possibly sent in several requests.
        values_parameter: the name of the query parameter for `values`.
    """

    matches: Callable[[Record], bool]
    fields: tuple[str, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)
    values: tuple[str, ...] = ()
    values_parameter: str = ""

    @property
    def groups(self) -> list[list[str]]:
        """The values of each request: at most `MAX_VALUES`, within `_MAX_FILTER_LENGTH`."""
        groups: list[list[str]] = []
        length = 0
        for value in self.values:
            added = len(quote(f"{value},", safe=""))
            length += added
            if not groups or len(groups[-1]) == MAX_VALUES or length > _MAX_FILTER_LENGTH:
                groups.append([])
                length = added
            groups[-1].append(value)
        return groups


FilterFactory = Callable[[str, Any], Filter]
"""Creates a filter from its name, which is used in messages, and its value."""


def check_text(name: str, value: Any) -> str:
    """Return the stripped text value of a filter."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(
            f"{quote_value(value)} is not text, as the filter {name} requires.",
            "Give a non-empty text.",
        )
    return value.strip()


def _check_texts(name: str, value: Any) -> tuple[str, ...]:
    """Return the distinct text values of a comma-separated string or a list of strings."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise InputError(
            f"{quote_value(value)} is not a list of texts, as the filter {name} requires.",
            "Give a list of texts.",
        )
    texts = tuple(dict.fromkeys(check_text(name, item) for item in value))
    if not texts:
        raise InputError(f"The filter {name} has no values.", "Omit it, or add values.")
    return texts


def _any_name_matches(record: Record, predicate: Callable[[str], bool]) -> bool:
    """Return True if the name, an alias or the registry ID of a sequence satisfies `predicate`."""
    if "name" not in record:
        return True
    aliases = record.get("aliases")
    names = [record["name"], record.get("entityRegistryId")]
    names += aliases if isinstance(aliases, list) else []
    return any(predicate(name.casefold()) for name in names if isinstance(name, str))


def _name_filter(
    parameter_name: str, compare: Callable[[str, str], bool], name: str, value: Any
) -> Filter:
    required = check_text(name, value)
    folded = required.casefold()
    return Filter(
        lambda record: _any_name_matches(record, lambda own: compare(own, folded)),
        _NAME_FIELDS,
        {parameter_name: required},
    )


def _names_filter(name: str, value: Any) -> Filter:
    required = _check_texts(name, value)
    folded = {text.casefold() for text in required}
    # The platform splits names at commas and interprets quotes.
    values = () if any({",", '"'}.intersection(text) for text in required) else required
    return Filter(
        lambda record: _any_name_matches(record, folded.__contains__),
        _NAME_FIELDS,
        values=values,
        values_parameter="names.anyOf",
    )


_NO_BASE = re.compile("[^ACGTRYSWKMBDHVN]", re.IGNORECASE)


def _bases_filter(name: str, value: Any) -> Filter:
    required = "".join(check_text(name, value).split())
    if (letter := _NO_BASE.search(required)) is not None:
        raise InputError(
            f"{quote_value(letter[0])} is not a base of DNA, as the filter {name} requires.",
            "Give the whole sequence in IUPAC letters, without numbers.",
        )

    def matches(record: Record) -> bool:
        if "bases" not in record:
            return True
        bases, circular = record["bases"], record.get("isCircular") is True
        return isinstance(bases, str) and same_molecule(required, bases, circular=circular)

    parameters = {"bases": required} if len(required) <= _MAX_FILTER_LENGTH else {}
    return Filter(matches, ("bases", "isCircular"), parameters)


def _any_of(
    parameter_name: str, path: tuple[str, ...], name: str, value: Any, *, single: bool = False
) -> Filter:
    """Return a filter that compares the text at a path with one or several values."""
    required = (check_text(name, value),) if single else _check_texts(name, value)
    allowed = set(required)
    return Filter(
        lambda record: _value_at(record, path, required[0]) in allowed,
        path[:1],
        values=required,
        values_parameter=parameter_name,
    )


def _value_at(record: Record, path: tuple[str, ...], default: str) -> Any:
    """Return a record's value at a path; `default` if the record does not have the field."""
    if path[0] not in record:
        return default
    item: Any = record
    for name in path:
        item = item.get(name) if isinstance(item, dict) else None
    return item if isinstance(item, str) else None


def _time_filter(field: str, _: str, value: Any) -> Filter:
    required = parse_time_range(value)
    return Filter(
        lambda record: field not in record or required.contains(record[field]),
        (field,),
        {field: str(required)},
    )


def _archive_reason_filter(name: str, value: Any) -> Filter:
    required = check_text(name, value)

    def matches(record: Record) -> bool:
        if "archiveRecord" not in record or required == "ANY_ARCHIVED_OR_NOT_ARCHIVED":
            return True
        archived = record["archiveRecord"]
        if required in ("NOT_ARCHIVED", "ANY_ARCHIVED"):
            return (archived is None) == (required == "NOT_ARCHIVED")
        return isinstance(archived, dict) and archived.get("reason") == required

    return Filter(matches, ("archiveRecord",), {"archiveReason": required})


def _length_filter(compare: Callable[[int, int], bool], name: str, value: Any) -> Filter:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 0:
        raise InputError(
            f"{quote_value(value)} is not a length.", f"Give {name} as a number of bases."
        )
    required = int(value)

    def matches(record: Record) -> bool:
        length, bases = record.get("length"), record.get("bases")
        if not isinstance(length, int) and isinstance(bases, str):
            length = len(bases)
        return isinstance(length, int) and compare(length, required)

    return Filter(matches, ("length",))


def _circular_filter(name: str, value: Any) -> Filter:
    circular = value.item() if getattr(value, "ndim", None) == 0 else value  # of numpy
    if not isinstance(circular, bool):
        raise InputError(
            f"{quote_value(value)} is neither true nor false.", f"Set {name} to true or false."
        )
    return Filter(lambda record: record.get("isCircular") is circular, ("isCircular",))


FILTER_FACTORIES: Mapping[str, FilterFactory] = {
    "ids": partial(_any_of, "ids", ("id",)),
    "name": partial(_name_filter, "name", eq),
    "name_includes": partial(_name_filter, "nameIncludes", contains),
    "names": _names_filter,
    "bases": _bases_filter,
    "folder_id": partial(_any_of, "folderId", ("folderId",), single=True),
    "project_id": partial(_any_of, "projectId", ("projectId",), single=True),
    "schema_id": partial(_any_of, "schemaId", ("schema", "id"), single=True),
    "created_at": partial(_time_filter, "createdAt"),
    "modified_at": partial(_time_filter, "modifiedAt"),
    "archive_reason": _archive_reason_filter,
    "creator_ids": partial(_any_of, "creatorIds", ("creator", "id")),
    "min_length": partial(_length_filter, ge),
    "max_length": partial(_length_filter, le),
    "circular": _circular_filter,
}


MAX_VALUES = 100
"""Maximum number of values of one filter per request; more are split over several requests."""

FILTER_NAMES = ("folder", *FILTER_FACTORIES, "sort")
"""All filters; `LabClient` converts `folder` to `folder_id`."""

_SORTS = ("createdAt", "modifiedAt", "name")


class Filters:
    """The filters of one list.

    Args:
        filters: filters of `LabClient.sequences` except `folder`; filters set to None are ignored.
    """

    def __init__(self, filters: Mapping[str, Any]) -> None:
        self._filters: list[Filter] = []
        self._sort: str | None = None
        for name, value in filters.items():
            if name not in FILTER_FACTORIES and name != "sort":
                raise InputError(
                    f'Unknown filter "{name}"{messages.did_you_mean(name, FILTER_NAMES)}.',
                    f"The filters are {', '.join(FILTER_NAMES)}.",
                )
            if name == "sort" and value is not None:
                self._sort = _check_sort(value)
            elif value is not None:
                self._filters.append(FILTER_FACTORIES[name](name, value))
        min_length, max_length = filters.get("min_length"), filters.get("max_length")
        if min_length is not None and max_length is not None and min_length > max_length:
            raise InputError(
                "The minimum length exceeds the maximum.",
                "Give a minimum length below the maximum.",
            )

    @property
    def fields(self) -> list[str]:
        """The fields of a record that the filters and the sort read."""
        names = [name for filter_ in self._filters for name in filter_.fields]
        if self._sort is not None and self.sorts:
            names.append(self._sort.partition(":")[0])
        return list(dict.fromkeys(names))

    @property
    def sorts(self) -> bool:
        """True if the client must sort, since each of several requests is sorted separately."""
        return self._sort is not None and any(len(item.groups) > 1 for item in self._filters)

    @property
    def local(self) -> bool:
        """True if a filter is applied by the client only, so that pages contain other records."""
        split_filters = sum(len(filter_.groups) > 1 for filter_ in self._filters)
        return split_filters > 1 or any(
            not filter_.parameters and not filter_.values for filter_ in self._filters
        )

    def queries(self) -> Iterable[dict[str, str]]:
        """Return the query parameters of each request: one per group of values of a filter."""
        query = {} if self._sort is None else {"sort": self._sort}
        for filter_ in self._filters:
            query |= filter_.parameters
        groups = {
            filter_.values_parameter: filter_.groups for filter_ in self._filters if filter_.values
        }
        # Only one filter is split over requests; others with many values are applied by the client.
        longest = max(groups, key=lambda name: len(groups[name]), default=None)
        for name, (first, *others) in groups.items():
            if name != longest and not others:
                query[name] = ",".join(first)
        if longest is None:
            return [query]
        return [{**query, longest: ",".join(group)} for group in groups[longest]]

    def matches(self, record: Record) -> bool:
        """Return True if a record passes all filters."""
        return all(filter_.matches(record) for filter_ in self._filters)

    def sort(self, records: Iterable[Record]) -> list[Record]:
        """Return the records in the order of the filter `sort`; those without a value are last."""
        field, _, direction = (self._sort or "").partition(":")
        parse: Callable[[Any], Any] = _fold if field == "name" else _parse_time
        keyed = [(parse(record.get(field)), record) for record in records]
        descending = direction == "desc" if direction else field != "name"
        in_order = [pair for pair in keyed if pair[0] is not None]
        in_order.sort(key=lambda pair: pair[0], reverse=descending)
        return [record for _, record in in_order] + [item for key, item in keyed if key is None]

    def __bool__(self) -> bool:
        return bool(self._filters)


def _fold(value: Any) -> str | None:
    return value.casefold() if isinstance(value, str) else None


def _check_sort(value: Any) -> str:
    order = check_text("sort", value)
    field, _, direction = order.partition(":")
    if field not in _SORTS or (":" in order and direction not in ("asc", "desc")):
        raise InputError(
            f'Sequences can\'t be sorted by "{order}"{messages.did_you_mean(field, _SORTS)}.',
            f"Sort by {', '.join(_SORTS)}, optionally with :asc or :desc.",
        )
    return order

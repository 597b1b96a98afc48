"""The query of the list of sequences, read and checked (real-services.md, lab, List).

A value that won't do is a 400 that names its parameter. Parameters that the platform does not know
are ignored, as the real service does.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from labext.sandbox.lab import returning
from labext.sandbox.lab.faults import invalid
from labext.sandbox.lab.records import LONGEST_NAME
from labext.sandbox.lab.store import written
from labext.wording import shown

LARGEST_PAGE = 100
PAGE = 50
MOST_NAMES = 100
MOST_BOUNDS = 20

NOT_ARCHIVED, ANY_ARCHIVED = "NOT_ARCHIVED", "ANY_ARCHIVED"
EITHER = "ANY_ARCHIVED_OR_NOT_ARCHIVED"

SORTS = {"createdAt": "created", "modifiedAt": "modified", "name": "folded"}
"""What the list is sorted by, and the column that it is."""

BOUND = (
    *("archiveReason", "bases", "createdAt", "creatorIds", "folderId", "ids", "modifiedAt", "name"),
    *("nameIncludes", "names.anyOf", "projectId", "schemaId", "sort"),
)
"""The parameters that have to be the same on every page of a list."""

_RANGE = re.compile(r"(>=|<=|>|<)\s*(.+)")


@dataclass(frozen=True)
class Sort:
    """An order: a column of `store.Sequence`, and whether it falls. Ids decide between equals."""

    column: str
    falling: bool


@dataclass(frozen=True)
class Bound:
    """One side of a range of times: `>`, `<`, `>=` or `<=`, and the time as `store.written`."""

    operator: str
    time: str


@dataclass(frozen=True)
class Query:
    """What is asked for; None where a parameter is absent.

    Attributes:
        name: the whole name, an alias, or the registry's number; upper and lower case are the
            same, as in all that is about names.
        names: any of these.
        bases: all of a molecule's, see `sameness`.
        archived: a reason, or one of `NOT_ARCHIVED`, `ANY_ARCHIVED` and `EITHER`.
        fields: which fields of the records are wanted; None for all.
        scope: stands for all of it but the page: a `nextToken` is good for no other.
    """

    page_size: int
    next_token: str
    sort: Sort
    ids: tuple[str, ...] | None
    name: str | None
    name_includes: str | None
    names: tuple[str, ...] | None
    bases: str | None
    folder_id: str | None
    project_id: str | None
    schema_id: str | None
    created: tuple[Bound, ...]
    modified: tuple[Bound, ...]
    archived: str
    creators: tuple[str, ...] | None
    fields: returning.Fields | None
    scope: str


def parse(given: Mapping[str, str]) -> Query:
    """Read a request's parameters.

    Raises:
        HTTPException: 400, a value won't do.
    """
    return Query(
        page_size=_page_size(given),
        next_token=given.get("nextToken", ""),
        sort=_sort(given),
        ids=_list(given, "ids"),
        name=_name(given, "name"),
        name_includes=_name(given, "nameIncludes"),
        names=_names(given),
        bases=_text(given, "bases"),
        folder_id=_text(given, "folderId"),
        project_id=_text(given, "projectId"),
        schema_id=_text(given, "schemaId"),
        created=_times(given, "createdAt"),
        modified=_times(given, "modifiedAt"),
        archived=_text(given, "archiveReason") or NOT_ARCHIVED,
        creators=_list(given, "creatorIds"),
        fields=None if (text := _text(given, "returning")) is None else returning.parse(text),
        scope=_scope(given),
    )


def _text(given: Mapping[str, str], name: str) -> str | None:
    value = given.get(name)
    if value is None:
        return None
    if not value.strip():
        raise invalid(f"{name} is empty.")
    if "\0" in value:  # PostgreSQL is not to be asked for it
        raise invalid(f"{name} holds a character that no text has.")
    return value


def _name(given: Mapping[str, str], name: str) -> str | None:
    value = _text(given, name)
    if value is not None:
        _check_length(name, value)
    return value


def _check_length(name: str, value: str) -> None:
    """Databases search for no text of just any length."""
    if len(value) > LONGEST_NAME:
        raise invalid(f"{name} is longer than any name, {LONGEST_NAME} characters.")


def _list(given: Mapping[str, str], name: str) -> tuple[str, ...] | None:
    """Texts parted by commas; one that has a comma itself stands in quotes."""
    value = _text(given, name)
    if value is None:
        return None
    try:
        (row,) = csv.reader([value], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise invalid(f"{name} is not a list parted by commas: {shown(value)}.") from None
    found = tuple(item.strip() for item in row)
    if not all(found):
        raise invalid(f"{name} has an empty item: {shown(value)}.")
    return tuple(dict.fromkeys(found))


def _names(given: Mapping[str, str]) -> tuple[str, ...] | None:
    found = _list(given, "names.anyOf")
    if found is not None and len(found) > MOST_NAMES:
        raise invalid(f"names.anyOf has {len(found)} names, and {MOST_NAMES} are the most.")
    for each in found or ():
        _check_length("names.anyOf", each)
    return found


def _page_size(given: Mapping[str, str]) -> int:
    value = given.get("pageSize", str(PAGE))
    if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) <= LARGEST_PAGE):
        raise invalid(f"pageSize is not a whole number, 0 to {LARGEST_PAGE}: {shown(value)}.")
    return int(value)


def _sort(given: Mapping[str, str]) -> Sort:
    """The order; without a direction the latest first, and names from A to Z."""
    value = given.get("sort", "modifiedAt:desc")
    name, colon, direction = value.partition(":")
    if name not in SORTS or (colon and direction not in ("asc", "desc")):
        raise invalid(
            f"sort is createdAt, modifiedAt or name, with :asc or :desc or without: {shown(value)}."
        )
    return Sort(SORTS[name], direction == "desc" if colon else name != "name")


def _times(given: Mapping[str, str], name: str) -> tuple[Bound, ...]:
    value = _text(given, name)
    if value is None:
        return ()
    parts = re.split(r"\sAND\s", value)
    if len(parts) > MOST_BOUNDS:
        raise invalid(f"{name} has {len(parts)} bounds, and {MOST_BOUNDS} are the most.")
    return tuple(_bound(part.strip(), name) for part in parts)


def _bound(text: str, name: str) -> Bound:
    matched = _RANGE.fullmatch(text)
    try:
        if matched is None:
            raise ValueError(text)
        moment = datetime.fromisoformat(matched[2])
        # Times without a zone are UTC.
        return Bound(matched[1], written(moment if moment.tzinfo else moment.replace(tzinfo=UTC)))
    except (ValueError, OverflowError):
        raise invalid(
            f"{name} is not a range such as '> 2024-01-31' or '>= 2024-01-31T12:00:00Z AND "
            f"< 2024-03-01': {shown(text)}."
        ) from None


def _scope(given: Mapping[str, str]) -> str:
    asked = [given.get(name) for name in BOUND]
    return hashlib.sha256(orjson.dumps(asked)).hexdigest()[:16]

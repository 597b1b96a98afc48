"""Parse and validate the query parameters of the sequence list.

An invalid value is a 400 that names its parameter, and so is a parameter that the list does not
know: a filter that was ignored would look like a filter that matches everything.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson
from starlette.datastructures import QueryParams

from labext import wording
from labext.sandbox.lab import returning
from labext.sandbox.lab.faults import invalid
from labext.sandbox.lab.records import LONGEST_NAME
from labext.sandbox.lab.store import written
from labext.wording import shown

LARGEST_PAGE = 100
PAGE = 50
MOST_NAMES = 100
MOST_BOUNDS = 20
MOST_FIELDS = 20

NOT_ARCHIVED, ANY_ARCHIVED = "NOT_ARCHIVED", "ANY_ARCHIVED"
EITHER = "ANY_ARCHIVED_OR_NOT_ARCHIVED"
ARCHIVE_REASONS = (
    *("Made in error", "Retired", "Expended", "Shipped", "Contaminated", "Expired", "Missing"),
    "Other",
)
"""The reasons that a sequence can be archived for."""

SORTS = {"createdAt": "created", "modifiedAt": "modified", "name": "folded"}
"""The column of `store.Sequence` for each sort order of the list."""

PAGING = ("nextToken", "pageSize", "returning")
"""Parameters that may change from one page of a list to the next."""

FILTERS = (
    *("archiveReason", "authorIds.anyOf", "bases", "createdAt", "creatorIds"),
    *("entityRegistryIds.anyOf", "folderId", "ids", "mentionedIn", "mentions", "modifiedAt"),
    *("name", "nameIncludes", "names.anyOf", "names.anyOf.caseSensitive", "projectId"),
    *("registryId", "schemaFields", "schemaId"),
)
SCHEMA_FIELD = "schemaField."
"""Prefix of a filter for one field of the schema: `schemaField.Organism`."""

UNREGISTERED = "null"
"""The value of `registryId` that selects sequences that are in no registry."""

_RANGE = re.compile(r"(>=|<=|>|<)\s*(.+)")
_FIELD_RANGE = re.compile(r"(>=|<=) (\S+)")
_IDENTIFIER = re.compile(r"[A-Za-z]+_[A-Za-z0-9]+")


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
class FieldFilter:
    """A filter for one field of the schema; the type of the field decides how it is compared.

    Attributes:
        name: the field's name.
        value: the value as it was sent.
    """

    name: str
    value: str

    @property
    def parameter(self) -> str:
        """The query parameter, for error messages."""
        return f"{SCHEMA_FIELD}{self.name}"

    def ranges(self) -> list[tuple[str, float]]:
        """Return the value as comparisons with a number: operators `==`, `>=` and `<=`.

        Raises:
            HTTPException: 400, it is neither a number nor a range of numbers.
        """
        if (exact := _number(self.value)) is not None:
            return [("==", exact)]
        found = []
        for part in self.value.split(" AND "):
            matched = _FIELD_RANGE.fullmatch(part)
            number = None if matched is None else _number(matched[2])
            if matched is None or number is None:
                raise invalid(
                    f"{self.parameter} is a number: give one, or a range such as '>= 10' or "
                    f"'>= 10 AND <= 50', not {shown(self.value)}."
                )
            found.append((matched[1], number))
        return found


@dataclass(frozen=True)
class Query:
    """The filters, order and page of a list; None where a parameter is absent.

    Attributes:
        name: the name, an alias or the registry number; case-insensitive unless said otherwise.
        names, exact_names: any of these, ignoring or respecting case.
        bases: all bases of a molecule, see `sameness`.
        registry_id: a registry, or `UNREGISTERED`.
        registry_numbers: any of these numbers in a registry.
        mentions: ids of items that the description mentions.
        mentioned_in: ids of notebook entries that mention the sequence.
        archived: a reason, or one of `NOT_ARCHIVED`, `ANY_ARCHIVED` and `EITHER`.
        fields: the requested fields of the records; None for all.
        scope: identifies the filters and the order: a `nextToken` is valid for no other.
    """

    page_size: int
    next_token: str
    sort: Sort
    ids: tuple[str, ...] | None
    name: str | None
    name_includes: str | None
    names: tuple[str, ...] | None
    exact_names: tuple[str, ...] | None
    bases: str | None
    folder_id: str | None
    project_id: str | None
    registry_id: str | None
    registry_numbers: tuple[str, ...] | None
    schema_id: str | None
    schema_fields: tuple[FieldFilter, ...]
    mentions: tuple[str, ...] | None
    mentioned_in: tuple[str, ...] | None
    created: tuple[Bound, ...]
    modified: tuple[Bound, ...]
    archived: str
    creators: tuple[str, ...] | None
    authors: tuple[str, ...] | None
    fields: returning.Fields | None
    scope: str


def parse(given: Mapping[str, str]) -> Query:
    """Parse the parameters of a request.

    Raises:
        HTTPException: 400, a parameter is unknown or its value is invalid.
    """
    check_known(given, (*FILTERS, *PAGING, "sort"), prefix=SCHEMA_FIELD)
    return Query(
        page_size=page_size(given),
        next_token=given.get("nextToken", ""),
        sort=_sort(given),
        ids=identifiers(given, "ids"),
        name=name_text(given, "name"),
        name_includes=name_text(given, "nameIncludes"),
        names=_names(given, "names.anyOf"),
        exact_names=_names(given, "names.anyOf.caseSensitive"),
        bases=text(given, "bases"),
        folder_id=text(given, "folderId"),
        project_id=text(given, "projectId"),
        registry_id=text(given, "registryId"),
        registry_numbers=_names(given, "entityRegistryIds.anyOf"),
        schema_id=text(given, "schemaId"),
        schema_fields=_schema_fields(given),
        mentions=_mentioned(given, "mentions"),
        mentioned_in=_mentioned(given, "mentionedIn"),
        created=_times(given, "createdAt"),
        modified=_times(given, "modifiedAt"),
        archived=archive_reason(given),
        creators=identifiers(given, "creatorIds"),
        authors=_names(given, "authorIds.anyOf"),
        fields=returned_fields(given),
        scope=_scope(given),
    )


def check_known(given: Mapping[str, str], known: Collection[str], *, prefix: str = "") -> None:
    """Check that every parameter is known and appears once.

    Args:
        given: the parameters of the request.
        known: the names of the parameters of the endpoint.
        prefix: names that start with it are known too; empty for none.

    Raises:
        HTTPException: 400, names the parameter, and a similar one that is known.
    """
    for name in given:
        if name not in known and not (prefix and name.startswith(prefix) and name != prefix):
            raise invalid(
                f"{shown(name)} is not a query parameter of this address"
                f"{wording.did_you_mean(name, known)}."
            )
    if isinstance(given, QueryParams):
        names = [name for name, _ in given.multi_items()]
        for name in given:
            if names.count(name) > 1:
                raise invalid(f"{name} is given {names.count(name)} times.")


def text(given: Mapping[str, str], name: str) -> str | None:
    """Return the value of a parameter that must not be blank; None where it is absent."""
    value = given.get(name)
    if value is None:
        return None
    if not value.strip():
        raise invalid(f"{name} is empty.")
    if "\0" in value:  # PostgreSQL does not accept it
        raise invalid(f"{name} holds a character that no text has.")
    return value


def name_text(given: Mapping[str, str], name: str) -> str | None:
    """Return the value of a parameter that is a name or a part of one."""
    value = text(given, name)
    if value is not None:
        _check_length(name, value)
    return value


def _check_length(name: str, value: str) -> None:
    """Check the length of a text to search for, which databases limit."""
    if len(value) > LONGEST_NAME:
        raise invalid(f"{name} is longer than any name, {LONGEST_NAME} characters.")


def identifiers(given: Mapping[str, str], name: str) -> tuple[str, ...] | None:
    """Return comma-separated values, each once; one that contains a comma is quoted."""
    value = text(given, name)
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


def _names(given: Mapping[str, str], parameter: str) -> tuple[str, ...] | None:
    """Return comma-separated values of a parameter that accepts a limited number of them."""
    found = identifiers(given, parameter)
    if found is not None and len(found) > MOST_NAMES:
        raise invalid(f"{parameter} has {len(found)} values, and {MOST_NAMES} are the most.")
    for each in found or ():
        _check_length(parameter, each)
    return found


def _mentioned(given: Mapping[str, str], parameter: str) -> tuple[str, ...] | None:
    """Return comma-separated ids of items that are not sequences of the list."""
    found = _names(given, parameter)
    for each in found or ():
        if not _IDENTIFIER.fullmatch(each):
            raise invalid(f"{parameter}: {shown(each)} is not an id such as etr_a1B2c3D4.")
    return found


def _schema_fields(given: Mapping[str, str]) -> tuple[FieldFilter, ...]:
    """Return the filters of `schemaField.NAME` and of `schemaFields`, a JSON object of the same."""
    values = {
        name.removeprefix(SCHEMA_FIELD): text(given, name)
        for name in given
        if name.startswith(SCHEMA_FIELD)
    }
    pairs = [*values.items(), *_field_object(given)]
    if pairs and "schemaId" not in given:
        raise invalid(f"{SCHEMA_FIELD}{pairs[0][0]} needs schemaId, whose field it is.")
    if len(pairs) > MOST_FIELDS:
        raise invalid(f"{SCHEMA_FIELD}: {len(pairs)} fields, and {MOST_FIELDS} are the most.")
    for name, value in pairs:
        _check_length(f"{SCHEMA_FIELD}{name}", value or "")
        _check_length(f"{SCHEMA_FIELD}{name}", name)
    return tuple(FieldFilter(name, value) for name, value in pairs if value is not None)


def _field_object(given: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    value = text(given, "schemaFields")
    if value is None:
        return []
    try:
        fields = orjson.loads(value)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or not all(
        name and isinstance(each, str | int | float) and not isinstance(each, bool)
        for name, each in fields.items()
    ):
        raise invalid(
            "schemaFields is not a JSON object of field names and values, such as "
            f'{{"Organism": "Opuntia marenae"}}: {shown(value)}. '
            f"{SCHEMA_FIELD}NAME=VALUE does the same."
        )
    return [(name.removeprefix(SCHEMA_FIELD), str(each)) for name, each in fields.items()]


def page_size(given: Mapping[str, str]) -> int:
    """Return the number of records of a page."""
    value = given.get("pageSize", str(PAGE))
    if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) <= LARGEST_PAGE):
        raise invalid(f"pageSize is not a whole number, 0 to {LARGEST_PAGE}: {shown(value)}.")
    return int(value)


def archive_reason(given: Mapping[str, str]) -> str:
    """Return a reason of `ARCHIVE_REASONS`, `NOT_ARCHIVED`, `ANY_ARCHIVED` or `EITHER`."""
    value = text(given, "archiveReason") or NOT_ARCHIVED
    known = (NOT_ARCHIVED, ANY_ARCHIVED, EITHER, *ARCHIVE_REASONS)
    if value not in known:
        raise invalid(
            f"archiveReason is not {shown(value)}{wording.did_you_mean(value, known)}. "
            f"Reasons are {', '.join(known)}."
        )
    return value


def returned_fields(given: Mapping[str, str], *, of_list: bool = True) -> returning.Fields | None:
    """Return the fields to return, see `returning.parse`; None for all."""
    value = text(given, "returning")
    return None if value is None else returning.parse(value, of_list=of_list)


def _sort(given: Mapping[str, str]) -> Sort:
    """Return the order; by default the latest first, and names from A to Z."""
    value = given.get("sort", "modifiedAt:desc")
    name, colon, direction = value.partition(":")
    if name not in SORTS or (colon and direction not in ("asc", "desc")):
        raise invalid(
            f"sort is createdAt, modifiedAt or name, with :asc or :desc or without: {shown(value)}."
        )
    return Sort(SORTS[name], direction == "desc" if colon else name != "name")


def _times(given: Mapping[str, str], name: str) -> tuple[Bound, ...]:
    value = text(given, name)
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


def _number(text: str) -> float | None:
    """Return a finite decimal number; None where the text is none."""
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _scope(given: Mapping[str, str]) -> str:
    filters = sorted((name, value) for name, value in given.items() if name not in PAGING)
    return hashlib.sha256(orjson.dumps(filters)).hexdigest()[:16]

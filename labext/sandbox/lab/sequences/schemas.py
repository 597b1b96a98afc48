"""Parse and validate the query parameters of the sequence endpoints."""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from starlette.datastructures import QueryParams

from labext import messages
from labext.messages import quote_value
from labext.sandbox.core.signing import InvalidSignatureError, Signer
from labext.sandbox.lab.errors import bad_request
from labext.sandbox.lab.sequences.records import MAX_NAME_LENGTH, RECORD_FIELDS
from labext.sandbox.lab.tables import Record, format_timestamp

LIST_FIELD, TOKEN_FIELD, ALL_FIELDS = "dnaSequences", "nextToken", "*"

ATOMIC_FIELDS = ("annotations", "translations", "primers")
"""Fields that can only be selected as a whole."""

Fields = Mapping[str, "Fields"]
"""Tree of the selected fields; `*` selects all fields of a level."""


def parse_returning(text: str, *, of_list: bool = True) -> Fields:
    """Parse the names of the fields to return.

    Those of a list start with `dnaSequences.`; its `nextToken` is accepted and always returned.
    """
    fields: dict[str, Any] = {}
    for path in filter(None, (part.strip() for part in text.split(","))):
        names = path.split(".")
        if of_list:
            if path == TOKEN_FIELD:
                continue
            head, *names = names
        is_known = not names or names[0] in (*RECORD_FIELDS, ALL_FIELDS)
        if (of_list and head != LIST_FIELD) or not all(names) or not is_known:
            example = f"{LIST_FIELD}.id" if of_list else "id"
            raise bad_request(
                f"returning: unknown field {quote_value(path)}. Write fields as {example}."
            )
        _add_path(fields, names or [ALL_FIELDS])
    return fields


def select_fields(record: Record, fields: Fields) -> Record:
    """Return the selected fields of a record."""
    if ALL_FIELDS in fields:
        return record
    return {name: _select_value(record[name], of) for name, of in fields.items() if name in record}


def _add_path(tree: dict[str, Any], names: list[str]) -> None:
    for name in names[:1] if names[0] in ATOMIC_FIELDS else names:
        tree = tree.setdefault(name, {})
    tree[ALL_FIELDS] = {}


def _select_value(value: Any, fields: Fields) -> Any:
    if isinstance(value, dict):
        return select_fields(value, fields)
    if isinstance(value, list):
        return [_select_value(item, fields) for item in value]
    return value


MAX_PAGE_SIZE = 100
DEFAULT_PAGE_SIZE = 50
MAX_NAMES = 100
MAX_BOUNDS = 20
MAX_FIELDS = 20

NOT_ARCHIVED, ANY_ARCHIVED = "NOT_ARCHIVED", "ANY_ARCHIVED"
ARCHIVED_OR_NOT = "ANY_ARCHIVED_OR_NOT_ARCHIVED"
ARCHIVE_REASONS = (
    *("Made in error", "Retired", "Expended", "Shipped", "Contaminated", "Expired", "Missing"),
    "Other",
)
"""Reasons for archiving a sequence."""

SORT_COLUMNS = {"createdAt": "created", "modifiedAt": "modified", "name": "folded"}
"""The column of `tables.Sequence` for each sort order of the list."""

PAGING_PARAMETERS = ("nextToken", "pageSize", "returning")
"""Parameters that may change from one page of a list to the next."""

FILTER_PARAMETERS = (
    *("archiveReason", "authorIds.anyOf", "bases", "createdAt", "creatorIds"),
    *("entityRegistryIds.anyOf", "folderId", "ids", "mentionedIn", "mentions", "modifiedAt"),
    *("name", "nameIncludes", "names.anyOf", "names.anyOf.caseSensitive", "projectId"),
    *("registryId", "schemaFields", "schemaId"),
)
SCHEMA_FIELD_PREFIX = "schemaField."
"""Prefix of a filter for one field of the schema: `schemaField.Organism`."""

UNREGISTERED = "null"
"""The value of `registryId` that selects sequences without a registry."""

_RANGE = re.compile(r"(>=|<=|>|<)\s*(\S.*)")
_FIELD_RANGE = re.compile(r"(>=|<=) (\S+)")
_IDENTIFIER = re.compile(r"[A-Za-z]+_[A-Za-z0-9]+")


@dataclass(frozen=True)
class SortOrder:
    """A column of `tables.Sequence` and its direction; ties are sorted by id."""

    column: str
    descending: bool


@dataclass(frozen=True)
class TimeBound:
    """A bound of a time range: `>`, `<`, `>=` or `<=`, and the time in the stored format."""

    operator: str
    time: str


@dataclass(frozen=True)
class FieldFilter:
    """A filter for one field of the schema; the type of the field decides how it is compared."""

    name: str
    value: str

    @property
    def parameter(self) -> str:
        """The query parameter, for error messages."""
        return f"{SCHEMA_FIELD_PREFIX}{self.name}"

    def ranges(self) -> list[tuple[str, float]]:
        """Return the value as comparisons with a number: operators `==`, `>=` and `<=`."""
        if (exact := _parse_number(self.value)) is not None:
            return [("==", exact)]
        comparisons = []
        for part in self.value.split(" AND "):
            matched = _FIELD_RANGE.fullmatch(part)
            number = None if matched is None else _parse_number(matched[2])
            if matched is None or number is None:
                raise bad_request(
                    f"{self.parameter} must be a number or a range such as '>= 10' or "
                    f"'>= 10 AND <= 50', not {quote_value(self.value)}."
                )
            comparisons.append((matched[1], number))
        return comparisons


@dataclass(frozen=True)
class SequenceQuery:
    """The filters, order and page of a list; None where a parameter is absent.

    Attributes:
        name: the name, an alias or the registry number; case-insensitive unless said otherwise.
        bases: all bases of a molecule; see `records.bases_key`.
        registry_id: a registry, or `UNREGISTERED`.
        registry_numbers: any of these numbers in a registry.
        mentions: ids of items that the description mentions.
        mentioned_in: ids of notebook entries that mention the sequence.
        archived: a reason, or `NOT_ARCHIVED`, `ANY_ARCHIVED` or `ARCHIVED_OR_NOT`.
        scope: a hash of the filters and the order, for which alone a `nextToken` is valid.
    """

    page_size: int
    next_token: str
    sort: SortOrder
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
    created: tuple[TimeBound, ...]
    modified: tuple[TimeBound, ...]
    archived: str
    creators: tuple[str, ...] | None
    authors: tuple[str, ...] | None
    fields: Fields | None
    scope: str


def parse_sequence_query(params: Mapping[str, str]) -> SequenceQuery:
    """Parse the parameters of a request."""
    check_known_parameters(
        params, (*FILTER_PARAMETERS, *PAGING_PARAMETERS, "sort"), prefix=SCHEMA_FIELD_PREFIX
    )
    return SequenceQuery(
        page_size=page_size_parameter(params),
        next_token=params.get("nextToken", ""),
        sort=_parse_sort(params),
        ids=id_list_parameter(params, "ids"),
        name=name_parameter(params, "name"),
        name_includes=name_parameter(params, "nameIncludes"),
        names=_name_list(params, "names.anyOf"),
        exact_names=_name_list(params, "names.anyOf.caseSensitive"),
        bases=text_parameter(params, "bases"),
        folder_id=text_parameter(params, "folderId"),
        project_id=text_parameter(params, "projectId"),
        registry_id=text_parameter(params, "registryId"),
        registry_numbers=_name_list(params, "entityRegistryIds.anyOf"),
        schema_id=text_parameter(params, "schemaId"),
        schema_fields=_schema_fields(params),
        mentions=_mention_ids(params, "mentions"),
        mentioned_in=_mention_ids(params, "mentionedIn"),
        created=_time_bounds(params, "createdAt"),
        modified=_time_bounds(params, "modifiedAt"),
        archived=archive_reason_parameter(params),
        creators=id_list_parameter(params, "creatorIds"),
        authors=_name_list(params, "authorIds.anyOf"),
        fields=returning_parameter(params),
        scope=cursor_scope(params),
    )


def check_known_parameters(
    params: Mapping[str, str], known: Collection[str], *, prefix: str = ""
) -> None:
    """Check that every parameter is known or has the prefix, if there is one, and appears once."""
    for name in params:
        if name not in known and not (prefix and name.startswith(prefix) and name != prefix):
            raise bad_request(
                f"{quote_value(name)} is not a query parameter of this address"
                f"{messages.did_you_mean(name, known)}."
            )
    if isinstance(params, QueryParams):
        names = [name for name, _ in params.multi_items()]
        for name in params:
            if names.count(name) > 1:
                raise bad_request(f"{name} appears {names.count(name)} times.")


def text_parameter(params: Mapping[str, str], name: str) -> str | None:
    """Return the value of a parameter that must not be blank; None if it is absent."""
    value = params.get(name)
    if value is None:
        return None
    if not value.strip():
        raise bad_request(f"{name} is empty.")
    if "\0" in value:  # PostgreSQL does not accept it
        raise bad_request(f"{name} contains a NUL character.")
    return value


def name_parameter(params: Mapping[str, str], name: str) -> str | None:
    """Return the value of a parameter that is a name or a part of a name."""
    value = text_parameter(params, name)
    if value is not None:
        _check_length(name, value)
    return value


def _check_length(name: str, value: str) -> None:
    """Check the length of a search text, which databases limit."""
    if len(value) > MAX_NAME_LENGTH:
        raise bad_request(f"{name} has more than {MAX_NAME_LENGTH} characters.")


def id_list_parameter(params: Mapping[str, str], name: str) -> tuple[str, ...] | None:
    """Return comma-separated values without duplicates; a value with a comma is quoted."""
    value = text_parameter(params, name)
    if value is None:
        return None
    try:
        (row,) = csv.reader([value], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise bad_request(f"{name} is not a comma-separated list: {quote_value(value)}.") from None
    items = tuple(item.strip() for item in row)
    if not all(items):
        raise bad_request(f"{name} has an empty item: {quote_value(value)}.")
    return tuple(dict.fromkeys(items))


def _name_list(params: Mapping[str, str], parameter: str) -> tuple[str, ...] | None:
    """Return comma-separated values of a parameter that accepts a limited number of them."""
    values = id_list_parameter(params, parameter)
    if values is not None and len(values) > MAX_NAMES:
        raise bad_request(f"{parameter} has {len(values)} values; at most {MAX_NAMES} are allowed.")
    for value in values or ():
        _check_length(parameter, value)
    return values


def _mention_ids(params: Mapping[str, str], parameter: str) -> tuple[str, ...] | None:
    """Return comma-separated ids of items of any kind."""
    ids = _name_list(params, parameter)
    for identifier in ids or ():
        if not _IDENTIFIER.fullmatch(identifier):
            raise bad_request(
                f"{parameter}: {quote_value(identifier)} is not an id such as etr_a1B2c3D4."
            )
    return ids


def _schema_fields(params: Mapping[str, str]) -> tuple[FieldFilter, ...]:
    """Return the filters of `schemaField.NAME` and of the JSON object `schemaFields`."""
    values = {
        name.removeprefix(SCHEMA_FIELD_PREFIX): text_parameter(params, name)
        for name in params
        if name.startswith(SCHEMA_FIELD_PREFIX)
    }
    pairs = [*values.items(), *_schema_fields_object(params)]
    if pairs and "schemaId" not in params:
        raise bad_request(f"{SCHEMA_FIELD_PREFIX}{pairs[0][0]} requires schemaId.")
    if len(pairs) > MAX_FIELDS:
        raise bad_request(
            f"{SCHEMA_FIELD_PREFIX}: {len(pairs)} fields; at most {MAX_FIELDS} are allowed."
        )
    for name, value in pairs:
        _check_length(f"{SCHEMA_FIELD_PREFIX}{name}", value or "")
        _check_length(f"{SCHEMA_FIELD_PREFIX}{name}", name)
    return tuple(FieldFilter(name, value) for name, value in pairs if value is not None)


def _schema_fields_object(params: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    value = text_parameter(params, "schemaFields")
    if value is None:
        return []
    try:
        fields = orjson.loads(value)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or not all(
        name and isinstance(field_value, str | int | float) and not isinstance(field_value, bool)
        for name, field_value in fields.items()
    ):
        raise bad_request(
            "schemaFields is not a JSON object of field names and values, such as "
            f'{{"Organism": "Opuntia marenae"}}: {quote_value(value)}. '
            f"{SCHEMA_FIELD_PREFIX}NAME=VALUE is equivalent."
        )
    return [
        (name.removeprefix(SCHEMA_FIELD_PREFIX), str(field_value))
        for name, field_value in fields.items()
    ]


def page_size_parameter(params: Mapping[str, str]) -> int:
    """Return the number of records per page."""
    value = params.get("pageSize", str(DEFAULT_PAGE_SIZE))
    if not (
        value.isascii() and value.isdigit() and len(value) < 10 and int(value) <= MAX_PAGE_SIZE
    ):
        raise bad_request(
            f"pageSize must be a whole number from 0 to {MAX_PAGE_SIZE}, not {quote_value(value)}."
        )
    return int(value)


def archive_reason_parameter(params: Mapping[str, str]) -> str:
    """Return a reason of `ARCHIVE_REASONS`, `NOT_ARCHIVED`, `ANY_ARCHIVED` or `ARCHIVED_OR_NOT`."""
    value = text_parameter(params, "archiveReason") or NOT_ARCHIVED
    reasons = (NOT_ARCHIVED, ANY_ARCHIVED, ARCHIVED_OR_NOT, *ARCHIVE_REASONS)
    if value not in reasons:
        raise bad_request(
            f"archiveReason cannot be {quote_value(value)}{messages.did_you_mean(value, reasons)}. "
            f"Choose one of {', '.join(reasons)}."
        )
    return value


def returning_parameter(params: Mapping[str, str], *, of_list: bool = True) -> Fields | None:
    """Return the fields to return, see `parse_returning`; None for all."""
    value = text_parameter(params, "returning")
    return None if value is None else parse_returning(value, of_list=of_list)


def _parse_sort(params: Mapping[str, str]) -> SortOrder:
    """Return the order; by default the latest first, or names from A to Z."""
    value = params.get("sort", "modifiedAt:desc")
    name, colon, direction = value.partition(":")
    if name not in SORT_COLUMNS or (colon and direction not in ("asc", "desc")):
        raise bad_request(
            "sort must be createdAt, modifiedAt or name, optionally with :asc or :desc, not "
            f"{quote_value(value)}."
        )
    return SortOrder(SORT_COLUMNS[name], direction == "desc" if colon else name != "name")


def _time_bounds(params: Mapping[str, str], name: str) -> tuple[TimeBound, ...]:
    value = text_parameter(params, name)
    if value is None:
        return ()
    parts = re.split(r"\sAND\s", value)
    if len(parts) > MAX_BOUNDS:
        raise bad_request(f"{name} has {len(parts)} bounds; at most {MAX_BOUNDS} are allowed.")
    return tuple(_parse_bound(part.strip(), name) for part in parts)


def _parse_bound(text: str, name: str) -> TimeBound:
    matched = _RANGE.fullmatch(text)
    try:
        if matched is None:
            raise ValueError(text)
        moment = datetime.fromisoformat(matched[2])
        # Times without a zone are UTC.
        return TimeBound(
            matched[1], format_timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
        )
    except (ValueError, OverflowError):
        raise bad_request(
            f"{name} must be a range such as '> 2024-01-31' or '>= 2024-01-31T12:00:00Z AND "
            f"< 2024-03-01', not {quote_value(text)}."
        ) from None


def _parse_number(text: str) -> float | None:
    """Return the finite decimal number in a text; None for any other text."""
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def unseal_page_token(signer: Signer, token: str, purpose: str, scope: list[Any]) -> list[Any]:
    """Return the position in a `nextToken`, which ends with the tenant and the query's scope."""
    try:
        *position, tenant_id, query = list(signer.unseal(token, purpose))
    except InvalidSignatureError:
        raise bad_request("nextToken was not issued by this service.") from None
    if [tenant_id, query] != scope:
        raise bad_request("nextToken belongs to another query.")
    return position


def cursor_scope(params: Mapping[str, str]) -> str:
    """Return a hash of the filters and the order, for which alone a `nextToken` is valid."""
    filters = sorted(
        (name, value) for name, value in params.items() if name not in PAGING_PARAMETERS
    )
    return hashlib.sha256(orjson.dumps(filters)).hexdigest()[:16]

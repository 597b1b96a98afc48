"""Build the record, the table row and the search values of a DNA sequence."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from labext.dna import reverse_complement
from labext.sandbox.lab import tables
from labext.sandbox.lab.sequences.features import SequenceFeatures
from labext.sandbox.lab.tables import Organization, Project, Record, Tenant

MAX_CIRCULAR_LENGTH = 1 << 16
"""Maximum length of a circular molecule that is found from any start position. The bases of longer
ones do not fit into a request URL."""


def bases_key(bases: str, circular: bool) -> str:
    """Return a hexadecimal hash that is equal for all notations of a molecule."""
    forward = bases.upper()
    reverse = reverse_complement(forward)
    if circular and len(bases) <= MAX_CIRCULAR_LENGTH:
        forward, reverse = _canonical_rotation(forward), _canonical_rotation(reverse)
    kind = "circular" if circular else "linear"
    return hashlib.sha256(f"{kind} {min(forward, reverse)}".encode()).hexdigest()


def _canonical_rotation(circle: str) -> str:
    """Return the lexicographically smallest rotation of a circle.

    Compares two start positions letter by letter. Each difference rules out the larger one and the
    positions already compared, so the time is linear.
    """
    length, doubled = len(circle), circle * 2
    first, second, same = 0, 1, 0
    while max(first, second) < length and same < length:
        a, b = doubled[first + same], doubled[second + same]
        if a == b:
            same += 1
            continue
        if a > b:
            first += same + 1
        else:
            second += same + 1
        if first == second:
            second += 1
        same = 0
    start = min(first, second)
    return doubled[start : start + length]


ORIGIN_PLACEHOLDER = "\x01"
"""Placeholder for the tenant's address. JSON always escapes this character, so no value contains
it."""

MAX_NAME_LENGTH = 255

RECORD_FIELDS = (
    *("aliases", "annotations", "apiURL", "archiveRecord", "authors", "bases", "createdAt"),
    *("creator", "customFields", "dnaAlignmentIds", "entityRegistryId", "fields", "folderId", "id"),
    *("isCircular", "length", "modifiedAt", "name", "parts", "primers", "registrationOrigin"),
    *("registryId", "schema", "transcriptions", "translations", "url", "webURL"),
)
"""The fields of a record."""


@dataclass(frozen=True)
class Schema:
    """A schema, which defines the fields of a kind of sequences; `ts_…`."""

    id: str
    name: str


@dataclass(frozen=True)
class Registration:
    """The registration of a sequence: the id `src_…` of the registry and the number in it."""

    registry_id: str
    number: str


def tenant_registry_id(tenant: str) -> str:
    """Return the id of a tenant's only registry."""
    return tables.stable_identifier("src", tenant, "Registry")


@dataclass(frozen=True)
class SequenceEntry:
    """A sequence before it is stored.

    Attributes:
        parts: `{start, end, strand, sequenceId}` per sequence that it is composed of.
        fields: the fields of the schema by name; a list for a field with several values.
        archived: the reason for archiving; None if it is not archived.
    """

    name: str
    bases: str
    circular: bool = False
    features: SequenceFeatures = field(default_factory=SequenceFeatures)
    parts: Sequence[Record] = ()
    aliases: Sequence[str] = ()
    schema: Schema | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    custom: Mapping[str, str] = field(default_factory=dict)
    registration: Registration | None = None
    archived: str | None = None


@dataclass(frozen=True)
class FilingContext:
    """The folder and creator of new sequences; `tenant` and `folder` are names."""

    tenant: str
    folder_id: str
    folder: str
    creator: tables.User

    @classmethod
    def of(cls, session: Session, folder: tables.Folder, creator: tables.User) -> FilingContext:
        """Create the context of a folder."""
        tenant = session.scalars(
            select(Tenant.name)
            .join(Organization, Organization.tenant_id == Tenant.id)
            .join(Project, Project.organization_id == Organization.id)
            .where(Project.id == folder.project_id)
        ).one()
        return cls(tenant, folder.id, folder.name, creator)


def sequence_row(
    entry: SequenceEntry,
    context: FilingContext,
    identifier: str,
    created: str,
    modified: str | None = None,
) -> Record:
    """Return the row of `tables.Sequence` for a sequence.

    `created` and `modified` (None if never changed) are formatted by `tables.format_timestamp`.
    """
    record = _build_record(entry, context, identifier, created, modified or created)
    return {
        "id": identifier,
        "folder_id": context.folder_id,
        "creator_id": context.creator.id,
        "schema_id": None if entry.schema is None else entry.schema.id,
        "name": entry.name,
        "folded": entry.name.casefold(),
        "aliases": _alias_column(entry),
        "bases_hash": bases_key(entry.bases, entry.circular),
        "created": created,
        "modified": modified or created,
        "archive_reason": entry.archived,
        "record": serialize_record(record),
    }


def serialize_record(record: Record) -> str:
    """Serialize a record for storage, ending with its two addresses with placeholders."""
    addresses = (
        f',"apiURL":"{ORIGIN_PLACEHOLDER}/api/v2/dna-sequences/{record["id"]}"'
        f',"webURL":"{ORIGIN_PLACEHOLDER}{record["url"]}"}}'
    )
    return orjson.dumps(record).decode()[:-1] + addresses


def render_records(text: str, origin: str) -> bytes:
    """Return stored JSON text of one or more records with the tenant's address filled in."""
    return text.replace(ORIGIN_PLACEHOLDER, origin).encode()


def _build_record(
    entry: SequenceEntry, context: FilingContext, identifier: str, created: str, modified: str
) -> Record:
    creator = {
        "handle": context.creator.handle,
        "id": context.creator.id,
        "name": context.creator.name,
    }
    registration, schema = entry.registration, entry.schema
    return {
        "id": identifier,
        "name": entry.name,
        "bases": entry.bases,
        "length": len(entry.bases),
        "isCircular": entry.circular,
        "aliases": [*entry.aliases],
        "annotations": entry.features.annotations,
        "translations": entry.features.translations,
        "primers": entry.features.primers,
        "parts": [*entry.parts],
        "transcriptions": [],  # links to RNA sequences, which the platform does not have
        "dnaAlignmentIds": [],
        "schema": None if schema is None else {"id": schema.id, "name": schema.name},
        "fields": {name: _schema_field_value(value) for name, value in entry.fields.items()},
        "customFields": {name: {"value": value} for name, value in entry.custom.items()},
        "entityRegistryId": None if registration is None else registration.number,
        "registryId": None if registration is None else registration.registry_id,
        "registrationOrigin": None
        if registration is None
        else {"originEntryId": None, "registeredAt": created},
        "archiveRecord": None if entry.archived is None else {"reason": entry.archived},
        "creator": creator,
        "authors": [creator],
        "createdAt": created,
        "modifiedAt": modified,
        "folderId": context.folder_id,
        "url": f"/{_url_slug(context.tenant)}/f/{context.folder_id}-{_url_slug(context.folder)}"
        f"/{identifier}-{_url_slug(entry.name)}/edit",
    }


def _alias_column(entry: SequenceEntry) -> str | None:
    """Return the aliases and the registry number in the format of `tables.Sequence`."""
    number = [] if entry.registration is None else [entry.registration.number]
    names = [" ".join(alias.split()).casefold() for alias in (*entry.aliases, *number)]
    return "".join(f"\n{word}\n" for word in names) or None


def _schema_field_value(value: Any) -> Record:
    """Return the record of a schema field: a whole number, a text, several texts, or empty."""
    text = ", ".join(value) if isinstance(value, list) else None if value is None else str(value)
    return {
        "value": value,
        "displayValue": text,
        "textValue": text,
        "isMulti": isinstance(value, list),
        "type": "integer" if isinstance(value, int) else "text",
        "unit": None,
    }


def _url_slug(name: str) -> str:
    """Return a name with letters, digits and hyphens only, for use in a URL."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


ALIAS_FIELD, REGISTRY_FIELD, REGISTRY_NUMBER_FIELD = "alias", "registryId", "entityRegistryId"


def schema_field_key(name: str) -> str:
    """Return the value of `SearchValue.field` for a field of a schema."""
    return f"fields.{name}"


def insert_search_values(session: Session, records: Iterable[str]) -> None:
    """Insert the search values of records that have none yet."""
    rows = [
        row
        for record in records
        for row in _search_rows(orjson.loads(record.replace(ORIGIN_PLACEHOLDER, "")))
    ]
    if rows:
        session.connection().execute(insert(tables.SearchValue), rows)


def _search_rows(record: Record) -> Iterator[Record]:
    yield from _field_rows(record["id"], ALIAS_FIELD, record["aliases"])
    for name in (REGISTRY_FIELD, REGISTRY_NUMBER_FIELD):
        if record[name] is not None:
            yield from _field_rows(record["id"], name, [record[name]])
    for name, cell in record["fields"].items():
        value = cell["value"]
        values = value if isinstance(value, list) else [value]
        # An empty field has a row too, which shows that the schema has the field.
        yield from _field_rows(record["id"], schema_field_key(name), values or [None])


def _field_rows(identifier: str, field: str, values: Sequence[Any]) -> Iterator[Record]:
    for position, value in enumerate(values):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        yield {
            "sequence_id": identifier,
            "field": field,
            "position": position,
            "text": None if value is None else str(value),
            "number": value if number else None,
        }

"""A DNA sequence's record, with every field of real-services.md (lab, Record), and its table row.

A record is kept as the text that it is served as, with a mark where the tenant's own address
belongs: the address is another wherever the tenant's port is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.lab import sameness, store
from labext.sandbox.lab.features import Marks
from labext.sandbox.lab.store import Organization, Project, Record, Tenant

ORIGIN = "\x01"
"""Stands for the tenant's address. JSON has this character only escaped, so nothing of a sequence's
own can be taken for it."""

LONGEST_NAME = 255

FIELDS = (
    *("aliases", "annotations", "apiURL", "archiveRecord", "authors", "bases", "createdAt"),
    *("creator", "customFields", "dnaAlignmentIds", "entityRegistryId", "fields", "folderId", "id"),
    *("isCircular", "length", "modifiedAt", "name", "parts", "primers", "registrationOrigin"),
    *("registryId", "schema", "transcriptions", "translations", "url", "webURL"),
)
"""The fields of a record."""


@dataclass(frozen=True)
class Schema:
    """What sequences of a kind have fields for; `ts_…`."""

    id: str
    name: str


@dataclass(frozen=True)
class Registration:
    """A sequence's entry in a registry: `src_…` and the number that it has there."""

    registry_id: str
    number: str


@dataclass(frozen=True)
class Entry:
    """A sequence before it is filed.

    Attributes:
        parts: `{start, end, strand, sequenceId}` of the sequences that it is made of.
        fields: the schema's, by their names; a list is a field with several values.
        custom: further texts by their names.
    """

    name: str
    bases: str
    circular: bool = False
    marks: Marks = field(default_factory=Marks)
    parts: Sequence[Record] = ()
    aliases: Sequence[str] = ()
    schema: Schema | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    custom: Mapping[str, str] = field(default_factory=dict)
    registration: Registration | None = None


@dataclass(frozen=True)
class Home:
    """Where sequences are filed, and by whom.

    Attributes:
        tenant: its name.
        folder: its name.
    """

    tenant: str
    folder_id: str
    folder: str
    creator: store.User

    @classmethod
    def of(cls, session: Session, folder: store.Folder, creator: store.User) -> Home:
        """The home that a folder is."""
        tenant = session.scalars(
            select(Tenant.name)
            .join(Organization, Organization.tenant_id == Tenant.id)
            .join(Project, Project.organization_id == Organization.id)
            .where(Project.id == folder.project_id)
        ).one()
        return cls(tenant, folder.id, folder.name, creator)


def row(
    entry: Entry,
    home: Home,
    identifier: str,
    created: str,
    modified: str | None = None,
    archived: str | None = None,
) -> Record:
    """The row of `store.Sequence` for a sequence.

    Args:
        entry: the sequence.
        home: where it is filed.
        identifier: `seq_…`.
        created: when, as `store.now` writes it.
        modified: when last; None for never since.
        archived: why it is out of use; None where it is in use.
    """
    record = _record(entry, home, identifier, created, modified or created, archived)
    return {
        "id": identifier,
        "folder_id": home.folder_id,
        "creator_id": home.creator.id,
        "schema_id": None if entry.schema is None else entry.schema.id,
        "name": entry.name,
        "folded": entry.name.casefold(),
        "aliases": _aliases(entry),
        "bases_hash": sameness.key(entry.bases, entry.circular),
        "created": created,
        "modified": modified or created,
        "archive_reason": archived,
        "record": text(record),
    }


def text(record: Record) -> str:
    """A record without its two addresses as the text that is kept; they come last."""
    addresses = (
        f',"apiURL":"{ORIGIN}/api/v2/dna-sequences/{record["id"]}"'
        f',"webURL":"{ORIGIN}{record["url"]}"}}'
    )
    return orjson.dumps(record).decode()[:-1] + addresses


def served(kept: str, origin: str) -> bytes:
    """Kept text, of one record or of many, as a tenant at this address serves it: JSON."""
    return kept.replace(ORIGIN, origin).encode()


def _record(
    entry: Entry, home: Home, identifier: str, created: str, modified: str, archived: str | None
) -> Record:
    creator = {"handle": home.creator.handle, "id": home.creator.id, "name": home.creator.name}
    registration, schema = entry.registration, entry.schema
    return {
        "id": identifier,
        "name": entry.name,
        "bases": entry.bases,
        "length": len(entry.bases),
        "isCircular": entry.circular,
        "aliases": [*entry.aliases],
        "annotations": entry.marks.annotations,
        "translations": entry.marks.translations,
        "primers": entry.marks.primers,
        "parts": [*entry.parts],
        "transcriptions": [],  # links to RNA sequences, of which the platform has none
        "dnaAlignmentIds": [],
        "schema": None if schema is None else {"id": schema.id, "name": schema.name},
        "fields": {name: _field(value) for name, value in entry.fields.items()},
        "customFields": {name: {"value": value} for name, value in entry.custom.items()},
        "entityRegistryId": None if registration is None else registration.number,
        "registryId": None if registration is None else registration.registry_id,
        "registrationOrigin": None
        if registration is None
        else {"originEntryId": None, "registeredAt": created},
        "archiveRecord": None if archived is None else {"reason": archived},
        "creator": creator,
        "authors": [creator],
        "createdAt": created,
        "modifiedAt": modified,
        "folderId": home.folder_id,
        "url": f"/{_slug(home.tenant)}/f/{home.folder_id}-{_slug(home.folder)}"
        f"/{identifier}-{_slug(entry.name)}/edit",
    }


def _aliases(entry: Entry) -> str | None:
    """The aliases and the registry's number as `store.Sequence` has them."""
    number = [] if entry.registration is None else [entry.registration.number]
    words = [" ".join(each.split()).casefold() for each in (*entry.aliases, *number)]
    return "".join(f"\n{word}\n" for word in words) or None


def _field(value: Any) -> Record:
    """A schema's field: a whole number, a text, several texts, or nothing yet."""
    shown = ", ".join(value) if isinstance(value, list) else None if value is None else str(value)
    return {
        "value": value,
        "displayValue": shown,
        "textValue": shown,
        "isMulti": isinstance(value, list),
        "type": "integer" if isinstance(value, int) else "text",
        "unit": None,
    }


def _slug(name: str) -> str:
    """A name as an address has it: letters and digits, which need no escape."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")

"""The fields of a sequence's record, and which of them hold others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labext.frames import Kind

KINDS: Mapping[str, Kind] = {
    "id": "text",
    "name": "text",
    "length": "integer",
    "isCircular": "boolean",
    "bases": "text",
    "createdAt": "time",
    "modifiedAt": "time",
    "folderId": "text",
    "creator": "value",
    "schema": "value",
    "aliases": "value",
    "annotations": "value",
    "fields": "value",
    "customFields": "value",
    "authors": "value",
    "registryId": "text",
    "entityRegistryId": "text",
    "registrationOrigin": "value",
    "archiveRecord": "value",
    "translations": "value",
    "transcriptions": "value",
    "parts": "value",
    "primers": "value",
    "dnaAlignmentIds": "value",
    "url": "text",
    "webURL": "text",
    "apiURL": "text",
}
"""The columns of a frame of sequences: the record of real services (section lab), in an order that
puts first what is looked at first; and what their cells are (`labext.frames.Column`)."""

PARTS = {"creator": ("id", "name", "handle"), "schema": ("id", "name")}
"""Fields that hold others, the same in every record; spread, there is a column for each of them."""

VALUES = ("fields", "customFields")
"""Fields that hold others, by names that a laboratory chose, each with a `value`."""


def value_of(cell: Any) -> Any:
    """Return what a field holds: the `value` in it, or itself where it has none."""
    return cell.get("value") if isinstance(cell, dict) and "value" in cell else cell

"""Request and response schemas of notebooks."""

from __future__ import annotations

from pydantic import Field

from labext.sandbox.nb.schemas import (
    FreeText,
    MessageResponse,
    Name,
    Record,
    RequestBody,
    Timestamp,
)


class NewNotebook(RequestBody):
    """A new notebook."""

    name: Name = Field(examples=["Arabinose induction"])
    description: FreeText | None = Field(None, examples=["pBAD30 notes"])


class NotebookUpdate(RequestBody):
    """Fields to change; omitted ones stay."""

    name: Name | None = None
    description: FreeText | None = None
    archived: bool | None = None


class NotebookRecord(Record):
    """A notebook with the numbers of its sources and notes."""

    id: str = Field(examples=["notebook:xqw43ktrgx2xufas0bfh"])
    name: str
    description: str
    archived: bool
    created_at: Timestamp = Field(examples=["2026-11-20T13:23:23.768Z"])
    updated_at: Timestamp
    source_count: int
    note_count: int


class DeletePreview(Record):
    """The objects that deleting a notebook would affect.

    `exclusive_source_count` counts the sources that no other notebook uses, which
    `delete_sources=true` would delete. Shared sources are never deleted.
    """

    notebook_id: str
    notebook_name: str
    note_count: int
    exclusive_source_count: int
    shared_source_count: int
    session_count: int


class DeletedNotebook(MessageResponse):
    """The result of deleting a notebook."""

    deleted_notes: int
    deleted_sources: int
    unlinked_sources: int
    deleted_chat_sessions: int

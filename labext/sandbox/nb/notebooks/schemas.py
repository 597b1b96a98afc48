"""Request and response schemas of notebooks."""

from __future__ import annotations

from pydantic import Field

from labext.sandbox.nb.schemas import FreeText, MessageResponse, Name, Record, RequestBody


class NewNotebook(RequestBody):
    """What a new notebook is about."""

    name: Name = Field(examples=["Arabinose induction"])
    description: FreeText | None = Field(None, examples=["pBAD30 notes"])


class NotebookUpdate(RequestBody):
    """What is to change; what is left out stays."""

    name: Name | None = None
    description: FreeText | None = None
    archived: bool | None = None


class NotebookRecord(Record):
    """A notebook, and how much is in it."""

    id: str = Field(examples=["notebook:xqw43ktrgx2xufas0bfh"])
    name: str
    description: str
    archived: bool
    created_at: str = Field(examples=["2026-11-20T13:23:23.768Z"])
    updated_at: str
    source_count: int
    note_count: int


class DeletePreview(Record):
    """What is in a notebook, and so would go with it.

    `exclusive_source_count` are the sources that no other notebook uses: with
    `delete_sources=true` they would be deleted. The shared ones stay in any case.
    """

    notebook_id: str
    notebook_name: str
    note_count: int
    exclusive_source_count: int
    shared_source_count: int
    session_count: int


class DeletedNotebook(MessageResponse):
    """What went with a notebook."""

    deleted_notes: int
    deleted_sources: int
    unlinked_sources: int
    deleted_chat_sessions: int

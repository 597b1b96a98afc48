"""Request and response schemas of notes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from labext.sandbox.nb.schemas import (
    Identifier,
    NonEmptyText,
    Record,
    RequestBody,
    SingleLine,
    Timestamp,
)

NoteType = Literal["human", "ai"]


class NewNote(RequestBody):
    """A new note; one of type `ai` without a title gets one generated from its content."""

    content: NonEmptyText = Field(examples=["Check leaky expression without arabinose."])
    title: SingleLine | None = Field(None, examples=["Plan"])
    note_type: NoteType = "human"
    notebook_id: Identifier | None = None


class NoteUpdate(RequestBody):
    """Fields to change; omitted ones stay, and an empty title removes the title."""

    title: SingleLine | None = None
    content: NonEmptyText | None = None
    note_type: NoteType | None = None


class NoteRecord(Record):
    """A note."""

    id: str = Field(examples=["note:2v1h6nnjbp70uur02d4q"])
    title: str | None
    content: str
    note_type: NoteType = Field(validation_alias="kind")
    notebook_id: str | None
    created_at: Timestamp = Field(examples=["2026-11-20T13:23:23.768Z"])
    updated_at: Timestamp

"""Request and response schemas of chat sessions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from labext.sandbox.nb.ask.schemas import CitationRecord
from labext.sandbox.nb.schemas import (
    Identifier,
    Identifiers,
    NonEmptyText,
    Record,
    RequestBody,
    SingleLine,
    Timestamp,
    UsageRecord,
)

MAX_MESSAGE_LENGTH = 100_000
"""Maximum characters of a message."""


class NewSession(RequestBody):
    """A new chat session about a notebook."""

    notebook_id: Identifier
    title: SingleLine | None = Field(None, examples=["Induction"])
    model_override: Identifier | None = Field(
        None, description="The model that answers; by default that of the slot `chat`."
    )


class SessionUpdate(RequestBody):
    """Fields to change; omitted ones stay, and `"model_override": null` removes the model."""

    title: SingleLine | None = None
    model_override: Identifier | None = None


class ContextSelection(RequestBody):
    """The part of the notebook that a message is answered from; by default all of it."""

    include_sources: bool | None = None
    include_notes: bool | None = None
    source_ids: Identifiers | None = None
    note_ids: Identifiers | None = None


class NewMessage(RequestBody):
    """A message of the user; `model_override` has priority over the session's."""

    session_id: Identifier
    message: NonEmptyText = Field(
        max_length=MAX_MESSAGE_LENGTH, examples=["What should I vary first?"]
    )
    context: ContextSelection | None = None
    model_override: Identifier | None = None


ContextPart = Literal["full content", "insights", "not in context"]
"""The part of a source or note in the context (NB-163)."""


class ContextConfig(RequestBody):
    """The parts of a context, by identifier or kind; if any is named, only those are included."""

    sources: dict[Identifier, ContextPart] | None = None
    notes: dict[Identifier, ContextPart] | None = None
    include_sources: bool | None = None
    include_notes: bool | None = None


class ContextRequest(RequestBody):
    """The notebook of a context: that of a session, or a given one."""

    session_id: Identifier | None = None
    notebook_id: Identifier | None = None
    context_config: ContextConfig | None = None
    include_sources: bool | None = None
    include_notes: bool | None = None


class MessageRecord(Record):
    """A message; a human's has no model and no citations."""

    id: Annotated[str, BeforeValidator(str)]
    type: Literal["human", "ai"] = Field(validation_alias="kind")
    content: str
    citations: list[CitationRecord]
    model: str | None
    usage: UsageRecord | None
    timestamp: Timestamp = Field(validation_alias="created")


class SessionRecord(Record):
    """A session."""

    id: str = Field(examples=["chat_session:tew7qut8ma0fvf0pw7ly"])
    notebook_id: str
    title: str
    model_override: str | None
    created_at: Timestamp
    updated_at: Timestamp
    message_count: int


class SessionWithMessages(SessionRecord):
    """A session with all of its messages."""

    messages: list[MessageRecord]


class ChatReply(Record):
    """All messages of a session, the answer last."""

    session_id: str
    messages: list[MessageRecord]


class ContextMaterial(Record):
    """The sources and notes of a context."""

    sources: list[dict[str, Any]]
    notes: list[dict[str, Any]]


class ContextRecord(Record):
    """A context and its size; `token_count` is an estimate."""

    context: ContextMaterial
    token_count: int
    char_count: int

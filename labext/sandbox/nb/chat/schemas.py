"""Request and response schemas of chat sessions."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from labext.sandbox.nb.ask.schemas import CitationRecord
from labext.sandbox.nb.schemas import (
    Identifier,
    Identifiers,
    NonEmptyText,
    Record,
    RequestBody,
    SingleLine,
)

MAX_MESSAGE_LENGTH = 100_000
"""Maximum characters of a message."""


class NewSession(RequestBody):
    """Which notebook a new session is about."""

    notebook_id: Identifier
    title: SingleLine | None = Field(None, examples=["Induction"])
    model_override: Identifier | None = Field(
        None, description="The model that answers, in place of the slot `chat`'s."
    )


class SessionUpdate(RequestBody):
    """What is to change; what is left out stays, and `"model_override": null` takes it away."""

    title: SingleLine | None = None
    model_override: Identifier | None = None


class ContextSelection(RequestBody):
    """What of the notebook a message is answered from; all of it unless it is said."""

    include_sources: bool | None = None
    include_notes: bool | None = None
    source_ids: Identifiers | None = None
    note_ids: Identifiers | None = None


class NewMessage(RequestBody):
    """What a human says; `model_override` goes before the session's."""

    session_id: Identifier
    message: NonEmptyText = Field(
        max_length=MAX_MESSAGE_LENGTH, examples=["What should I vary first?"]
    )
    context: ContextSelection | None = None
    model_override: Identifier | None = None


ContextPart = Literal["full content", "insights", "not in context"]
"""The part of a source or note in the context (real services, section nb: chat context)."""


class ContextConfig(RequestBody):
    """What a context has: by identifier, or all of a kind; only what is named, if anything is."""

    sources: dict[Identifier, ContextPart] | None = None
    notes: dict[Identifier, ContextPart] | None = None
    include_sources: bool | None = None
    include_notes: bool | None = None


class ContextRequest(RequestBody):
    """Of which notebook a context is wanted: a session's, or one that is named."""

    session_id: Identifier | None = None
    notebook_id: Identifier | None = None
    context_config: ContextConfig | None = None
    include_sources: bool | None = None
    include_notes: bool | None = None


class MessageRecord(Record):
    """A message; a human's has no model and no citations."""

    id: str
    type: Literal["human", "ai"]
    content: str
    citations: list[CitationRecord]
    model: str | None
    timestamp: str


class SessionRecord(Record):
    """A session."""

    id: str = Field(examples=["chat_session:tew7qut8ma0fvf0pw7ly"])
    notebook_id: str
    title: str
    model_override: str | None
    created_at: str
    updated_at: str
    message_count: int


class SessionWithMessages(SessionRecord):
    """A session with all that was said in it."""

    messages: list[MessageRecord]


class ChatReply(Record):
    """All messages of a session, the answer last."""

    session_id: str
    messages: list[MessageRecord]


class ContextMaterial(Record):
    """What there is to talk about."""

    sources: list[dict[str, Any]]
    notes: list[dict[str, Any]]


class ContextRecord(Record):
    """The material, and how much it is; `token_count` is an estimate."""

    context: ContextMaterial
    token_count: int
    char_count: int

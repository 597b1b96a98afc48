"""What is sent and answered about chats (contract, Resources and their fields)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from labext.sandbox.nb.answers.bodies import CitationRecord
from labext.sandbox.nb.bodies import Body, Content, Identifier, Identifiers, Line, Record

LONGEST_MESSAGE = 100_000
"""Characters."""


class NewSession(Body):
    """Which notebook a new session is about."""

    notebook_id: Identifier
    title: Line | None = Field(None, examples=["Induction"])
    model_override: Identifier | None = Field(
        None, description="The model that answers, in place of the slot `chat`'s."
    )


class ChangedSession(Body):
    """What is to change; what is left out stays, and `"model_override": null` takes it away."""

    title: Line | None = None
    model_override: Identifier | None = None


class Selection(Body):
    """What of the notebook a message is answered from; all of it unless it is said."""

    include_sources: bool | None = None
    include_notes: bool | None = None
    source_ids: Identifiers | None = None
    note_ids: Identifiers | None = None


class NewMessage(Body):
    """What a human says; `model_override` goes before the session's."""

    session_id: Identifier
    message: Content = Field(max_length=LONGEST_MESSAGE, examples=["What should I vary first?"])
    context: Selection | None = None
    model_override: Identifier | None = None


Part = Literal["full content", "insights", "not in context"]
"""How much of a source or note (real services, section nb: chat context)."""


class ContextConfig(Body):
    """What a context has: by identifier, or all of a kind; only what is named, if anything is."""

    sources: dict[Identifier, Part] | None = None
    notes: dict[Identifier, Part] | None = None
    include_sources: bool | None = None
    include_notes: bool | None = None


class WantedContext(Body):
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


class WholeSession(SessionRecord):
    """A session with all that was said in it."""

    messages: list[MessageRecord]


class Talked(Record):
    """All messages of a session, the answer last."""

    session_id: str
    messages: list[MessageRecord]


class Material(Record):
    """What there is to talk about."""

    sources: list[dict[str, Any]]
    notes: list[dict[str, Any]]


class Context(Record):
    """The material, and how much it is; `token_count` is an estimate."""

    context: Material
    token_count: int
    char_count: int

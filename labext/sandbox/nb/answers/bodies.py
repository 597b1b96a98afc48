"""What is asked and answered in the operations `/search/ask` and `/search/ask/simple`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from labext.sandbox.nb.bodies import Body, Content, Identifier, Identifiers, Record


class Question(Body):
    """A question to the knowledge base; the models are those of the slot `chat` unless named."""

    question: Content = Field(examples=["Why is glucose added to the uninduced culture?"])
    strategy_model: Identifier | None = None
    answer_model: Identifier | None = None
    final_answer_model: Identifier | None = None
    model_override: Identifier | None = None
    """Of all three, unless one is named itself."""
    source_ids: Identifiers | None = None
    note_ids: Identifiers | None = None
    include_sources: bool | None = None
    include_notes: bool | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Passages that each search of the strategy finds, at most."""
    min_similarity: Annotated[float, Field(ge=-1, le=1)] | None = None


class CitationRecord(Record):
    """Words that an answer stands on: `quote` stands word for word in `passage`."""

    id: str
    title: str
    passage_id: int
    page: int | None
    quote: str
    passage: str


class Answered(Record):
    """A question's answer; its text names what it cites as `[source:…]` and `[note:…]`."""

    answer: str
    question: str
    citations: list[CitationRecord]
    model: str

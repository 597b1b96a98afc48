"""Request and response schemas of questions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from labext.sandbox.nb.schemas import (
    Identifier,
    Identifiers,
    NonEmptyText,
    Record,
    RequestBody,
    UsageRecord,
)

MAX_QUESTION_LENGTH = 20_000
"""Maximum characters of a question."""

_MODEL = "The identifier of a model; by default that of the slot `chat`."


class Question(RequestBody):
    """A question, with its scope and the models that answer it.

    If only one of `source_ids` and `note_ids` is given, nothing of the other kind is searched.
    """

    question: NonEmptyText = Field(
        max_length=MAX_QUESTION_LENGTH, examples=["Why is glucose added to the uninduced culture?"]
    )
    strategy_model: Identifier | None = Field(None, description=_MODEL)
    answer_model: Identifier | None = Field(None, description=_MODEL)
    final_answer_model: Identifier | None = Field(None, description=_MODEL)
    model_override: Identifier | None = Field(
        None, description="The model of all steps without another model."
    )
    source_ids: Identifiers | None = None
    note_ids: Identifiers | None = None
    include_sources: bool | None = None
    include_notes: bool | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None,
        description="Maximum number of passages of each search; by default 10, or 30 without a "
        "language model.",
    )
    rewrite: bool | None = Field(
        None,
        description="Whether a language model plans the searches, the default; else the question "
        "itself is searched for.",
    )
    rerank: bool | None = Field(
        None, description="Whether a language model orders the passages of each search."
    )
    min_similarity: Annotated[float, Field(ge=-1, le=1)] | None = Field(
        None, description="Minimum similarity of every passage; by default, shared words suffice."
    )


class CitationRecord(Record):
    """A citation; `quote` is an exact substring of `passage`."""

    id: str
    title: str
    passage_id: int
    page: int | None
    quote: str
    passage: str
    transcript: bool = Field(False, description="Whether it is recognized speech, which is rough.")
    confidence: float | None = None
    table_header: str | None = Field(
        None, description="The first row of the table that the passage continues."
    )


class AnswerRecord(Record):
    """An answer, whose text has citation marks such as `[source:…]` and `[note:…]`."""

    answer: str
    question: str
    citations: list[CitationRecord]
    model: str
    usage: UsageRecord | None
    note: str | None = Field(description="What to know about the searches, as that of a search.")

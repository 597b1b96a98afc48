"""What is asked and answered in the operation `/search` (contract, Endpoints: Search)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from labext.sandbox.nb.bodies import Body, Content, Identifiers, Record

LONGEST_QUERY = 20_000
"""Characters."""

SearchType = Literal["text", "vector"]


class Searched(Body):
    """What is looked for, and where.

    Where only one of `source_ids` and `note_ids` is given, nothing of the other kind is found.
    """

    query: Content = Field(max_length=LONGEST_QUERY, examples=["catabolite repression"])
    search_type: SearchType = "text"
    limit: Annotated[int, Field(ge=1, le=1000)] = 10
    source_ids: Identifiers | None = None
    note_ids: Identifiers | None = None
    min_similarity: Annotated[float, Field(ge=-1, le=1)] | None = Field(
        None, description="Of a vector search: 0.1 if left out. Words alone have no similarity."
    )
    include_sources: bool = True
    include_notes: bool = True


class HitRecord(Record):
    """A passage that was found; `relevance` for its words, or `similarity` for its meaning."""

    id: str = Field(examples=["source:2v1h6nnjbp70uur02d4q"])
    parent_id: str
    title: str
    matches: list[str]
    passage_id: int
    page: int | None
    relevance: float | None = None
    similarity: float | None = None


class Found(Record):
    """The passages, the best first."""

    results: list[HitRecord]
    total_count: int
    search_type: SearchType

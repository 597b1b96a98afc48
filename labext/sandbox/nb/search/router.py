"""Endpoint of the passage search."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from labext.sandbox.nb.dependencies import SiteDep
from labext.sandbox.nb.schemas import Identifiers, NonEmptyText, Record, RequestBody
from labext.sandbox.nb.search.index import Hit, SearchIndex
from labext.sandbox.nb.search.scope import check_identifiers_exist


async def _get_index(request: Request) -> SearchIndex:
    index: SearchIndex = request.app.state.index
    return index


IndexDep = Annotated[SearchIndex, Depends(_get_index)]


MAX_QUERY_LENGTH = 20_000
"""Maximum characters of a query."""

SearchType = Literal["text", "vector"]


class SearchRequest(RequestBody):
    """A search query and its scope.

    If only one of `source_ids` and `note_ids` is given, nothing of the other kind is searched.
    """

    query: NonEmptyText = Field(max_length=MAX_QUERY_LENGTH, examples=["catabolite repression"])
    search_type: SearchType = "text"
    limit: Annotated[int, Field(ge=1, le=1000)] = 10
    source_ids: Identifiers | None = None
    note_ids: Identifiers | None = None
    min_similarity: Annotated[float, Field(ge=-1, le=1)] | None = Field(
        None, description="Only for a vector search; by default 0.1."
    )
    include_sources: bool = True
    include_notes: bool = True


class HitRecord(Record):
    """A matching passage; `relevance` in a text search, `similarity` in a vector search."""

    id: str = Field(examples=["source:2v1h6nnjbp70uur02d4q"])
    parent_id: str
    title: str
    matches: list[str]
    passage_id: int
    page: int | None
    relevance: float | None = None
    similarity: float | None = None


class SearchResults(Record):
    """The passages, the best first."""

    results: list[HitRecord]
    total_count: int
    search_type: SearchType


router = APIRouter()


@router.post("/search", response_model=SearchResults, response_model_exclude_unset=True)
def post_search(site: SiteDep, index: IndexDep, body: SearchRequest) -> dict[str, Any]:
    """Find passages of sources and notes, by their words or by their meaning."""
    with site.database.read() as session:
        check_identifiers_exist(session, body.source_ids, body.note_ids)
    hits = index.find(
        body.query,
        body.search_type,
        limit=body.limit,
        min_similarity=body.min_similarity,
        source_ids=body.source_ids,
        note_ids=body.note_ids,
        include_sources=body.include_sources,
        include_notes=body.include_notes,
    )
    results = [_to_record(hit) for hit in hits]
    return {"results": results, "total_count": len(results), "search_type": body.search_type}


def _to_record(hit: Hit) -> dict[str, Any]:
    by_words = hit.similarity is None
    return {
        "id": hit.parent_id,
        "parent_id": hit.parent_id,
        "title": hit.title,
        "matches": [hit.text],
        "passage_id": hit.passage_id,
        "page": hit.page,
        "relevance" if by_words else "similarity": hit.relevance if by_words else hit.similarity,
    }

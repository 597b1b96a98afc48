"""The route `/search` (contract, Endpoints: Search); it calls a function of the package."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from labext.sandbox.nb.calls import IndexOf, SiteOf, json_answer
from labext.sandbox.nb.search.bodies import Found, Searched
from labext.sandbox.nb.search.index import Hit
from labext.sandbox.nb.search.scope import check_identifiers

api = APIRouter()


@api.post("/search", response_model=Found)
def post_search(site: SiteOf, index: IndexOf, body: Searched) -> Response:
    """Find passages of sources and notes, by their words or by their meaning."""
    with site.database.read() as session:
        check_identifiers(session, body.source_ids, body.note_ids)
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
    results = [_result(hit) for hit in hits]
    return json_answer(
        {"results": results, "total_count": len(results), "search_type": body.search_type}
    )


def _result(hit: Hit) -> dict[str, Any]:
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

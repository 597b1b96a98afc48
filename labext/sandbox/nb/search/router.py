"""Endpoint of the passage search."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field

from labext.actions import Action
from labext.sandbox.core.dependencies import SiteDep, app_state
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.cancellation import CancelToken, cancel_on_disconnect
from labext.sandbox.nb.dependencies import CancelTokenDep, ThreadsDep
from labext.sandbox.nb.providers import chat, registry
from labext.sandbox.nb.schemas import Identifier, Identifiers, NonEmptyText, Record, RequestBody
from labext.sandbox.nb.search import assisted
from labext.sandbox.nb.search.index import SearchIndex, SearchReport, SearchType
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.search.scope import Scope, check_identifiers_exist

IndexDep = Annotated[SearchIndex, app_state("index")]

MAX_QUERY_LENGTH = 20_000
"""Maximum characters of a query."""


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
        None,
        description="Not for a text search; by default 0.1 for passages found by "
        "vectors only, 0.2 if a passage has half of the words.",
    )
    rewrite: bool = Field(
        False, description="Whether a language model adds queries in other words."
    )
    rerank: bool = Field(False, description="Whether a language model orders the passages.")
    model_override: Identifier | None = Field(
        None, description="The model that does so; by default that of the slot `chat`."
    )
    include_sources: bool = True
    include_notes: bool = True


class HitRecord(Record):
    """A matching passage.

    It has a `relevance` in a text search, a `similarity` in a vector search, and both in a hybrid
    one, where the similarity is null if there is no vector.
    """

    id: str = Field(examples=["source:2v1h6nnjbp70uur02d4q"])
    parent_id: str
    title: str
    matches: list[str]
    passage_id: int
    page: int | None
    table_header: str | None = Field(
        description="The first row of the table that the passage continues."
    )
    transcript: bool = Field(description="Whether the text was recognized in speech: it is rough.")
    confidence: float | None = Field(
        description="The mean probability of its words then, if the model states it."
    )
    relevance: float | None = None
    similarity: float | None = None


class SearchResults(Record):
    """The passages, the best first."""

    results: list[HitRecord]
    total_count: int
    search_type: SearchType
    note: str | None = Field(
        None, description="What to know about the search, such as a failure of the embedding model."
    )


router = APIRouter()


@router.post("/search", response_model=SearchResults, response_model_exclude_unset=True)
async def post_search(
    request: Request,
    site: SiteDep,
    index: IndexDep,
    body: SearchRequest,
    cancel_token: CancelTokenDep,
    threads: ThreadsDep,
) -> dict[str, Any]:
    """Find passages of sources and notes, by their words, by their meaning, or by both."""
    search = partial(_search, site, index, body, cancel_token)
    return await cancel_on_disconnect(request, cancel_token, threads.run(search))


def _search(
    site: Site, index: SearchIndex, body: SearchRequest, cancel_token: CancelToken
) -> dict[str, Any]:
    with site.database.read() as session:
        check_identifiers_exist(session, body.source_ids, body.note_ids)
        model = None
        if body.rewrite or body.rerank:
            model = registry.select_model(session, "chat", body.model_override)
            if registry.is_built_in(model):
                raise errors.not_configured(
                    "This needs a language model, and the built-in one only quotes passages.",
                    "Add a credential of a provider, and set the default slot chat to one of its "
                    "models.",
                    Action.set_model("chat"),
                )
    report = SearchReport()
    find = partial(
        index.find,
        by=body.search_type,
        limit=max(body.limit, assisted.MAX_RERANKED) if body.rerank else body.limit,
        min_similarity=body.min_similarity,
        scope=Scope(body.source_ids, body.note_ids, body.include_sources, body.include_notes),
        report=report,
    )
    if model is None:
        hits = find(body.query)
    else:
        ask = partial(chat.generate_reply, site, model, cancel_token=cancel_token)
        queries = assisted.rewrite_query(ask, body.query) if body.rewrite else [body.query]
        hits = assisted.merge_hits([find(query) for query in queries], find.keywords["limit"])
        if body.rerank:
            hits = assisted.rerank(ask, body.query, hits)[: body.limit]
    results = [_to_record(hit, body.search_type) for hit in hits]
    summary = {"total_count": len(results), "search_type": body.search_type, "note": report.note}
    return {"results": results, **summary}


def _to_record(hit: Hit, search_type: SearchType) -> dict[str, Any]:
    computed = {"id": hit.parent_id, "matches": [hit.text], "table_header": hit.table_header}
    record = vars(hit) | computed
    if search_type != "hybrid":
        del record["similarity" if search_type == "text" else "relevance"]
    return record

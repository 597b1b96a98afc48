"""The routes of the group Sources (contract, Endpoints); each calls a function of the package."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from labext.sandbox.nb.bodies import Done, Identifier, Refusal
from labext.sandbox.nb.calls import SiteOf, json_answer
from labext.sandbox.nb.sources import changing, creation, forms, originals, records, removing
from labext.sandbox.nb.sources.bodies import (
    FORMS,
    InsightRecord,
    NewSource,
    SourceChange,
    SourceRecord,
    StatusRecord,
    WholeSourceRecord,
)

api = APIRouter()

_JSON = {
    "required": True,
    "content": {"application/json": {"schema": NewSource.model_json_schema()}},
}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}, "description": "The file."},
    206: {"content": {"application/octet-stream": {}}, "description": "A part of the file."},
    416: {"model": Refusal, "description": "There is no such part."},
}


@api.get("/sources", response_model=list[SourceRecord])
def get_sources(
    site: SiteOf,
    notebook_id: Identifier | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
    order_by: str = "updated_at",
) -> Response:
    """List sources."""
    found = records.several(
        site, notebook_id=notebook_id, order_by=order_by, limit=limit, offset=offset
    )
    return json_answer(found)


@api.post("/sources", response_model=WholeSourceRecord, openapi_extra={"requestBody": FORMS})
async def post_source(site: SiteOf, request: Request) -> Response:
    """Add a file, a page or a text."""
    return json_answer(await creation.make(site, await forms.read(site, request), request))


@api.post("/sources/json", response_model=WholeSourceRecord, openapi_extra={"requestBody": _JSON})
async def post_source_json(site: SiteOf, request: Request) -> Response:
    """Add a page or a text."""
    sent = await forms.read(site, request, json=True)
    return json_answer(await creation.make(site, sent, request))


@api.get("/sources/{source_id}", response_model=WholeSourceRecord)
def get_source(site: SiteOf, source_id: Identifier) -> Response:
    """Get a source with its text."""
    return json_answer(records.one(site, source_id))


@api.get("/sources/{source_id}/status", response_model=StatusRecord)
def get_status(site: SiteOf, source_id: Identifier) -> Response:
    """See how far the processing of a source is."""
    return json_answer(records.status(site, source_id))


@api.put("/sources/{source_id}", response_model=WholeSourceRecord)
def put_source(site: SiteOf, source_id: Identifier, body: SourceChange) -> Response:
    """Change a source's title or topic."""
    return json_answer(changing.change(site, source_id, body))


@api.delete("/sources/{source_id}", response_model=Done)
def delete_source(site: SiteOf, source_id: Identifier) -> Response:
    """Delete a source, in every notebook."""
    return json_answer(removing.remove_one(site, source_id))


@api.get("/sources/{source_id}/download", response_class=Response, responses=_FILE)
def get_original(site: SiteOf, source_id: Identifier) -> Response:
    """Download the file that was uploaded."""
    return originals.original(site, source_id)


@api.head("/sources/{source_id}/download", response_class=Response)
def head_original(site: SiteOf, source_id: Identifier) -> Response:
    """Check that the file that was uploaded is there."""
    return originals.original(site, source_id)


@api.post("/sources/{source_id}/retry", response_model=SourceRecord)
def post_retry(site: SiteOf, source_id: Identifier) -> Response:
    """Process a failed source again."""
    return json_answer(changing.retry(site, source_id))


@api.get("/sources/{source_id}/insights", response_model=list[InsightRecord])
def get_insights(site: SiteOf, source_id: Identifier) -> Response:
    """List what models have made of a source."""
    return json_answer(records.insights(site, source_id))

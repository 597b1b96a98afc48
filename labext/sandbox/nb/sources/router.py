"""Endpoints of sources."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from labext.sandbox.nb.dependencies import SiteDep, json_response
from labext.sandbox.nb.schemas import ErrorResponse, Identifier, MessageResponse
from labext.sandbox.nb.sources import service, uploads
from labext.sandbox.nb.sources.schemas import (
    CREATE_REQUEST_BODY,
    InsightRecord,
    NewSource,
    SourceRecord,
    SourceStatusRecord,
    SourceUpdate,
    SourceWithText,
)

router = APIRouter()

_JSON_REQUEST_BODY = {
    "required": True,
    "content": {"application/json": {"schema": NewSource.model_json_schema()}},
}
_FILE_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}, "description": "The file."},
    206: {"content": {"application/octet-stream": {}}, "description": "A part of the file."},
    416: {"model": ErrorResponse, "description": "There is no such part."},
}


@router.get("/sources", response_model=list[SourceRecord])
def get_sources(
    site: SiteDep,
    notebook_id: Identifier | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
    order_by: str = "updated_at",
) -> Response:
    """List sources."""
    records = service.list_sources(
        site, notebook_id=notebook_id, order_by=order_by, limit=limit, offset=offset
    )
    return json_response(records)


@router.post(
    "/sources", response_model=SourceWithText, openapi_extra={"requestBody": CREATE_REQUEST_BODY}
)
async def post_source(site: SiteDep, request: Request) -> Response:
    """Add a file, a page or a text."""
    return json_response(
        await service.create_source(site, await uploads.read_request(site, request), request)
    )


@router.post(
    "/sources/json",
    response_model=SourceWithText,
    openapi_extra={"requestBody": _JSON_REQUEST_BODY},
)
async def post_source_json(site: SiteDep, request: Request) -> Response:
    """Add a page or a text."""
    source_request = await uploads.read_request(site, request, json=True)
    return json_response(await service.create_source(site, source_request, request))


@router.get("/sources/{source_id}", response_model=SourceWithText)
def get_source(site: SiteDep, source_id: Identifier) -> Response:
    """Get a source with its text."""
    return json_response(service.source_with_text(site, source_id))


@router.get("/sources/{source_id}/status", response_model=SourceStatusRecord)
def get_status(site: SiteDep, source_id: Identifier) -> Response:
    """Show the processing status of a source."""
    return json_response(service.processing_status(site, source_id))


@router.put("/sources/{source_id}", response_model=SourceWithText)
def put_source(site: SiteDep, source_id: Identifier, body: SourceUpdate) -> Response:
    """Change a source's title or topic."""
    return json_response(service.update_source(site, source_id, body))


@router.delete("/sources/{source_id}", response_model=MessageResponse)
def delete_source(site: SiteDep, source_id: Identifier) -> Response:
    """Delete a source, in every notebook."""
    return json_response(service.delete_source(site, source_id))


@router.get("/sources/{source_id}/download", response_class=Response, responses=_FILE_RESPONSES)
def get_original(site: SiteDep, source_id: Identifier) -> Response:
    """Download the file that was uploaded."""
    return service.download_original(site, source_id)


@router.head("/sources/{source_id}/download", response_class=Response)
def head_original(site: SiteDep, source_id: Identifier) -> Response:
    """Check that the file that was uploaded is there."""
    return service.download_original(site, source_id)


@router.post("/sources/{source_id}/retry", response_model=SourceRecord)
def post_retry(site: SiteDep, source_id: Identifier) -> Response:
    """Process a failed source again."""
    return json_response(service.retry_source(site, source_id))


@router.get("/sources/{source_id}/insights", response_model=list[InsightRecord])
def get_insights(site: SiteDep, source_id: Identifier) -> Response:
    """List the insights of a source."""
    return json_response(service.list_insights(site, source_id))

"""Endpoints of sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from labext.sandbox.nb.dependencies import SiteDep
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
from labext.sandbox.nb.tables import Insight

router = APIRouter()

_JSON_REQUEST_BODY = {
    "required": True,
    "content": {"application/json": {"schema": NewSource.model_json_schema()}},
}
_FILE_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}, "description": "The file."},
    206: {"content": {"application/octet-stream": {}}, "description": "A part of the file."},
    416: {"model": ErrorResponse, "description": "The requested range is outside the file."},
}


@router.get("/sources", response_model=list[SourceRecord])
def get_sources(
    site: SiteDep,
    notebook_id: Identifier | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
    order_by: str = "updated_at",
) -> list[dict[str, Any]]:
    """List sources."""
    return service.list_sources(
        site, notebook_id=notebook_id, order_by=order_by, limit=limit, offset=offset
    )


@router.post(
    "/sources", response_model=SourceWithText, openapi_extra={"requestBody": CREATE_REQUEST_BODY}
)
async def post_source(site: SiteDep, request: Request) -> dict[str, Any]:
    """Add a file, a page or a text."""
    return await service.create_source(site, await uploads.read_request(site, request), request)


@router.post(
    "/sources/json",
    response_model=SourceWithText,
    openapi_extra={"requestBody": _JSON_REQUEST_BODY},
)
async def post_source_json(site: SiteDep, request: Request) -> dict[str, Any]:
    """Add a page or a text."""
    source_request = await uploads.read_request(site, request, json=True)
    return await service.create_source(site, source_request, request)


@router.get("/sources/{source_id}", response_model=SourceWithText)
def get_source(site: SiteDep, source_id: Identifier) -> dict[str, Any]:
    """Get a source with its text."""
    return service.source_with_text(site, source_id)


@router.get("/sources/{source_id}/status", response_model=SourceStatusRecord)
def get_status(site: SiteDep, source_id: Identifier) -> dict[str, Any]:
    """Get the processing status of a source."""
    return service.processing_status(site, source_id)


@router.put("/sources/{source_id}", response_model=SourceWithText)
def put_source(site: SiteDep, source_id: Identifier, body: SourceUpdate) -> dict[str, Any]:
    """Update the title or topic of a source."""
    return service.update_source(site, source_id, body)


@router.delete("/sources/{source_id}", response_model=MessageResponse)
def delete_source(site: SiteDep, source_id: Identifier) -> dict[str, str]:
    """Delete a source from all notebooks."""
    return service.delete_source(site, source_id)


@router.get("/sources/{source_id}/download", response_class=Response, responses=_FILE_RESPONSES)
def get_original(site: SiteDep, source_id: Identifier) -> Response:
    """Download the uploaded file."""
    return service.download_original(site, source_id)


@router.head("/sources/{source_id}/download", response_class=Response)
def head_original(site: SiteDep, source_id: Identifier) -> Response:
    """Check that the uploaded file exists."""
    return service.download_original(site, source_id)


@router.post("/sources/{source_id}/retry", response_model=SourceRecord)
def post_retry(site: SiteDep, source_id: Identifier) -> dict[str, Any]:
    """Process a failed source again."""
    return service.retry_source(site, source_id)


@router.get("/sources/{source_id}/insights", response_model=list[InsightRecord])
def get_insights(site: SiteDep, source_id: Identifier) -> Sequence[Insight]:
    """List the insights of a source."""
    return service.list_insights(site, source_id)

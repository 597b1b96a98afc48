"""Endpoints of sources."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from sqlalchemy import select

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.nb import errors, files
from labext.sandbox.nb.files import StoredFileResponse
from labext.sandbox.nb.ingestion import tasks
from labext.sandbox.nb.ingestion.tasks import has_provisional_title
from labext.sandbox.nb.queries import load, order_by_terms
from labext.sandbox.nb.schemas import ErrorResponse, Identifier, MessageResponse
from labext.sandbox.nb.search import full_text
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
from labext.sandbox.nb.tables import (
    COMPLETED,
    FAILED,
    NEW,
    RUNNING,
    Insight,
    Notebook,
    NotebookSource,
    Source,
)

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

_SORT_KEYS = {"updated_at": Source.updated, "created_at": Source.created, "title": Source.title}

_MESSAGES = {
    NEW: "It is queued.",
    RUNNING: "It is processed.",
    COMPLETED: "It is processed; it can be searched and used for answers.",
    FAILED: "It could not be processed.",
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
    page = (
        select(Source.id)
        .order_by(*order_by_terms(order_by, _SORT_KEYS, Source.id))
        .limit(limit)
        .offset(offset)
    )
    with site.database.read() as session:
        if notebook_id is not None:
            load(session, Notebook, notebook_id)
            page = page.join(NotebookSource).where(NotebookSource.notebook_id == notebook_id)
        return service.source_records(session, site, page)


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
    with site.database.read() as session:
        source = load(session, Source, source_id)
    return {
        "status": source.status,
        "stage": source.stage,
        "message": source.reason
        or " ".join(filter(None, [_MESSAGES[source.status], source.remark])),
        "error": source.reason,
        "remark": source.remark,
        "started_at": source.started,
        "completed_at": source.ended,
        "changed_at": source.changed,
    }


@router.put("/sources/{source_id}", response_model=SourceWithText)
def put_source(site: SiteDep, source_id: Identifier, body: SourceUpdate) -> dict[str, Any]:
    """Update the title or topic of a source."""
    with site.database.write() as session:
        source = load(session, Source, source_id)
        if body.title is not None and body.title != source.title:
            full_text.update_title(session, source.id, body.title)
        source.change(**body.model_dump(exclude_none=True))
    return service.source_with_text(site, source_id)


@router.delete("/sources/{source_id}", response_model=MessageResponse)
def delete_source(site: SiteDep, source_id: Identifier) -> dict[str, str]:
    """Delete a source from all notebooks."""
    with site.database.write() as session:
        title = load(session, Source, source_id).title
        stopped = service.remove_sources(site, session, [source_id])
    site.queue.wait(site.database, stopped)
    return {"message": f"The source {title} is deleted."}


@router.get("/sources/{source_id}/download", response_class=Response, responses=_FILE_RESPONSES)
def get_original(site: SiteDep, source_id: Identifier) -> Response:
    """Download the uploaded file."""
    with site.database.read() as session:
        source = load(session, Source, source_id)
    missing = errors.not_found("file of the source", source.title)
    if source.kind != "upload":
        raise missing
    path = site.files.local(files.original_name(source.id))
    return StoredFileResponse(path, missing, "application/octet-stream", source.file_name)


@router.head("/sources/{source_id}/download", response_class=Response)
def head_original(site: SiteDep, source_id: Identifier) -> Response:
    """Check that the uploaded file exists."""
    return get_original(site, source_id)


@router.post("/sources/{source_id}/retry", response_model=SourceRecord)
def post_retry(site: SiteDep, source_id: Identifier) -> dict[str, Any]:
    """Process a failed source again."""
    with site.database.write() as session:
        source = load(session, Source, source_id)
        if source.status != FAILED and not source.remark:
            raise errors.bad_request(
                f"Only a failed source is retried; this one is {source.status}."
            )
        source.remark, source.updated = None, time.time()
        tasks.PROCESS.queue_source(session, site, source, titled=not has_provisional_title(source))
        session.flush()
        return service.source_record(session, site, source.id)


@router.get("/sources/{source_id}/insights", response_model=list[InsightRecord])
def get_insights(site: SiteDep, source_id: Identifier) -> Sequence[Insight]:
    """List the insights of a source."""
    insights = select(Insight).where(Insight.source_id == source_id)
    with site.database.read() as session:
        load(session, Source, source_id)
        return session.scalars(insights.order_by(Insight.created, Insight.id)).all()

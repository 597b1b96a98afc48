"""Create, describe and remove sources."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Any

from sqlalchemy import Select, delete, exists, func, select
from sqlalchemy.orm import Session, undefer
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from labext.sandbox.core import postgresql
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files
from labext.sandbox.nb.ingestion import tasks
from labext.sandbox.nb.ingestion.tasks import provisional_title, title_of_text
from labext.sandbox.nb.queries import load
from labext.sandbox.nb.search import index
from labext.sandbox.nb.sources import uploads
from labext.sandbox.nb.sources.uploads import SourceRequest
from labext.sandbox.nb.tables import (
    Base,
    Insight,
    Notebook,
    NotebookSource,
    Passage,
    Source,
    Vector,
)


def source_with_text(site: Site, identifier: str) -> dict[str, Any]:
    """Return the record of a source with its text, or raise a 404."""
    with site.database.read() as session:
        text = load(session, Source, identifier, undefer(Source.full_text)).full_text
        return source_record(session, site, identifier) | {"full_text": text}


def source_record(session: Session, site: Site, identifier: str) -> dict[str, Any]:
    """Return the record of an existing source, without its text."""
    return source_records(session, site, select(Source.id).where(Source.id == identifier))[0]


def source_records(session: Session, site: Site, page: Select[Any]) -> list[dict[str, Any]]:
    """Return the records of the sources selected by `page`, in its order, without their texts.

    Uses two queries in total and loads no objects, so that a thousand sources are listed quickly.
    """
    rows = session.execute(page.with_only_columns(*_COLUMNS)).all()
    notebooks = _notebooks_by_source(session, page)
    uploads = [files.original_name(row.id) for row in rows if row.kind == "upload"]
    available = site.files.existing(uploads, session) if uploads else set()
    return [
        {
            **row._mapping,
            "notebooks": notebooks.get(row.id, []),
            "asset": {"file_path": row.file_name, "url": row.url},
            "file_available": files.original_name(row.id) in available,
        }
        for row in rows
    ]


def _count_of(table: type[Base], parent: Any) -> Any:
    return select(func.count()).select_from(table).where(parent == Source.id).scalar_subquery()


# Checks the first passage only, since all passages of a source are embedded together.
_EMBEDDED = exists().where(
    Passage.parent_id == Source.id, Passage.position == 0, Vector.passage_id == Passage.id
)
_COLUMNS = (
    *(column for column in Source.__table__.c if column.name != "full_text"),
    _count_of(Passage, Passage.parent_id).label("passages"),
    _count_of(Insight, Insight.source_id).label("insights_count"),
    Source.reason.label("error"),
    _EMBEDDED.label("embedded"),
    select(func.avg(Passage.confidence))
    .where(Passage.parent_id == Source.id)
    .scalar_subquery()
    .label("confidence"),
)


def _notebooks_by_source(session: Session, page: Select[Any]) -> dict[str, list[str]]:
    """Return the identifiers of each source's notebooks."""
    selected = page.subquery()
    links = select(NotebookSource.source_id, NotebookSource.notebook_id).join(
        selected, selected.c.id == NotebookSource.source_id
    )
    notebooks: dict[str, list[str]] = {}
    for source_id, notebook_id in session.execute(links.order_by(NotebookSource.notebook_id)):
        notebooks.setdefault(source_id, []).append(notebook_id)
    return notebooks


_MIN_POLL_SECONDS, _MAX_POLL_SECONDS = 0.02, 0.5
"""Bounds of the polling interval, which is a tenth of the time waited."""


async def create_source(
    site: Site, source_request: SourceRequest, request: Request
) -> dict[str, Any]:
    """Create a source and return its record; without `process_async`, once it is processed.

    The same background task processes it in either case, and continues if the client disconnects
    or the service is killed.
    """
    try:
        identifier = await run_in_threadpool(_store_source, site, source_request)
    finally:
        await run_in_threadpool(source_request.form.discard)
    if not source_request.body.process_async:
        await _wait_until_processed(site, identifier, request)
    return await run_in_threadpool(source_with_text, site, identifier)


def _store_source(site: Site, source_request: SourceRequest) -> str:
    source = _new_source(site, source_request)
    upload = source_request.form.file
    staged = None if upload is None else site.files.stage(upload.path, files.ORIGINALS)
    try:
        with site.database.write() as session:
            session.add(source)
            session.flush()
            if (notebook_id := source_request.body.notebook_id) is not None:
                load(session, Notebook, notebook_id)
                session.add(NotebookSource(notebook_id=notebook_id, source_id=source.id))
            awaited = not source_request.body.process_async
            tasks.PROCESS.queue_source(
                session, site, source, titled=bool(source_request.body.title), awaited=awaited
            )
            if upload is not None and staged is not None:
                name = files.original_name(source.id)
                site.files.place(session, upload.path, staged, name)
    except BaseException as error:
        # The change may have been committed when the connection was lost.
        if not postgresql.is_unreachable(error):
            (site.folder / files.original_name(source.id)).unlink(missing_ok=True)
            if staged is not None:
                site.files.discard(staged)
        raise
    return source.id


def _new_source(site: Site, source_request: SourceRequest) -> Source:
    body, file = source_request.body, source_request.form.file
    source = Source(topic=body.topic or "", title=body.title or "")
    if file is not None:
        source.kind, source.file_name = "upload", uploads.clean_file_name(file.name)
        source.media_type, source.size = file.media_type, file.size
    elif body.url is not None:
        source.kind, source.url = "link", body.url.strip()
    else:
        text = body.text or ""
        source.kind, source.full_text, source.size = "text", text, len(text.encode())
    if not source.title:
        source.title = (
            provisional_title(source) if body.text is None else title_of_text(site, body.text)
        )
    return source


async def _wait_until_processed(site: Site, identifier: str, request: Request) -> None:
    """Wait until a source's task has ended or the client disconnects.

    Polls on the event loop, since threads are few and shared by all services.
    """
    started = time.monotonic()
    while await run_in_threadpool(_is_queued, site, identifier):
        if await request.is_disconnected():
            return
        await asyncio.sleep(
            min(max(_MIN_POLL_SECONDS, (time.monotonic() - started) / 10), _MAX_POLL_SECONDS)
        )


def _is_queued(site: Site, identifier: str) -> bool:
    with site.database.read() as session:
        return site.queue.find(session, tasks.PROCESS.key(identifier)) is not None


def remove_sources(site: Site, session: Session, source_ids: Collection[str]) -> list[str]:
    """Remove sources in this transaction, and their original files after its commit.

    Files left by a kill in between are removed at the next start.

    Returns:
        The keys of the cancelled tasks, for `Queue.wait` after the transaction.
    """
    index.remove_passages(session, source_ids)
    session.execute(delete(Source).where(Source.id.in_(source_ids)))
    files.remove_originals_after_commit(session, site, source_ids)
    return site.queue.cancel_all(
        session, [tasks.PROCESS.key(identifier) for identifier in source_ids], "Deleted."
    )

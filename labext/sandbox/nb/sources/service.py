"""Sources: records, creation, updates, retries, downloads and deletion."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Any

from sqlalchemy import Select, delete, exists, func, select
from sqlalchemy.orm import Session, undefer
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, files, tables
from labext.sandbox.nb.dependencies import format_time
from labext.sandbox.nb.files import StoredFileResponse
from labext.sandbox.nb.ingestion import tasks
from labext.sandbox.nb.ingestion.tasks import (
    has_provisional_title,
    provisional_title,
    title_of_text,
)
from labext.sandbox.nb.queries import SortKey, get_notebook, order_by_terms
from labext.sandbox.nb.search import index
from labext.sandbox.nb.sources import uploads
from labext.sandbox.nb.sources.schemas import NewSource, SourceUpdate
from labext.sandbox.nb.sources.uploads import SourceRequest
from labext.sandbox.nb.tables import (
    COMPLETED,
    FAILED,
    NEW,
    RUNNING,
    Base,
    Insight,
    NotebookSource,
    Passage,
    Source,
    Vector,
)

_SORT_KEYS = {
    "updated_at": SortKey(Source.updated, descending=True),
    "created_at": SortKey(Source.created, descending=True),
    "title": SortKey(Source.title),
}

_MESSAGES = {
    NEW: "It waits to be processed.",
    RUNNING: "It is processed.",
    COMPLETED: "It is processed; it can be searched and asked about.",
    FAILED: "It could not be processed.",
}


def load_source(session: Session, identifier: str, *, whole: bool = False) -> Source:
    """A source; with `whole`, its text too.

    Raises:
        HTTPException: 404.
    """
    options = [undefer(Source.full_text)] if whole else []
    source = session.get(Source, identifier, options=options)
    if source is None:
        raise errors.not_found("source", identifier)
    return source


def source_with_text(site: Site, identifier: str) -> dict[str, Any]:
    """A source with its text.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        text = load_source(session, identifier, whole=True).full_text
        return source_record(session, site, identifier) | {"full_text": text}


def source_record(session: Session, site: Site, identifier: str) -> dict[str, Any]:
    """A source that is there, without its text."""
    return _to_records(session, site, select(Source.id).where(Source.id == identifier))[0]


def list_sources(
    site: Site, *, notebook_id: str | None, order_by: str, limit: int, offset: int
) -> list[dict[str, Any]]:
    """Sources, of one notebook or all, without their texts.

    Args:
        site: the service's.
        notebook_id: of the notebook they are in; None for all there are.
        order_by: `updated_at`, `created_at` or `title`, then perhaps ` asc` or ` desc`; the latest
            first, or titles in their order.
        limit: how many.
        offset: after how many.

    Raises:
        HTTPException: 400, they can't be ordered so; 404, there is no such notebook.
    """
    page = (
        select(Source.id)
        .order_by(*order_by_terms(order_by, _SORT_KEYS, Source.id))
        .limit(limit)
        .offset(offset)
    )
    with site.database.read() as session:
        if notebook_id is not None:
            get_notebook(session, notebook_id)
            page = page.join(NotebookSource).where(NotebookSource.notebook_id == notebook_id)
        return _to_records(session, site, page)


def processing_status(site: Site, identifier: str) -> dict[str, Any]:
    """How far the processing of a source is.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        source = load_source(session, identifier)
    return {
        "status": source.status,
        "stage": source.stage,
        "message": source.reason
        or " ".join(filter(None, [_MESSAGES[source.status], source.remark])),
        "error": source.reason,
        "started_at": format_time(source.started),
        "completed_at": format_time(source.ended),
        "changed_at": format_time(source.changed),
    }


def list_insights(site: Site, identifier: str) -> list[dict[str, Any]]:
    """What models have made of a source, the oldest first.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        load_source(session, identifier)
        rows = session.scalars(
            select(Insight)
            .where(Insight.source_id == identifier)
            .order_by(Insight.created, Insight.id)
        ).all()
    return [{"source_id": row.source_id} | insight_record(row) for row in rows]


def insight_record(made: Insight) -> dict[str, Any]:
    """What a model has made of a source, where it is known of which."""
    return {
        "id": made.id,
        "insight_type": made.kind,
        "content": made.content,
        "created_at": format_time(made.created),
        "updated_at": format_time(made.updated),
    }


def _to_records(session: Session, site: Site, page: Select[Any]) -> list[dict[str, Any]]:
    """The records of the sources whose identifiers `page` selects, in its order.

    Of a thousand in a moment: their columns alone, and nothing is asked for one by one.
    """
    rows = session.execute(page.with_only_columns(*_COLUMNS)).all()
    notebooks = _notebooks_by_source(session, page)
    return [
        {
            "id": row.id,
            "title": row.title,
            "topic": row.topic,
            "notebooks": notebooks.get(row.id, []),
            "asset": {"file_path": row.file_name, "url": row.url},
            "kind": row.kind,
            "media_type": row.media_type,
            "size": row.size,
            "status": row.status,
            "stage": row.stage,
            "error": row.reason,
            "embedded": row.embedded,
            "passages": row.passages,
            "insights_count": row.insights,
            "file_available": row.kind == "upload" and files.original_path(site, row.id).is_file(),
            "created_at": format_time(row.created),
            "updated_at": format_time(row.updated),
        }
        for row in rows
    ]


def _count_of(table: type[Base], parent: Any) -> Any:
    return select(func.count()).select_from(table).where(parent == Source.id).scalar_subquery()


# The first passage's vector: the others of it are made with it.
_EMBEDDED = exists().where(
    Passage.parent_id == Source.id, Passage.position == 0, Vector.passage_id == Passage.id
)
_COLUMNS = (
    *(column for column in Source.__table__.c if column.name != "full_text"),
    _count_of(Passage, Passage.parent_id).label("passages"),
    _count_of(Insight, Insight.source_id).label("insights"),
    _EMBEDDED.label("embedded"),
)


def _notebooks_by_source(session: Session, page: Select[Any]) -> dict[str, list[str]]:
    """The notebooks of each source, by their identifiers."""
    known = page.subquery()
    links = select(NotebookSource.source_id, NotebookSource.notebook_id).join(
        known, known.c.id == NotebookSource.source_id
    )
    inside: dict[str, list[str]] = {}
    for source_id, notebook_id in session.execute(links.order_by(NotebookSource.notebook_id)):
        inside.setdefault(source_id, []).append(notebook_id)
    return inside


_MIN_POLL_SECONDS, _MAX_POLL_SECONDS = 0.02, 0.5
"""Seconds between two looks at whether a source is processed: a tenth of those waited already."""


async def create_source(site: Site, sent: SourceRequest, request: Request) -> dict[str, Any]:
    """Make a source and return its record; without `process_async` once it is processed.

    Whether it is waited for or not, the same task processes it: it goes on if nobody waits any
    more, and after a kill of the service.

    Raises:
        HTTPException: 404, there is no such notebook.
    """
    try:
        identifier = await run_in_threadpool(_store_source, site, sent)
    finally:
        await run_in_threadpool(sent.form.discard)
    if not sent.body.process_async:
        await _wait_until_processed(site, identifier, request)
    return await run_in_threadpool(source_with_text, site, identifier)


def _store_source(site: Site, sent: SourceRequest) -> str:
    source = _new_source(site, sent)
    original = files.original_path(site, source.id)
    try:
        with site.database.write() as session:
            session.add(source)
            session.flush()
            _link_notebook(session, source, sent.body.notebook_id)
            awaited = not sent.body.process_async
            tasks.queue_source(session, site, source, titled=bool(sent.body.title), awaited=awaited)
            if sent.form.file is not None:
                sent.form.file.path.replace(original)
    except BaseException:
        original.unlink(missing_ok=True)
        raise
    return source.id


def _new_source(site: Site, sent: SourceRequest) -> Source:
    told, file = sent.body, sent.form.file
    source = Source(
        id=tables.new_identifier("source"), topic=told.topic or "", title=told.title or ""
    )
    if file is not None:
        source.kind, source.file_name = "upload", uploads.clean_file_name(file.name)
        source.media_type, source.size = file.media_type, file.size
    elif told.url is not None:
        source.kind, source.url = "link", told.url.strip()
    else:
        text = told.text or ""
        source.kind, source.full_text, source.size = "text", text, len(text.encode())
    source.title = source.title or _initial_title(site, source, told)
    return source


def _initial_title(site: Site, source: Source, told: NewSource) -> str:
    return provisional_title(source) if told.text is None else title_of_text(site, told.text)


def _link_notebook(session: Session, source: Source, notebook_id: str | None) -> None:
    if notebook_id is not None:
        get_notebook(session, notebook_id)
        session.add(NotebookSource(notebook_id=notebook_id, source_id=source.id))


async def _wait_until_processed(site: Site, identifier: str, request: Request) -> None:
    """Wait until a source's task has ended, as long as somebody waits for the answer.

    No thread waits: there are few, and every service needs them.
    """
    began = time.monotonic()
    while await run_in_threadpool(_is_queued, site, identifier):
        if await request.is_disconnected():
            return
        await asyncio.sleep(
            min(max(_MIN_POLL_SECONDS, (time.monotonic() - began) / 10), _MAX_POLL_SECONDS)
        )


def _is_queued(site: Site, identifier: str) -> bool:
    with site.database.read() as session:
        return site.queue.find(session, tasks.task_key(identifier)) is not None


def update_source(site: Site, identifier: str, body: SourceUpdate) -> dict[str, Any]:
    """Change what is named; the source is found by its new title at once.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        source = load_source(session, identifier)
        if body.title is not None and body.title != source.title:
            source.title = body.title
            index.retitle_passages(session, source.id, source.title)
        if body.topic is not None:
            source.topic = body.topic
        if body.model_dump(exclude_none=True):
            source.updated = time.time()
    return source_with_text(site, identifier)


def retry_source(site: Site, identifier: str) -> dict[str, Any]:
    """Have a failed source processed again (contract, States and transitions).

    Raises:
        HTTPException: 400, it has not failed; 404.
    """
    with site.database.write() as session:
        source = load_source(session, identifier)
        if source.status != FAILED and not source.remark:
            raise errors.bad_request(
                f"Only a failed source is retried; this one is {source.status}."
            )
        source.status, source.stage, source.reason = NEW, "", None
        source.started = source.ended = None
        source.changed = source.updated = time.time()
        tasks.queue_source(session, site, source, titled=not has_provisional_title(source))
        session.flush()
        return source_record(session, site, source.id)


STOP_TIMEOUT = 5.0
"""How long an answer waits for the processes to be gone."""


def remove_sources(site: Site, session: Session, source_ids: Collection[str]) -> list[str]:
    """Remove sources in this transaction, and their original files once it stands.

    What a kill keeps it from removing then goes at the next start.

    Args:
        site: where they are kept.
        session: a writing one.
        source_ids: of sources that are there.

    Returns:
        The names of the tasks that were told to stop, for `Queue.wait_all` after the transaction.
    """
    index.remove_passages(session, source_ids)
    session.execute(delete(Source).where(Source.id.in_(source_ids)))
    files.remove_originals_after_commit(session, site, source_ids)
    return site.queue.cancel_all(session, [tasks.task_key(each) for each in source_ids], "Deleted.")


def delete_source(site: Site, identifier: str) -> dict[str, str]:
    """Remove a source; says so.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        title = load_source(session, identifier).title
        stopped = remove_sources(site, session, [identifier])
    site.queue.wait_all(site.database, stopped, STOP_TIMEOUT)
    return {"message": f"The source {title} is deleted."}


def download_original(site: Site, identifier: str) -> Response:
    """The file of an upload, with its name; Range, If-Range and ETag are there.

    Raises:
        HTTPException: 404, there is no such source, or it has no file.
    """
    with site.database.read() as session:
        source = load_source(session, identifier)
    gone = errors.not_found("file of the source", source.title)
    if source.kind != "upload":
        raise gone
    path = files.original_path(site, source.id)
    return StoredFileResponse(path, "application/octet-stream", gone, source.file_name)

"""What is answered about sources (contract, Resources and their fields; the rest is our own)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, exists, func, select
from sqlalchemy.orm import Session, undefer

from labext.sandbox.nb import faults
from labext.sandbox.nb.calls import moment
from labext.sandbox.nb.notebooks.finding import notebook
from labext.sandbox.nb.ordering import By, ordered
from labext.sandbox.nb.sources import folders
from labext.sandbox.nb.store import (
    COMPLETED,
    FAILED,
    NEW,
    RUNNING,
    Base,
    Insight,
    Link,
    Passage,
    Source,
    Vector,
)
from labext.sandbox.service import Site

_ORDERS = {
    "updated_at": By(Source.updated, down=True),
    "created_at": By(Source.created, down=True),
    "title": By(Source.title),
}

_MESSAGES = {
    NEW: "It waits to be processed.",
    RUNNING: "It is processed.",
    COMPLETED: "It is processed; it can be searched and asked about.",
    FAILED: "It could not be processed.",
}


def found(session: Session, identifier: str, *, whole: bool = False) -> Source:
    """A source; with `whole`, its text too.

    Raises:
        HTTPException: 404.
    """
    options = [undefer(Source.full_text)] if whole else []
    source = session.get(Source, identifier, options=options)
    if source is None:
        raise faults.absent("source", identifier)
    return source


def one(site: Site, identifier: str) -> dict[str, Any]:
    """A source with its text.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        text = found(session, identifier, whole=True).full_text
        return record(session, site, identifier) | {"full_text": text}


def record(session: Session, site: Site, identifier: str) -> dict[str, Any]:
    """A source that is there, without its text."""
    return _records(session, site, select(Source.id).where(Source.id == identifier))[0]


def several(
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
        .order_by(*ordered(order_by, _ORDERS, Source.id))
        .limit(limit)
        .offset(offset)
    )
    with site.database.read() as session:
        if notebook_id is not None:
            notebook(session, notebook_id)
            page = page.join(Link).where(Link.notebook_id == notebook_id)
        return _records(session, site, page)


def status(site: Site, identifier: str) -> dict[str, Any]:
    """How far the processing of a source is.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        source = found(session, identifier)
    return {
        "status": source.status,
        "stage": source.stage,
        "message": source.reason
        or " ".join(filter(None, [_MESSAGES[source.status], source.remark])),
        "error": source.reason,
        "started_at": moment(source.started),
        "completed_at": moment(source.ended),
        "changed_at": moment(source.changed),
    }


def insights(site: Site, identifier: str) -> list[dict[str, Any]]:
    """What models have made of a source, the oldest first.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        found(session, identifier)
        rows = session.scalars(
            select(Insight)
            .where(Insight.source_id == identifier)
            .order_by(Insight.created, Insight.id)
        ).all()
    return [{"source_id": row.source_id} | insight(row) for row in rows]


def insight(made: Insight) -> dict[str, Any]:
    """What a model has made of a source, where it is known of which."""
    return {
        "id": made.id,
        "insight_type": made.kind,
        "content": made.content,
        "created_at": moment(made.created),
        "updated_at": moment(made.updated),
    }


def _records(session: Session, site: Site, page: Select[Any]) -> list[dict[str, Any]]:
    """The records of the sources whose identifiers `page` selects, in its order.

    Of a thousand in a moment: their columns alone, and nothing is asked for one by one.
    """
    rows = session.execute(page.with_only_columns(*_COLUMNS)).all()
    notebooks = _notebooks(session, page)
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
            "file_available": row.kind == "upload" and folders.original(site, row.id).is_file(),
            "created_at": moment(row.created),
            "updated_at": moment(row.updated),
        }
        for row in rows
    ]


def _count(table: type[Base], parent: Any) -> Any:
    return select(func.count()).select_from(table).where(parent == Source.id).scalar_subquery()


# The first passage's vector: the others of it are made with it.
_EMBEDDED = exists().where(
    Passage.parent_id == Source.id, Passage.position == 0, Vector.passage_id == Passage.id
)
_COLUMNS = (
    *(column for column in Source.__table__.c if column.name != "full_text"),
    _count(Passage, Passage.parent_id).label("passages"),
    _count(Insight, Insight.source_id).label("insights"),
    _EMBEDDED.label("embedded"),
)


def _notebooks(session: Session, page: Select[Any]) -> dict[str, list[str]]:
    """The notebooks of each source, by their identifiers."""
    known = page.subquery()
    links = select(Link.source_id, Link.notebook_id).join(known, known.c.id == Link.source_id)
    inside: dict[str, list[str]] = {}
    for source_id, notebook_id in session.execute(links.order_by(Link.notebook_id)):
        inside.setdefault(source_id, []).append(notebook_id)
    return inside

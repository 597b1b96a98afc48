"""What is answered about sources (contract, Resources and their fields; the rest is our own)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, func, select
from sqlalchemy.orm import Session, undefer

from labext.sandbox.nb import faults
from labext.sandbox.nb.calls import moment
from labext.sandbox.nb.sources import folders
from labext.sandbox.nb.store import (
    COMPLETED,
    FAILED,
    NEW,
    RUNNING,
    Insight,
    Link,
    Notebook,
    Passage,
    Source,
    Vector,
)
from labext.sandbox.service import Site

_ORDERS: dict[str, ColumnElement[Any]] = {
    "updated_at": Source.updated.expression,
    "created_at": Source.created.expression,
    "title": func.lower(Source.title),
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
        source = found(session, identifier, whole=True)
        text = source.full_text
        return record(session, site, source) | {"full_text": text}


def record(session: Session, site: Site, source: Source) -> dict[str, Any]:
    """A source without its text."""
    return _records(session, site, [source])[0]


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
    statement = select(Source).order_by(*_order(order_by)).limit(limit).offset(offset)
    with site.database.read() as session:
        if notebook_id is not None:
            if session.get(Notebook, notebook_id) is None:
                raise faults.absent("notebook", notebook_id)
            inside = select(Link.source_id).where(Link.notebook_id == notebook_id)
            statement = statement.where(Source.id.in_(inside))
        return _records(session, site, session.scalars(statement).all())


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
        "message": source.reason or _MESSAGES[source.status],
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
    return [
        {
            "id": row.id,
            "source_id": row.source_id,
            "insight_type": row.kind,
            "content": row.content,
            "created_at": moment(row.created),
            "updated_at": moment(row.updated),
        }
        for row in rows
    ]


def _order(order_by: str) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    name, _, direction = order_by.strip().partition(" ")
    column = _ORDERS.get(name)
    if column is None or direction.strip().lower() not in ("", "asc", "desc"):
        known = ", ".join(_ORDERS)
        raise faults.invalid(f"order_by: is one of {known}, with asc or desc behind it or neither.")
    descends = direction.strip().lower() == "desc" or (not direction and name != "title")
    return (column.desc(), Source.id.desc()) if descends else (column.asc(), Source.id.asc())


def _records(session: Session, site: Site, sources: Collection[Source]) -> list[dict[str, Any]]:
    known = [source.id for source in sources]
    notebooks = _notebooks(session, known)
    passages = _counted(session, Passage.parent_id, known)
    insights = _counted(session, Insight.source_id, known)
    embedded = _embedded(session, known)
    return [
        {
            "id": source.id,
            "title": source.title,
            "topic": source.topic,
            "notebooks": notebooks.get(source.id, []),
            "asset": {"file_path": source.file_name, "url": source.url},
            "kind": source.kind,
            "media_type": source.media_type,
            "size": source.size,
            "status": source.status,
            "stage": source.stage,
            "error": source.reason,
            "embedded": source.id in embedded,
            "passages": passages.get(source.id, 0),
            "insights_count": insights.get(source.id, 0),
            "file_available": source.kind == "upload"
            and folders.original(site, source.id).is_file(),
            "created_at": moment(source.created),
            "updated_at": moment(source.updated),
        }
        for source in sources
    ]


def _notebooks(session: Session, known: Collection[str]) -> dict[str, list[str]]:
    """The notebooks of each source, by their identifiers."""
    inside: dict[str, list[str]] = {}
    links = select(Link.source_id, Link.notebook_id).where(Link.source_id.in_(known))
    for source_id, notebook_id in session.execute(links.order_by(Link.notebook_id)):
        inside.setdefault(source_id, []).append(notebook_id)
    return inside


def _counted(session: Session, parent: Any, known: Collection[str]) -> dict[str, int]:
    """How many rows each source has."""
    counted: Select[Any] = select(parent, func.count()).where(parent.in_(known)).group_by(parent)
    return dict(session.execute(counted).tuples().all())


def _embedded(session: Session, known: Iterable[str]) -> set[str]:
    """Those whose first passage has a vector: the others of it are made with it."""
    has = exists().where(Vector.passage_id == Passage.id)
    first = select(Passage.parent_id).where(
        Passage.parent_id.in_(known), Passage.position == 0, has
    )
    return set(session.scalars(first))

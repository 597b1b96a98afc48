"""Create, update, link and delete notebooks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import Session, aliased

from labext.sandbox.core.database import count_rows
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import limits, queries, tables
from labext.sandbox.nb.notebooks.schemas import NewNotebook, NotebookUpdate
from labext.sandbox.nb.search import index
from labext.sandbox.nb.sources import service as sources
from labext.sandbox.nb.tables import ChatSession, Note, Notebook, NotebookSource


def create_notebook(site: Site, new: NewNotebook) -> dict[str, Any]:
    """Create a notebook and return its record.

    Raises:
        HTTPException: 413 if its description is too long.
    """
    now = time.time()
    with site.database.write() as session:
        limits.check_text_size(session, new.description or "")
        notebook = Notebook(
            id=tables.new_identifier("notebook"),
            name=new.name,
            description=new.description or "",
            created=now,
            updated=now,
        )
        session.add(notebook)
        session.flush()
        return queries.notebook_record(session, notebook.id)


def update_notebook(site: Site, identifier: str, update: NotebookUpdate) -> dict[str, Any]:
    """Change the given fields of a notebook and return its record.

    Raises:
        HTTPException: 404; 413 if its description is too long.
    """
    values = update.model_dump(exclude_none=True)
    with site.database.write() as session:
        notebook = queries.get_notebook(session, identifier)
        limits.check_text_size(session, update.description or "")
        for name, value in values.items():
            setattr(notebook, name, value)
        if values:
            notebook.updated = time.time()
        session.flush()
        return queries.notebook_record(session, identifier)


def link_source(site: Site, identifier: str, source_id: str) -> None:
    """Add a source to a notebook if it is not in it.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        queries.get_notebook(session, identifier)
        sources.load_source(session, source_id)
        session.merge(NotebookSource(notebook_id=identifier, source_id=source_id))


def unlink_source(site: Site, identifier: str, source_id: str) -> None:
    """Remove a source from a notebook if it is in it, without deleting the source.

    Raises:
        HTTPException: 404 if the notebook or source does not exist.
    """
    with site.database.write() as session:
        queries.get_notebook(session, identifier)
        sources.load_source(session, source_id)
        link = session.get(NotebookSource, (identifier, source_id))
        if link is not None:
            session.delete(link)


@dataclass(frozen=True)
class NotebookContents:
    """The contents of a notebook.

    Attributes:
        notes: the identifiers of its notes.
        exclusive: the identifiers of sources used by no other notebook.
        shared: the identifiers of sources also used by other notebooks.
        sessions: the number of its chat sessions.
    """

    notes: Sequence[str]
    exclusive: Sequence[str]
    shared: Sequence[str]
    sessions: int


def preview_delete(site: Site, identifier: str) -> dict[str, Any]:
    """Preview the effects of deleting a notebook.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        notebook = queries.get_notebook(session, identifier)
        contents = _notebook_contents(session, identifier)
    return {
        "notebook_id": notebook.id,
        "notebook_name": notebook.name,
        "note_count": len(contents.notes),
        "exclusive_source_count": len(contents.exclusive),
        "shared_source_count": len(contents.shared),
        "session_count": contents.sessions,
    }


def delete_notebook(site: Site, identifier: str, *, delete_sources: bool) -> dict[str, Any]:
    """Delete a notebook with its notes and sessions, and optionally its exclusive sources.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        notebook = queries.get_notebook(session, identifier)
        contents = _notebook_contents(session, identifier)
        doomed = contents.exclusive if delete_sources else ()
        index.remove_passages(session, contents.notes)
        session.delete(notebook)  # cascades to its links, notes and sessions
        session.flush()
        stopped = sources.remove_sources(site, session, doomed)
    site.queue.wait_all(site.database, stopped, sources.STOP_TIMEOUT)
    return {
        "message": f"The notebook {notebook.name} is deleted.",
        "deleted_notes": len(contents.notes),
        "deleted_sources": len(doomed),
        "unlinked_sources": len(contents.exclusive) + len(contents.shared) - len(doomed),
        "deleted_chat_sessions": contents.sessions,
    }


def _notebook_contents(session: Session, identifier: str) -> NotebookContents:
    elsewhere = aliased(NotebookSource)
    used = exists().where(
        elsewhere.source_id == NotebookSource.source_id, elsewhere.notebook_id != identifier
    )
    rows = session.execute(
        select(NotebookSource.source_id, used).where(NotebookSource.notebook_id == identifier)
    )
    sources = [(source_id, bool(shared)) for source_id, shared in rows]
    return NotebookContents(
        notes=session.scalars(select(Note.id).where(Note.notebook_id == identifier)).all(),
        exclusive=[source_id for source_id, shared in sources if not shared],
        shared=[source_id for source_id, shared in sources if shared],
        sessions=count_rows(session, ChatSession, ChatSession.notebook_id == identifier),
    )

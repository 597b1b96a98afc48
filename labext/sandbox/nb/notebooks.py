"""Endpoints of notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy import exists, select
from sqlalchemy.orm import Session, aliased

from labext.sandbox.core.database import count_rows
from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.nb import limits
from labext.sandbox.nb.queries import load, order_by_terms
from labext.sandbox.nb.schemas import (
    FreeText,
    Identifier,
    MessageResponse,
    Name,
    Record,
    RequestBody,
    Timestamp,
)
from labext.sandbox.nb.search import index
from labext.sandbox.nb.sources import service as sources
from labext.sandbox.nb.tables import ChatSession, Note, Notebook, NotebookSource, Source


class NewNotebook(RequestBody):
    """A new notebook."""

    name: Name = Field(examples=["Arabinose induction"])
    description: FreeText | None = Field(None, examples=["pBAD30 notes"])


class NotebookUpdate(RequestBody):
    """Fields to change; omitted ones are unchanged."""

    name: Name | None = None
    description: FreeText | None = None
    archived: bool | None = None


class NotebookRecord(Record):
    """A notebook with the numbers of its sources and notes."""

    id: str = Field(examples=["notebook:xqw43ktrgx2xufas0bfh"])
    name: str
    description: str
    archived: bool
    created_at: Timestamp = Field(examples=["2026-11-20T13:23:23.768Z"])
    updated_at: Timestamp
    source_count: int
    note_count: int


class DeletePreview(Record):
    """The objects that deleting a notebook would affect.

    `exclusive_source_count` counts the sources that no other notebook uses, which
    `delete_sources=true` would delete. Shared sources are never deleted.
    """

    notebook_id: str
    notebook_name: str
    note_count: int
    exclusive_source_count: int
    shared_source_count: int
    session_count: int


class DeletedNotebook(MessageResponse):
    """The result of deleting a notebook."""

    deleted_notes: int
    deleted_sources: int
    unlinked_sources: int
    deleted_chat_sessions: int


router = APIRouter()

_SORT_KEYS = {"updated_at": Notebook.updated, "created_at": Notebook.created, "name": Notebook.name}


@router.get("/notebooks", response_model=list[NotebookRecord])
def get_notebooks(
    site: SiteDep,
    archived: Annotated[
        bool | None, Query(description="Only archived or only active notebooks; by default all.")
    ] = None,
    order_by: Annotated[
        str,
        Query(
            description="`updated_at`, `created_at` (both newest first) or `name`; a blank and "
            "`asc` or `desc` may follow.",
            max_length=100,
        ),
    ] = "updated_at",
) -> Sequence[Notebook]:
    """List the notebooks."""
    query = select(Notebook).order_by(*order_by_terms(order_by, _SORT_KEYS, Notebook.id))
    if archived is not None:
        query = query.where(Notebook.archived.is_(archived))
    with site.database.read() as session:
        return session.scalars(query).all()


@router.post("/notebooks", response_model=NotebookRecord)
def post_notebook(site: SiteDep, body: NewNotebook) -> Notebook:
    """Create a notebook. Several notebooks may have the same name."""
    with site.database.write() as session:
        limits.check_text_size(session, body.description)
        notebook = Notebook(name=body.name, description=body.description or "")
        session.add(notebook)
        session.flush()
        session.refresh(notebook)
    return notebook


@router.get("/notebooks/{notebook_id}", response_model=NotebookRecord)
def get_notebook(site: SiteDep, notebook_id: Identifier) -> Notebook:
    """Get a notebook."""
    with site.database.read() as session:
        return load(session, Notebook, notebook_id)


@router.put("/notebooks/{notebook_id}", response_model=NotebookRecord)
def put_notebook(site: SiteDep, notebook_id: Identifier, body: NotebookUpdate) -> Notebook:
    """Rename, describe or archive a notebook."""
    values = body.model_dump(exclude_none=True)
    with site.database.write() as session:
        notebook = load(session, Notebook, notebook_id)
        limits.check_text_size(session, body.description)
        notebook.change(**values)
        session.flush()
        session.refresh(notebook)
    return notebook


@router.delete("/notebooks/{notebook_id}", response_model=DeletedNotebook)
def delete_notebook(
    site: SiteDep,
    notebook_id: Identifier,
    delete_sources: Annotated[
        bool, Query(description="Also the sources that no other notebook uses.")
    ] = False,
) -> dict[str, Any]:
    """Delete a notebook with its notes and chat sessions."""
    with site.database.write() as session:
        notebook = load(session, Notebook, notebook_id)
        notes, exclusive, shared, sessions = _notebook_contents(session, notebook_id)
        deleted = exclusive if delete_sources else []
        index.remove_passages(session, notes)
        session.delete(notebook)  # cascades to its links, notes and sessions
        session.flush()
        stopped = sources.remove_sources(site, session, deleted)
    site.queue.wait(site.database, stopped)
    return {
        "message": f"The notebook {notebook.name} is deleted.",
        "deleted_notes": len(notes),
        "deleted_sources": len(deleted),
        "unlinked_sources": len(exclusive) + len(shared) - len(deleted),
        "deleted_chat_sessions": sessions,
    }


@router.get("/notebooks/{notebook_id}/delete-preview", response_model=DeletePreview)
def get_delete_preview(site: SiteDep, notebook_id: Identifier) -> dict[str, Any]:
    """Preview the effects of deleting a notebook."""
    with site.database.read() as session:
        notebook = load(session, Notebook, notebook_id)
        notes, exclusive, shared, sessions = _notebook_contents(session, notebook_id)
    return {
        "notebook_id": notebook.id,
        "notebook_name": notebook.name,
        "note_count": len(notes),
        "exclusive_source_count": len(exclusive),
        "shared_source_count": len(shared),
        "session_count": sessions,
    }


@router.post("/notebooks/{notebook_id}/sources/{source_id}", response_model=MessageResponse)
def post_link(site: SiteDep, notebook_id: Identifier, source_id: Identifier) -> dict[str, str]:
    """Add a source to a notebook, unless it is in it."""
    with site.database.write() as session:
        load(session, Notebook, notebook_id)
        load(session, Source, source_id)
        session.merge(NotebookSource(notebook_id=notebook_id, source_id=source_id))
    return {"message": f"{source_id} is in {notebook_id}."}


@router.delete("/notebooks/{notebook_id}/sources/{source_id}", response_model=MessageResponse)
def delete_link(site: SiteDep, notebook_id: Identifier, source_id: Identifier) -> dict[str, str]:
    """Remove a source from a notebook, if it is in it. The source itself is not deleted."""
    with site.database.write() as session:
        load(session, Notebook, notebook_id)
        load(session, Source, source_id)
        link = session.get(NotebookSource, (notebook_id, source_id))
        if link is not None:
            session.delete(link)
    return {"message": f"{source_id} is not in {notebook_id}."}


def _notebook_contents(
    session: Session, identifier: str
) -> tuple[Sequence[str], list[str], list[str], int]:
    """Return the notes, the sources of no other notebook, the others, and the number of sessions.

    Notes and sources are given by their identifiers.
    """
    elsewhere = aliased(NotebookSource)
    used = exists().where(
        elsewhere.source_id == NotebookSource.source_id, elsewhere.notebook_id != identifier
    )
    rows = session.execute(
        select(NotebookSource.source_id, used).where(NotebookSource.notebook_id == identifier)
    )
    exclusive: list[str] = []
    shared: list[str] = []
    for source_id, is_shared in rows:
        (shared if is_shared else exclusive).append(source_id)
    notes = session.scalars(select(Note.id).where(Note.notebook_id == identifier)).all()
    sessions = count_rows(session, ChatSession, ChatSession.notebook_id == identifier)
    return notes, exclusive, shared, sessions

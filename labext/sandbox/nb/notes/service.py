"""List, create, update and delete notes, and index their text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, limits, tables
from labext.sandbox.nb import queries as notebooks
from labext.sandbox.nb.dependencies import format_time
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.notes.schemas import NewNote, NoteUpdate
from labext.sandbox.nb.providers.chat import generate_title
from labext.sandbox.nb.search import index
from labext.sandbox.nb.tables import Note
from labext.sandbox.nb.text.segmentation import PassageText, split_passages


def list_notes(site: Site, notebook_id: str | None) -> list[dict[str, Any]]:
    """Return the records of all notes or of a notebook's, the last changed first.

    Raises:
        HTTPException: 404 if the notebook does not exist.
    """
    query = select(Note).order_by(Note.updated.desc(), Note.id)
    with site.database.read() as session:
        if notebook_id is not None:
            notebooks.get_notebook(session, notebook_id)
            query = query.where(Note.notebook_id == notebook_id)
        return [_to_record(note) for note in session.scalars(query)]


def get_note(site: Site, identifier: str) -> dict[str, Any]:
    """Return a note's record.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        return _to_record(_load_note(session, identifier))


def create_note(site: Site, new: NewNote) -> dict[str, Any]:
    """Create a note and return its record.

    Raises:
        HTTPException: 404 if the notebook does not exist; 413 if its content is too long.
    """
    with site.database.read() as session:
        _check_note(session, new.notebook_id, new.content)
    title = new.title or None
    if title is None and new.note_type == "ai":
        title = generate_title(site, new.content)  # may be slow: no transaction is open
    now = time.time()
    note = Note(
        id=tables.new_identifier("note"),
        notebook_id=new.notebook_id,
        title=title,
        content=new.content,
        kind=new.note_type,
        created=now,
        updated=now,
    )
    parts = split_passages([(None, new.content)])
    with site.database.write() as session:
        _check_note(session, new.notebook_id)
        session.add(note)
        session.flush()
        _index_note(session, site, note, parts)
    return _to_record(note)


def update_note(site: Site, identifier: str, update: NoteUpdate) -> dict[str, Any]:
    """Change the given fields of a note and return its record.

    Raises:
        HTTPException: 404; 413 if its content is too long.
    """
    parts = None if update.content is None else split_passages([(None, update.content)])
    with site.database.write() as session:
        note = _load_note(session, identifier)
        if update.content is not None:
            limits.check_text_size(session, update.content)
            note.content = update.content
        if update.title is not None:
            note.title = update.title or None
        if update.note_type is not None:
            note.kind = update.note_type
        if update.model_dump(exclude_none=True):
            note.updated = time.time()
        if parts is not None:
            _index_note(session, site, note, parts)
        elif update.title is not None:
            index.retitle_passages(session, identifier, note.title or "")
    return _to_record(note)


def delete_note(site: Site, identifier: str) -> None:
    """Delete a note.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        session.delete(_load_note(session, identifier))
        index.remove_passages(session, [identifier])


def _index_note(session: Session, site: Site, note: Note, parts: Sequence[PassageText]) -> None:
    """Replace the passages by which a note is found."""
    index.index_passages(session, note.id, note.title or "", parts)
    if len(parts) > passage_vectors.MAX_FOREGROUND_PASSAGES:
        passage_vectors.queue_if_due(session, site)  # too many vectors for a search to wait for


def _check_note(session: Session, notebook_id: str | None, content: str = "") -> None:
    if notebook_id is not None:
        notebooks.get_notebook(session, notebook_id)
    limits.check_text_size(session, content)


def _load_note(session: Session, identifier: str) -> Note:
    note = session.get(Note, identifier)
    if note is None:
        raise errors.not_found("note", identifier)
    return note


def _to_record(note: Note) -> dict[str, Any]:
    return {
        "id": note.id,
        "title": note.title,
        "content": note.content,
        "note_type": note.kind,
        "notebook_id": note.notebook_id,
        "created_at": format_time(note.created),
        "updated_at": format_time(note.updated),
    }

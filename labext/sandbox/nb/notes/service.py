"""List, create, update and delete notes, and index their text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, settings, tables
from labext.sandbox.nb import queries as notebooks
from labext.sandbox.nb.dependencies import format_time
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.notes.schemas import NewNote, NoteUpdate
from labext.sandbox.nb.providers.chat import generate_title
from labext.sandbox.nb.search import index
from labext.sandbox.nb.tables import Note
from labext.sandbox.nb.text.segmentation import PassageText, split_passages


def list_notes(site: Site, notebook_id: str | None) -> list[dict[str, Any]]:
    """The records of all notes, or of a notebook's; the last changed first.

    Raises:
        HTTPException: 404, there is no such notebook.
    """
    wanted = select(Note).order_by(Note.updated.desc(), Note.id)
    with site.database.read() as session:
        if notebook_id is not None:
            notebooks.get_notebook(session, notebook_id)
            wanted = wanted.where(Note.notebook_id == notebook_id)
        return [_to_record(note) for note in session.scalars(wanted)]


def get_note(site: Site, identifier: str) -> dict[str, Any]:
    """A note's record.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        return _to_record(_load_note(session, identifier))


def create_note(site: Site, wanted: NewNote) -> dict[str, Any]:
    """Make a note; its record.

    Raises:
        HTTPException: 404, there is no such notebook; 413, its content is too long.
    """
    with site.database.read() as session:
        _check_note(session, wanted.notebook_id, wanted.content)
    title = wanted.title or None
    if title is None and wanted.note_type == "ai":
        title = generate_title(site, wanted.content)  # a model may take its time: no lock meanwhile
    now = time.time()
    made = Note(
        id=tables.new_identifier("note"),
        notebook_id=wanted.notebook_id,
        title=title,
        content=wanted.content,
        kind=wanted.note_type,
        created=now,
        updated=now,
    )
    parts = split_passages([(None, wanted.content)])
    with site.database.write() as session:
        _check_note(session, wanted.notebook_id)
        session.add(made)
        session.flush()
        _index_note(session, site, made, parts)
    return _to_record(made)


def update_note(site: Site, identifier: str, wanted: NoteUpdate) -> dict[str, Any]:
    """Change what is given of a note; its record.

    Raises:
        HTTPException: 404; 413, its content is too long.
    """
    parts = None if wanted.content is None else split_passages([(None, wanted.content)])
    with site.database.write() as session:
        found = _load_note(session, identifier)
        if wanted.content is not None:
            settings.check_text_size(session, wanted.content)
            found.content = wanted.content
        if wanted.title is not None:
            found.title = wanted.title or None
        if wanted.note_type is not None:
            found.kind = wanted.note_type
        if wanted.model_dump(exclude_none=True):
            found.updated = time.time()
        if parts is not None:
            _index_note(session, site, found, parts)
        elif wanted.title is not None:
            index.retitle_passages(session, identifier, found.title or "")
    return _to_record(found)


def delete_note(site: Site, identifier: str) -> None:
    """Delete a note.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        session.delete(_load_note(session, identifier))
        index.remove_passages(session, [identifier])


def _index_note(session: Session, site: Site, note: Note, parts: Sequence[PassageText]) -> None:
    """Let a note be found by these parts from now on."""
    index.index_passages(session, note.id, note.title or "", parts)
    if len(parts) > passage_vectors.MAX_FOREGROUND_PASSAGES:
        passage_vectors.queue_if_due(
            session, site
        )  # no search should have to wait for so many vectors


def _check_note(session: Session, notebook_id: str | None, content: str = "") -> None:
    if notebook_id is not None:
        notebooks.get_notebook(session, notebook_id)
    settings.check_text_size(session, content)


def _load_note(session: Session, identifier: str) -> Note:
    found = session.get(Note, identifier)
    if found is None:
        raise errors.not_found("note", identifier)
    return found


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

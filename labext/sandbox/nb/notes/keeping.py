"""Notes found, made, changed and deleted; what a note says can be searched once it was answered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.nb import faults, identifiers, limits
from labext.sandbox.nb.calls import moment
from labext.sandbox.nb.models.titles import title_of
from labext.sandbox.nb.notebooks import finding as notebooks
from labext.sandbox.nb.notes.bodies import ChangedNote, NewNote
from labext.sandbox.nb.search import index, renewal, spaces
from labext.sandbox.nb.search.passages import Piece, pieces
from labext.sandbox.nb.store import Note
from labext.sandbox.service import Site


def listed(site: Site, notebook_id: str | None) -> list[dict[str, Any]]:
    """The records of all notes, or of a notebook's; the last changed first.

    Raises:
        HTTPException: 404, there is no such notebook.
    """
    wanted = select(Note).order_by(Note.updated.desc(), Note.id)
    with site.database.read() as session:
        if notebook_id is not None:
            notebooks.notebook(session, notebook_id)
            wanted = wanted.where(Note.notebook_id == notebook_id)
        return [_record(note) for note in session.scalars(wanted)]


def shown(site: Site, identifier: str) -> dict[str, Any]:
    """A note's record.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        return _record(_note(session, identifier))


def make(site: Site, wanted: NewNote) -> dict[str, Any]:
    """Make a note; its record.

    Raises:
        HTTPException: 404, there is no such notebook; 413, its content is too long.
    """
    with site.database.read() as session:
        _check(session, wanted.notebook_id, wanted.content)
    title = wanted.title or None
    if title is None and wanted.note_type == "ai":
        title = title_of(site, wanted.content)  # a model may take its time: no lock meanwhile
    now = time.time()
    made = Note(
        id=identifiers.new("note"),
        notebook_id=wanted.notebook_id,
        title=title,
        content=wanted.content,
        kind=wanted.note_type,
        created=now,
        updated=now,
    )
    parts = pieces([(None, wanted.content)])
    with site.database.write() as session:
        _check(session, wanted.notebook_id)
        session.add(made)
        session.flush()
        _put(session, site, made, parts)
    return _record(made)


def change(site: Site, identifier: str, wanted: ChangedNote) -> dict[str, Any]:
    """Change what is given of a note; its record.

    Raises:
        HTTPException: 404; 413, its content is too long.
    """
    parts = None if wanted.content is None else pieces([(None, wanted.content)])
    with site.database.write() as session:
        found = _note(session, identifier)
        if wanted.content is not None:
            limits.check_text(session, wanted.content)
            found.content = wanted.content
        if wanted.title is not None:
            found.title = wanted.title or None
        if wanted.note_type is not None:
            found.kind = wanted.note_type
        if wanted.model_dump(exclude_none=True):
            found.updated = time.time()
        if parts is not None:
            _put(session, site, found, parts)
        elif wanted.title is not None:
            index.retitle(session, identifier, found.title or "")
    return _record(found)


def delete(site: Site, identifier: str) -> None:
    """Delete a note.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        session.delete(_note(session, identifier))
        index.remove(session, [identifier])


def _put(session: Session, site: Site, note: Note, parts: Sequence[Piece]) -> None:
    """Let a note be found by these parts from now on."""
    index.put(session, note.id, note.title or "", parts)
    if len(parts) > spaces.AT_ONCE:
        renewal.renew(session, site)  # no search should have to wait for so many vectors


def _check(session: Session, notebook_id: str | None, content: str = "") -> None:
    if notebook_id is not None:
        notebooks.notebook(session, notebook_id)
    limits.check_text(session, content)


def _note(session: Session, identifier: str) -> Note:
    found = session.get(Note, identifier)
    if found is None:
        raise faults.absent("note", identifier)
    return found


def _record(note: Note) -> dict[str, Any]:
    return {
        "id": note.id,
        "title": note.title,
        "content": note.content,
        "note_type": note.kind,
        "notebook_id": note.notebook_id,
        "created_at": moment(note.created),
        "updated_at": moment(note.updated),
    }

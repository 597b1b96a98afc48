"""Endpoints of notes, which index their text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy.orm import Session

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import limits
from labext.sandbox.nb.crud import add_crud_routes
from labext.sandbox.nb.dependencies import ThreadsDep
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.providers.chat import generate_title
from labext.sandbox.nb.queries import load
from labext.sandbox.nb.schemas import (
    Identifier,
    NonEmptyText,
    Record,
    RequestBody,
    SingleLine,
    Timestamp,
)
from labext.sandbox.nb.search import full_text, index
from labext.sandbox.nb.tables import Note, Notebook
from labext.sandbox.nb.text.passages import PassageText, split_passages

NoteType = Literal["human", "ai"]


class NewNote(RequestBody):
    """A new note; one of type `ai` without a title gets one generated from its content."""

    content: NonEmptyText = Field(examples=["Check leaky expression without arabinose."])
    title: SingleLine | None = Field(None, examples=["Plan"])
    note_type: NoteType = "human"
    notebook_id: Identifier | None = None


class NoteUpdate(RequestBody):
    """Fields to change; omitted ones are unchanged, and an empty title removes the title."""

    title: SingleLine | None = None
    content: NonEmptyText | None = None
    note_type: NoteType | None = None


class NoteRecord(Record):
    """A note."""

    id: str = Field(examples=["note:2v1h6nnjbp70uur02d4q"])
    title: str | None
    content: str
    note_type: NoteType = Field(validation_alias="kind")
    notebook_id: str | None
    created_at: Timestamp = Field(examples=["2026-11-20T13:23:23.768Z"])
    updated_at: Timestamp


router = APIRouter()
add_crud_routes(
    router,
    "/notes/{note_id}",
    Note,
    NoteRecord,
    (Note.updated.desc(), Note.id),
    before_delete=lambda session, note: index.remove_passages(session, [note.id]),
)


@router.post("/notes", response_model=NoteRecord)
async def post_note(site: SiteDep, body: NewNote, threads: ThreadsDep) -> Note:
    """Create a note. It can be searched from then on."""
    return await threads.run(lambda: _create_note(site, body))


def _create_note(site: Site, body: NewNote) -> Note:
    with site.database.read() as session:
        _check_note(session, body.notebook_id, body.content)
    title = body.title or None
    if title is None and body.note_type == "ai":
        title = generate_title(site, body.content)  # may be slow: no transaction is open
    note = Note(
        notebook_id=body.notebook_id, title=title, content=body.content, kind=body.note_type
    )
    parts = split_passages([(None, body.content)])
    with site.database.write() as session:
        _check_note(session, body.notebook_id)
        session.add(note)
        session.flush()
        _index_note(session, site, note, parts)
    return note


@router.put("/notes/{note_id}", response_model=NoteRecord)
def put_note(site: SiteDep, note_id: Identifier, body: NoteUpdate) -> Note:
    """Update a note."""
    parts = None if body.content is None else split_passages([(None, body.content)])
    with site.database.write() as session:
        note = load(session, Note, note_id)
        limits.check_text_size(session, body.content)
        values = body.model_dump(exclude_none=True)
        if "title" in values:
            values["title"] = values["title"] or None
        if "note_type" in values:
            values["kind"] = values.pop("note_type")
        note.change(**values)
        if parts is not None:
            _index_note(session, site, note, parts)
        elif body.title is not None:
            full_text.update_title(session, note_id, note.title or "")
    return note


def _index_note(session: Session, site: Site, note: Note, parts: Sequence[PassageText]) -> None:
    """Replace the passages by which a note is found."""
    index.index_passages(session, note.id, note.title or "", parts)
    if len(parts) > passage_vectors.MAX_FOREGROUND_PASSAGES:
        passage_vectors.queue_if_due(session, site)  # too many vectors for a search to wait for


def _check_note(session: Session, notebook_id: str | None, content: str = "") -> None:
    if notebook_id is not None:
        load(session, Notebook, notebook_id)
    limits.check_text_size(session, content)

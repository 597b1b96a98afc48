"""Endpoints of notes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from labext.sandbox.nb.dependencies import SiteDep, json_response
from labext.sandbox.nb.notes import service
from labext.sandbox.nb.notes.schemas import NewNote, NoteRecord, NoteUpdate
from labext.sandbox.nb.schemas import Identifier, MessageResponse

router = APIRouter()


@router.get("/notes", response_model=list[NoteRecord])
def get_notes(
    site: SiteDep,
    notebook_id: Annotated[
        Identifier | None, Query(description="Of this notebook alone; all if left out.")
    ] = None,
) -> Response:
    """List notes, the last changed first."""
    return json_response(service.list_notes(site, notebook_id))


@router.post("/notes", response_model=NoteRecord)
def post_note(site: SiteDep, body: NewNote) -> Response:
    """Make a note. It can be searched from then on."""
    return json_response(service.create_note(site, body))


@router.get("/notes/{note_id}", response_model=NoteRecord)
def get_note(site: SiteDep, note_id: Identifier) -> Response:
    """Show a note."""
    return json_response(service.get_note(site, note_id))


@router.put("/notes/{note_id}", response_model=NoteRecord)
def put_note(site: SiteDep, note_id: Identifier, body: NoteUpdate) -> Response:
    """Change a note."""
    return json_response(service.update_note(site, note_id, body))


@router.delete("/notes/{note_id}", response_model=MessageResponse)
def delete_note(site: SiteDep, note_id: Identifier) -> Response:
    """Delete a note."""
    service.delete_note(site, note_id)
    return json_response({"message": f"The note {note_id} is deleted."})

"""The routes of the group Notes (contract, Endpoints); each calls a function of the package."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from labext.sandbox.nb.bodies import Done, Identifier
from labext.sandbox.nb.calls import SiteOf, json_answer
from labext.sandbox.nb.notes import keeping
from labext.sandbox.nb.notes.bodies import ChangedNote, NewNote, NoteRecord

api = APIRouter()


@api.get("/notes", response_model=list[NoteRecord])
def get_notes(
    site: SiteOf,
    notebook_id: Annotated[
        Identifier | None, Query(description="Of this notebook alone; all if left out.")
    ] = None,
) -> Response:
    """List notes, the last changed first."""
    return json_answer(keeping.listed(site, notebook_id))


@api.post("/notes", response_model=NoteRecord)
def post_note(site: SiteOf, body: NewNote) -> Response:
    """Make a note. It can be searched from then on."""
    return json_answer(keeping.make(site, body))


@api.get("/notes/{note_id}", response_model=NoteRecord)
def get_note(site: SiteOf, note_id: Identifier) -> Response:
    """Show a note."""
    return json_answer(keeping.shown(site, note_id))


@api.put("/notes/{note_id}", response_model=NoteRecord)
def put_note(site: SiteOf, note_id: Identifier, body: ChangedNote) -> Response:
    """Change a note."""
    return json_answer(keeping.change(site, note_id, body))


@api.delete("/notes/{note_id}", response_model=Done)
def delete_note(site: SiteOf, note_id: Identifier) -> Response:
    """Delete a note."""
    keeping.delete(site, note_id)
    return json_answer({"message": f"The note {note_id} is deleted."})

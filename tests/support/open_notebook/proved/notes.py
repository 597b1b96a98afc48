"""Proofs: notes."""

from __future__ import annotations

from typing import Any

from labext.nb.records import NOTE
from open_notebook.facts import recordings, request_body
from open_notebook.proof import derived, proof
from open_notebook.proved.ids import AI_NOTE, BARE_NOTE, NOTE_ID, NOTEBOOK_ID


def _note(identifier: str, title: str | None, content: str) -> Any:
    """Return the recording of a note with another identifier."""
    recording = recordings()["notes.get"]
    answer = {**recording.answer, "id": identifier, "title": title, "content": content}
    return derived("notes.get", request_line=f"GET /api/notes/{identifier}", answer=answer)


NOTES = (
    proof(
        "notes",
        lambda d: d.notes(NOTEBOOK_ID),
        "notes.list",
        _note(BARE_NOTE, None, "no title"),
        _note(AI_NOTE, "A fake generated title", "AI summary of plasmid yields."),
        "notes.get",
        fields=NOTE,
        missing="title",
        values={"content": "no title", "notebook_id": NOTEBOOK_ID},
    ),
    proof("note", lambda d: d.note(NOTE_ID), "notes.get", fields=NOTE, missing="notebook_id"),
    proof(
        "new_note",
        lambda d: d.new_note("Plasmid yield was 9.7 ug.", "Yield", "human", NOTEBOOK_ID),
        "notes.create",
        fields=NOTE,
        values={"title": "Yield", "notebook_id": NOTEBOOK_ID},
    ),
    proof(
        "new_note",
        lambda d: d.new_note("AI summary of plasmid yields.", None, "ai", NOTEBOOK_ID),
        "notes.create_ai_no_title",
        fields=NOTE,
        values={"title": "A fake generated title", "note_type": "ai"},
    ),
    proof(
        "new_note",
        lambda d: d.new_note("no title", None, "human", NOTEBOOK_ID),
        "notes.create_human_no_title",
        fields=NOTE,
        missing="title",
        unrecorded="note_type",
    ),
    proof(
        "change_note",
        lambda d: d.change_note(NOTE_ID, request_body("notes.put")),
        "notes.put",
        fields=NOTE,
        missing="notebook_id",
        values={"title": "Yield 2", "content": "9.8 ug"},
    ),
    proof(
        "delete_note",
        lambda d: d.delete_note("note:i2vnwp5i9v0oej3proc5"),
        "notes.delete",
        result=None,
    ),
)

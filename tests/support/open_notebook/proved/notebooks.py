"""Proofs: notebooks, notes and the status of a server."""

from __future__ import annotations

from typing import Any
from unittest.mock import call

from open_notebook.facts import recordings, request_body
from open_notebook.proof import derived, proof
from open_notebook.proved.ids import (
    AI_NOTE,
    ASYNC,
    BARE_NOTE,
    DOOMED_NOTEBOOK,
    DOOMED_NOTEBOOK_2,
    NOTE_ID,
    NOTEBOOK_ID,
    SECOND,
    TEXT,
)

MADE_AT = "2026-11-20T13:23:23.768Z"


def _note(identifier: str, title: str | None, content: str) -> Any:
    """Return the recording of a note with another identifier."""
    recording = recordings()["notes.get"]
    answer = {**recording.answer, "id": identifier, "title": title, "content": content}
    return derived("notes.get", request_line=f"GET /api/notes/{identifier}", answer=answer)


PROOFS = (
    proof(
        call.notebooks(),
        "notebooks.list",
        values={"name": "Second", "created_at": "2026-11-20T13:23:23.774Z"},
    ),
    *(proof(call.notebooks(w), f"notebooks.list_archived_{w}".lower()) for w in (True, False)),
    proof(call.notebooks(order_by="name"), "notebooks.list_order_name_asc"),
    proof(call.notebook(NOTEBOOK_ID), "notebooks.get"),
    proof(
        call.new_notebook("Miniprep", "Plasmid work"),
        "notebooks.create",
        values={"id": NOTEBOOK_ID, "created_at": MADE_AT},
    ),
    proof(call.new_notebook("Second", None), "notebooks.create_2"),
    proof(
        call.change_notebook(NOTEBOOK_ID, request_body("notebooks.put")),
        "notebooks.put",
        values={"name": "Miniprep A", "description": "d"},
    ),
    proof(
        call.change_notebook(SECOND, {"archived": True}),
        "notebooks.put_archive_only",
        values={"archived": True},
    ),
    proof(
        call.delete_notebook(DOOMED_NOTEBOOK_2, delete_sources=True),
        "notebooks.delete_exclusive",
        values={"deleted_sources": 1, "id": DOOMED_NOTEBOOK_2},
    ),
    proof(
        call.preview(DOOMED_NOTEBOOK),
        "notebooks.delete_preview",
        derived("chat.sessions_list", query={"notebook_id": DOOMED_NOTEBOOK}),
        values={"exclusive_source_count": 1, "session_count": 1, "name": "Doomed"},
    ),
    proof(
        call.link(DOOMED_NOTEBOOK_2, "source:pjqe81blzws0lgeyvbgd"),
        "sources.exclusive_survives",
        "notebooks.link_excl",
        result=None,
    ),
    # The link already exists: that server would add a second one.
    proof(call.link(NOTEBOOK_ID, ASYNC), "sources.get", result=None),
    proof(call.unlink(SECOND, TEXT), "notebooks.unlink", result=None),
    proof(
        call.notes(NOTEBOOK_ID),
        "notes.list",
        _note(BARE_NOTE, None, "no title"),
        _note(AI_NOTE, "A fake generated title", "AI summary of plasmid yields."),
        "notes.get",
        missing="title",
        values={"content": "no title", "notebook_id": NOTEBOOK_ID},
    ),
    proof(call.note(NOTE_ID), "notes.get", missing="notebook_id"),
    proof(
        call.new_note("Plasmid yield was 9.7 ug.", "Yield", "human", NOTEBOOK_ID),
        "notes.create",
        values={"title": "Yield", "notebook_id": NOTEBOOK_ID},
    ),
    proof(
        call.new_note("AI summary of plasmid yields.", None, "ai", NOTEBOOK_ID),
        "notes.create_ai_no_title",
        values={"title": "A fake generated title", "note_type": "ai"},
    ),
    proof(
        call.new_note("no title", None, "human", NOTEBOOK_ID),
        "notes.create_human_no_title",
        missing="title",
        unrecorded="note_type",
    ),
    proof(
        call.change_note(NOTE_ID, request_body("notes.put")),
        "notes.put",
        missing="notebook_id",
        values={"title": "Yield 2", "content": "9.8 ug"},
    ),
    proof(call.delete_note("note:i2vnwp5i9v0oej3proc5"), "notes.delete", result=None),
    proof(
        call.status(),
        "meta.config",
        "meta.auth_status",
        result={"version": "1.14.0", "database": "online", "password_needed": False},
    ),
    proof(
        call.status(),
        "auth.open_api_config",
        "auth.open_api_auth_status",
        result={"version": "1.14.0", "database": "online", "password_needed": True},
    ),
)

"""Proofs of operations that are not in the contract."""

from __future__ import annotations

from unittest.mock import call

from open_notebook.facts import recordings
from open_notebook.proof import derived, proof
from open_notebook.proved.ids import (
    COMMAND_ID,
    INSIGHT_ID,
    NOTE_ID,
    NOTEBOOK_ID,
    SAVED_NOTE,
    TEXT,
    TRANSFORMATION_ID,
)

_ACTIVE = recordings()["sources.list_with_active_or_failed"]

PROOFS = (
    proof(call.settings(), "meta.settings", result=recordings()["meta.settings"].answer),
    proof(
        call.command_kinds(),
        "meta.registry_debug",
        values={"command": "embed_note", "app": "open_notebook"},
    ),
    proof(
        call.commands(None, None, None),
        "commands.jobs_list",
        derived(_ACTIVE.name, query={"limit": "100", "offset": "0"}),
        derived(
            "sources.list", query={"limit": "100", "offset": str(len(_ACTIVE.answer))}, answer=[]
        ),
        missing="result progress",
        values={
            "status": "failed",
            "subject": "http://127.0.0.1:9/none",
            "command": "process_source",
        },
    ),
    proof(
        call.command(COMMAND_ID),
        "commands.job",
        missing="error_message progress created_at updated_at",
        values={"status": "completed", "subject": TEXT, "command": "run_transformation"},
    ),
    proof(call.cancel_command(COMMAND_ID), "commands.cancel", result=None),
    proof(
        call.new_insight(TEXT, TRANSFORMATION_ID, None), "insights.create_202", result=COMMAND_ID
    ),
    proof(
        call.insight(INSIGHT_ID),
        "insights.get",
        missing="source_title",
        values={"source_id": TEXT, "insight_type": "Shorten it"},
    ),
    proof(
        call.save_insight(INSIGHT_ID, NOTEBOOK_ID),
        "insights.save_as_note",
        derived(
            "notes.put",
            request_line=f"PUT /api/notes/{SAVED_NOTE}",
            json={"note_type": "ai"},
            answer={**recordings()["insights.save_as_note"].answer, "note_type": "ai"},
        ),
        values={"note_type": "ai", "notebook_id": NOTEBOOK_ID},
    ),
    proof(
        call.embed(NOTE_ID, "note"),
        "models.defaults_after_auto",
        "embed.note_async",
        values={"item_id": NOTE_ID, "job_id": "command:o7e7tbpj7ivazvtlk7yo"},
    ),
    proof(
        call.embed(TEXT, "source"),
        "models.defaults_after_auto",
        "embed.source_sync",
        unrecorded="async_processing",  # a command does it also without this field
        values={"item_type": "source"},
    ),
)

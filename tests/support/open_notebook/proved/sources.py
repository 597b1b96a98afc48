"""Proofs: sources."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import call

from open_notebook.facts import request_body
from open_notebook.proof import derived, proof
from open_notebook.proved.ids import ASYNC, BROKEN, NOTEBOOK_ID, PAGE, TEXT, UPLOAD

_READY = "remark transcribed_by confidence size stage error insights_count file_name url"
_QUEUED = "remark transcribed_by confidence size stage error notebooks insights_count full_text"
_MAKING = (derived("models.defaults_after_auto"), derived("transformations.list"))

PROOFS = (
    proof(
        call.sources(NOTEBOOK_ID, 100, 0, None),
        "sources.list_with_active_or_failed",
        missing="transcribed_by confidence size stage file_name notebooks passages",
        values={
            "status": "failed",
            "kind": "link",
            "title": "http://127.0.0.1:9/none",
            "error": "Could not extract content from this source. The URL or file may be "
            "unreachable, invalid, or in an unsupported format.",
        },
        unrecorded="offset",
    ),
    proof(
        call.sources(None, 1, 1, "title"),
        "sources.list_paged",
        missing="transcribed_by confidence size stage error file_name notebooks passages",
        values={"kind": "link", "title": "Local page"},
    ),
    proof(
        call.source(ASYNC),
        "sources.get",
        missing=_READY,
        values={"status": "completed", "notebooks": [NOTEBOOK_ID], "kind": "text"},
    ),
    proof(
        call.source(PAGE),
        "sources.get_link",
        missing="remark transcribed_by confidence size stage error insights_count file_name",
        values={"url": "http://llm.example:8080/page", "kind": "link"},
    ),
    proof(
        call.source(UPLOAD),
        "sources.get_upload",
        missing="remark transcribed_by confidence size stage error insights_count url",
        values={"file_name": "protocol v1.txt", "kind": "upload"},
    ),
    proof(
        call.source(BROKEN),
        "sources.get_broken",
        missing="remark transcribed_by confidence size stage error insights_count url full_text",
        values={"status": "running", "title": "broken.pdf"},
    ),
    proof(
        call.add_text(
            request_body("sources.create_text_async_json")["content"],
            notebook=NOTEBOOK_ID,
            title="Async text",
            topic=None,
            process_async=True,
        ),
        *_MAKING,
        "sources.create_text_async_json",
        missing=f"{_QUEUED} file_name url",
        values={"status": "new", "kind": "text"},
        unrecorded="transformations",
    ),
    proof(
        call.add_text(
            "x",
            notebook=NOTEBOOK_ID,
            title="Async text",
            topic="plasmid, yield",
            process_async=True,
        ),
        *_MAKING,
        "sources.create_text_async_json",
        derived("sources.put", json={"topics": ["plasmid", "yield"]}),
        values={"topic": "plasmid, yield", "status": "new"},
        missing=f"{_QUEUED} file_name url",
        unrecorded="transformations",
        differing="content",
    ),
    # Recorded as a form; the same fields as JSON are those of a text.
    proof(
        call.add_url(
            "http://llm.example:8080/page",
            notebook=NOTEBOOK_ID,
            title=None,
            topic=None,
            process_async=True,
        ),
        *_MAKING,
        derived("sources.create_link_async", request_line="POST /api/sources/json"),
        missing=f"{_QUEUED} file_name",
        values={"kind": "link", "url": "http://llm.example:8080/page", "status": "new"},
        unrecorded="transformations notebook_id",
        omitted="notebooks",
        differing="async_processing embed",
    ),
    *(
        proof(
            call.add_file(
                Path("FOLDER") / file,
                notebook=NOTEBOOK_ID,
                title=title,
                topic=None,
                process_async=not wait,
            ),
            *_MAKING,
            name,
            missing=f"{_QUEUED} url"
            if not wait
            else "remark transcribed_by confidence size stage error insights_count notebooks url",
            values={"kind": "upload", "status": "completed" if wait else "new"},
            unrecorded="transformations" + (" async_processing embed title" if wait else ""),
        )
        for name, file, title, wait in (
            ("sources.upload_async", "protocol v1.txt", "Protocol file", False),
            ("sources.upload_unicode_name", "protocolo ação µ.txt", None, True),
        )
    ),
    *(
        proof(
            call.source_status(source),
            name,
            missing=f"remark stage completed_at changed_at {untold}",
            values={"status": status},
        )
        for name, source, status, untold in (
            ("sources.status_poll_0", ASYNC, "running", "error started_at"),
            ("sources.status_poll_1", ASYNC, "completed", "error"),
            ("sources.dead_status", "source:irqzbzl6wakpq9mh3qpq", "failed", "started_at"),
        )
    ),
    proof(
        call.change_source(ASYNC, {"title": "Async text 2", "topic": "plasmid, yield"}),
        "sources.put",
        missing=f"{_READY} notebooks",
        values={"title": "Async text 2", "topic": "plasmid, yield"},
    ),
    proof(call.delete_source("source:48dog6wiq6zrut9knmef"), "sources.delete", result=None),
    proof(call.has_original(UPLOAD), "sources.download_head", result=True),
    proof(call.has_original(TEXT), "sources.download_head_404", result=False),
    proof(call.original(UPLOAD), "sources.download", result=924),
    proof(
        call.retry_source(BROKEN),
        "sources.retry_failed",
        missing=f"{_QUEUED} url",
        values={"status": "queued", "file_name": "broken.pdf"},
    ),
    proof(
        call.insights(TEXT),
        "insights.list",
        missing="source_title",
        values={"insight_type": "Shorten it", "created_at": "2026-11-20T13:30:47.879Z"},
    ),
)

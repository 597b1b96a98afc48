"""Proofs: notebooks, sources, notes, chats, search and questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labext.nb.answers import Answer
from labext.nb.records import (
    CONTEXT,
    DELETED,
    HIT,
    INSIGHT,
    NOTE,
    NOTEBOOK,
    PREVIEW,
    SESSION,
    SOURCE,
    STATUS,
    WHOLE_SOURCE,
)
from labext.nb.scope import Prepared, Question, Scope
from open_notebook.facts import recordings
from open_notebook.proof import derived, proof

NOTEBOOK_ID = "notebook:bbhcqmsnz94npnt7fspo"
SECOND = "notebook:xqw43ktrgx2xufas0bfh"
DOOMED, DOOMED_2 = "notebook:1t5m4h3u8nj6h2lvvabf", "notebook:gk0nuv33hyk0yfkjwcol"
TEXT, ASYNC, PAGE = (
    "source:tyu15omdv02ep90uauvu",
    "source:iv8t6jwqw9lo4amjyr0f",
    "source:k1ehtx07hqp0kvhmyi51",
)
UPLOAD, BROKEN = "source:uz770phrsdfnzdkxl8zc", "source:3lexeikpxfdb9wzv9t7v"
NOTE_ID, AI_NOTE, BARE_NOTE = (
    "note:rh4bk8rexnua5a5c6tt3",
    "note:zy9r1128fhjvvv67zn43",
    "note:2v1h6nnjbp70uur02d4q",
)
CHAT, CONTEXT_CHAT = "chat_session:tew7qut8ma0fvf0pw7ly", "chat_session:ue5x2sp4pd8dwx1l27pi"
MODEL_ID = "model:db6z8s9l2zymrjl04e3q"

MADE_AT = "2026-11-20T13:23:23.768Z"
QUESTION = "What yield do minipreps give?"
EVERYTHING = Scope()


def _asked(name: str) -> Any:
    told = recordings()[name]
    return told.json or told.form


def _note(identifier: str, title: str | None, content: str) -> Any:
    """A note as it is looked at: only one was."""
    told = recordings()["notes.get"]
    answer = {**told.answer, "id": identifier, "title": title, "content": content}
    return derived("notes.get", asks=f"GET /api/notes/{identifier}", answer=answer)


NOTEBOOKS = (
    proof(
        "notebooks",
        lambda d: d.notebooks(),
        "notebooks.list",
        fields=NOTEBOOK,
        holds={"name": "Second", "created_at": "2026-11-20T13:23:23.774Z"},
    ),
    *(
        proof("notebooks", lambda d, w=w: d.notebooks(w), f"notebooks.list_archived_{w}".lower())
        for w in (True, False)
    ),
    proof(
        "notebooks",
        lambda d: d.notebooks(order_by="name"),
        "notebooks.list_order_name_asc",
        fields=NOTEBOOK,
    ),
    proof("notebook", lambda d: d.notebook(NOTEBOOK_ID), "notebooks.get", fields=NOTEBOOK),
    proof("notebook", lambda d: d.notebook(NOTEBOOK_ID), "notebooks.get_encoded_colon"),
    proof(
        "new_notebook",
        lambda d: d.new_notebook("Miniprep", "Plasmid work"),
        "notebooks.create",
        fields=NOTEBOOK,
        holds={"id": NOTEBOOK_ID, "created_at": MADE_AT},
    ),
    proof("new_notebook", lambda d: d.new_notebook("Second", None), "notebooks.create_2"),
    proof(
        "change_notebook",
        lambda d: d.change_notebook(NOTEBOOK_ID, _asked("notebooks.put")),
        "notebooks.put",
        fields=NOTEBOOK,
        holds={"name": "Miniprep A", "description": "d"},
    ),
    proof(
        "change_notebook",
        lambda d: d.change_notebook(SECOND, {"archived": True}),
        "notebooks.put_archive_only",
        fields=NOTEBOOK,
        holds={"archived": True},
    ),
    proof(
        "delete_notebook",
        lambda d: d.delete_notebook(DOOMED_2, delete_sources=True),
        "notebooks.delete_exclusive",
        fields=DELETED,
        holds={"deleted_sources": 1, "id": DOOMED_2},
    ),
    proof(
        "preview",
        lambda d: d.preview(DOOMED),
        "notebooks.delete_preview",
        derived("chat.sessions_list", query={"notebook_id": DOOMED}),
        fields=PREVIEW,
        holds={"exclusive_source_count": 1, "session_count": 1, "name": "Doomed"},
    ),
    proof(
        "link",
        lambda d: d.link(DOOMED_2, "source:pjqe81blzws0lgeyvbgd"),
        "sources.exclusive_survives",
        "notebooks.link_excl",
        result=None,
    ),
    # It is there already: that server would double the row.
    proof("link", lambda d: d.link(NOTEBOOK_ID, ASYNC), "sources.get", result=None),
    proof("unlink", lambda d: d.unlink(SECOND, TEXT), "notebooks.unlink", result=None),
)

_LISTED = "size stage error file_name url notebooks"
_READY = "size stage error insights_count file_name url"
_QUEUED = "size stage error notebooks insights_count full_text"
_MAKING = (
    derived("models.defaults_after_auto"),
    derived("transformations.list"),
)

SOURCES = (
    proof(
        "sources",
        lambda d: d.sources(NOTEBOOK_ID, 100, 0, None),
        "sources.list_with_active_or_failed",
        fields=SOURCE,
        untold="size stage file_name notebooks",
        holds={
            "status": "failed",
            "kind": "link",
            "error": "Could not extract content from this source. The URL or file may be "
            "unreachable, invalid, or in an unsupported format.",
        },
        schema="offset",
    ),
    proof(
        "sources",
        lambda d: d.sources(None, 1, 1, "title"),
        "sources.list_paged",
        fields=SOURCE,
        untold="size stage error file_name notebooks",
        holds={"kind": "link", "title": "Local page", "passages": 0},
    ),
    proof(
        "source",
        lambda d: d.source(ASYNC),
        "sources.get",
        fields=WHOLE_SOURCE,
        untold=_READY,
        holds={"status": "completed", "notebooks": [NOTEBOOK_ID], "kind": "text"},
    ),
    proof(
        "source",
        lambda d: d.source(PAGE),
        "sources.get_link",
        fields=WHOLE_SOURCE,
        untold="size stage error insights_count file_name",
        holds={"url": "http://llm.example:8080/page", "kind": "link"},
    ),
    proof(
        "source",
        lambda d: d.source(UPLOAD),
        "sources.get_upload",
        fields=WHOLE_SOURCE,
        untold="size stage error insights_count url",
        holds={"file_name": "protocol v1.txt", "kind": "upload"},
    ),
    proof(
        "source",
        lambda d: d.source(BROKEN),
        "sources.get_broken",
        fields=WHOLE_SOURCE,
        untold="size stage error insights_count url full_text",
        holds={"status": "running"},
    ),
    proof(
        "add_text",
        lambda d: d.add_text(
            _asked("sources.create_text_async_json")["content"],
            notebook=NOTEBOOK_ID,
            title="Async text",
            topic=None,
            process_async=True,
        ),
        *_MAKING,
        "sources.create_text_async_json",
        fields=WHOLE_SOURCE,
        untold=f"{_QUEUED} file_name url",
        holds={"status": "new", "kind": "text"},
        schema="transformations",
    ),
    proof(
        "add_text",
        lambda d: d.add_text(
            "x",
            notebook=NOTEBOOK_ID,
            title="Async text",
            topic="plasmid, yield",
            process_async=True,
        ),
        *_MAKING,
        "sources.create_text_async_json",
        derived("sources.put", json={"topics": ["plasmid", "yield"]}),
        holds={"topic": "plasmid, yield", "status": "new"},
        fields=WHOLE_SOURCE,
        untold=f"{_QUEUED} file_name url",
        schema="transformations",
        other="content",
    ),
    # Recorded as a form; the same fields as JSON are those of a text.
    proof(
        "add_url",
        lambda d: d.add_url(
            "http://llm.example:8080/page",
            notebook=NOTEBOOK_ID,
            title=None,
            topic=None,
            process_async=True,
        ),
        *_MAKING,
        derived("sources.create_link_async", asks="POST /api/sources/json"),
        fields=WHOLE_SOURCE,
        untold=f"{_QUEUED} file_name",
        holds={"kind": "link", "url": "http://llm.example:8080/page", "status": "new"},
        schema="transformations notebook_id",
        left="notebooks",
        other="async_processing embed",
    ),
    *(
        proof(
            "add_file",
            lambda d, file=file, title=title, wait=wait: d.add_file(
                Path("FOLDER") / file,
                notebook=NOTEBOOK_ID,
                title=title,
                topic=None,
                process_async=not wait,
            ),
            *_MAKING,
            name,
            fields=WHOLE_SOURCE,
            untold=f"{_QUEUED} url"
            if not wait
            else "size stage error insights_count notebooks url",
            holds={"kind": "upload", "status": "completed" if wait else "new"},
            schema="transformations" + (" async_processing embed" if wait else ""),
        )
        for name, file, title, wait in (
            ("sources.upload_async", "protocol v1.txt", "Protocol file", False),
            ("sources.upload_same_name_sync", "protocol v1.txt", None, True),
            ("sources.upload_unicode_name", "protocolo ação µ.txt", None, True),
        )
    ),
    *(
        proof(
            "source_status",
            lambda d, source=source: d.source_status(source),
            name,
            fields=STATUS,
            untold=f"stage completed_at changed_at {untold}",
            holds={"status": status},
        )
        for name, source, status, untold in (
            ("sources.status_poll_0", ASYNC, "running", "error started_at"),
            ("sources.status_poll_1", ASYNC, "completed", "error"),
            ("sources.dead_status", "source:irqzbzl6wakpq9mh3qpq", "failed", "started_at"),
            ("sources.broken_status", BROKEN, "running", "error started_at"),
        )
    ),
    proof(
        "change_source",
        lambda d: d.change_source(ASYNC, {"title": "Async text 2", "topic": "plasmid, yield"}),
        "sources.put",
        fields=WHOLE_SOURCE,
        untold=f"{_READY} notebooks",
        holds={"title": "Async text 2", "topic": "plasmid, yield"},
    ),
    proof(
        "delete_source",
        lambda d: d.delete_source("source:48dog6wiq6zrut9knmef"),
        "sources.delete",
        result=None,
    ),
    proof("has_original", lambda d: d.has_original(UPLOAD), "sources.download_head", result=True),
    proof(
        "has_original", lambda d: d.has_original(TEXT), "sources.download_head_404", result=False
    ),
    proof("original", lambda d: d.original(UPLOAD), "sources.download", result=924),
    proof(
        "original",
        lambda d: d.original("source:cme4tv9k9s3f78kg7j86"),
        "sources.download_unicode_name",
        result=16,
    ),
    proof(
        "retry_source",
        lambda d: d.retry_source(BROKEN),
        "sources.retry_failed",
        fields=WHOLE_SOURCE,
        untold=f"{_QUEUED} url",
        holds={"status": "queued", "file_name": "broken.pdf"},
    ),
    proof(
        "insights",
        lambda d: d.insights(TEXT),
        "insights.list",
        fields=INSIGHT,
        holds={"insight_type": "Shorten it", "created_at": "2026-11-20T13:30:47.879Z"},
    ),
    proof("insights", lambda d: d.insights(TEXT), "sources.insights_empty", result=[]),
)

NOTES = (
    proof(
        "notes",
        lambda d: d.notes(NOTEBOOK_ID),
        "notes.list",
        _note(BARE_NOTE, None, "no title"),
        _note(AI_NOTE, "A fake generated title", "AI summary of plasmid yields."),
        "notes.get",
        fields=NOTE,
        untold="title",
        holds={"content": "no title", "notebook_id": NOTEBOOK_ID},
    ),
    proof("note", lambda d: d.note(NOTE_ID), "notes.get", fields=NOTE, untold="notebook_id"),
    proof(
        "new_note",
        lambda d: d.new_note("Plasmid yield was 9.7 ug.", "Yield", "human", NOTEBOOK_ID),
        "notes.create",
        fields=NOTE,
        holds={"title": "Yield", "notebook_id": NOTEBOOK_ID},
    ),
    proof(
        "new_note",
        lambda d: d.new_note("AI summary of plasmid yields.", None, "ai", NOTEBOOK_ID),
        "notes.create_ai_no_title",
        fields=NOTE,
        holds={"title": "A fake generated title", "note_type": "ai"},
    ),
    proof(
        "new_note",
        lambda d: d.new_note("no title", None, "human", NOTEBOOK_ID),
        "notes.create_human_no_title",
        fields=NOTE,
        untold="title",
        schema="note_type",
    ),
    proof(
        "change_note",
        lambda d: d.change_note(NOTE_ID, _asked("notes.put")),
        "notes.put",
        fields=NOTE,
        untold="notebook_id",
        holds={"title": "Yield 2", "content": "9.8 ug"},
    ),
    proof(
        "delete_note",
        lambda d: d.delete_note("note:i2vnwp5i9v0oej3proc5"),
        "notes.delete",
        result=None,
    ),
)

_CONTEXT = recordings()["chat.context_for_execute"].answer["context"]
_CHOSEN = recordings()["chat.context_config"].json["context_config"]

CHATS = (
    proof(
        "sessions",
        lambda d: d.sessions(NOTEBOOK_ID),
        "chat.sessions_list",
        fields=SESSION,
        untold="model_override",
    ),
    proof(
        "sessions",
        lambda d: d.sessions(),
        derived("notebooks.list", answer=recordings()["notebooks.list"].answer[1:2]),
        "chat.sessions_list",
        fields=SESSION,
        untold="model_override",
        holds={"notebook_id": NOTEBOOK_ID},
    ),
    proof(
        "session",
        lambda d: d.session(CHAT),
        "chat.session_get",
        fields=SESSION,
        untold="model_override",
        holds={"message_count": 10},
    ),
    proof("session", lambda d: d.session(CHAT), "chat.session_get_empty", holds={"messages": []}),
    proof(
        "new_session",
        lambda d: d.new_session(NOTEBOOK_ID, "Yields", None),
        "chat.session_create",
        fields=SESSION,
        untold="model_override",
        left="model_override",
    ),
    proof("new_session", lambda d: d.new_session(NOTEBOOK_ID, None, None), "chat.session_create_2"),
    proof(
        "change_session",
        lambda d: d.change_session(CHAT, _asked("chat.session_put")),
        "chat.session_put",
        fields=SESSION,
        holds={"title": "Yields 2", "model_override": MODEL_ID},
    ),
    proof(
        "delete_session",
        lambda d: d.delete_session("chat_session:u0oy91n52phxul2wrbxl"),
        "chat.session_delete",
        result=None,
    ),
    proof(
        "context",
        lambda d: d.context(None, NOTEBOOK_ID, EVERYTHING, _CHOSEN),
        "chat.context_config",
        fields=CONTEXT,
        holds={"token_count": 271, "char_count": 1565, "notes": _CONTEXT["notes"]},
    ),
    # All of the notebook is named: with what is not, nothing or only insights would come.
    proof(
        "prepared",
        lambda d: d.prepared(CHAT, EVERYTHING),
        "chat.session_get",
        "sources.list_with_active_or_failed",
        derived(
            "sources.list_with_active_or_failed",
            query={"notebook_id": NOTEBOOK_ID, "limit": 100, "offset": 6},
            answer=[],
        ),
        "notes.list",
        "chat.context_for_execute",
        result=Prepared(_CONTEXT, 271),
        schema="offset",
        left="offset",
        other="offset context_config",
    ),
    proof(
        "prepared",
        lambda d: d.prepared(CHAT, Scope(notes=(NOTE_ID,))),
        "chat.session_get",
        "notes.list",
        "chat.context_for_execute",
        result=Prepared(_CONTEXT, 271),
        other="context_config",
    ),
    proof(
        "execute",
        lambda d: d.execute(CONTEXT_CHAT, "What yield?", Prepared(_CONTEXT), None),
        "chat.execute",
    ),
    proof(
        "execute",
        lambda d: d.execute(CHAT, "use slow-chat", Prepared({}), "model:hl167oz2qb0x2e4t24g4"),
        "chat.execute.slow-chat",
    ),
)

_EVERY_KIND = "search_sources search_notes"
_SIMPLE = recordings()["search.ask_simple"].answer["answer"]

SEARCH = (
    proof(
        "search",
        lambda d: d.search("plasmid", "text", EVERYTHING, 5, None),
        "search.text",
        fields=HIT,
        untold="match page similarity",
        holds={"id": AI_NOTE, "kind": "note", "relevance": 1.3919838666915894},
        schema=_EVERY_KIND,
    ),
    proof(
        "search",
        lambda d: d.search("plasmid miniprep yields", "vector", EVERYTHING, 5, 0.1),
        "search.vector",
        fields=HIT,
        untold="page relevance",
        # The best comes first, whatever the server's order.
        holds={"id": AI_NOTE, "similarity": 0.5163977794943224},
        schema=_EVERY_KIND,
    ),
    proof(
        "search",
        lambda d: d.search("yield", "text", Scope(include_sources=False), None, None),
        "search.notes_only",
        fields=HIT,
        untold="match page similarity",
        holds={"id": AI_NOTE},
        schema="type search_notes",
    ),
    proof(
        "search",
        lambda d: d.search("plasmid", "text", Scope(sources=(PAGE,)), 5, None),
        derived("search.text", json={"query": "plasmid", "type": "text", "limit": 1000}),
        fields=HIT,
        untold="match page similarity",
        holds={"id": PAGE},
        schema=_EVERY_KIND,
    ),
    proof(
        "search",
        lambda d: d.search("zzzqqq", "text", EVERYTHING, None, None),
        "search.no_hits",
        result=[],
        schema=_EVERY_KIND,
    ),
    proof(
        "ask",
        lambda d: d.ask(Question(QUESTION, EVERYTHING, model_override=MODEL_ID)),
        "search.ask_simple",
        result=Answer(_SIMPLE, (), QUESTION),
    ),
    proof(
        "ask",
        lambda d: d.ask(Question(QUESTION, EVERYTHING)),
        derived("models.defaults_put_partial", asks="GET /api/models/defaults", json=None),
        "search.ask_simple",
        result=Answer(_SIMPLE, (), QUESTION),
    ),
    proof(
        "ask_stream",
        lambda d: d.ask_stream(Question(QUESTION, EVERYTHING, model_override=MODEL_ID)),
        "search.ask_sse",
    ),
)

KNOWLEDGE = (*NOTEBOOKS, *SOURCES, *NOTES, *CHATS, *SEARCH)

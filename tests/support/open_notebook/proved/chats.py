"""Proofs: chats, search and questions."""

from __future__ import annotations

from unittest.mock import call

from labext.nb.records import Answer, Citation, MessageContext, Query, Question, Scope
from open_notebook.facts import recordings, request_body
from open_notebook.proof import derived, proof
from open_notebook.proved.ids import (
    AI_NOTE,
    CHAT,
    CONTEXT_CHAT,
    MODEL_ID,
    NOTE_ID,
    NOTEBOOK_ID,
    PAGE,
)

_CONTEXT = recordings()["chat.context_for_execute"].answer["context"]
_CHOSEN = recordings()["chat.context_config"].json["context_config"]
_REST_OF_NOTEBOOK = (
    derived(
        "sources.list_with_active_or_failed",
        query={"notebook_id": NOTEBOOK_ID, "limit": 100, "offset": 6},
        answer=[],
    ),
    "notes.list",
)

QUESTION = "What yield do minipreps give?"

_EVERY_KIND = "search_sources search_notes"
_SIMPLE = recordings()["search.ask_simple"].answer["answer"]
_CITED = derived(
    "notes.get",
    request_line=f"GET /api/notes/{AI_NOTE}",
    answer=recordings()["notes.create_ai_no_title"].answer,
)
_ANSWER = Answer(_SIMPLE, (Citation(AI_NOTE, "A fake generated title"),), QUESTION)

PROOFS = (
    proof(call.sessions(NOTEBOOK_ID), "chat.sessions_list", missing="model_override"),
    proof(
        call.sessions(),
        derived("notebooks.list", answer=recordings()["notebooks.list"].answer[1:2]),
        "chat.sessions_list",
        missing="model_override",
        values={"notebook_id": NOTEBOOK_ID},
    ),
    proof(
        call.session(CHAT),
        "chat.session_get",
        # Its replies have marks, whose titles are looked up.
        "sources.list_with_active_or_failed",
        *_REST_OF_NOTEBOOK,
        missing="model_override",
        values={"message_count": 10},
        unrecorded="offset",
        omitted="offset",
        differing="offset",
    ),
    proof(
        call.session(CHAT),
        "chat.session_get_empty",
        missing="model_override",
        values={"messages": []},
    ),
    proof(
        call.new_session(NOTEBOOK_ID, "Yields", None),
        "chat.session_create",
        missing="model_override",
        omitted="model_override",
    ),
    proof(
        call.new_session(NOTEBOOK_ID, None, None), "chat.session_create_2", missing="model_override"
    ),
    proof(
        call.change_session(CHAT, request_body("chat.session_put")),
        "chat.session_put",
        values={"title": "Yields 2", "model_override": MODEL_ID},
    ),
    proof(
        call.delete_session("chat_session:u0oy91n52phxul2wrbxl"), "chat.session_delete", result=None
    ),
    proof(
        call.context(None, NOTEBOOK_ID, Scope(), _CHOSEN),
        "chat.context_config",
        values={"token_count": 271, "char_count": 1565, "notes": _CONTEXT["notes"]},
    ),
    # All sources and notes are named: the server omits the others, or sends only their insights.
    proof(
        call.message_context(CHAT, Scope()),
        "chat.session_get",
        "sources.list_with_active_or_failed",
        *_REST_OF_NOTEBOOK,
        "chat.context_for_execute",
        result=MessageContext(_CONTEXT, 271),
        unrecorded="offset",
        omitted="offset",
        differing="offset context_config",
    ),
    proof(
        call.message_context(CHAT, Scope(notes=(NOTE_ID,))),
        "chat.session_get",
        "notes.list",
        "chat.context_for_execute",
        result=MessageContext(_CONTEXT, 271),
        differing="context_config",
    ),
    proof(
        call.execute(CONTEXT_CHAT, "What yield?", MessageContext(_CONTEXT), None), "chat.execute"
    ),
    proof(
        call.execute(CHAT, "use slow-chat", MessageContext({}), "model:hl167oz2qb0x2e4t24g4"),
        "chat.execute.slow-chat",
    ),
    proof(
        call.search(Query("plasmid", Scope(), 5), "text"),
        "search.text",
        missing="match page similarity table_header transcript confidence",
        values={"id": AI_NOTE, "kind": "note", "relevance": 1.3919838666915894},
        unrecorded=_EVERY_KIND,
    ),
    proof(
        call.search(Query("plasmid miniprep yields", Scope(), 5, 0.1), "vector"),
        "search.vector",
        missing="page relevance table_header transcript confidence",
        # The best hit is first, since the backend sorts the hits.
        values={"id": AI_NOTE, "similarity": 0.5163977794943224},
        unrecorded=_EVERY_KIND,
    ),
    proof(
        call.search(Query("yield", Scope(include_sources=False)), "text"),
        "search.notes_only",
        missing="match page similarity table_header transcript confidence",
        values={"id": AI_NOTE},
        unrecorded="type search_notes",
    ),
    proof(
        call.search(Query("plasmid", Scope(sources=(PAGE,)), 5), "text"),
        derived("search.text", json={"query": "plasmid", "type": "text", "limit": 1000}),
        missing="match page similarity table_header transcript confidence",
        values={"id": PAGE},
        unrecorded=_EVERY_KIND,
    ),
    proof(
        call.ask(Question(QUESTION, Scope(), model_override=MODEL_ID)),
        "search.ask_simple",
        _CITED,
        result=_ANSWER,
    ),
    proof(
        call.ask(Question(QUESTION, Scope())),
        derived("models.defaults_put_partial", request_line="GET /api/models/defaults", json=None),
        "search.ask_simple",
        _CITED,
        result=_ANSWER,
    ),
    proof(call.with_citations(Answer(_SIMPLE, (), QUESTION)), _CITED, result=_ANSWER),
    proof(call.ask_stream(Question(QUESTION, Scope(), model_override=MODEL_ID)), "search.ask_sse"),
)

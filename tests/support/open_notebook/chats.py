"""Chats about a notebook and about a source, search and questions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from open_notebook.answering import Call, route
from open_notebook.answers import Refused, known, now, refuse
from open_notebook.facts import like, recordings
from open_notebook.state import Fields, State

FAILING = ("badkey-chat", "fail-chat", "limit-chat")
"""Models whose calls fail, each as recorded."""


@route("GET", "/api/chat/sessions")
def sessions(call: Call) -> Any:
    """Return a notebook's sessions; `notebook_id` is required."""
    within = call.query["notebook_id"]
    known(call.state.notebooks, within, "chat.sessions_list_missing_nb")
    return [item for item in call.state.sessions.values() if item["notebook_id"] == within][::-1]


@route("POST", "/api/chat/sessions")
def new_session(call: Call) -> Any:
    state, within = call.state, call.body["notebook_id"]
    known(state.notebooks, within, "chat.session_create_missing_nb")
    identifier = state.new("chat_session")
    created = like(
        "chat.session_create",
        id=identifier,
        notebook_id=within,
        title=call.body.get("title") or f"Chat Session {len(state.sessions) + 1}",
        model_override=call.body.get("model_override"),
        created=now(),
        updated=now(),
    )
    state.sessions[identifier] = created
    state.of[identifier], state.messages[identifier] = within, []
    return created


@route("GET", "/api/chat/sessions/{session_id}")
def session(call: Call, identifier: str) -> Any:
    result = known(call.state.sessions, identifier, "chat.session_get_missing")
    return {**result, "messages": call.state.messages[identifier]}


@route("PUT", "/api/chat/sessions/{session_id}")
def put_session(call: Call, identifier: str) -> Any:
    """Change the title and the model."""
    result: Fields = known(call.state.sessions, identifier, "chat.session_get_missing")
    result.update(call.body, updated=now())
    return result


@route("DELETE", "/api/chat/sessions/{session_id}")
def delete_session(call: Call, identifier: str) -> Any:
    known(call.state.sessions, identifier, "chat.session_delete_missing")
    del call.state.sessions[identifier]
    return like("chat.session_delete")


@route("POST", "/api/chat/context")
def context(call: Call) -> Any:
    """Return the selected sources and notes of the notebook, and their size."""
    state, config = call.state, call.body["context_config"]
    known(state.notebooks, call.body["notebook_id"], "chat.context_missing_nb")
    chosen = {"sources": _sources(state, config), "notes": _notes(state, config)}
    size = len(json.dumps(chosen))
    return like("chat.context_config", context=chosen, token_count=size // 4, char_count=size)


@route("POST", "/api/chat/execute")
def execute(call: Call) -> Any:
    """Reply to a message; the model gets only the context of the request."""
    state, body = call.state, call.body
    identifier = body["session_id"]
    result = known(state.sessions, identifier, "chat.execute_missing_session")
    if not isinstance(body["context"], dict):
        refuse("chat.execute_context_string")
    model_override = body.get("model_override") or result["model_override"]
    model = state.chat_model(model_override)
    if model is None:
        refuse("chat.execute_bad_model" if model_override else "chat.execute_no_model_configured")
    state.messages[identifier] += _exchange(body["message"], model, body["context"])
    result.update(message_count=len(state.messages[identifier]), updated=now())
    return {"session_id": identifier, "messages": state.messages[identifier]}


@route("GET", "/api/sources/{source_id}/chat/sessions")
def source_sessions(call: Call, source_id: str) -> Any:
    every = call.state.source_sessions.values()
    return [record for record in every if record["source_id"] == source_id]


@route("POST", "/api/sources/{source_id}/chat/sessions")
def new_source_session(call: Call, source_id: str) -> Any:
    """Create a session. Not recorded: fields as in the server's schema."""
    identifier = call.state.new("chat_session")
    created = {
        "id": identifier,
        "title": call.body.get("title") or "Source chat",
        "source_id": source_id,
        "model_override": call.body.get("model_override"),
        "created": now(),
        "updated": now(),
        "message_count": 0,
    }
    call.state.source_sessions[identifier] = created
    call.state.messages[identifier] = []
    return created


@route("GET", "/api/sources/{source_id}/chat/sessions/{session_id}")
def source_session(call: Call, _source: str, identifier: str) -> Any:
    result = known(call.state.source_sessions, identifier, "chat.session_get_missing")
    return {**result, "messages": call.state.messages[identifier], "context_indicators": None}


@route("DELETE", "/api/sources/{source_id}/chat/sessions/{session_id}")
def delete_source_session(call: Call, _source: str, identifier: str) -> Any:
    known(call.state.source_sessions, identifier, "chat.session_get_missing")
    del call.state.source_sessions[identifier]
    return like("chat.session_delete")


@route("POST", "/api/search")
def search(call: Call) -> Any:
    """Search everything, in no order; a vector search finds embedded objects."""
    state, body = call.state, call.body
    kind = body.get("type", "text")
    if kind not in ("text", "vector"):
        refuse("search.bad_type_422")
    if int(body.get("limit", 100)) > 1000:
        refuse("search.limit_1001_422")
    if not body["query"]:
        refuse("search.vector_empty_query" if kind == "vector" else "search.empty_query")
    if kind == "vector" and state.defaults.get("default_embedding_model") is None:
        refuse("search.vector_no_embedding_model")
    hits = [_hit(state, record, kind) for record in _matching_ids(state, body, kind)]
    hits = hits[: int(body.get("limit", 100))]
    return {"results": hits, "total_count": len(hits), "search_type": kind}


@route("POST", "/api/search/ask")
def ask(call: Call) -> Response:
    """Stream an answer as events; an error is an event too."""
    name = _planning_model(call)
    chosen = {
        "badkey-chat": "search.ask_sse.badkey-chat",
        "fail-chat": "search.ask_sse.fail-chat",
        "limit-chat": "search.ask_sse.limit-chat",
        "junk-chat": "search.ask_sse.junk-chat",
        "nosearch-chat": "search.ask_sse_no_searches",
    }.get(name, "search.ask_sse")

    def lines() -> Iterator[str]:
        for event in recordings()[chosen].events:
            yield f"data: {json.dumps(event)}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


@route("POST", "/api/search/ask/simple")
def ask_simple(call: Call) -> Any:
    _planning_model(call)
    return like("search.ask_simple", question=call.body["question"])


def _planning_model(call: Call) -> str:
    """Return the name of the model that plans the searches."""
    if call.state.defaults.get("default_embedding_model") is None:
        recording = recordings()["search.vector_no_embedding_model"].answer["detail"]
        detail = recording.replace("Vector search", "Ask feature")
        raise Refused(JSONResponse({"detail": detail}, 400))
    for name in ("strategy_model", "answer_model", "final_answer_model"):
        model = known(call.state.models, call.body[name], "search.ask_bad_models")
        if model["type"] != "language":
            refuse("search.ask_embed_as_model")
    return str(call.state.models[call.body["strategy_model"]]["name"])


def _exchange(message: str, model: Fields, context: Fields) -> list[Fields]:
    context_ids = [row["id"] for part in context.values() if isinstance(part, list) for row in part]
    marks = " ".join(f"[{context_id}]" for context_id in context_ids)
    answer = f"Fake answer ({model['name']}) to: '{message}'. {marks}".strip()
    human, ai = recordings()["chat.execute"].answer["messages"]
    return [{**human, "content": message}, {**ai, "content": answer}]


def _sources(state: State, config: Fields) -> list[Fields]:
    hits = []
    for identifier, how in (config.get("sources") or {}).items():
        if how == "not in context" or identifier not in state.sources:
            continue
        insights = [e for e in state.insights.values() if e["source_id"] == identifier]
        hit = {"id": identifier, "title": state.sources[identifier]["title"], "insights": insights}
        text = {"full_text": state.texts[identifier]} if how == "full content" else {}
        hits.append(hit | text)
    return hits


def _notes(state: State, config: Fields) -> list[Fields]:
    return [
        {name: state.notes[identifier][name] for name in ("id", "title", "content")}
        for identifier, how in (config.get("notes") or {}).items()
        if how == "full content" and identifier in state.notes
    ]


def _matching_ids(state: State, body: Fields, kind: str) -> list[str]:
    tables = [("search_sources", state.sources), ("search_notes", state.notes)]
    every = [record for name, table in tables if body.get(name, True) for record in table]
    query_words = set(re.findall(r"\w+", body["query"].lower()))
    if kind == "vector":
        every = [record for record in every if state.has_vectors(record)]
    return sorted(record for record in every if query_words & _words(state, record))


def _words(state: State, identifier: str) -> set[str]:
    note = state.notes.get(identifier)
    text = f"{note['title']} {note['content']}" if note else state.texts[identifier]
    return set(re.findall(r"\w+", text.lower()))


def _hit(state: State, identifier: str, kind: str) -> Fields:
    record = state.notes.get(identifier) or state.sources[identifier]
    hit = {"id": identifier, "parent_id": identifier, "title": record["title"]}
    if kind == "text":
        # Hits are not in order of relevance, as recorded.
        return hit | {"relevance": round(1.4 - 1 / (len(hit["title"] or "") + 2), 6)}
    text = state.texts.get(identifier) or str(record.get("content"))
    return hit | {"matches": [text[:300]], "similarity": 0.5 - 1 / (len(text) + 10)}

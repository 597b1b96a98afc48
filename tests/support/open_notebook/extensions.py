"""Routes beyond the contract: commands, vectors and chats about a source.

Starting commands, rebuilding embeddings and chats about a source are not recorded: their responses
have the fields of the server's schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from open_notebook.answering import Call, route
from open_notebook.answers import known, now, refuse
from open_notebook.chats import FAILING
from open_notebook.facts import like, recordings
from open_notebook.state import Fields, State


@route("GET", "/api/commands/registry/debug")
def registry(_: Call) -> Any:
    return recordings()["meta.registry_debug"].answer


@route("POST", "/api/commands/jobs")
def run(call: Call) -> Any:
    job = begun(call.state, call.body["command"])
    return {"job_id": job, "status": "submitted", "message": "Command submitted successfully"}


@route("POST", "/api/embeddings/rebuild")
def rebuild(call: Call) -> Any:
    """Start a command that rebuilds embeddings."""
    state = call.state
    total = sum(
        len(records)
        for name, records in (
            ("sources", state.sources),
            ("notes", state.notes),
            ("insights", state.insights),
        )
        if call.body.get(f"include_{name}", True)
    )
    job = begun(state, "rebuild_embeddings")
    state.jobs[job]["total"] = total
    return {"command_id": job, "total_items": total, "message": f"Estimated {total} items"}


@route("GET", "/api/embeddings/rebuild/{command_id}/status")
def rebuild_status(call: Call, identifier: str) -> Any:
    """Return the status; counts only once completed."""
    job = call.state.jobs.get(identifier)
    if job is None:
        return JSONResponse({"detail": "Failed to get rebuild status"}, 500)
    moved(call.state, job)
    total, done = job.get("total", 0), job["status"] == "completed"
    return {
        "command_id": identifier,
        "status": job["status"],
        "progress": {"processed": total, "total": total, "percentage": 100.0} if done else None,
        "stats": {"sources": total, "notes": 0, "insights": 0, "failed": 0} if done else None,
        "started_at": now(),
        "completed_at": now(),
        "error_message": None,
    }


@route("PUT", "/api/sources/{source_id}/chat/sessions/{session_id}")
def put_chat(call: Call, _source: str, identifier: str) -> Any:
    """Update title and model; null leaves a value unchanged."""
    chat: Fields = known(call.state.source_sessions, identifier, "chat.session_get_missing")
    chat.update({k: v for k, v in call.body.items() if v is not None}, updated=now())
    return chat


@route("POST", "/api/sources/{source_id}/chat/sessions/{session_id}/messages")
def message(call: Call, source: str, identifier: str) -> Response:
    """Return events in plain text: every reply so far, the context, and the end."""
    state = call.state
    session = known(state.source_sessions, identifier, "chat.session_get_missing")
    model_override = call.body.get("model_override") or session["model_override"]
    model = state.chat_model(model_override)
    if model is None:
        refuse("chat.execute_bad_model")
    text = call.body["message"]
    new_messages: list[Fields] = [{"type": "user_message", "content": text, "timestamp": None}]
    if model["name"] in FAILING:
        words = recordings()[f"search.ask_sse.{model['name']}"].events[-1]["message"]
        new_messages.append({"type": "error", "message": words})
    else:
        human, ai = recordings()["chat.execute"].answer["messages"]
        answer = f"Fake answer ({model['name']}) to: '{text}'. [{source}] [note:madeup]"
        messages = state.messages[identifier]
        messages += [{**human, "content": text}, {**ai, "content": answer}]
        session["message_count"] = len(messages)
        new_messages += [
            {"type": "ai_message", "content": item["content"], "timestamp": None}
            for item in messages
            if item["type"] == "ai"
        ]
        context = {"sources": [source], "insights": [], "notes": []}
        new_messages += [{"type": "context_indicators", "data": context}, {"type": "complete"}]

    def lines() -> Iterator[str]:
        for event in new_messages:
            yield f"data: {json.dumps(event)}\n\n"

    return StreamingResponse(lines(), media_type="text/plain")


def begun(state: State, command: str, **result: Any) -> str:
    """Queue a command; return its identifier."""
    job = state.new("command")
    about = {"app_name": "open_notebook", "command_name": command, "started_at": now()}
    payload = {"execution_metadata": about, "success": True, **result}
    state.jobs[job] = like("commands.job", job_id=job, status="new", result=None) | {
        "then": payload
    }
    return job


def moved(state: State, job: Fields) -> None:
    """Advance a command by one state if a worker runs."""
    if not (state.works and state.moves):
        return
    job["status"] = {"new": "running", "running": "completed"}.get(job["status"], job["status"])
    if job["status"] == "completed" and "then" in job:
        job["result"] = job.pop("then")

"""Sources, their insights, and the commands that process them."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any
from urllib.parse import quote

from starlette.responses import JSONResponse, Response

from open_notebook.answering import Call, route
from open_notebook.answers import Refused, known, now, refuse
from open_notebook.extensions import begun, moved
from open_notebook.facts import like, recordings
from open_notebook.state import Fields, State

_UNREAD = b"%PDF-broken"
"""First bytes of an upload whose processing fails."""

_UPLOADS = "/data/uploads/"


@route("GET", "/api/sources")
def sources(call: Call) -> Any:
    """Return sources without texts, once per link, and advance their processing."""
    state, query = call.state, call.query
    limit, offset = int(query.get("limit", "50")), int(query.get("offset", "0"))
    if limit > 100:
        refuse("sources.list_limit_101_422")
    by = query.get("sort_by", "updated")
    if by not in ("created", "updated", "title", "insights_count", "embedded"):
        refuse("sources.list_bad_sort")
    within = query.get("notebook_id")
    if within is not None and within not in state.notebooks:
        refuse("sources.list_missing_notebook")
    result = state.in_notebook(within) if within else list(state.sources.values())
    for entry in result:
        _step(state, entry)
    down = query.get("sort_order", "desc") == "desc"
    result = sorted(result, key=lambda item: str(item.get(by)), reverse=down)
    return [_listed(state, item) for item in result[offset : offset + limit]]


@route("POST", "/api/sources")
@route("POST", "/api/sources/json")
def new_source(call: Call) -> Any:
    """Add a text, URL or upload, processed synchronously unless `async_processing` is set."""
    state, body = call.state, call.body
    kind = body["type"]
    if kind not in ("text", "link", "upload"):
        refuse("sources.create_bad_type")
    within = _notebooks(call)
    if any(notebook_id not in state.notebooks for notebook_id in within):
        refuse("sources.create_notebook_missing")
    _check(call, kind)
    later = _true(body.get("async_processing"))
    created = like(
        "sources.create_text_async_json",
        id=state.new("source"),
        title=body.get("title") or "Processing...",
        created=now(),
        updated=now(),
        command_id=state.new("command"),
    )
    state.sources[created["id"]] = created
    created["asset"] = _asset(call, kind)
    state.texts[created["id"]] = _text(call, kind)
    transformation_names = body.get("transformations") or []
    state.requested_insights[created["id"]] = (
        json.loads(transformation_names)
        if isinstance(transformation_names, str)
        else transformation_names
    )
    if call.file is not None:
        state.files[created["id"]] = call.file[1]
    state.links += [(notebook_id, created["id"]) for notebook_id in within]
    if _true(body.get("embed")):
        state.embedded.add(created["id"])
    if not later:
        if call.file is not None and call.file[1].startswith(_UNREAD):
            refuse("sources.upload_broken_pdf_sync")
        _finish(state, created)
    answer = _full_record(state, created, None)
    return {**answer, "asset": None} if later else answer  # known only after the processing


@route("GET", "/api/sources/{source_id}")
def source(call: Call, identifier: str) -> Any:
    result = known(call.state.sources, identifier, "sources.get_missing")
    within = [n for n, s in call.state.links if s == identifier]
    return _full_record(call.state, result, within)


@route("PUT", "/api/sources/{source_id}")
def put_source(call: Call, identifier: str) -> Any:
    """Change the title and the topics."""
    result = known(call.state.sources, identifier, "sources.get_missing")
    result.update({k: v for k, v in call.body.items() if v is not None}, updated=now())
    return _full_record(call.state, result, None)


@route("DELETE", "/api/sources/{source_id}")
def delete_source(call: Call, identifier: str) -> Any:
    """Delete a source and its links."""
    known(call.state.sources, identifier, "sources.delete_missing")
    del call.state.sources[identifier]
    call.state.files.pop(identifier, None)
    call.state.links = [link for link in call.state.links if link[1] != identifier]
    return like("sources.delete")


@route("GET", "/api/sources/{source_id}/status")
def status(call: Call, identifier: str) -> Any:
    """Return the status and advance it: new, running, completed or failed."""
    state = call.state
    result = known(state.sources, identifier, "sources.get_missing")
    _step(state, result)
    name = {
        "completed": "sources.status_poll_1",
        "failed": "sources.dead_status",
        "running": "sources.status_poll_0",
    }.get(result["status"], "sources.status_poll_0")
    reply = like(name, status=result["status"], command_id=result["command_id"])
    return reply | ({"message": "Source queued"} if result["status"] in ("new", "queued") else {})


@route("HEAD", "/api/sources/{source_id}/download")
@route("GET", "/api/sources/{source_id}/download")
def download(call: Call, identifier: str) -> Any:
    known(call.state.sources, identifier, "sources.get_missing")
    if identifier not in call.state.files:
        refuse("sources.download_text_source_404")
    name = str(call.state.sources[identifier]["asset"]["file_path"]).rpartition("/")[2]
    message = recordings()["sources.download"].response_headers
    headers = {
        "content-disposition": f"attachment; filename*=utf-8''{quote(name)}",
        "accept-ranges": message["accept-ranges"],
    }
    return Response(
        call.state.files[identifier], headers=headers, media_type=message["content-type"]
    )


@route("POST", "/api/sources/{source_id}/retry")
def retry(call: Call, identifier: str) -> Any:
    """Retry a failed or stalled source."""
    state = call.state
    result = known(state.sources, identifier, "sources.retry_missing")
    if result["status"] == "completed":
        refuse("sources.retry_completed")
    state.polls.pop(identifier, None)
    result.update(status="queued", command_id=state.new("command"))
    return {**_full_record(state, result, None), "processing_info": {"retry": True, "queued": True}}


@route("GET", "/api/sources/{source_id}/insights")
def insights(call: Call, identifier: str) -> Any:
    """Return the insights of a source."""
    known(call.state.sources, identifier, "sources.insights_missing")
    return [item for item in call.state.insights.values() if item["source_id"] == identifier]


@route("POST", "/api/sources/{source_id}/insights")
def new_insight(call: Call, identifier: str) -> Any:
    """Start a command that creates an insight."""
    state, transformation_id = call.state, call.body["transformation_id"]
    known(state.sources, identifier, "sources.get_missing")
    transformation = known(state.transformations, transformation_id, "transformations.get_missing")
    command = state.new("command")
    insight = _insight(state, identifier, transformation)
    state.jobs[command] = like("commands.job", job_id=command, status="new") | {"makes": insight}
    reply = like("insights.create_202", source_id=identifier, transformation_id=transformation_id)
    return JSONResponse({**reply, "command_id": command}, 202)


@route("GET", "/api/insights/{insight_id}")
def insight(call: Call, identifier: str) -> Any:
    return _one_insight(call.state, identifier)


@route("DELETE", "/api/insights/{insight_id}")
def delete_insight(call: Call, identifier: str) -> Any:
    _one_insight(call.state, identifier)
    del call.state.insights[identifier]
    return {"message": "Insight deleted successfully"}


@route("POST", "/api/insights/{insight_id}/save-as-note")
def save_insight(call: Call, identifier: str) -> Any:
    """Save an insight as a note without a type."""
    state = call.state
    result = _one_insight(state, identifier)
    title = f"{result['insight_type']} from source {state.sources[result['source_id']]['title']}"
    note = like(
        "insights.save_as_note", id=state.new("note"), title=title, content=result["content"]
    )
    state.notes[note["id"]] = note
    if call.body.get("notebook_id"):
        state.of[note["id"]] = call.body["notebook_id"]
    return note


@route("GET", "/api/commands/jobs/{job_id}")
def command(call: Call, identifier: str) -> Any:
    """Return a command and advance it."""
    state = call.state
    of = next((e for e in state.sources.values() if e["command_id"] == identifier), None)
    if of is not None:
        _step(state, of)
        return like("commands.job", job_id=identifier, status=of["status"], result=None)
    job = known(state.jobs, identifier, "commands.job_missing")
    moved(state, job)
    if job["status"] == "completed" and (created := job.pop("makes", None)) is not None:
        state.insights[created["id"]] = created
    return {name: job[name] for name in recordings()["commands.job"].answer}


@route("GET", "/api/commands/jobs")
def commands(_: Call) -> Any:
    """Return an empty list, as the server always does."""
    return recordings()["commands.jobs_list"].answer


@route("DELETE", "/api/commands/jobs/{job_id}")
def cancel(_: Call, identifier: str) -> Any:
    """Confirm the cancellation, even if the command continues."""
    return like("commands.cancel", job_id=identifier)


@route("POST", "/api/embed")
def embed(call: Call) -> Any:
    """Embed an object, so that vector searches find it."""
    item, kind = call.body["item_id"], call.body["item_type"]
    call.state.embedded.add(item)
    job = begun(call.state, f"embed_{kind}", **{f"{kind}_id": item})
    name = "embed.note_async" if call.body.get("async_processing") else "embed.source_sync"
    return like(name, item_id=item, item_type=kind, command_id=job)


def _notebooks(call: Call) -> list[str]:
    body = call.body
    if body.get("notebook_id") and body.get("notebooks"):
        refuse("sources.create_both_notebook_fields")
    notebook_ids = body.get("notebooks") or (
        [body["notebook_id"]] if body.get("notebook_id") else []
    )
    if not isinstance(notebook_ids, str):
        return list(notebook_ids)
    try:
        return list(json.loads(notebook_ids))
    except ValueError:
        refuse("sources.create_notebooks_badjson")


def _check(call: Call, kind: str) -> None:
    body = call.body
    if kind == "text" and not body.get("content"):
        refuse("sources.create_text_no_content")
    if kind == "link" and not body.get("url"):
        refuse("sources.create_link_no_url")
    if kind == "link" and "169.254." in body["url"]:
        refuse("sources.create_linklocal")
    if kind == "upload" and body.get("file_path"):
        refuse("sources.upload_path_outside")
    if kind == "upload" and call.file is None:
        refuse("sources.upload_no_file")
    if call.file is not None and call.file[0].endswith((".bin", ".html")):
        refuse("sources.upload_unsupported_415")


def _asset(call: Call, kind: str) -> Fields:
    file = None if call.file is None else f"{_UPLOADS}{_free_name(call.state, call.file[0])}"
    return {"file_path": file, "url": call.body.get("url") if kind == "link" else None}


def _free_name(state: State, name: str) -> str:
    """Return the stored name of an upload; all notebooks share one folder."""
    assets = (item["asset"] or {} for item in state.sources.values())
    used_paths = {asset.get("file_path") for asset in assets}
    stem, suffix = os.path.splitext(name)
    numbered = (f"{stem} ({n}){suffix}" for n in itertools.count(1))
    names = itertools.chain([name], numbered)
    return next(field for field in names if f"{_UPLOADS}{field}" not in used_paths)


def _text(call: Call, kind: str) -> str:
    if call.file is not None:
        return call.file[1].decode("utf-8", "replace")
    return str(call.body["content"]) if kind == "text" else f"The page at {call.body['url']}."


def _one_insight(state: State, identifier: str) -> Fields:
    """Return an insight; no recording shows the response for a missing one."""
    if identifier not in state.insights:
        raise Refused(JSONResponse({"detail": "Insight not found"}, 404))
    return state.insights[identifier]


def _true(value: Any) -> bool:
    return value is True or value == "true"


def _step(state: State, record: Fields) -> None:
    """Advance the processing of a source."""
    if record["status"] not in ("new", "queued", "running") or not state.works:
        return
    if record["status"] in ("new", "queued"):
        record["status"] = "running"
        return
    broken = state.files.get(record["id"], b"").startswith(_UNREAD)
    if not state.moves or broken:  # the processing of a broken PDF never ends
        return
    if "127.0.0.1:9/" in str((record["asset"] or {}).get("url")):
        dead = recordings()["sources.dead_status"].answer["processing_info"]
        record.update(status="failed", processing_info=dead)
        return
    _finish(state, record)


def _finish(state: State, record: Fields) -> None:
    transformation_ids = state.requested_insights.pop(record["id"], [])
    info = recordings()["sources.status_poll_1"].answer["processing_info"]
    named = str((record["asset"] or {}).get("file_path") or "").rpartition("/")[2]
    title = record["title"]
    if title == "Processing...":
        title = named or (state.texts[record["id"]].splitlines() or [""])[0][:60]
    record.update(
        status="completed",
        title=title,
        full_text=state.texts[record["id"]],
        processing_info=info,
        updated=now(),
    )
    for transformation_id in transformation_ids:
        created = _insight(state, record["id"], state.transformations[transformation_id])
        state.insights[created["id"]] = created


def _insight(state: State, source: str, by: Fields) -> Fields:
    """Return a new insight of a source by a transformation."""
    return like(
        "insights.get",
        id=state.new("source_insight"),
        source_id=source,
        insight_type=by["title"],
        content=f"Fake answer (fake-chat) to: '{state.texts[source][-80:]}'. ",
    )


def _full_record(state: State, record: Fields, within: list[str] | None) -> Fields:
    whole = {name: record.get(name) for name in recordings()["sources.get"].answer}
    whole["notebooks"] = within
    whole["embedded_chunks"] = int(state.has_vectors(record["id"]))
    whole["embedded"] = state.has_vectors(record["id"]) and record["status"] == "completed"
    return whole


def _listed(state: State, record: Fields) -> Fields:
    row = {name: record.get(name) for name in recordings()["sources.list"].answer[0]}
    row["insights_count"] = sum(e["source_id"] == record["id"] for e in state.insights.values())
    row["embedded"] = state.has_vectors(record["id"]) and record["status"] == "completed"
    row["embedded_chunks"] = 0  # also if the source is embedded
    return row

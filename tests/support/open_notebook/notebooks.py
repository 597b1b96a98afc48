"""Notebooks, notes, and the status of the server."""

from __future__ import annotations

from typing import Any

from open_notebook.answering import Call, route
from open_notebook.answers import known, now, refuse
from open_notebook.facts import like
from open_notebook.state import Fields, State

_ORDERS = {"name", "created", "updated"}


@route("GET", "/api/config")
def config(_: Call) -> Any:
    """Return the version and the state of the database."""
    return like("meta.config")


@route("GET", "/api/auth/status")
def auth_status(_: Call) -> Any:
    """Return the recorded response; `app` checks the password."""
    return like("meta.auth_status")


@route("GET", "/api/settings")
def settings(call: Call) -> Any:
    """Return the settings of the administrator."""
    return call.state.settings


@route("PUT", "/api/settings")
def put_settings(call: Call) -> Any:
    call.state.settings.update({k: v for k, v in call.body.items() if v is not None})
    return call.state.settings


@route("GET", "/api/notebooks")
def notebooks(call: Call) -> Any:
    """Return all, the archived or the other notebooks."""
    field, _, way = call.query.get("order_by", "updated desc").partition(" ")
    if field not in _ORDERS:
        refuse("notebooks.list_order_updated_at_400")
    results = [_counted(call.state, item) for item in call.state.notebooks.values()]
    if (archived := call.query.get("archived")) is not None:
        results = [result for result in results if result["archived"] is (archived == "true")]
    return sorted(results, key=lambda record: str(record[field]), reverse=way == "desc")


@route("POST", "/api/notebooks")
def new_notebook(call: Call) -> Any:
    """Create a notebook; null is no valid description."""
    if not isinstance(call.body.get("description", ""), str):
        refuse("notebooks.create_desc_null_422")
    if not call.body["name"].strip():
        refuse("notebooks.create_empty_name")
    created = like(
        "notebooks.create",
        id=call.state.new("notebook"),
        name=call.body["name"],
        description=call.body.get("description", ""),
        created=now(),
        updated=now(),
    )
    call.state.notebooks[created["id"]] = created
    return created


@route("GET", "/api/notebooks/{notebook_id}")
def notebook(call: Call, identifier: str) -> Any:
    """Return a notebook; an identifier without a prefix gives a 500."""
    if ":" not in identifier:
        refuse("notebooks.get_no_prefix")
    return _counted(call.state, _notebook(call, identifier, "notebooks.get_missing"))


@route("PUT", "/api/notebooks/{notebook_id}")
def put_notebook(call: Call, identifier: str) -> Any:
    """Update a notebook; null leaves a value unchanged."""
    notebook_record = _notebook(call, identifier, "notebooks.put_missing")
    notebook_record.update({k: v for k, v in call.body.items() if v is not None}, updated=now())
    return _counted(call.state, notebook_record)


@route("GET", "/api/notebooks/{notebook_id}/delete-preview")
def preview(call: Call, identifier: str) -> Any:
    """Return the numbers of objects to delete, without sessions."""
    result = _notebook(call, identifier, "notebooks.delete_preview_missing")
    exclusive, shared = _linked(call.state, identifier)
    return like(
        "notebooks.delete_preview",
        notebook_id=identifier,
        notebook_name=result["name"],
        note_count=len(_of(call.state, identifier, call.state.notes)),
        exclusive_source_count=len(exclusive),
        shared_source_count=len(shared),
    )


@route("DELETE", "/api/notebooks/{notebook_id}")
def delete_notebook(call: Call, identifier: str) -> Any:
    """Delete a notebook with its notes and sessions, and on request its exclusive sources."""
    state = call.state
    _notebook(call, identifier, "notebooks.delete_missing")
    exclusive, shared = _linked(state, identifier)
    delete_exclusive = call.query.get("delete_exclusive_sources") == "true"
    notes = _of(state, identifier, state.notes)
    sessions = _of(state, identifier, state.sessions)
    for table, identifiers in ((state.notes, notes), (state.sessions, sessions)):
        for entry in identifiers:
            del table[entry]
    if delete_exclusive:
        for entry in exclusive:
            del state.sources[entry]
    state.links = [(n, s) for n, s in state.links if n != identifier]
    del state.notebooks[identifier]
    return like(
        "notebooks.delete_exclusive",
        deleted_notes=len(notes),
        deleted_sources=len(exclusive) if delete_exclusive else 0,
        unlinked_sources=len(shared) if delete_exclusive else len(exclusive) + len(shared),
        deleted_chat_sessions=len(sessions),
    )


@route("POST", "/api/notebooks/{notebook_id}/sources/{source_id}")
def link(call: Call, notebook_id: str, source_id: str) -> Any:
    """Link a source; a repeated link adds a second row."""
    if notebook_id not in call.state.notebooks or source_id not in call.state.sources:
        refuse("notebooks.link_missing")
    call.state.links.append((notebook_id, source_id))
    return like("notebooks.link_source")


@route("DELETE", "/api/notebooks/{notebook_id}/sources/{source_id}")
def unlink(call: Call, notebook_id: str, source_id: str) -> Any:
    """Unlink a source; succeeds without a link, too."""
    call.state.links = [item for item in call.state.links if item != (notebook_id, source_id)]
    return like("notebooks.unlink")


@route("GET", "/api/notes")
def notes(call: Call) -> Any:
    """Return notes without contents, newest first."""
    within = call.query.get("notebook_id")
    if within is not None and within not in call.state.notebooks:
        refuse("notes.list_missing_nb")
    results = [
        {**item, "content": None, "command_id": None}
        for identifier, item in call.state.notes.items()
        if within in (None, call.state.of.get(identifier))
    ]
    return results[::-1]


@route("POST", "/api/notes")
def new_note(call: Call) -> Any:
    """Create a note."""
    body, state = call.body, call.state
    kind = body.get("note_type") or "human"
    if kind not in ("human", "ai"):
        refuse("notes.create_bad_type")
    if not body["content"].strip():
        refuse("notes.create_empty")
    within = body.get("notebook_id")
    if within is not None and within not in state.notebooks:
        refuse("notes.create_missing_nb")
    created = like(
        "notes.create",
        id=state.new("note"),
        title=body.get("title"),
        content=body["content"],
        note_type=kind,
        created=now(),
        updated=now(),
    )
    state.notes[created["id"]] = created
    state.embedded.add(created["id"])
    if within is not None:
        state.of[created["id"]] = within
    return created


@route("GET", "/api/notes/{note_id}")
def note(call: Call, identifier: str) -> Any:
    return known(call.state.notes, identifier, "notes.get_missing")


@route("PUT", "/api/notes/{note_id}")
def put_note(call: Call, identifier: str) -> Any:
    """Update a note; null leaves a value unchanged."""
    if call.body.get("note_type") not in (None, "human", "ai"):
        refuse("notes.put_bad_type")
    result: Fields = known(call.state.notes, identifier, "notes.get_missing")
    result.update({k: v for k, v in call.body.items() if v is not None}, updated=now())
    return result


@route("DELETE", "/api/notes/{note_id}")
def delete_note(call: Call, identifier: str) -> Any:
    known(call.state.notes, identifier, "notes.delete_missing")
    del call.state.notes[identifier]
    return like("notes.delete")


def _notebook(call: Call, identifier: str, absent: str) -> Fields:
    result: Fields = known(call.state.notebooks, identifier, absent)
    return result


def _counted(state: State, notebook: Fields) -> Fields:
    identifier = notebook["id"]
    rows = len(state.in_notebook(identifier))
    return {
        **notebook,
        "source_count": rows,
        "note_count": len(_of(state, identifier, state.notes)),
    }


def _of(state: State, notebook: str, table: dict[str, Fields]) -> list[str]:
    return [item for item in table if state.of.get(item) == notebook]


def _linked(state: State, notebook: str) -> tuple[set[str], set[str]]:
    """Return the sources that only this notebook has, and those it shares."""
    source_ids = {source["id"] for source in state.in_notebook(notebook)}
    elsewhere = {source for other, source in state.links if other != notebook}
    return source_ids - elsewhere, source_ids & elsewhere

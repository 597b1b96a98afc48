"""Requests to Open Notebook for notebooks, notes and sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from labext.errors import NotFoundError, OutcomeUnknownError
from labext.http import RetryMode
from labext.nb import records
from labext.nb.backends import Request, Steps
from labext.nb.backends.contract import notebooks as contract
from labext.nb.backends.contract.chat import LIST_SESSIONS as SESSIONS
from labext.nb.backends.contract.models import GET_DEFAULTS
from labext.nb.backends.contract.notebooks import GET_SOURCE as SOURCE
from labext.nb.backends.contract.transformations import LIST_TRANSFORMATIONS as TRANSFORMATIONS
from labext.nb.backends.open_notebook import mappers as mappers
from labext.nb.backends.open_notebook.health import (
    check_database,
    check_database_on_failure,
    request_once,
)
from labext.nb.records import (
    INSIGHT,
    NOTE,
    NOTEBOOK,
    NOTEBOOK_DELETION,
    PREVIEW,
    Record,
    build_record,
)

# A second link would create a duplicate row, so the request is never repeated blindly.
LINK_SOURCE = replace(
    contract.LINK_SOURCE,
    repeat=RetryMode.UNSENT,
    find_out="See `%nb sources` before you link it again: it may be there already.",
)


class NotebookRequests(contract.NotebookRequests):
    """The operations on notebooks, where Open Notebook differs from the contract."""

    def notebooks(
        self, archived: bool | None = None, order_by: str | None = None
    ) -> Steps[list[Record]]:
        """List notebooks, with the server's names of the time fields in the order."""
        params = {"archived": archived, "order_by": _notebook_order(order_by)}
        answer = yield from check_database_on_failure(
            request_once(Request(contract.LIST_NOTEBOOKS, params=params))
        )
        return mappers.parse_records(NOTEBOOK, answer, "notebooks")

    def notebook(self, notebook: str) -> Steps[Record]:
        """Return a notebook."""
        answer = yield from check_database_on_failure(
            request_once(Request(contract.GET_NOTEBOOK, {"notebook": notebook}))
        )
        return mappers.parse_record(NOTEBOOK, answer, "the notebook")

    def new_notebook(self, name: str, description: str | None) -> Steps[Record]:
        """Create a notebook; the server rejects a description that is null."""
        body = {"name": name} | ({} if description is None else {"description": description})
        answer = yield Request(contract.CREATE_NOTEBOOK, json=body)
        return mappers.parse_record(NOTEBOOK, answer, "the notebook")

    def change_notebook(self, notebook: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update the `name`, `description` or `archived`."""
        answer = yield Request(contract.UPDATE_NOTEBOOK, {"notebook": notebook}, json=dict(changes))
        return mappers.parse_record(NOTEBOOK, answer, "the notebook")

    def delete_notebook(self, notebook: str, *, delete_sources: bool) -> Steps[Record]:
        """Delete a notebook; the server's parameter for its sources has another name."""
        params = {"delete_exclusive_sources": delete_sources}
        answer = yield Request(contract.DELETE_NOTEBOOK, {"notebook": notebook}, params=params)
        counts = records.require_mapping(answer, "the deletion") if answer is not None else {}
        return build_record(NOTEBOOK_DELETION, {**counts, "id": notebook})

    def preview(self, notebook: str) -> Steps[Record]:
        """Count the records that a deletion would affect; the chats are counted separately."""
        answer = yield Request(contract.PREVIEW_DELETION, {"notebook": notebook})
        counts = records.require_mapping(answer, "the deletion")
        chats = yield Request(SESSIONS, params={"notebook_id": notebook})
        more = {"session_count": len(records.require_list(chats, "chat sessions"))}
        return build_record(
            PREVIEW, {**counts, **more, "id": notebook, "name": counts.get("notebook_name")}
        )

    def link(self, notebook: str, source: str) -> Steps[None]:
        """Put a source into a notebook unless it is there; a second link would be a duplicate."""
        answer = yield Request(SOURCE, {"source": source})
        linked = records.require_mapping(answer, "the source").get("notebooks")
        if notebook not in (linked if isinstance(linked, list) else []):
            yield Request(LINK_SOURCE, {"notebook": notebook, "source": source})


def _notebook_order(order_by: str | None) -> str | None:
    """Return an order with the server's field names: `updated desc` for `updated_at desc`."""
    if order_by is None:
        return None
    field, _, way = order_by.strip().partition(" ")
    field = {"updated_at": "updated", "created_at": "created"}.get(field, field)
    # The default direction is that of the contract: times descending, names ascending.
    return f"{field} {way.strip() or ('asc' if field == 'name' else 'desc')}"


class NoteRequests(contract.NoteRequests):
    """The operations on notes, where Open Notebook differs from the contract."""

    def notes(self, notebook: str | None = None, *, contents: bool = True) -> Steps[list[Record]]:
        """List notes; contents are requested note by note, as the list has none."""
        request = request_once(Request(contract.LIST_NOTES, params={"notebook_id": notebook}))
        answer = yield from check_database_on_failure(request)
        summaries = mappers.parse_records(NOTE, answer, "notes")
        if not contents:
            return [{**summary, "notebook_id": notebook} for summary in summaries]
        notes = []
        for summary in summaries:
            try:
                whole = yield Request(contract.GET_NOTE, {"note": summary["id"]})
            except NotFoundError:
                yield from check_database()
                continue  # deleted meanwhile
            notes.append(_note_record(whole, notebook))
        return notes

    def note(self, note: str) -> Steps[Record]:
        """Return a note."""
        answer = yield from check_database_on_failure(
            request_once(Request(contract.GET_NOTE, {"note": note}))
        )
        return _note_record(answer)

    def new_note(
        self, content: str, title: str | None, note_type: str, notebook: str | None
    ) -> Steps[Record]:
        """Create a note; a missing title of an `ai` note is written by a model."""
        named = {"title": title, "notebook_id": notebook}
        body = {"content": content, "note_type": note_type}
        body |= {name: value for name, value in named.items() if value is not None}
        patient = note_type == "ai" and title is None
        answer = yield Request(contract.CREATE_NOTE, json=body, patient=patient)
        return _note_record(answer, notebook)

    def change_note(self, note: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update the `title`, `content` or `note_type`."""
        request = Request(contract.UPDATE_NOTE, {"note": note}, json=dict(changes))
        answer = yield from check_database_on_failure(request_once(request))
        return _note_record(answer)

    def delete_note(self, note: str) -> Steps[None]:
        """Delete a note."""
        return check_database_on_failure(super().delete_note(note))


def _note_record(answer: Any, notebook: str | None = None) -> Record:
    """Return a note's record; the server does not report its notebook."""
    record = mappers.parse_record(NOTE, records.require_mapping(answer, "the note"), "the note")
    return {**record, "notebook_id": notebook}


VECTOR_TIMEOUT = timedelta(minutes=1)
"""How long to wait for the vectors of a processed source, as their task may have failed."""


class SourceRequests(contract.SourceRequests):
    """The operations on sources, where Open Notebook differs from the contract."""

    PAGE = 100
    """The maximum page size of the server."""

    def sources(
        self, notebook: str | None, limit: int, offset: int, order_by: str | None
    ) -> Steps[list[Record]]:
        """List a page of sources; the order consists of two parameters."""
        params = {
            "notebook_id": notebook,
            "limit": limit,
            "offset": offset,
            **_source_order(order_by),
        }
        answer = yield Request(contract.LIST_SOURCES, params=params)
        return [
            mappers.listed_source_record(item) for item in records.require_list(answer, "sources")
        ]

    def source(self, source: str) -> Steps[Record]:
        """Return a source, with its text."""
        answer = yield Request(contract.GET_SOURCE, {"source": source})
        return mappers.source_detail(answer)

    def add_file(
        self,
        path: Path,
        *,
        notebook: str | None,
        title: str | None,
        topic: str | None,
        process_async: bool,
    ) -> Steps[Record]:
        """Upload a file, and request the vectors and insights that the contract requires.

        The file name is sent as the title, because the server renames a file whose name is taken
        and would use the new name as the title.
        """
        options = yield from self._processing_options()
        form = {
            "type": "upload",
            "notebook_id": notebook,
            "title": title or path.name,
            "async_processing": process_async,
            "embed": options["embed"],
            "transformations": json.dumps(options["transformations"]),
        }
        answer = yield Request(contract.ADD_SOURCE, form=form, files={"file": path}, patient=True)
        origin = {"kind": "upload", "file_name": path.name}
        return (yield from self._topical(_with_origin(answer, origin), topic))

    def source_status(self, source: str) -> Steps[Record]:
        """Return the processing status of a source."""
        answer = yield Request(contract.GET_SOURCE_STATUS, {"source": source})
        return mappers.source_status(answer)

    def sources_awaiting_vectors(self) -> Steps[list[Record]]:
        """Return processed sources whose vectors are still being computed.

        The server computes them after the processing, in a task whose state it does not report.
        A source without vectors counts for `VECTOR_TIMEOUT` after its last change, if there is an
        embedding model. Only the first page of sources, the latest changes, is checked.
        """
        slots = records.require_mapping((yield Request(GET_DEFAULTS)), "the default models")
        if not slots.get("default_embedding_model"):
            return []
        params = {"limit": self.PAGE, "offset": 0, **_source_order("updated_at")}
        answer = yield Request(contract.LIST_SOURCES, params=params)
        rows = records.require_list(answer, "sources")
        sources = [
            mappers.listed_source_record(source) for source in rows if not source.get("embedded")
        ]
        return [
            source for source in sources if source["status"] == "completed" and _is_recent(source)
        ]

    def change_source(self, source: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update the `title` or `topic`, which is a list on this server."""
        body = {"title": changes["title"]} if "title" in changes else {}
        if "topic" in changes:
            body |= {"topics": _topic_list(changes["topic"])}
        answer = yield Request(contract.UPDATE_SOURCE, {"source": source}, json=body)
        return mappers.source_detail(answer)

    def retry_source(self, source: str) -> Steps[Record]:
        """Retry a failed source; after a lost response, its status decides the outcome."""
        try:
            answer = yield Request(contract.RETRY_SOURCE, {"source": source})
        except OutcomeUnknownError as unknown:
            answer = yield Request(contract.GET_SOURCE, {"source": source})
            if mappers.source_detail(answer)["status"] == "failed":
                raise unknown from None
        return mappers.source_detail(answer)

    def insights(self, source: str) -> Steps[list[Record]]:
        """List the insights of a source."""
        answer = yield Request(contract.LIST_SOURCE_INSIGHTS, {"source": source})
        return [
            build_record(INSIGHT, {"source_id": source, **mappers.with_timestamps(item)})
            for item in records.require_list(answer, "insights")
        ]

    def _add_json(
        self,
        what: Mapping[str, str],
        *,
        notebook: str | None,
        title: str | None,
        topic: str | None,
        process_async: bool,
    ) -> Steps[Record]:
        options = yield from self._processing_options()
        kind, content = ("link", "url") if "url" in what else ("text", "content")
        named = {"notebook_id": notebook, "title": title}
        body = {
            "type": kind,
            content: next(iter(what.values())),
            "async_processing": process_async,
            **options,
            **{name: value for name, value in named.items() if value is not None},
        }
        answer = yield Request(contract.ADD_SOURCE_JSON, json=body, patient=not process_async)
        origin = {"kind": "link", "url": what["url"]} if "url" in what else {}
        return (yield from self._topical(_with_origin(answer, origin), topic))

    def _processing_options(self) -> Steps[dict[str, Any]]:
        """Return the processing options of a new source.

        Vectors are requested if there is an embedding model, and the default transformations if
        there is a model for them: without one, the source would fail.
        """
        slots = records.require_mapping((yield Request(GET_DEFAULTS)), "the default models")
        items = records.require_list((yield Request(TRANSFORMATIONS)), "transformations")
        writer = slots.get("default_transformation_model") or slots.get("default_chat_model")
        applied = [
            str(item["id"])
            for item in items
            if item.get("apply_default") and (writer or item.get("model_id"))
        ]
        return {
            "embed": bool(slots.get("default_embedding_model")),
            "transformations": applied,
        }

    def _topical(self, record: Record, topic: str | None) -> Steps[Record]:
        """Set the topics of a new source, which the creation request does not accept."""
        if not topic:
            return record
        path, body = {"source": record["id"]}, {"topics": _topic_list(topic)}
        answer = yield Request(contract.UPDATE_SOURCE, path, json=body)
        return {**record, "topic": mappers.source_detail(answer)["topic"]}


def _with_origin(answer: Any, origin: Mapping[str, str]) -> Record:
    """Return a new source's record with its origin, which the server reports only later."""
    record = mappers.source_detail(answer)
    if not (record["file_name"] or record["url"]):
        record |= origin
    return {**record, "title": record["title"] or record["file_name"] or record["url"]}


def _topic_list(topic: str | None) -> list[str]:
    return [part.strip() for part in (topic or "").split(",") if part.strip()]


def _is_recent(source: Record) -> bool:
    changed = source["updated_at"]
    if changed is None:
        return False
    return abs(datetime.now(UTC) - datetime.fromisoformat(changed)) < VECTOR_TIMEOUT


def _source_order(order_by: str | None) -> dict[str, str]:
    if order_by is None:
        return {}
    field, _, way = order_by.strip().partition(" ")
    field = {"updated_at": "updated", "created_at": "created"}.get(field, field)
    return {
        "sort_by": field,
        "sort_order": way.strip() or ("asc" if field == "title" else "desc"),
    }

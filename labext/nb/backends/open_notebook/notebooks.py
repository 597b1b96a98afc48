"""Requests to Open Notebook for notebooks, notes and sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Unpack

from labext.actions import Action
from labext.errors import LabextError, NotFoundError
from labext.http import RetryMode
from labext.http.pagination import PageGuard
from labext.nb import records
from labext.nb.backends import Request, Steps
from labext.nb.backends.contract import notebooks as contract
from labext.nb.backends.contract.models import GET_DEFAULTS
from labext.nb.backends.contract.models import LIST_TRANSFORMATIONS as TRANSFORMATIONS
from labext.nb.backends.contract.notebooks import SourceOptions
from labext.nb.backends.contract.search import LIST_SESSIONS as SESSIONS
from labext.nb.backends.open_notebook.mappers import (
    check_database,
    check_database_on_failure,
    require_identifier,
)
from labext.nb.records import SOURCE, SOURCE_DETAIL, TRANSFORMATION, Fields, Record, drop_none

# A second link would create a duplicate row, so the request is never repeated blindly.
LINK_SOURCE = replace(
    contract.LINK_SOURCE,
    repeat=RetryMode.UNSENT,
    next_step="See {action} before you link it again: it may be linked already.",
    action=Action.list_sources(),
)


class NotebookRequests(contract.NotebookRequests):
    """The operations on notebooks, where Open Notebook differs from the contract."""

    DELETE_SOURCES = "delete_exclusive_sources"

    def notebooks(
        self, archived: bool | None = None, order_by: str | None = None
    ) -> Steps[list[Record]]:
        """List notebooks, with the server's names of the time fields in the order."""
        order = order_by and " ".join(_parse_order(order_by, "name"))
        return check_database_on_failure(super().notebooks(archived, order))

    def notebook(self, notebook: str) -> Steps[Record]:
        """Return a notebook."""
        return check_database_on_failure(super().notebook(notebook))

    def preview(self, notebook: str) -> Steps[Record]:
        """Count the records that a deletion would affect; the chats are counted separately."""
        preview = yield from super().preview(notebook)
        chats = yield Request(SESSIONS, params={"notebook_id": notebook})
        return {**preview, "session_count": len(records.require_list(chats, "chat sessions"))}

    def link(self, notebook: str, source: str) -> Steps[None]:
        """Put a source into a notebook unless it is linked; a second link would be a duplicate."""
        response = yield Request(contract.GET_SOURCE, {"source": source})
        linked = records.require_mapping(response, "the source").get("notebooks")
        if notebook not in (linked if isinstance(linked, list) else []):
            yield Request(LINK_SOURCE, {"notebook": notebook, "source": source})


def _parse_order(order_by: str, text_field: str) -> tuple[str, str]:
    """Return the server's field and direction of an order; `updated`, `desc` for `updated_at`.

    The default direction is that of the contract: times descending, texts ascending.
    """
    field, _, way = order_by.strip().partition(" ")
    field = {"updated_at": "updated", "created_at": "created"}.get(field, field)
    return field, way.strip() or ("asc" if field == text_field else "desc")


class NoteRequests(contract.NoteRequests):
    """The operations on notes, where Open Notebook differs from the contract."""

    def notes(self, notebook: str | None = None, *, contents: bool = True) -> Steps[list[Record]]:
        """List notes; contents are requested note by note, as the list has none."""
        summaries = yield from check_database_on_failure(super().notes(notebook))
        if not contents:
            return [{**summary, "notebook_id": notebook} for summary in summaries]
        notes = []
        for summary in summaries:
            try:
                note = yield from super().note(summary["id"])
            except NotFoundError:
                yield from check_database()
                continue  # deleted meanwhile
            notes.append({**note, "notebook_id": notebook})
        return notes

    def note(self, note: str) -> Steps[Record]:
        """Return a note."""
        return check_database_on_failure(super().note(note))

    def new_note(
        self, content: str, title: str | None, note_type: str, notebook: str | None
    ) -> Steps[Record]:
        """Create a note; the response does not contain its notebook."""
        note = yield from super().new_note(content, title, note_type, notebook)
        return {**note, "notebook_id": notebook}

    def change_note(self, note: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update the `title`, `content` or `note_type`."""
        return check_database_on_failure(super().change_note(note, changes))

    def delete_note(self, note: str) -> Steps[None]:
        """Delete a note."""
        return check_database_on_failure(super().delete_note(note))


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
        response = yield Request(contract.LIST_SOURCES, params=params)
        return self._listed_sources(records.require_list(response, "sources"))

    def parse_source(self, response: Any, fields: Fields = SOURCE_DETAIL) -> Record:
        """Parse a source, by default with its text."""
        return self.parse_record(fields, response, "the source")

    def add_file(self, path: Path, **options: Unpack[SourceOptions]) -> Steps[Record]:
        """Upload a file, and request the vectors and insights that the contract requires.

        The file name is sent as the title, because the server renames a file whose name is taken
        and would use the new name as the title.
        """
        processing = yield from self._processing_options()
        form = {
            "type": "upload",
            "notebook_id": options["notebook"],
            "title": options["title"] or path.name,
            "async_processing": options["process_async"],
            "embed": processing["embed"],
            "transformations": json.dumps(processing["transformations"]),
        }
        response = yield Request(contract.ADD_SOURCE, form=form, files={"file": path}, patient=True)
        origin = {"kind": "upload", "file_name": path.name}
        return (yield from self._added_source(response, origin, options["topic"]))

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
        response = yield Request(contract.LIST_SOURCES, params=params)
        rows = records.require_list(response, "sources")
        sources = self._listed_sources(row for row in rows if not row.get("embedded"))
        return [
            source for source in sources if source["status"] == "completed" and _is_recent(source)
        ]

    def change_source(self, source: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update the `title` or `topic`, which is a list on this server."""
        body = {"title": changes["title"]} if "title" in changes else {}
        if "topic" in changes:
            body |= {"topics": _topic_list(changes["topic"])}
        response = yield Request(contract.UPDATE_SOURCE, {"source": source}, json=body)
        return self.parse_source(response)

    def _add_json(self, content: Mapping[str, str], options: SourceOptions) -> Steps[Record]:
        processing = yield from self._processing_options()
        kind, key = ("link", "url") if "url" in content else ("text", "content")
        body = {
            "type": kind,
            key: next(iter(content.values())),
            "async_processing": options["process_async"],
            **processing,
            **drop_none({"notebook_id": options["notebook"], "title": options["title"]}),
        }
        patient = not options["process_async"]
        response = yield Request(contract.ADD_SOURCE_JSON, json=body, patient=patient)
        origin = {"kind": "link", "url": content["url"]} if "url" in content else {}
        return (yield from self._added_source(response, origin, options["topic"]))

    def _listed_sources(self, items: Iterable[Mapping[str, Any]]) -> list[Record]:
        """Parse sources of a list, in which `embedded_chunks` is always 0."""
        return [{**self.parse_source(item, SOURCE), "passages": None} for item in items]

    def _source_rows(self, notebook: str | None = None) -> Steps[dict[str, Mapping[str, Any]]]:
        """Return all sources of a notebook, or all, as the server lists them, by identifier."""
        rows: dict[str, Mapping[str, Any]] = {}
        offset, guard = 0, PageGuard("The notebook service's list of sources")
        while True:
            params = {"notebook_id": notebook, "limit": self.PAGE, "offset": offset}
            response = yield Request(contract.LIST_SOURCES, params=params)
            page = records.require_list(response, "sources")
            ids = [require_identifier(row, "id", "a source") for row in page]
            if not guard.add_page(ids):
                return rows
            rows |= zip(ids, page, strict=True)
            offset += len(page)
            guard.check_next()

    def _processing_options(self) -> Steps[dict[str, Any]]:
        """Return the processing options of a new source.

        Vectors are requested if there is an embedding model, and the default transformations if
        there is a model for them: without one, the source would fail.
        """
        slots = records.require_mapping((yield Request(GET_DEFAULTS)), "the default models")
        response = yield Request(TRANSFORMATIONS)
        transformations = self.parse_records(TRANSFORMATION, response, "transformations")
        writer = slots.get("default_transformation_model") or slots.get("default_chat_model")
        applied = [
            record["id"]
            for record in transformations
            if record["apply_default"] and (writer or record["model_id"])
        ]
        return {"embed": bool(slots.get("default_embedding_model")), "transformations": applied}

    def _added_source(
        self, response: Any, origin: Mapping[str, str], topic: str | None
    ) -> Steps[Record]:
        """Return a new source with its origin, which the server reports only later.

        The topics are set by a second request, since the first one does not accept them.
        """
        record = self.parse_source(response)
        if not (record["file_name"] or record["url"]):
            record |= origin
        record["title"] = record["title"] or record["file_name"] or record["url"]
        if not topic:
            return record
        path, body = {"source": record["id"]}, {"topics": _topic_list(topic)}
        try:
            response = yield Request(contract.UPDATE_SOURCE, path, json=body)
        except LabextError as error:
            raise error.about(f"{record['id']} was added, but without its topic") from None
        return {**record, "topic": self.parse_source(response)["topic"]}


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
    field, way = _parse_order(order_by, "title")
    return {"sort_by": field, "sort_order": way}

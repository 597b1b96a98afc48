"""Requests for notebooks, notes and sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

from labext.actions import Action
from labext.errors import InputError, NotFoundError, OutcomeUnknownError
from labext.http import Operation, RetryMode
from labext.nb import records
from labext.nb.backends import RecordParser, Request, Steps, create, delete, get, post, put
from labext.nb.records import (
    INSIGHT,
    NOTE,
    NOTEBOOK,
    NOTEBOOK_DELETION,
    PREVIEW,
    SOURCE_DETAIL,
    SOURCE_ITEM,
    STATUS,
    Fields,
    Record,
    build_record,
    drop_none,
)

LIST_NOTEBOOKS = get("list notebooks", "notebooks")
CREATE_NOTEBOOK = post(
    "create a notebook",
    "notebooks",
    "See {action} before you create it again: names need not be unique.",
    Action.list_notebooks(),
)
GET_NOTEBOOK = get("get a notebook", "notebooks/{notebook}")
UPDATE_NOTEBOOK = put("update a notebook", "notebooks/{notebook}")
DELETE_NOTEBOOK = delete("delete a notebook", "notebooks/{notebook}")
PREVIEW_DELETION = get("preview a deletion", "notebooks/{notebook}/delete-preview")
LINK_SOURCE = Operation(
    "add a source to a notebook",
    "POST",
    "notebooks/{notebook}/sources/{source}",
    RetryMode.ALWAYS,  # idempotent, by the contract
)
UNLINK_SOURCE = delete("remove a source from a notebook", "notebooks/{notebook}/sources/{source}")


class NotebookRequests(RecordParser):
    """The eight operations on notebooks."""

    DELETE_SOURCES = "delete_sources"
    """The parameter that also deletes the sources of a notebook."""

    def notebooks(
        self, archived: bool | None = None, order_by: str | None = None
    ) -> Steps[list[Record]]:
        """List notebooks: archived ones, others, or both (None)."""
        response = yield Request(
            LIST_NOTEBOOKS, params={"archived": archived, "order_by": order_by}
        )
        return self.parse_records(NOTEBOOK, response, "notebooks")

    def notebook(self, notebook: str) -> Steps[Record]:
        """Return a notebook."""
        response = yield Request(GET_NOTEBOOK, {"notebook": notebook})
        return self.parse_record(NOTEBOOK, response, "the notebook")

    def new_notebook(self, name: str, description: str | None) -> Steps[Record]:
        """Create a notebook."""
        body = drop_none({"name": name, "description": description})
        response = yield Request(CREATE_NOTEBOOK, json=body)
        return self.parse_record(NOTEBOOK, response, "the notebook")

    def change_notebook(self, notebook: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update the `name`, `description` or `archived`; other fields stay unchanged."""
        response = yield Request(UPDATE_NOTEBOOK, {"notebook": notebook}, json=dict(changes))
        return self.parse_record(NOTEBOOK, response, "the notebook")

    def delete_notebook(self, notebook: str, *, delete_sources: bool) -> Steps[Record]:
        """Delete a notebook, optionally with the sources that no other notebook has."""
        response = yield Request(
            DELETE_NOTEBOOK, {"notebook": notebook}, params={self.DELETE_SOURCES: delete_sources}
        )
        # A repeated deletion after a lost response finds no record, and has no counts.
        data = records.require_mapping(response, "the deletion") if response is not None else {}
        return build_record(NOTEBOOK_DELETION, {**data, "id": notebook})

    def preview(self, notebook: str) -> Steps[Record]:
        """Count the records that a deletion would affect."""
        response = yield Request(PREVIEW_DELETION, {"notebook": notebook})
        data = records.require_mapping(response, "the deletion")
        return build_record(PREVIEW, {**data, "id": notebook, "name": data.get("notebook_name")})

    def link(self, notebook: str, source: str) -> Steps[None]:
        """Add a source to a notebook; idempotent."""
        yield Request(LINK_SOURCE, {"notebook": notebook, "source": source})

    def unlink(self, notebook: str, source: str) -> Steps[None]:
        """Remove a source from a notebook."""
        yield Request(UNLINK_SOURCE, {"notebook": notebook, "source": source})


LIST_NOTES = get("list notes", "notes")
CREATE_NOTE = create("create a note", "notes", Action.list_notes())
GET_NOTE = get("get a note", "notes/{note}")
UPDATE_NOTE = put("update a note", "notes/{note}")
DELETE_NOTE = delete("delete a note", "notes/{note}")


class NoteRequests(RecordParser):
    """The five operations on notes."""

    def notes(self, notebook: str | None = None, *, contents: bool = True) -> Steps[list[Record]]:
        """List the notes of a notebook, or all; the contents may be omitted if not requested."""
        del contents  # the list includes the contents
        response = yield Request(LIST_NOTES, params={"notebook_id": notebook})
        return self.parse_records(NOTE, response, "notes")

    def note(self, note: str) -> Steps[Record]:
        """Return a note."""
        response = yield Request(GET_NOTE, {"note": note})
        return self.parse_record(NOTE, response, "the note")

    def new_note(
        self, content: str, title: str | None, note_type: str, notebook: str | None
    ) -> Steps[Record]:
        """Create a note; a model's note without a title gets a generated one (NB-136)."""
        body = {"content": content, "note_type": note_type}
        body |= drop_none({"title": title, "notebook_id": notebook})
        response = yield Request(
            CREATE_NOTE, json=body, patient=note_type == "ai" and title is None
        )
        return self.parse_record(NOTE, response, "the note")

    def change_note(self, note: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update the `title`, `content` or `note_type`; other fields stay unchanged."""
        response = yield Request(UPDATE_NOTE, {"note": note}, json=dict(changes))
        return self.parse_record(NOTE, response, "the note")

    def delete_note(self, note: str) -> Steps[None]:
        """Delete a note."""
        yield Request(DELETE_NOTE, {"note": note})


LIST_SOURCES = get("list sources", "sources")
ADD_SOURCE = create("add a source", "sources", Action.list_sources())
ADD_SOURCE_JSON = create("add a source", "sources/json", Action.list_sources())
GET_SOURCE = get("get a source", "sources/{source}")
GET_SOURCE_STATUS = get("get a source's status", "sources/{source}/status")
UPDATE_SOURCE = put("update a source", "sources/{source}")
DELETE_SOURCE = delete("delete a source", "sources/{source}")
DOWNLOAD_SOURCE = Operation(
    "download a source", "GET", "sources/{source}/download", RetryMode.ALWAYS
)
CHECK_SOURCE_FILE = Operation(
    "check a source's file", "HEAD", "sources/{source}/download", RetryMode.ALWAYS
)
RETRY_SOURCE = post(
    "process a source again",
    "sources/{source}/retry",
    "See {action}: it is either being processed again or still failed.",
    Action.list_sources(),
)
LIST_SOURCE_INSIGHTS = get("list a source's insights", "sources/{source}/insights")

_NO_JSON_STATUSES = frozenset({404, 405, 415, 422})
"""Statuses of a route that accepts only forms, in response to JSON."""


class SourceOptions(TypedDict):
    """Options of a new source."""

    notebook: str | None
    title: str | None
    topic: str | None
    process_async: bool


class SourceRequests(RecordParser):
    """The eleven operations on sources."""

    PAGE = 1000
    """Number of sources requested per page."""

    def sources(
        self, notebook: str | None, limit: int, offset: int, order_by: str | None
    ) -> Steps[list[Record]]:
        """List a page of sources, of a notebook or all."""
        params = {"notebook_id": notebook, "limit": limit, "offset": offset, "order_by": order_by}
        response = yield Request(LIST_SOURCES, params=params)
        return [
            self.parse_source(item, SOURCE_ITEM)
            for item in records.require_list(response, "sources")
        ]

    def source(self, source: str) -> Steps[Record]:
        """Return a source, with its text."""
        response = yield Request(GET_SOURCE, {"source": source})
        return self.parse_source(response)

    def add_file(self, path: Path, **options: Unpack[SourceOptions]) -> Steps[Record]:
        """Upload a file, without a read timeout, since processing may take long."""
        form = _source_fields(options)
        response = yield Request(ADD_SOURCE, form=form, files={"file": path}, patient=True)
        return self.parse_source(response)

    def add_url(self, url: str, **options: Unpack[SourceOptions]) -> Steps[Record]:
        """Add a web page by its URL; `options` as for `add_file`."""
        return self._add_json({"url": url}, options)

    def add_text(self, text: str, **options: Unpack[SourceOptions]) -> Steps[Record]:
        """Add a text; `options` as for `add_file`."""
        return self._add_json({"text": text}, options)

    def source_status(self, source: str) -> Steps[Record]:
        """Return the processing status of a source."""
        response = yield Request(GET_SOURCE_STATUS, {"source": source})
        return self.build_record(STATUS, records.require_mapping(response, "the source's status"))

    def sources_awaiting_vectors(self) -> Steps[list[Record]]:
        """Return processed sources whose vectors are missing: none, as processing makes them."""
        yield from ()
        return []

    def change_source(self, source: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update the `title` or `topic`; other fields stay unchanged."""
        response = yield Request(UPDATE_SOURCE, {"source": source}, json=dict(changes))
        return self.parse_source(response)

    def delete_source(self, source: str) -> Steps[None]:
        """Delete a source from all notebooks."""
        yield Request(DELETE_SOURCE, {"source": source})

    def original(self, source: str) -> Request:
        """Return the request whose response is the uploaded file."""
        return Request(DOWNLOAD_SOURCE, {"source": source})

    def has_original(self, source: str) -> Steps[bool]:
        """Return True if the source exists and has a file."""
        try:
            yield Request(CHECK_SOURCE_FILE, {"source": source})
        except NotFoundError:
            return False
        return True

    def retry_source(self, source: str) -> Steps[Record]:
        """Retry a failed source; after a lost response, its status decides the outcome."""
        try:
            response = yield Request(RETRY_SOURCE, {"source": source})
        except OutcomeUnknownError as unknown:
            response = yield Request(GET_SOURCE, {"source": source})
            record = self.parse_source(response)
            if record["status"] == "failed":  # not retried, or failed again
                raise unknown from None
            return record
        return self.parse_source(response)

    def insights(self, source: str) -> Steps[list[Record]]:
        """List the insights of a source."""
        response = yield Request(LIST_SOURCE_INSIGHTS, {"source": source})
        return [
            self.build_record(INSIGHT, {"source_id": source, **item})
            for item in records.require_list(response, "insights")
        ]

    def parse_source(self, response: Any, fields: Fields = SOURCE_DETAIL) -> Record:
        """Parse a source, by default with its text."""
        data = records.require_mapping(response, "the source")
        asset = data.get("asset")
        location = asset if isinstance(asset, Mapping) else {}
        file = location.get("file_path")
        name = file.rpartition("/")[2] if isinstance(file, str) else None
        data = {**data, "file_name": name, "url": location.get("url")}
        return self.parse_record(fields, data, "the source")

    def _add_json(self, content: Mapping[str, str], options: SourceOptions) -> Steps[Record]:
        """Add a source with `content`, a `url` or a `text`."""
        body = {**content, **drop_none(_source_fields(options))}
        patient = not options["process_async"]
        try:
            response = yield Request(ADD_SOURCE, json=body, patient=patient)
        except InputError as error:
            if error.status not in _NO_JSON_STATUSES:
                raise
            response = yield Request(ADD_SOURCE_JSON, json=body, patient=patient)
        return self.parse_source(response)


def _source_fields(options: SourceOptions) -> dict[str, Any]:
    """Return the request fields for the options of a new source."""
    fields: dict[str, Any] = {**options}
    return {"notebook_id": fields.pop("notebook"), **fields}

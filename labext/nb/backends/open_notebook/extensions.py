"""Settings, commands, insights, embeddings and source chats of Open Notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labext.actions import Action
from labext.errors import LabextError, NotFoundError, ServiceError, SetupError
from labext.http import Operation, RetryMode
from labext.nb import records
from labext.nb.backends import Request, Steps, create, delete, event_failure, get, post, put
from labext.nb.backends.contract import extensions
from labext.nb.backends.contract.models import GET_DEFAULTS
from labext.nb.backends.contract.search import message_record
from labext.nb.backends.open_notebook import mappers
from labext.nb.backends.open_notebook.notebooks import SourceRequests
from labext.nb.records import (
    COMMAND,
    COMMAND_KIND,
    EMBEDDING_SUBMISSION,
    INSIGHT,
    NOTE,
    REBUILD,
    REBUILD_SUBMISSION,
    SOURCE,
    SOURCE_CHAT,
    Answer,
    Record,
    build_record,
    drop_none,
)

GET_SETTINGS = get("read the settings", "settings")
UPDATE_SETTINGS = put("update the settings", "settings")
LIST_COMMANDS = get("list commands", "commands/jobs")
GET_COMMAND = get("get a command", "commands/jobs/{command}")
RUN_COMMAND = post(
    "run a command",
    "commands/jobs",
    "Check its effects before you run it again: it may have started.",
)
CANCEL_COMMAND = Operation(
    "cancel a command", "DELETE", "commands/jobs/{command}", RetryMode.DELETE, answer="json"
)
LIST_COMMAND_KINDS = get("list available commands", "commands/registry/debug")


class CommandRequests(SourceRequests, extensions.ExtensionRequests):
    """The operations on settings and commands."""

    def settings(self) -> Steps[dict[str, Any]]:
        """Return the service's settings."""
        return dict(records.require_mapping((yield Request(GET_SETTINGS)), "the settings"))

    def set_settings(self, changes: Mapping[str, Any]) -> Steps[dict[str, Any]]:
        """Update settings; the server ignores unknown names, and null leaves a value unchanged."""
        mappers.forbid_clearing(changes, "the settings", "Set another value.")
        response = yield Request(UPDATE_SETTINGS, json=dict(changes))
        return dict(records.require_mapping(response, "the settings"))

    def commands(
        self, command: str | None, status: str | None, limit: int | None
    ) -> Steps[list[Record]]:
        """List commands from the server's list and from the sources.

        The server's own list is empty in practice, so the filters are applied here too.
        """
        query = {"command_filter": command, "status_filter": status, "limit": limit}
        response = yield Request(LIST_COMMANDS, params=query)
        items = [self._parse_command(item) for item in records.require_list(response, "commands")]
        items += yield from self._source_commands()
        filters = {"command": command, "status": status}
        by_id = {
            record["job_id"]: record
            for record in reversed(items)
            if all(value in (None, record[name]) for name, value in filters.items())
        }
        return [*reversed(by_id.values())][: limit or None]

    def command(self, command: str) -> Steps[Record]:
        """Return a command.

        Raises:
            NotFoundError: the command does not exist; the server reports a failed lookup.
        """
        try:
            response = yield Request(GET_COMMAND, {"command": command})
        except ServiceError as error:
            if error.status != 500:
                raise
            raise NotFoundError(
                f"There is no command {command}, or its lookup failed.",
                f"See {{action}}; {Action.show_service()} shows whether the database is online.",
                action=Action.list_commands(),
                status=error.status,
                server=error.server,
            ) from None
        return self._parse_command(response)

    def run_command(self, command: str, app: str, arguments: Mapping[str, Any]) -> Steps[Record]:
        """Start a command."""
        body = {"command": command, "app": app, "input": dict(arguments)}
        response = records.require_mapping((yield Request(RUN_COMMAND, json=body)), "the command")
        return self._parse_command({**response, "command": command, "message": None})

    def cancel_command(self, command: str) -> Steps[None]:
        """Request the cancellation of a command; the response does not tell the outcome."""
        yield Request(CANCEL_COMMAND, {"command": command})

    def command_kinds(self) -> Steps[list[Record]]:
        """List the available commands."""
        response = records.require_mapping(
            (yield Request(LIST_COMMAND_KINDS)), "the available commands"
        )
        items = records.require_list(response.get("command_items") or [], "the available commands")
        return [
            build_record(COMMAND_KIND, {"command": item.get("name"), "app": item.get("app_id")})
            for item in items
        ]

    def _source_commands(self) -> Steps[list[Record]]:
        """Return the commands that process sources, newest first."""
        commands: list[Record] = []
        for row in (yield from self._source_rows()).values():
            if isinstance(row.get("command_id"), str):
                source = self.parse_source(row, SOURCE)
                fields = {
                    "job_id": row["command_id"],
                    "command": "process_source",
                    "subject": source["title"] or source["id"],
                    "error_message": source["error"],
                }
                commands.append(build_record(COMMAND, {**source, **fields}))
        return commands

    def _parse_command(self, response: Any) -> Record:
        """Return a command's record, with None for empty values."""
        data = records.require_mapping(response, "the command")
        mappers.require_identifier(data, "job_id", "the command")
        result = data.get("result")
        details = result if isinstance(result, Mapping) else {}
        metadata = details.get("execution_metadata")
        name = metadata.get("command_name") if isinstance(metadata, Mapping) else None
        more = {
            "command": data.get("command") or name,
            "subject": details.get("source_id") or details.get("note_id"),
            "error_message": data.get("error_message") or None,
            "result": result or None,
        }
        return self.build_record(COMMAND, {**data, **more})


GET_INSIGHT = get("get an insight", "insights/{insight}")
CREATE_INSIGHT = post(
    "create an insight",
    "sources/{source}/insights",
    "See {action} in a while: it may have started.",
    Action.list_source_insights(),
)
DELETE_INSIGHT = delete("delete an insight", "insights/{insight}")
SAVE_INSIGHT = create(
    "copy an insight into a note", "insights/{insight}/save-as-note", Action.list_notes()
)
EMBED_ITEM = Operation(
    "compute vectors",
    "POST",
    "embed",
    RetryMode.ALWAYS,  # existing vectors are replaced
    answer="json",
)
REBUILD_EMBEDDINGS = post(
    "recompute vectors",
    "embeddings/rebuild",  # may take hours, and a provider may charge for it
    "Check that the service is not busy before you start it again.",
)
GET_REBUILD_STATUS = get(
    "get the progress of computing vectors", "embeddings/rebuild/{command}/status"
)


class InsightRequests(extensions.ExtensionRequests):
    """The operations on single insights, and on vectors."""

    def insight(self, insight: str) -> Steps[Record]:
        """Return an insight."""
        return self.parse_record(
            INSIGHT, (yield Request(GET_INSIGHT, {"insight": insight})), "the insight"
        )

    def new_insight(self, source: str, transformation: str, model: str | None) -> Steps[str]:
        """Start the creation of an insight; return the command."""
        body = drop_none({"transformation_id": transformation, "model_id": model})
        response = yield Request(CREATE_INSIGHT, {"source": source}, json=body)
        return mappers.require_identifier(response, "command_id", "the insight")

    def delete_insight(self, insight: str) -> Steps[None]:
        """Delete an insight."""
        yield Request(DELETE_INSIGHT, {"insight": insight})

    def save_insight(self, insight: str, notebook: str) -> Steps[Record]:
        """Copy an insight into a notebook as a note; set its type to `ai` if it has none."""
        body = {"notebook_id": notebook}
        response = yield Request(SAVE_INSIGHT, {"insight": insight}, json=body)
        note = self.parse_record(NOTE, response, "the note")
        if note["note_type"] is None:
            try:
                note = yield from self.change_note(note["id"], {"note_type": "ai"})
            except LabextError as error:
                raise error.about(f"{note['id']} was created, but without its type") from None
        return {**note, "notebook_id": notebook}

    def embed(self, item: str, kind: str) -> Steps[Record]:
        """Start computing the vectors of a `source` or a `note`."""
        yield from _check_embedding_model()
        body = {"item_id": item, "item_type": kind, "async_processing": True}
        response = records.require_mapping((yield Request(EMBED_ITEM, json=body)), "the vectors")
        return build_record(
            EMBEDDING_SUBMISSION, {**response, "job_id": response.get("command_id")}
        )

    def rebuild(self, mode: str, *, sources: bool, notes: bool, insights: bool) -> Steps[Record]:
        """Start recomputing vectors."""
        yield from _check_embedding_model()
        body = {
            "mode": mode,
            "include_sources": sources,
            "include_notes": notes,
            "include_insights": insights,
        }
        response = yield Request(REBUILD_EMBEDDINGS, json=body)
        job = mappers.require_identifier(response, "command_id", "the vectors")
        return build_record(REBUILD_SUBMISSION, {**response, "job_id": job})

    def rebuild_status(self, job: str) -> Steps[Record]:
        """Return the progress of a rebuild; raise NotFoundError if there is no such job."""
        try:
            response = yield Request(GET_REBUILD_STATUS, {"command": job})
        except ServiceError as error:
            if error.status != 500:
                raise
            raise NotFoundError(
                f"There is no job {job} that computes vectors.",
                "Use the `job_id` that {action} returned.",
                action=Action.rebuild_embeddings(),
                status=error.status,
                server=error.server,
            ) from None
        return _rebuild_record(records.require_mapping(response, "the vectors"), job)


def _rebuild_record(response: Mapping[str, Any], job: str) -> Record:
    progress, stats = response.get("progress"), response.get("stats")
    times = {
        name: mappers.parse_time(response.get(name)) for name in ("started_at", "completed_at")
    }
    if response.get("status") not in ("completed", "failed", "canceled"):
        times["completed_at"] = None  # before the end, the server reports the last update here
    return build_record(
        REBUILD,
        {
            **response,
            **(progress if isinstance(progress, Mapping) else {}),
            **(stats if isinstance(stats, Mapping) else {}),
            **times,
            "job_id": job,
            "error_message": response.get("error_message") or None,
        },
    )


def _check_embedding_model() -> Steps[None]:
    """Check that an embedding model is set; without one, the command fails in the background."""
    slots = records.require_mapping((yield Request(GET_DEFAULTS)), "the default models")
    if not slots.get("default_embedding_model"):
        raise SetupError(
            "No embedding model is set.", "Set one: {action}.", action=Action.set_model("embedding")
        )


_CHATS_PATH = "sources/{source}/chat/sessions"
_CHAT_PATH = f"{_CHATS_PATH}/{{chat}}"
LIST_SOURCE_CHATS = get("list chats about a source", _CHATS_PATH)
CREATE_SOURCE_CHAT = create("create a chat about a source", _CHATS_PATH, Action.list_source_chats())
GET_SOURCE_CHAT = get("get a chat about a source", _CHAT_PATH)
UPDATE_SOURCE_CHAT = put("update a chat about a source", _CHAT_PATH)
DELETE_SOURCE_CHAT = delete("delete a chat about a source", _CHAT_PATH)
SEND_SOURCE_MESSAGE = Operation(
    "send a chat message about a source",
    "POST",
    f"{_CHAT_PATH}/messages",
    RetryMode.UNSENT,  # a repeat would add the message twice
    next_step="See {action} before you send it again: the chat may contain the reply.",
    action=Action.show_source_chat(),
    relays=True,
)

_RETRY_STEP = "Check the model, then send the message again."


class SourceChatRequests(extensions.ExtensionRequests):
    """The operations on chats about one source."""

    def source_chats(self, source: str) -> Steps[list[Record]]:
        """List the chats about a source."""
        response = yield Request(LIST_SOURCE_CHATS, {"source": source})
        return self.parse_records(SOURCE_CHAT, response, "chats")

    def source_chat(self, source: str, chat: str) -> Steps[Record]:
        """Return a source chat, with its `messages`."""
        response = yield Request(GET_SOURCE_CHAT, {"source": source, "chat": chat})
        record = self._parse_chat(response)
        messages = records.require_list(response.get("messages") or [], "the chat's messages")
        return {**record, "messages": [message_record(item) for item in messages]}

    def new_source_chat(
        self, source: str, title: str | None, model_override: str | None
    ) -> Steps[Record]:
        """Create a source chat; the body must contain the source too."""
        fields = {"source_id": source, "title": title, "model_override": model_override}
        body = drop_none(fields)
        return self._parse_chat((yield Request(CREATE_SOURCE_CHAT, {"source": source}, json=body)))

    def change_source_chat(
        self, source: str, chat: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Update the `title` or `model_override`; neither can be cleared."""
        mappers.forbid_clearing(
            changes, "the chat", "Choose another model, or create another chat."
        )
        path = {"source": source, "chat": chat}
        return self._parse_chat((yield Request(UPDATE_SOURCE_CHAT, path, json=dict(changes))))

    def delete_source_chat(self, source: str, chat: str) -> Steps[None]:
        """Delete a source chat and its messages."""
        yield Request(DELETE_SOURCE_CHAT, {"source": source, "chat": chat})

    def source_message(
        self, source: str, chat: str, message: str, model_override: str | None
    ) -> Request:
        """Return the request that sends a message; all events arrive at the end."""
        body = drop_none({"message": message, "model_override": model_override})
        return Request(SEND_SOURCE_MESSAGE, {"source": source, "chat": chat}, json=body)

    def source_reply(self, events: Iterator[Any], message: str) -> Answer:
        """Return the last reply in the stream, which repeats the earlier replies.

        Raises:
            ServiceError: the reply failed, or the stream ended early.
        """
        reply: str | None = None
        titles: dict[str, str] = {}
        for event in events:
            if not isinstance(event, Mapping):
                continue
            match event.get("type"):
                case "ai_message":
                    reply = str(event.get("content") or "")
                case "context_indicators":
                    titles = dict.fromkeys(_context_ids(event.get("data")), "")
                case "error":
                    doing = SEND_SOURCE_MESSAGE.name
                    raise event_failure(event, doing, _RETRY_STEP, "The reply failed: ")
                case "complete" if reply is not None:
                    return Answer(reply, mappers.marked_citations(reply, titles), message)
        raise ServiceError(
            "The notebook service responded without a reply from the model.",
            "See {action}, then send it again.",
            action=Action.show_source_chat(),
        )

    def _parse_chat(self, response: Any) -> Record:
        return self.parse_record(SOURCE_CHAT, response, "the chat")


def _context_ids(data: Any) -> list[str]:
    """Return the identifiers of the records in the model's context."""
    parts = data.values() if isinstance(data, Mapping) else ()
    return [identifier for part in parts for identifier in records.string_items(part)]


class ExtensionRequests(CommandRequests, InsightRequests, SourceChatRequests):
    """The operations outside the contract."""

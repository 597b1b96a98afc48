"""Requests for chat sessions and messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.actions import Action
from labext.errors import ServiceError
from labext.http import Operation, RetryMode
from labext.nb import records
from labext.nb.backends import OnWords, RecordParser, Request, Steps, delete, get, post, put
from labext.nb.backends.contract.search import parse_citations, scope_fields
from labext.nb.records import (
    CONTEXT,
    MESSAGE,
    SESSION,
    Answer,
    MessageContext,
    Record,
    Scope,
    build_record,
    drop_none,
    parse_usage,
)

LIST_SESSIONS = get("list chat sessions", "chat/sessions")
CREATE_SESSION = post(
    "create a chat session",
    "chat/sessions",
    "See {action} before you create it again: it may exist already.",
    Action.list_chats(),
)
GET_SESSION = get("get a chat session", "chat/sessions/{session}")
UPDATE_SESSION = put("update a chat session", "chat/sessions/{session}")
DELETE_SESSION = delete("delete a chat session", "chat/sessions/{session}")
SEND_MESSAGE = post(
    "send a chat message",
    "chat/execute",  # a repeat would add the message twice
    "See {action} before you send it again: the chat may contain the reply already.",
    Action.show_chat(),
)
BUILD_CONTEXT = Operation(
    "build a chat's context", "POST", "chat/context", RetryMode.ALWAYS, answer="json"
)


class ChatRequests(RecordParser):
    """The seven operations of the chat."""

    def sessions(self, notebook: str | None = None) -> Steps[list[Record]]:
        """List the sessions of a notebook, or all."""
        response = yield Request(LIST_SESSIONS, params={"notebook_id": notebook})
        return self.parse_records(SESSION, response, "chat sessions")

    def session(self, session: str) -> Steps[Record]:
        """Return a session, with its messages."""
        response = yield Request(GET_SESSION, {"session": session})
        data = records.require_mapping(response, "the chat session")
        messages = records.require_list(data.get("messages") or [], "the session's messages")
        record = self.parse_record(SESSION, data, "the chat session")
        record["messages"] = [message_record(message) for message in messages]
        return record

    def new_session(
        self, notebook: str, title: str | None, model_override: str | None
    ) -> Steps[Record]:
        """Create a session."""
        fields = {"notebook_id": notebook, "title": title, "model_override": model_override}
        response = yield Request(CREATE_SESSION, json=drop_none(fields))
        return self.parse_record(SESSION, response, "the chat session")

    def change_session(self, session: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Update the `title` or `model_override`; other fields stay unchanged."""
        response = yield Request(UPDATE_SESSION, {"session": session}, json=dict(changes))
        return self.parse_record(SESSION, response, "the chat session")

    def delete_session(self, session: str) -> Steps[None]:
        """Delete a session and its messages."""
        yield Request(DELETE_SESSION, {"session": session})

    def message_context(self, session: str, scope: Scope) -> Steps[MessageContext]:
        """Return the context of a message; this server adds the texts itself."""
        del session
        yield from ()
        return MessageContext(scope_fields(scope))

    def execute(
        self,
        session: str,
        message: str,
        context: MessageContext,
        model_override: str | None,
        on_words: OnWords | None = None,
    ) -> Steps[Answer]:
        """Send a message without a read timeout; return the model's reply."""
        body = {"session_id": session, "message": message, "context": dict(context.context)}
        if model_override is not None:
            body["model_override"] = model_override
        response = yield Request(SEND_MESSAGE, json=body, patient=True, on_words=on_words)
        data = records.require_mapping(response, "the chat").get("messages")
        items = records.require_list(data, "the session's messages")
        messages = [message_record(item) for item in items]
        if not messages or messages[-1]["type"] != "ai":
            raise ServiceError(
                "The notebook service responded without a reply from the model.",
                "See {action}, then ask again.",
                action=Action.show_chat(session),
            )
        last = messages[-1]
        return Answer(
            str(last["content"] or ""),
            parse_citations(last["citations"]),
            message,
            last["model"],
            parse_usage(items[-1].get("usage")),
        )

    def context(
        self, session: str | None, notebook: str | None, scope: Scope, config: Any
    ) -> Steps[Record]:
        """Build the context that a model would get with a message."""
        about = {"session_id": session, "notebook_id": notebook, "context_config": config}
        body = scope_fields(scope) | drop_none(about)
        response = yield Request(BUILD_CONTEXT, json=body)
        data = records.require_mapping(response, "the context")
        return build_record(
            CONTEXT, {**data, **records.require_mapping(data.get("context"), "the context")}
        )


def message_record(response: Mapping[str, Any]) -> Record:
    """Return a message's record."""
    when = response.get("created_at") or response.get("timestamp")
    return build_record(MESSAGE, {"citations": [], **response, "created_at": when})

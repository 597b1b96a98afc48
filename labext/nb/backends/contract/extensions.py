"""Operations outside the contract: refused with an alternative."""

# ruff: noqa: ARG002 - methods that only raise ignore their arguments

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labext.actions import Action
from labext.errors import InputError, NotFoundError
from labext.http.pagination import PageGuard
from labext.nb.backends import Request, Steps
from labext.nb.backends.contract.notebooks import NoteRequests, SourceRequests
from labext.nb.records import Answer, Record

_NO_SETTINGS = (
    "has no settings that can be read or changed by its API",
    "It is configured on the command line of its machine; {action} sets models.",
    Action.set_model(),
)
_NO_COMMANDS = (
    "does not report background commands",
    "For the status of sources, see {action}; episodes have their own status.",
    Action.list_sources(),
)
_NO_INSIGHT_ACTION = "can't {} a single insight"
_INSIGHT_ALTERNATIVE = (
    "Save the output of a transformation as a note: {action}.",
    Action.run_transformation(),
)
_INSIGHT_DELETION = "Insights are deleted with their source: {action}.", Action.delete_source()
_NO_SOURCE_CHATS = (
    "has no chats about a single source",
    "Chat about it in its notebook: {action}.",
    Action.chat_about_source(),
)
_NO_EMBEDDINGS = (
    "has no command to compute vectors",
    "It computes them by itself when sources and notes are added, and again after a change of the "
    "embedding model: {action}.",
    Action.set_model(),
)


class ExtensionRequests(SourceRequests, NoteRequests):
    """Operations that are not in the contract; most raise an InputError."""

    def settings(self) -> Steps[dict[str, Any]]:
        """Read the service's settings."""
        raise _unsupported(*_NO_SETTINGS)

    def set_settings(self, changes: Mapping[str, Any]) -> Steps[dict[str, Any]]:
        """Update settings; other settings stay unchanged."""
        raise _unsupported(*_NO_SETTINGS)

    def commands(
        self, command: str | None, status: str | None, limit: int | None
    ) -> Steps[list[Record]]:
        """List background commands."""
        raise _unsupported(*_NO_COMMANDS)

    def command(self, command: str) -> Steps[Record]:
        """Return a command."""
        raise _unsupported(*_NO_COMMANDS)

    def run_command(self, command: str, app: str, arguments: Mapping[str, Any]) -> Steps[Record]:
        """Start a command."""
        raise _unsupported(*_NO_COMMANDS)

    def cancel_command(self, command: str) -> Steps[None]:
        """Request the cancellation of a command."""
        raise _unsupported(*_NO_COMMANDS)

    def command_kinds(self) -> Steps[list[Record]]:
        """List the available commands."""
        raise _unsupported(*_NO_COMMANDS)

    def insight(self, insight: str) -> Steps[Record]:
        """Return an insight, found by listing the insights of each source."""
        offset, guard = 0, PageGuard("The notebook service's list of sources")
        while page := (yield from self.sources(None, self.PAGE, offset, None)):
            if not guard.add_page(source["id"] for source in page):
                break
            for source in page:
                if source["insights_count"] == 0:
                    continue
                try:
                    insights = yield from self.insights(source["id"])
                except NotFoundError:
                    continue  # deleted meanwhile
                for record in insights:
                    if record["id"] == insight:
                        return record
            offset += len(page)
            guard.check_next()
        raise NotFoundError(f"There is no insight {insight}.", action=Action.list_insights())

    def new_insight(self, source: str, transformation: str, model: str | None) -> Steps[str]:
        """Start the creation of an insight by a transformation; return the command."""
        raise _unsupported(_NO_INSIGHT_ACTION.format("create"), *_INSIGHT_ALTERNATIVE)

    def delete_insight(self, insight: str) -> Steps[None]:
        """Delete an insight."""
        raise _unsupported(_NO_INSIGHT_ACTION.format("delete"), *_INSIGHT_DELETION)

    def save_insight(self, insight: str, notebook: str) -> Steps[Record]:
        """Copy an insight into a notebook as a note of type `ai`."""
        record = yield from self.insight(insight)
        source = yield from self.source(record["source_id"])
        title = f"{record['insight_type']} from source {source['title']}"
        note = self.new_note(record["content"], title=title, note_type="ai", notebook=notebook)
        return (yield from note)

    def source_chats(self, source: str) -> Steps[list[Record]]:
        """List the chats about a source."""
        raise _unsupported(*_NO_SOURCE_CHATS)

    def source_chat(self, source: str, chat: str) -> Steps[Record]:
        """Return a source chat, with its `messages`."""
        raise _unsupported(*_NO_SOURCE_CHATS)

    def new_source_chat(
        self, source: str, title: str | None, model_override: str | None
    ) -> Steps[Record]:
        """Create a source chat."""
        raise _unsupported(*_NO_SOURCE_CHATS)

    def change_source_chat(
        self, source: str, chat: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Update the `title` or `model_override`; other fields stay unchanged."""
        raise _unsupported(*_NO_SOURCE_CHATS)

    def delete_source_chat(self, source: str, chat: str) -> Steps[None]:
        """Delete a source chat and its messages."""
        raise _unsupported(*_NO_SOURCE_CHATS)

    def source_message(
        self, source: str, chat: str, message: str, model_override: str | None
    ) -> Request:
        """Return the request that sends a message; the response is an event stream."""
        raise _unsupported(*_NO_SOURCE_CHATS)

    def source_reply(self, events: Iterator[Any], message: str) -> Answer:
        """Return the model's reply from the events of the response."""
        raise _unsupported(*_NO_SOURCE_CHATS)

    def embed(self, item: str, kind: str) -> Steps[Record]:
        """Start computing the vectors of a `source` or a `note`."""
        raise _unsupported(*_NO_EMBEDDINGS)

    def rebuild(self, mode: str, *, sources: bool, notes: bool, insights: bool) -> Steps[Record]:
        """Start recomputing vectors, `existing` ones or those of `all` records."""
        raise _unsupported(*_NO_EMBEDDINGS)

    def rebuild_status(self, job: str) -> Steps[Record]:
        """Return the progress of a rebuild."""
        raise _unsupported(*_NO_EMBEDDINGS)


def _unsupported(message: str, step: str, action: Action | None = None) -> InputError:
    return InputError(f"This notebook service {message}.", step, action=action)

"""Client methods for chats about a notebook or about a single source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from labext.actions import Action
from labext.errors import InputError, LabextError, UnreachableError
from labext.nb import views
from labext.nb.backends import OnWords
from labext.nb.records import Answer, Record
from labext.nb.resource import (
    Names,
    Resource,
    ScopeOptions,
    build_changes,
    check_keywords,
    parse_identifier,
    require_text,
    resolve_one,
    resolve_scope,
    unique_names,
)

if TYPE_CHECKING:
    import pandas as pd


_MESSAGE_STEP = "Write a message."


class Chat(Resource):
    """`nb.chat`: conversations about a notebook."""

    def sessions(self, notebook: str | None = None) -> pd.DataFrame:
        """Return a notebook's chat sessions, or all, one per row.

        The columns are those of `labext.nb.records.SESSION`.
        """
        return views.session_frame(self._run(self._backend.sessions(self._notebook(notebook))))

    def names(self, notebook: str | None = None) -> Names:
        """Return the distinct titles of sessions."""
        records = self._run(self._backend.sessions(self._notebook(notebook)))
        return unique_names(records, "title")

    def find(self, session: str, notebook: str | None = None) -> str:
        """Return a session's identifier; `notebook` restricts titles to this notebook."""
        return self._titles.find("session", session, self._notebook(notebook))

    def get(self, session: str) -> Record:
        """Return one session's record, and its `messages`, each as `labext.nb.records.MESSAGE`."""
        return self._run(self._backend.session(self.find(session)))

    def messages(self, session: str) -> pd.DataFrame:
        """Return a session's messages, one per row; columns as `labext.nb.records.MESSAGE`."""
        return views.message_frame(self.get(session)["messages"])

    def create(
        self, notebook: str, title: str | None = None, model_override: str | None = None
    ) -> Record:
        """Create a session; return its record.

        Args:
            notebook: the notebook that the session is about.
            title: the title.
            model_override: the language model that replies instead of the default.

        Raises:
            OutcomeUnknownError: the response was lost; it may have been created.
        """
        within = self._titles.find("notebook", notebook)
        model_id = self._model(model_override)
        return self._run(self._backend.new_session(within, title, model_id))

    def update(
        self, session: str, title: str | None = None, model_override: str | None = None
    ) -> Record:
        """Update a session and return its record; None leaves a field unchanged.

        Args:
            session: the session.
            title: the new title.
            model_override: the language model that replies from now on; an empty string restores
                the default.

        Raises:
            InputError: there are no changes.
        """
        values = {"title": title, "model_override": self._model(model_override)}
        changes = build_changes("session", values, {"model_override"})
        return self._run(self._backend.change_session(self.find(session), changes))

    def delete(self, session: str) -> None:
        """Delete a session with its messages."""
        self._run(self._backend.delete_session(self.find(session)))

    def execute(
        self,
        session: str,
        message: str,
        model_override: str | None = None,
        on_context: Callable[[int], None] | None = None,
        on_words: OnWords | None = None,
        **options: Unpack[ScopeOptions],
    ) -> Answer:
        """Send a message; return the model's reply. Both are stored in the session.

        There is no timeout while the service works.

        Args:
            session: the session.
            message: the message.
            model_override: the language model that replies to this message.
            on_context: called before sending with the number of tokens of the context, if the
                client builds the context.
            on_words: called with the words of the reply as they arrive, if the service streams
                them; citation marks are only in the result.
            **options: the notebook's sources and notes to give to the model, as in `ScopeOptions`.

        Raises:
            InputError: the message is empty.
            ServiceError: the model's provider failed; Open Notebook stores the message even then.
            OutcomeUnknownError: the response was lost; the session may contain the reply.
        """
        require_text(message, "message", _MESSAGE_STEP)
        check_keywords(options, ScopeOptions.__optional_keys__)
        scope = resolve_scope(self._titles, **options)
        session_id, model_id = self.find(session), self._model(model_override)
        context = self._run(self._backend.message_context(session_id, scope))
        if on_context is not None and context.tokens is not None:
            on_context(context.tokens)
        return self._run(self._backend.execute(session_id, message, context, model_id, on_words))

    def context(
        self,
        session: str | None = None,
        notebook: str | None = None,
        include_sources: bool = True,
        include_notes: bool = True,
        config: dict[str, Any] | None = None,
    ) -> Record:
        """Return the context that a model would get with a message: `labext.nb.records.CONTEXT`.

        Args:
            session: the session whose notebook is used; or
            notebook: the notebook.
            include_sources: include its sources.
            include_notes: include its notes.
            config: the amount of each source and note, in the service's format:
                `{"sources": {"source:…": "full content"}, "notes": {…}}`.

        Raises:
            InputError: neither or both of `session` and `notebook` are given.
        """
        if (session is None) == (notebook is None):
            raise InputError(
                "The context needs either a session or a notebook.", "Pass one of them."
            )
        scope = resolve_scope(
            self._titles, include_sources=include_sources, include_notes=include_notes
        )
        within = self._notebook(notebook)
        session_id = None if session is None else self.find(session)
        return self._run(self._backend.context(session_id, within, scope, config))


class SourceChats(Resource):
    """`nb.source_chats`: conversations about one source, with its full text as context."""

    def list(self, source: str) -> pd.DataFrame:
        """Return the chats about a source; columns as `labext.nb.records.SOURCE_CHAT`."""
        return views.source_chat_frame(self._of(source))

    def names(self, source: str) -> Names:
        """Return the distinct titles of the chats about a source."""
        return unique_names(self._of(source), "title")

    def find(self, source: str, chat: str) -> str:
        """Return the identifier of a chat about a source."""
        return parse_identifier("source chat", chat) or resolve_one(
            "source chat", chat, self._of(source)
        )

    def get(self, source: str, chat: str) -> Record:
        """Return one chat's record, and its `messages`, each as `labext.nb.records.MESSAGE`."""
        source_id = self._source(source)
        return self._run(self._backend.source_chat(source_id, self.find(source_id, chat)))

    def messages(self, source: str, chat: str) -> pd.DataFrame:
        """Return a chat's messages, one per row; columns as `labext.nb.records.MESSAGE`."""
        return views.message_frame(self.get(source, chat)["messages"])

    def create(
        self, source: str, title: str | None = None, model_override: str | None = None
    ) -> Record:
        """Create a chat; return its record.

        Args:
            source: the source that the chat is about.
            title: the title.
            model_override: the language model that replies instead of the default.

        Raises:
            OutcomeUnknownError: the response was lost; it may have been created.
        """
        model_id = self._model(model_override)
        return self._run(self._backend.new_source_chat(self._source(source), title, model_id))

    def update(
        self, source: str, chat: str, title: str | None = None, model_override: str | None = None
    ) -> Record:
        """Update a chat and return its record; None leaves a field unchanged.

        Raises:
            InputError: there are no changes.
        """
        values = {"title": title, "model_override": self._model(model_override)}
        changes = build_changes("chat", values)
        source_id = self._source(source)
        return self._run(
            self._backend.change_source_chat(source_id, self.find(source_id, chat), changes)
        )

    def delete(self, source: str, chat: str) -> None:
        """Delete a chat with its messages."""
        source_id = self._source(source)
        self._run(self._backend.delete_source_chat(source_id, self.find(source_id, chat)))

    def send(
        self, source: str, chat: str, message: str, model_override: str | None = None
    ) -> Answer:
        """Send a message; return the model's reply. Both are stored in the chat.

        There is no timeout while the service works.

        Args:
            source: the source that the chat is about.
            chat: the chat.
            message: the message.
            model_override: the language model that replies to this message.

        Raises:
            ServiceError: the model's provider failed.
            UnreachableError: the reply was cut off; the chat may contain it.
        """
        require_text(message, "message", _MESSAGE_STEP)
        source_id = self._source(source)
        model_id = self._model(model_override)
        request = self._backend.source_message(
            source_id, self.find(source_id, chat), message, model_id
        )
        try:
            with closing(self._executor.events(request, None, plain=True)) as stream:
                reply = self._backend.source_reply(stream, message)
        except UnreachableError as error:
            raise UnreachableError(
                f"The reply was cut off: {error.message}",
                "See {action} before you send it again: the chat may contain the reply.",
                action=Action.show_source_chat(source_id, chat),
                method=error.method,
                path=error.path,
            ) from None
        if not reply.citations:
            return reply
        try:
            title = str(self._run(self._backend.source(source_id))["title"] or "")
        except LabextError:  # the reply is worth more than the title of its citation
            return reply
        cited = (replace(c, title=title) if c.id == source_id else c for c in reply.citations)
        return replace(reply, citations=tuple(cited))

    def _of(self, source: str) -> Sequence[Record]:
        return self._run(self._backend.source_chats(self._source(source)))

    def _source(self, source: str) -> str:
        return self._titles.find("source", source)

"""The client's methods for chats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from labext.errors import InputError
from labext.nb.answers import Answer
from labext.nb.group import UNCHANGED, Group
from labext.nb.records import Record
from labext.nb.scoping import scope_of

if TYPE_CHECKING:
    import pandas as pd


class Chat(Group):
    """`nb.chat`: conversations about a notebook (contract, Endpoints: Chat)."""

    def sessions(self, notebook: str | None = None) -> pd.DataFrame:
        """Return the chat sessions of a notebook, or all, a row each; columns `records.SESSION`."""
        from labext.nb.rowviews import sessions

        return sessions(self._wire.run(self._dialect.sessions(self._notebook(notebook))))

    def names(self, notebook: str | None = None) -> Sequence[str]:
        """Return the titles of sessions, each once."""
        records = self._wire.run(self._dialect.sessions(self._notebook(notebook)))
        return [*dict.fromkeys(str(record["title"]) for record in records if record["title"])]

    def find(self, session: str, notebook: str | None = None) -> str:
        """Return a session's identifier; with `notebook`, a title is one of this notebook alone."""
        return self._titles.find("session", session, self._notebook(notebook))

    def get(self, session: str) -> Record:
        """Return one session's record, and its `messages`, each as `records.MESSAGE`."""
        return self._wire.run(self._dialect.session(self.find(session)))

    def messages(self, session: str) -> pd.DataFrame:
        """Return a session's messages, a row each; columns as `records.MESSAGE`."""
        from labext.nb.rowviews import messages

        return messages(self.get(session)["messages"])

    def create(
        self, notebook: str, title: str | None = None, model_override: str | None = None
    ) -> Record:
        """Begin a session; return its record.

        Args:
            notebook: what it is about.
            title: what it is called.
            model_override: the identifier of the model that replies, in place of the default one.

        Raises:
            OutcomeUnknownError: the answer was lost; it may have been begun.
        """
        within = self._titles.find("notebook", notebook)
        return self._wire.run(self._dialect.new_session(within, title, model_override))

    def update(
        self, session: str, title: str | None = None, model_override: str | None = None
    ) -> Record:
        """Change a session; what is None stays. Return its record.

        Args:
            session: which one.
            title: its new title.
            model_override: the identifier of the model that replies from now on; an empty one is
                the default again.

        Raises:
            InputError: nothing is to be changed.
        """
        changes: dict[str, str | None] = {} if title is None else {"title": title}
        if model_override is not None:
            changes["model_override"] = model_override or None
        if not changes:
            raise InputError("Nothing of the session is to be changed.", UNCHANGED)
        return self._wire.run(self._dialect.change_session(self.find(session), changes))

    def delete(self, session: str) -> None:
        """Delete a session with its messages."""
        self._wire.run(self._dialect.delete_session(self.find(session)))

    def execute(
        self,
        session: str,
        message: str,
        include_sources: bool = True,
        include_notes: bool = True,
        model_override: str | None = None,
        source_ids: Iterable[str] | None = None,
        note_ids: Iterable[str] | None = None,
        on_context: Callable[[int], None] | None = None,
    ) -> Answer:
        """Send a message; return the model's reply, which is kept in the session with it.

        The client waits as long as the service works.

        Args:
            session: where it belongs.
            message: what is said.
            include_sources: the notebook's sources are given to the model.
            include_notes: the notebook's notes are.
            model_override: the identifier of the model that replies, for this message alone.
            source_ids: these sources alone.
            note_ids: these notes alone.
            on_context: is told how many tokens of sources and notes go with the message, before it
                is sent, where it is the client that gathers them.

        Raises:
            ServiceError: the model's provider failed; nothing is kept of the message then.
            OutcomeUnknownError: the answer was lost; the reply may be in the session.
        """
        scope = scope_of(
            self._titles,
            source_ids=source_ids,
            note_ids=note_ids,
            include_sources=include_sources,
            include_notes=include_notes,
        )
        found = self.find(session)
        prepared = self._wire.run(self._dialect.prepared(found, scope))
        if on_context is not None and prepared.tokens is not None:
            on_context(prepared.tokens)
        return self._wire.run(self._dialect.execute(found, message, prepared, model_override))

    def context(
        self,
        session: str | None = None,
        notebook: str | None = None,
        include_sources: bool = True,
        include_notes: bool = True,
        config: dict[str, Any] | None = None,
    ) -> Record:
        """Return what a model would be given with a message: `records.CONTEXT`.

        Args:
            session: of this session's notebook; or
            notebook: of this one.
            include_sources: with its sources.
            include_notes: with its notes.
            config: for single sources and notes how much of them, in the service's words:
                `{"sources": {"source:…": "full content"}, "notes": {…}}`.

        Raises:
            InputError: neither or both of session and notebook are given.
        """
        if (session is None) == (notebook is None):
            raise InputError("A context is of a session or of a notebook.", "Name one of them.")
        scope = scope_of(self._titles, include_sources=include_sources, include_notes=include_notes)
        within = self._notebook(notebook)
        found = None if session is None else self.find(session)
        return self._wire.run(self._dialect.context(found, within, scope, config))

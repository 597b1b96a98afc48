"""The client's methods for chats about one source."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from labext.errors import InputError, UnreachableError
from labext.nb.answers import Answer
from labext.nb.group import UNCHANGED, Group, given
from labext.nb.records import Record
from labext.nb.titles import identifier, one_of

if TYPE_CHECKING:
    import pandas as pd


class SourceChats(Group):
    """`nb.source_chats`: conversations about one source, of which the model is given all."""

    def list(self, source: str) -> pd.DataFrame:
        """Return the chats about a source, a row each; columns as `SOURCE_CHAT`."""
        from labext.nb.beyond.views import source_chats

        return source_chats(self._of(source))

    def names(self, source: str) -> Sequence[str]:
        """Return the titles of the chats about a source, each once."""
        return [*dict.fromkeys(str(each["title"]) for each in self._of(source) if each["title"])]

    def find(self, source: str, chat: str) -> str:
        """Return the identifier of a chat about a source."""
        return identifier("source chat", chat) or one_of("source chat", chat, self._of(source))

    def get(self, source: str, chat: str) -> Record:
        """Return one chat's record, and its `messages`, each as `records.MESSAGE`."""
        found = self._source(source)
        return self._wire.run(self._dialect.source_chat(found, self.find(found, chat)))

    def messages(self, source: str, chat: str) -> pd.DataFrame:
        """Return a chat's messages, a row each; columns as `records.MESSAGE`."""
        from labext.nb.rowviews import messages

        return messages(self.get(source, chat)["messages"])

    def create(
        self, source: str, title: str | None = None, model_override: str | None = None
    ) -> Record:
        """Begin a chat; return its record.

        Args:
            source: what it is about.
            title: what it is called.
            model_override: the language model that replies, in place of the default one.

        Raises:
            OutcomeUnknownError: the answer was lost; it may have been begun.
        """
        by = self._model(model_override)
        return self._wire.run(self._dialect.new_source_chat(self._source(source), title, by))

    def update(
        self,
        source: str,
        chat: str,
        title: str | None = None,
        model_override: str | None = None,
    ) -> Record:
        """Change a chat; what is None stays. Return its record.

        Raises:
            InputError: nothing is to be changed.
        """
        changes = given({"title": title, "model_override": self._model(model_override)})
        if not changes:
            raise InputError("Nothing of the chat is to be changed.", UNCHANGED)
        found = self._source(source)
        return self._wire.run(
            self._dialect.change_source_chat(found, self.find(found, chat), changes)
        )

    def delete(self, source: str, chat: str) -> None:
        """Delete a chat with its messages."""
        found = self._source(source)
        self._wire.run(self._dialect.delete_source_chat(found, self.find(found, chat)))

    def send(
        self, source: str, chat: str, message: str, model_override: str | None = None
    ) -> Answer:
        """Send a message; return the model's reply, which is kept in the chat with it.

        The client waits as long as the service works.

        Args:
            source: what the chat is about.
            chat: where it belongs.
            message: what is said.
            model_override: the language model that replies, for this message alone.

        Raises:
            ServiceError: the model's provider failed.
            UnreachableError: the reply was cut off; it may be in the chat.
        """
        if not message.strip():
            raise InputError("The message is empty.", "Say something.")
        found = self._source(source)
        by = self._model(model_override)
        request = self._dialect.source_message(found, self.find(found, chat), message, by)
        try:
            with closing(self._wire.events(request, None, plain=True)) as stream:
                reply = self._dialect.source_reply(stream, message)
        except UnreachableError as error:
            raise UnreachableError(
                f"The reply was cut off: {error.what}",
                "See `%nb source-chats show` before you send it again: the reply may be there.",
                method=error.method,
                path=error.path,
            ) from None
        if not reply.citations:
            return reply
        title = str(self._wire.run(self._dialect.source(found))["title"] or "")
        cited = (replace(c, title=title) if c.id == found else c for c in reply.citations)
        return replace(reply, citations=tuple(cited))

    def _of(self, source: str) -> Sequence[Record]:
        return self._wire.run(self._dialect.source_chats(self._source(source)))

    def _source(self, source: str) -> str:
        return self._titles.find("source", source)

    def _model(self, model: str | None) -> str | None:
        return model and self._titles.find("model", model, "llm")

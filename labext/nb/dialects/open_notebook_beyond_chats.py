"""Chats about one source, as Open Notebook is asked for them (its schema).

The server gathers what the model is given itself: the source's text and its insights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from labext.errors import ServiceError
from labext.nb import records
from labext.nb.advice import parted
from labext.nb.answers import Answer, Citation
from labext.nb.beyond.records import SOURCE_CHAT
from labext.nb.dialects import Request, Steps, contract_beyond
from labext.nb.dialects import open_notebook_told as told
from labext.nb.dialects.contract_chat import a_message
from labext.nb.records import Record
from labext.transport import Operation, Repeat
from labext.transport.failure import WORDS_LIMIT, first_words

_ALL = "sources/{source}/chat/sessions"
_ONE = f"{_ALL}/{{chat}}"
LIST = Operation("list chats about a source", "GET", _ALL, Repeat.ALWAYS, answer="json")
NEW = Operation(
    "begin a chat about a source",
    "POST",
    _ALL,
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb source-chats` before you begin it again: it may be there already.",
)
ONE = Operation("look at a chat about a source", "GET", _ONE, Repeat.ALWAYS, answer="json")
CHANGE = Operation("change a chat about a source", "PUT", _ONE, Repeat.ALWAYS, answer="json")
DELETE = Operation("delete a chat about a source", "DELETE", _ONE, Repeat.DELETE)
MESSAGE = Operation(
    "send a chat message about a source",
    "POST",
    f"{_ONE}/messages",
    Repeat.UNSENT,  # a second time the message would stand in the chat twice
    find_out="See `%nb source-chats show` before you send it again: the reply may be there.",
)

_MARK = re.compile(r"\[((?:source|note|insight|source_insight):[^\]\s]+)\]")
_STEP = "Look at the model that answers, then send it again."


class SourceChatCalls(contract_beyond.BeyondCalls):
    """The operations on chats about one source."""

    def source_chats(self, source: str) -> Steps[list[Record]]:
        """List the chats about a source."""
        answer = yield Request(LIST, {"source": source})
        return told.things(SOURCE_CHAT, answer, "chats")

    def source_chat(self, source: str, chat: str) -> Steps[Record]:
        """Look at one, with its `messages`."""
        answer = yield Request(ONE, {"source": source, "chat": chat})
        record = _chat(answer)
        messages = records.several(answer.get("messages") or [], "the chat's messages")
        return {**record, "messages": [a_message(each) for each in messages]}

    def new_source_chat(
        self, source: str, title: str | None, model_override: str | None
    ) -> Steps[Record]:
        """Begin one; the body has to name the source too."""
        named = {"title": title, "model_override": model_override}
        body = {"source_id": source, **{k: v for k, v in named.items() if v is not None}}
        return _chat((yield Request(NEW, {"source": source}, json=body)))

    def change_source_chat(
        self, source: str, chat: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Change `title` or `model_override`; none can be taken away."""
        told.check_kept(changes, "the chat", "Name another model, or begin another chat.")
        path = {"source": source, "chat": chat}
        return _chat((yield Request(CHANGE, path, json=dict(changes))))

    def delete_source_chat(self, source: str, chat: str) -> Steps[None]:
        """Delete one with its messages."""
        yield Request(DELETE, {"source": source, "chat": chat})

    def source_message(
        self, source: str, chat: str, message: str, model_override: str | None
    ) -> Request:
        """Return the request that sends a message; events answer it, all at its end."""
        body = {"message": message}
        if model_override is not None:
            body["model_override"] = model_override
        return Request(MESSAGE, {"source": source, "chat": chat}, json=body)

    def source_reply(self, events: Iterator[Any], message: str) -> Answer:
        """Return the model's reply: the last one, since those before it come again.

        Raises:
            ServiceError: the reply failed, or the stream ended without its end.
        """
        reply: str | None = None
        given: list[str] = []
        for event in events:
            if not isinstance(event, Mapping):
                continue
            match event.get("type"):
                case "ai_message":
                    reply = str(event.get("content") or "")
                case "context_indicators":
                    given = _given(event.get("data"))
                case "error":
                    raise _failed(event.get("message"))
                case "complete" if reply is not None:
                    return Answer(reply, tuple(_cited(reply, given)), message)
        raise ServiceError(
            "The notebook service has answered without a reply of the model.",
            "See `%nb source-chats show`, then send it again.",
        )


def _chat(answer: Any) -> Record:
    return told.thing(SOURCE_CHAT, answer, "the chat")


def _given(data: Any) -> list[str]:
    """Return the identifiers of what the model was given."""
    parts = data.values() if isinstance(data, Mapping) else ()
    return [each for part in parts for each in records.words(part)]


def _cited(text: str, given: list[str]) -> Iterator[Citation]:
    """Yield what a reply marks and was given; a model makes up identifiers too."""
    for identifier in dict.fromkeys(_MARK.findall(text)):
        if identifier in given:
            yield Citation(identifier)


def _failed(message: Any) -> ServiceError:
    words = first_words(message if isinstance(message, str) else "", WORDS_LIMIT)
    what, step = parted(words, _STEP)
    return ServiceError(
        f"The reply failed: {what.rstrip('.') or 'no reason is told'}.", step, server=words
    )

"""Requests for search, questions and chats; answers, events and citations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from labext.actions import Action
from labext.errors import BusyError, InputError, ServiceError, SetupError
from labext.http import Operation, RetryMode
from labext.nb import records
from labext.nb.backends import (
    OnWords,
    RecordParser,
    Request,
    Steps,
    create,
    delete,
    event_failure,
    get,
    post,
    put,
)
from labext.nb.records import (
    CONTEXT,
    HIT,
    MESSAGE,
    SESSION,
    Answer,
    AskEvent,
    Citation,
    Final,
    Hits,
    MessageContext,
    Partial,
    Query,
    Question,
    Record,
    Scope,
    Search,
    Strategy,
    Words,
    build_record,
    drop_none,
    parse_note,
    parse_usage,
)

WORDS_WEIGHT, VECTORS_WEIGHT = 0.3, 0.7
"""Weights of the two scores, each relative to the best one of its search."""


def search_both(search: Callable[[Query, str], Steps[Hits]], query: Query) -> Steps[Hits]:
    """Search by words and by vectors, and merge the hits; by words alone without vectors."""
    by_words = yield from search(query, "text")
    try:
        by_vectors = yield from search(query, "vector")
    except SetupError:  # no embedding model
        return by_words
    except (BusyError, ServiceError) as error:  # such as an embedding model that does not respond
        reason = f"Searched by words alone, as the search by meaning failed: {error.message}"
        return Hits(by_words, reason)
    return Hits(merge_hits(by_words, by_vectors)[: query.limit])


def merge_hits(by_words: Sequence[Record], by_vectors: Sequence[Record]) -> list[Record]:
    """Merge the hits of two searches, the best first; `relevance` is the weighted sum.

    A search by words may name records without passages: such a hit counts for every passage of its
    record that the other search has.
    """
    words, vectors = _shares(by_words, "relevance"), _shares(by_vectors, "similarity")
    ids = {hit["id"] for hit in by_vectors}
    own = [hit for hit in by_words if hit["match"] is not None or hit["id"] not in ids]
    # vector hits override word hits, since they have a similarity
    hits = {_key(hit): hit for hit in (*own, *by_vectors)}
    scores = {
        key: WORDS_WEIGHT * max(words.get(key, 0.0), words.get((key[0], None), 0.0))
        + VECTORS_WEIGHT * vectors.get(key, 0.0)
        for key in hits
    }
    best = sorted(hits, key=lambda key: -scores[key])
    return [{**hits[key], "relevance": scores[key]} for key in best]


def _key(hit: Record) -> tuple[object, object]:
    return hit["id"], hit["match"]


def _shares(hits: Sequence[Record], column: str) -> dict[tuple[object, object], float]:
    """Return the scores of hits relative to the best one."""
    scores = {_key(hit): max(hit[column] or 0.0, 0.0) for hit in hits}
    best = max(scores.values(), default=0.0)
    return {key: score / best if best else 0.0 for key, score in scores.items()}


LIST_SESSIONS = get("list chat sessions", "chat/sessions")
CREATE_SESSION = create("create a chat session", "chat/sessions", Action.list_chats())
GET_SESSION = get("get a chat session", "chat/sessions/{session}")
UPDATE_SESSION = put("update a chat session", "chat/sessions/{session}")
DELETE_SESSION = delete("delete a chat session", "chat/sessions/{session}")
SEND_MESSAGE = post(
    "send a chat message",
    "chat/execute",  # a repeat would add the message twice
    "See {action} before you send it again: the chat may contain the reply already.",
    Action.show_chat(),
    relays=True,
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
        data = records.require_mapping(response, "the chat")
        items = records.require_list(data.get("messages"), "the session's messages")
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
            parse_note(data),
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


def scope_fields(scope: Scope) -> dict[str, Any]:
    """Return the request fields of a scope; an excluded kind has no identifiers."""
    fields: dict[str, Any] = {
        "include_sources": scope.includes("source"),
        "include_notes": scope.includes("note"),
    }
    if scope.sources is not None and fields["include_sources"]:
        fields["source_ids"] = list(scope.sources)
    if scope.notes is not None and fields["include_notes"]:
        fields["note_ids"] = list(scope.notes)
    return fields


def question_fields(question: Question) -> dict[str, Any]:
    """Return the request fields of a question, without unset options."""
    fields = {"question": question.text, **scope_fields(question.scope)}
    return fields | option_fields(question)


def option_fields(query: Query) -> dict[str, Any]:
    """Return the options of a query that are set, such as `limit`."""
    options = {key: value for key, value in vars(query).items() if key not in ("text", "scope")}
    return {key: value for key, value in options.items() if value is not None}


def parse_citations(items: Any) -> tuple[Citation, ...]:
    """Parse the citations of an answer; empty if the response has none."""
    if not isinstance(items, list):
        return ()
    return tuple(
        _parse_citation(item) for item in items if isinstance(item, Mapping) and item.get("id")
    )


def _parse_citation(data: Mapping[str, Any]) -> Citation:
    page = data.get("page")
    return Citation(
        str(data["id"]),
        str(data.get("title") or ""),
        str(data.get("quote") or ""),
        str(data.get("passage") or ""),
        page if isinstance(page, int) else None,
        data.get("transcript") is True,
        records.as_number(data.get("confidence")),
        str(data.get("table_header") or ""),
    )


SEARCH = Operation("search", "POST", "search", RetryMode.ALWAYS, answer="json", relays=True)
# Answers are not stored, but a provider may charge for each.
ASK = post("ask", "search/ask/simple", "The answer is not stored: ask again.", relays=True)
STREAM_ANSWER = replace(ASK, path="search/ask", answer="any")


class SearchRequests(RecordParser):
    """The three operations of search."""

    def search(self, query: Query, search_type: str) -> Steps[Hits]:
        """Search for passages by `text`, `vector` or `hybrid`; the best come first.

        A server without a hybrid search, or without an embedding model, gets the two others.
        """
        if search_type != "hybrid":
            return (yield from self._search_once(query, search_type))
        try:
            return (yield from self._search_once(query, search_type))
        except (InputError, SetupError):
            return (yield from search_both(self._search_once, query))

    def _search_once(self, query: Query, search_type: str) -> Steps[Hits]:
        body = {"query": query.text, "search_type": search_type, **scope_fields(query.scope)}
        body |= option_fields(query)
        response = yield Request(SEARCH, json=body, patient=True)
        data = records.require_mapping(response, "the search")
        items = records.require_list(data.get("results"), "what was found")
        hits = map(hit_record, items)
        # Filter here too, for a server without a filter by kind.
        matches = (hit for hit in hits if query.scope.holds(hit["kind"], hit["id"]))
        return Hits(matches, parse_note(data))

    def ask(self, question: Question) -> Steps[Answer]:
        """Ask a question and wait for the complete answer, without a read timeout."""
        response = yield Request(ASK, json=question_fields(question), patient=True)
        data = records.require_mapping(response, "the question")
        return build_answer(data, data.get("answer"), question.text)

    def ask_stream(self, question: Question) -> Steps[Request | Answer]:
        """Return the request for an event stream, to be parsed with `parse_event`.

        A server without a stream for such a question returns the answer itself.
        """
        yield from ()
        return Request(STREAM_ANSWER, json=question_fields(question))

    def parse_event(self, data: Any, question: str) -> AskEvent | None:
        """Parse an event of the stream; None for an event without content.

        Raises:
            ServiceError: the event reports a failure, with the service's message.
        """
        if not isinstance(data, Mapping):
            return None
        match data.get("type"):
            case "strategy":
                return _build_strategy(data)
            case "words":
                return Words(_text(data.get("content")))
            case "answer":
                return Partial(_text(data.get("content")), parse_citations(data.get("citations")))
            case "final_answer":
                return Final(build_answer(data, data.get("content"), question))
            case "complete":
                return Final(build_answer(data, data.get("final_answer"), question))
            case "error":
                step = "Check the model, then ask again."
                raise event_failure(data, "ask a question", step, "The answer failed: ")
        return None

    def with_citations(self, answer: Answer) -> Steps[Answer]:
        """Return a streamed answer with its citations; this server reports them itself."""
        yield from ()
        return answer


def build_answer(data: Mapping[str, Any], text: Any, question: str) -> Answer:
    """Return an answer with its citations."""
    model = data.get("model")
    cited = parse_citations(data.get("citations"))
    name = model if isinstance(model, str) else None
    usage, note = parse_usage(data.get("usage")), parse_note(data)
    return Answer(_text(text), cited, question, name, usage, note)


def _build_strategy(data: Mapping[str, Any]) -> Strategy:
    searches = data.get("searches")
    return Strategy(
        _text(data.get("reasoning")),
        tuple(
            Search(_text(item.get("term")), _text(item.get("instructions")))
            for item in (searches if isinstance(searches, list) else [])
            if isinstance(item, Mapping)
        ),
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def hit_record(data: Mapping[str, Any]) -> Record:
    """Return the record of a search hit."""
    parent = str(data.get("parent_id") or data.get("id") or "")
    matches = data.get("matches")
    text = "\n\n".join(map(str, matches)) if isinstance(matches, list) and matches else None
    scores = {name: records.as_number(data.get(name)) for name in ("similarity", "relevance")}
    return build_record(
        HIT, {**data, **scores, "id": parent, "kind": parent.partition(":")[0], "match": text}
    )

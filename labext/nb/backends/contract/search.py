"""Requests for search and questions; answers, events and citations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.actions import Action
from labext.errors import InputError, ServiceError, SetupError
from labext.http import Operation, RetryMode
from labext.http.responses import MESSAGE_LIMIT, excerpt
from labext.nb import records
from labext.nb.backends import RecordParser, Request, Steps, hybrid
from labext.nb.error_messages import Explanation, explain_message
from labext.nb.records import (
    HIT,
    Answer,
    AskEvent,
    Citation,
    Final,
    Partial,
    Query,
    Question,
    Record,
    Scope,
    Search,
    Strategy,
    Words,
    build_record,
    parse_usage,
)


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
    page, confidence = data.get("page"), data.get("confidence")
    return Citation(
        str(data["id"]),
        str(data.get("title") or ""),
        str(data.get("quote") or ""),
        str(data.get("passage") or ""),
        page if isinstance(page, int) else None,
        data.get("transcript") is True,
        float(confidence) if isinstance(confidence, int | float) else None,
    )


SEARCH = Operation("search", "POST", "search", RetryMode.ALWAYS, answer="json")
STREAM_ANSWER = Operation("ask", "POST", "search/ask", RetryMode.ALWAYS)
ASK = Operation("ask", "POST", "search/ask/simple", RetryMode.ALWAYS, answer="json")


class SearchRequests(RecordParser):
    """The three operations of search."""

    def search(self, query: Query, search_type: str) -> Steps[list[Record]]:
        """Search for passages by `text`, `vector` or `hybrid`; the best come first.

        A server without a hybrid search, or without an embedding model, gets the two others.
        """
        if search_type != "hybrid":
            return (yield from self._search_once(query, search_type))
        try:
            return (yield from self._search_once(query, search_type))
        except (InputError, SetupError):
            return (yield from hybrid.search_both(self._search_once, query))

    def _search_once(self, query: Query, search_type: str) -> Steps[list[Record]]:
        body = {"query": query.text, "search_type": search_type, **scope_fields(query.scope)}
        body |= option_fields(query)
        response = yield Request(SEARCH, json=body, patient=True)
        data = records.require_mapping(response, "the search").get("results")
        hits = [hit_record(item) for item in records.require_list(data, "what was found")]
        # Filter here too, for a server without a filter by kind.
        return [hit for hit in hits if query.scope.holds(hit["kind"], hit["id"])]

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
                words = excerpt(_text(data.get("message")), MESSAGE_LIMIT)
                explanation = self._explain_failure(words, Action.from_json(data.get("action")))
                reason = explanation.message.rstrip(".") or "the service gives no reason"
                raise ServiceError(
                    f"The answer failed: {reason}.",
                    explanation.next_step,
                    action=explanation.action,
                    server=words,
                )
        return None

    def _explain_failure(self, words: str, server_action: Action | None) -> Explanation:
        """Return the error and the next step for the service's message about a failed answer."""
        step = "Check the model, then ask again."
        return explain_message(words, "ask a question", step, server_action=server_action)


def build_answer(data: Mapping[str, Any], text: Any, question: str) -> Answer:
    """Return an answer with its citations."""
    model = data.get("model")
    cited = parse_citations(data.get("citations"))
    name = model if isinstance(model, str) else None
    return Answer(_text(text), cited, question, name, parse_usage(data.get("usage")))


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
    return build_record(
        HIT, {**data, "id": parent, "kind": parent.partition(":")[0], "match": text}
    )

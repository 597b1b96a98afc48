"""Search and answers, as the contract's server is asked for them (contract, Endpoints: Search).

The events of an answer: real services, section nb.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.errors import ServiceError
from labext.nb import records
from labext.nb.advice import parted
from labext.nb.answers import Answer, AskEvent, Final, Partial, Search, Strategy
from labext.nb.dialects import Request, Steps, contract_scope
from labext.nb.dialects.contract_citing import citations
from labext.nb.records import HIT, Record, made
from labext.nb.scope import Question, Scope
from labext.transport import Operation, Repeat
from labext.transport.failure import WORDS_LIMIT, first_words

SEARCH = Operation("search", "POST", "search", Repeat.ALWAYS, answer="json")
ASK_STREAM = Operation("ask", "POST", "search/ask", Repeat.ALWAYS)
ASK = Operation("ask", "POST", "search/ask/simple", Repeat.ALWAYS, answer="json")


class SearchCalls:
    """The three operations of search."""

    def search(
        self,
        query: str,
        search_type: str,
        scope: Scope,
        limit: int | None,
        min_similarity: float | None,
    ) -> Steps[list[Record]]:
        """Find passages, the best first."""
        named = {"limit": limit, "min_similarity": min_similarity}
        body: dict[str, Any] = {
            "query": query,
            "search_type": search_type,
            **contract_scope.named(scope),
        }
        body |= {name: value for name, value in named.items() if value is not None}
        answer = yield Request(SEARCH, json=body, patient=True)
        told = records.mapping(answer, "the search").get("results")
        hits = [hit(each) for each in records.several(told, "what was found")]
        # Of a server that knows no filter by kind.
        return [each for each in hits if scope.holds(each["kind"], each["id"])]

    def ask(self, question: Question) -> Steps[Answer]:
        """Ask, and wait for the whole answer, however long it takes."""
        answer = yield Request(ASK, json=contract_scope.asked(question), patient=True)
        told = records.mapping(answer, "the question")
        return an_answer(told, told.get("answer"), question.text)

    def ask_stream(self, question: Question) -> Steps[Request | Answer]:
        """Return the request whose answer is a stream of events, each for `heard`.

        Or the answer itself, where a server has no stream for such a question.
        """
        yield from ()
        return Request(ASK_STREAM, json=contract_scope.asked(question))

    def heard(self, told: Any, question: str) -> AskEvent | None:
        """Return what an event of the stream says; None for one that says nothing to a user.

        Raises:
            ServiceError: it says that the answer failed, in the service's words.
        """
        if not isinstance(told, Mapping):
            return None
        match told.get("type"):
            case "strategy":
                return _strategy(told)
            case "answer":
                return Partial(_text(told.get("content")), citations(told.get("citations")))
            case "final_answer":
                return Final(an_answer(told, told.get("content"), question))
            case "complete":
                return Final(an_answer(told, told.get("final_answer"), question))
            case "error":
                words = first_words(_text(told.get("message")), WORDS_LIMIT)
                what, step = self._failed(words)
                raise ServiceError(
                    f"The answer failed: {what.rstrip('.') or 'no reason is told'}.",
                    step,
                    server=words,
                )
        return None

    def _failed(self, words: str) -> tuple[str, str]:
        """Return what the service's words about a failed answer mean, and the next step."""
        return parted(words, "Look at the model that answers, then ask again.")


def an_answer(told: Mapping[str, Any], text: Any, question: str) -> Answer:
    """Return an answer with its citations."""
    model = told.get("model")
    cited = citations(told.get("citations"))
    return Answer(_text(text), cited, question, model if isinstance(model, str) else None)


def _strategy(told: Mapping[str, Any]) -> Strategy:
    searches = told.get("searches")
    return Strategy(
        _text(told.get("reasoning")),
        tuple(
            Search(_text(each.get("term")), _text(each.get("instructions")))
            for each in (searches if isinstance(searches, list) else [])
            if isinstance(each, Mapping)
        ),
    )


def _text(told: Any) -> str:
    return "" if told is None else str(told)


def hit(told: Mapping[str, Any]) -> Record:
    """Return the record of what was found."""
    parent = str(told.get("parent_id") or told.get("id") or "")
    matches = told.get("matches")
    text = "\n\n".join(map(str, matches)) if isinstance(matches, list) and matches else None
    return made(HIT, {**told, "id": parent, "kind": parent.partition(":")[0], "match": text})

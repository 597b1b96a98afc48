"""The way of a question: a strategy, an answer to each of its searches, a final answer.

Source of the events' shapes: real services, section nb (ask stream); `citations` and `model` are
this service's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from labext.sandbox.nb.answers.bodies import Question
from labext.sandbox.nb.answers.choosing import writer
from labext.sandbox.nb.answers.citations import NOTHING, Answer, so_far
from labext.sandbox.nb.answers.writing import Search, Writer
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.search.index import Hit, Index
from labext.sandbox.nb.search.scope import Scope, check_identifiers, unprocessed
from labext.sandbox.service import Site

PASSAGES = 10
"""That a search of the strategy finds, unless the question says another number."""

Event = dict[str, Any]


@dataclass(frozen=True)
class Asking:
    """A question with all that is needed to answer it.

    Attributes:
        strategist, answerer, finisher: the models of the three steps.
        scope: what `Index.find` takes.
        unprocessed: the number of sources in the scope that are still being processed.
    """

    question: str
    strategist: Writer
    answerer: Writer
    finisher: Writer
    index: Index
    scope: Mapping[str, Any]
    unprocessed: int = 0

    def events(self) -> Iterator[Event]:
        """What happens on the way, each as soon as it has.

        Raises:
            HTTPException: 502, a model's server failed; 422, one can't be asked.
            HungUp: nobody waits any more.
        """
        strategy = self.strategist.strategy(self.question)
        searches = [dict(vars(each)) for each in strategy.searches]
        yield {"type": "strategy", "reasoning": strategy.reasoning, "searches": searches}
        answers: list[Answer] = []
        hits: dict[int, Hit] = {}
        for search in strategy.searches:
            answer, found = self._searched(search)
            answers.append(answer)
            answer = so_far(answer, self.unprocessed)
            hits.update({hit.passage_id: hit for hit in found})
            yield {"type": "answer", "content": answer.text, **_made(self.answerer, answer)}
        last = self.finisher.final(self.question, answers, list(hits.values()))
        last = so_far(last, self.unprocessed)
        made = _made(self.finisher, last)
        yield {"type": "final_answer", "content": last.text, **made}
        yield {"type": "complete", "final_answer": last.text, **made}

    def answered(self) -> dict[str, Any]:
        """The answer alone; raises as `events`."""
        *_, last = self.events()
        return {
            "answer": last["final_answer"],
            "question": self.question,
            "citations": last["citations"],
            "model": last["model"],
        }

    def _searched(self, search: Search) -> tuple[Answer, list[Hit]]:
        hits = self.index.find(search.term, "both", **self.scope)
        if not hits:
            return NOTHING, hits
        return self.answerer.answer(self.question, search, hits), hits


def asking(site: Site, index: Index, question: Question, line: Line) -> Asking:
    """How a question is answered.

    Raises:
        HTTPException: 404, a model, source or note that is named is not there; 422, no model is
            named and none is set, or it is not of the type `llm`.
    """
    scope = _scope(question)
    named = (question.strategy_model, question.answer_model, question.final_answer_model)
    with site.database.read() as session:
        models = [
            registry.chosen(session, "chat", each or question.model_override) for each in named
        ]
        check_identifiers(session, question.source_ids, question.note_ids)
        waiting = unprocessed(session, scope)
    strategist, answerer, finisher = (writer(site, model, line) for model in models)
    wanted = {
        "limit": question.limit or PASSAGES,
        "min_similarity": question.min_similarity,
        "source_ids": scope.source_ids,
        "note_ids": scope.note_ids,
        "include_sources": scope.include_sources,
        "include_notes": scope.include_notes,
    }
    return Asking(question.question, strategist, answerer, finisher, index, wanted, waiting)


def _scope(question: Question) -> Scope:
    return Scope(
        question.source_ids,
        question.note_ids,
        question.include_sources is not False,
        question.include_notes is not False,
    )


def _made(by: Writer, answer: Answer) -> dict[str, Any]:
    return {"citations": [each.record() for each in answer.citations], "model": by.name}

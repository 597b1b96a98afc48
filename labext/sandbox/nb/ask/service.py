"""Answer a question: search strategy, an answer for each search, final answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.ask.answers import (
    NO_MATCH,
    Answer,
    MarkRemover,
    Search,
    mention_unprocessed,
    search_question,
)
from labext.sandbox.nb.ask.llm_writer import LlmAnswerWriter
from labext.sandbox.nb.ask.quotes import PassageQuoter
from labext.sandbox.nb.ask.schemas import Question
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.embedding.embedder import default_embedder
from labext.sandbox.nb.providers import chat, registry
from labext.sandbox.nb.providers.usage import Monitor, Usage
from labext.sandbox.nb.search import assisted
from labext.sandbox.nb.search.index import (
    MIN_EVIDENCE_SIMILARITY,
    SearchIndex,
    SearchReport,
    read_source,
)
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.search.scope import Scope, check_identifiers_exist, count_unprocessed
from labext.sandbox.nb.tables import Model

AnswerWriter = PassageQuoter | LlmAnswerWriter


def create_writer(
    site: Site, model: Model, cancel_token: CancelToken, monitor: Monitor | None = None
) -> AnswerWriter:
    """Return an answer writer for a model of type `llm`.

    The token cancels its calls; the monitor receives the words of its replies and their usage.
    """
    if registry.is_built_in(model):
        with site.database.read() as session:
            embedder = default_embedder(session, site)
        # Its threshold is calibrated for the built-in embedding model.
        return PassageQuoter(
            embedder is not None and embedder.id == registry.MINILM, partial(read_source, site)
        )
    return LlmAnswerWriter(
        model.name,
        partial(chat.generate_reply, site, model, cancel_token=cancel_token, monitor=monitor),
    )


Event = dict[str, Any]


@dataclass(frozen=True)
class AnswerRun:
    """A question with everything needed to answer it.

    Attributes:
        strategist, answerer, finisher: the models of the three steps.
        unprocessed: the number of sources in the scope that are still being processed.
        monitor: observes the calls that write answers.
        report: receives a note of the searches.
    """

    question: Question
    strategist: AnswerWriter
    answerer: AnswerWriter
    finisher: AnswerWriter
    index: SearchIndex
    scope: Scope
    unprocessed: int
    monitor: Monitor
    report: SearchReport = field(default_factory=SearchReport)

    def push_events(self, push: Callable[[Event], None], *, with_words: bool = True) -> None:
        """Answer the question and push the events, as soon as they occur.

        Events of the type `words` have the words of an answer before it is complete.
        """

        def begin_reply() -> None:
            if with_words:
                remover = MarkRemover(lambda words: push({"type": "words", "content": words}))
                self.monitor.on_words = remover.feed

        question = self.question.question
        if self.question.rewrite is False:
            strategy = search_question(question)
        else:
            strategy = self.strategist.strategy(question)
        searches = [dict(vars(item)) for item in strategy.searches]
        push({"type": "strategy", "reasoning": strategy.reasoning, "searches": searches})
        answers: list[Answer] = []
        hits: dict[int, Hit] = {}
        for search in strategy.searches:
            begin_reply()
            answer, search_hits = self._searched(search)
            answers.append(answer)
            answer = mention_unprocessed(answer, self.unprocessed)
            hits.update({hit.passage_id: hit for hit in search_hits})
            details = _citations_and_model(self.answerer, answer)
            push({"type": "answer", "content": answer.text, **details})
        if len(answers) == 1 and self.finisher is self.answerer:
            last = answers[0]  # there is nothing to merge
        else:
            begin_reply()
            last = self.finisher.final(question, answers, list(hits.values()))
        last = mention_unprocessed(last, self.unprocessed)
        details = _citations_and_model(self.finisher, last)
        details |= {"usage": self.monitor.usage.record(), "note": self.report.note}
        push({"type": "final_answer", "content": last.text, **details})
        push({"type": "complete", "final_answer": last.text, **details})

    def answered(self) -> dict[str, Any]:
        """Return only the final answer."""
        events: list[Event] = []
        self.push_events(events.append, with_words=False)
        last = events[-1]
        return {
            "answer": last["final_answer"],
            "question": self.question.question,
            **{name: last[name] for name in ("citations", "model", "usage", "note")},
        }

    def _searched(self, search: Search) -> tuple[Answer, list[Hit]]:
        limit = self.question.limit or self.answerer.depth
        found = self.index.find(
            search.term,
            "hybrid",
            limit=max(limit, assisted.MAX_RERANKED) if self.question.rerank else limit,
            min_similarity=self.question.min_similarity,
            min_vector_similarity=MIN_EVIDENCE_SIMILARITY,
            scope=self.scope,
            report=self.report,
        )
        hits = [hit for hit in found if hit.is_citable]
        if not hits:
            return NO_MATCH, hits
        if self.question.rerank:
            hits = [*self.strategist.rerank(search.term, hits)][:limit]
        return self.answerer.answer(self.question.question, search, hits), hits


def prepare_answer(
    site: Site, index: SearchIndex, question: Question, cancel_token: CancelToken
) -> AnswerRun:
    """Return the run that answers a question."""
    scope = Scope(
        question.source_ids,
        question.note_ids,
        question.include_sources is not False,
        question.include_notes is not False,
    )
    model_ids = (question.strategy_model, question.answer_model, question.final_answer_model)
    with site.database.read() as session:
        models = [
            registry.select_model(session, "chat", model_id or question.model_override)
            for model_id in model_ids
        ]
        check_identifiers_exist(session, question.source_ids, question.note_ids)
        unprocessed = count_unprocessed(session, scope)
    monitor = Monitor(Usage())
    strategist = create_writer(site, models[0], cancel_token, Monitor(monitor.usage))
    answerer = create_writer(site, models[1], cancel_token, monitor)
    finisher = (
        answerer
        if models[2].id == models[1].id
        else create_writer(site, models[2], cancel_token, monitor)
    )
    return AnswerRun(question, strategist, answerer, finisher, index, scope, unprocessed, monitor)


def _citations_and_model(writer: AnswerWriter, answer: Answer) -> dict[str, Any]:
    return {"citations": [citation.record() for citation in answer.citations], "model": writer.name}

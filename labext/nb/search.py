"""Client methods for search and for questions answered from the sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Literal

from labext.errors import InputError, ServiceError, UnreachableError
from labext.nb.backends import IDLE_TIMEOUT, RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.records import Answer, AskEvent, Final, Question
from labext.nb.resource import Resource, resolve_scope

if TYPE_CHECKING:
    import pandas as pd


def validate_question(question: Question) -> Question:
    """Return a question that can be asked.

    Raises:
        InputError: it is empty, or there is nothing to answer it from.
    """
    if not question.text.strip():
        raise InputError("The question is empty.", "Ask something.")
    if question.scope.is_empty:
        raise InputError(
            "There is nothing to answer from: no source and no note is left to look at.",
            "Add sources or notes first, or look at more of them.",
        )
    return question


def stream_answer(
    executor: RequestExecutor, backend: ContractBackend, question: Question, idle: float
) -> Iterator[AskEvent]:
    """Yield the events of an answer up to its final one, with which it ends.

    A server may keep the stream open after that (real services, section nb): nothing more is read.

    Raises:
        ServiceError: the answer failed, or the stream ended without a final one.
        UnreachableError: it was cut off, or nothing came for `idle` seconds.
    """
    request = executor.run(backend.ask_stream(question))
    if isinstance(request, Answer):
        yield Final(request)
        return
    try:
        with closing(executor.events(request, idle)) as stream:
            for data in stream:
                event = backend.parse_event(data, question.text)
                if event is not None:
                    yield event
                if isinstance(event, Final):
                    return
    except UnreachableError as error:
        raise UnreachableError(
            f"The answer was cut off: {error.what}",
            "Ask again; look at the service if it stays.",
            method=error.method,
            path=error.path,
        ) from None
    raise ServiceError(
        "The answer ended before it was whole: the notebook service closed the stream without its"
        " end.",
        "Ask again; look at the service if it stays.",
    )


class SearchResource(Resource):
    """Search, and answers out of what is stored (contract, Endpoints: Search)."""

    def search(
        self,
        query: str,
        type: Literal["text", "vector"] = "text",
        notebook: str | None = None,
        limit: int | None = None,
        source_ids: Iterable[str] | None = None,
        note_ids: Iterable[str] | None = None,
        min_similarity: float | None = None,
        include_sources: bool = True,
        include_notes: bool = True,
    ) -> pd.DataFrame:
        """Return the passages that fit a query, the best first; columns as `records.HIT`.

        Args:
            query: words, or what it is about.
            type: `text` finds words, `vector` what means the same.
            notebook: within this one alone.
            limit: rows at most; by default as many as the service gives.
            source_ids: among these sources alone (identifiers or titles).
            note_ids: among these notes alone.
            min_similarity: from -1 to 1; of `vector` what is less alike is left out.
            include_sources: among sources.
            include_notes: among notes.

        Raises:
            SetupError: `vector`, and the service has no embedding model.
        """
        from labext.nb.views import hit_frame

        scope = resolve_scope(
            self._titles,
            notebook=notebook,
            source_ids=source_ids,
            note_ids=note_ids,
            include_sources=include_sources,
            include_notes=include_notes,
        )
        if scope.is_empty:
            return hit_frame([])
        return hit_frame(
            self._executor.run(self._backend.search(query, type, scope, limit, min_similarity))
        )

    def ask(
        self,
        question: str,
        notebook: str | None = None,
        limit: int | None = None,
        source_ids: Iterable[str] | None = None,
        note_ids: Iterable[str] | None = None,
        min_similarity: float | None = None,
        include_sources: bool = True,
        include_notes: bool = True,
        model_override: str | None = None,
        strategy_model: str | None = None,
        answer_model: str | None = None,
        final_answer_model: str | None = None,
    ) -> Answer:
        """Return an answer out of the sources and notes, with what it cites.

        The client waits as long as the service works. Sources that are still being processed are
        not looked at; `sources.unprocessed` returns them, and `sources.wait` waits for them.

        Args:
            question: what is asked.
            notebook: out of this one alone.
            limit: passages looked at, at most.
            source_ids: out of these sources alone (identifiers or titles).
            note_ids: out of these notes alone.
            min_similarity: from -1 to 1; what is less alike is not looked at.
            include_sources: out of sources.
            include_notes: out of notes.
            model_override: the identifier of the model that answers, for all three steps.
            strategy_model: of the one that says what to look for.
            answer_model: of the one that answers by each search.
            final_answer_model: of the one that makes one answer of them.

        Raises:
            SetupError: there is no model to answer.
            ServiceError: the model's provider failed.
            InputError: there is nothing to answer from.
        """
        scope = resolve_scope(
            self._titles,
            notebook=notebook,
            source_ids=source_ids,
            note_ids=note_ids,
            include_sources=include_sources,
            include_notes=include_notes,
        )
        models = model_override, strategy_model, answer_model, final_answer_model
        checked = validate_question(Question(question, scope, limit, min_similarity, *models))
        return self._executor.run(self._backend.ask(checked))

    def ask_stream(
        self,
        question: str,
        notebook: str | None = None,
        limit: int | None = None,
        source_ids: Iterable[str] | None = None,
        note_ids: Iterable[str] | None = None,
        min_similarity: float | None = None,
        include_sources: bool = True,
        include_notes: bool = True,
        model_override: str | None = None,
        strategy_model: str | None = None,
        answer_model: str | None = None,
        final_answer_model: str | None = None,
        idle: float = IDLE_TIMEOUT,
    ) -> Iterator[AskEvent]:
        """Yield an answer as it comes: a `Strategy`, `Partial` answers, the `Final` one.

        It may take as long as it takes, but the service may not be silent for long.

        Args:
            question: what is asked.
            notebook: out of this one alone.
            limit: passages looked at, at most.
            source_ids: out of these sources alone (identifiers or titles).
            note_ids: out of these notes alone.
            min_similarity: from -1 to 1; what is less alike is not looked at.
            include_sources: out of sources.
            include_notes: out of notes.
            model_override: the identifier of the model that answers, for all three steps.
            strategy_model: of the one that says what to look for.
            answer_model: of the one that answers by each search.
            final_answer_model: of the one that makes one answer of them.
            idle: seconds of silence after which the answer is given up.

        Raises:
            ServiceError: the answer failed, at once or midway, in the service's words; or it ended
                without its end.
            UnreachableError: it was cut off, or nothing came for `idle` seconds.
        """
        scope = resolve_scope(
            self._titles,
            notebook=notebook,
            source_ids=source_ids,
            note_ids=note_ids,
            include_sources=include_sources,
            include_notes=include_notes,
        )
        models = model_override, strategy_model, answer_model, final_answer_model
        checked = validate_question(Question(question, scope, limit, min_similarity, *models))
        return stream_answer(self._executor, self._backend, checked, idle)

"""Client methods for search and for questions answered from the sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from labext.actions import Action
from labext.errors import InputError, ServiceError, UnreachableError
from labext.http.pagination import check_count
from labext.nb import views
from labext.nb.backends import IDLE_TIMEOUT, RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.records import Answer, AskEvent, Final, Hits, Query, Question
from labext.nb.resource import Resource, ScopeOptions, check_keywords, require_text, resolve_scope

if TYPE_CHECKING:
    import pandas as pd

Q = TypeVar("Q", bound=Query)


class SearchOptions(ScopeOptions, total=False):
    """Keyword arguments of a search.

    Attributes:
        limit: the maximum number of passages; the service's default if omitted.
        min_similarity: the minimum similarity of a passage found by meaning, from -1 to 1.
        rewrite: whether a language model writes the searches: for a search, further ones in other
            words (off by default); for a question, all of them (on by default).
        rerank: whether a language model orders the passages found; off by default.
    """

    limit: int | None
    min_similarity: float | None
    rewrite: bool | None
    rerank: bool | None


class AskOptions(SearchOptions, total=False):
    """Keyword arguments of a question; models are language models, by name or identifier.

    Attributes:
        model_override: the model for all three steps.
        strategy_model: the model that plans the searches.
        answer_model: the model that answers from each search.
        final_answer_model: the model that writes the final answer.
    """

    model_override: str | None
    strategy_model: str | None
    answer_model: str | None
    final_answer_model: str | None


_MODELS = AskOptions.__optional_keys__ - SearchOptions.__optional_keys__


def validate_question(question: Question) -> Question:
    """Return the question if it is valid.

    Raises:
        InputError: the question is empty, or its scope is empty.
    """
    require_text(question.text, "question", "Write a question.")
    if question.scope.is_empty:
        raise InputError(
            "There are no sources and no notes to answer from.",
            "Add one with {action}, or widen the scope.",
            action=Action.add_source(),
        )
    return question


def stream_answer(
    executor: RequestExecutor, backend: ContractBackend, question: Question, idle: float
) -> Iterator[AskEvent]:
    """Yield the events of an answer up to and including the final event.

    A server may keep the stream open after the final event: the rest is not read.

    Raises:
        ServiceError: the answer failed, or the stream ended without a final event.
        UnreachableError: the stream was cut off, or was silent for `idle` seconds.
    """
    request = executor.run(backend.ask_stream(question))
    if isinstance(request, Answer):
        yield Final(request)
        return
    try:
        with closing(executor.events(request, idle)) as stream:
            for data in stream:
                event = backend.parse_event(data, question.text)
                if isinstance(event, Final):
                    break
                if event is not None:
                    yield event
            else:
                raise ServiceError(
                    "The answer is incomplete: the notebook service closed the stream before its "
                    "end.",
                    "Ask again; if it happens again, check the service.",
                )
    except UnreachableError as error:
        raise UnreachableError(
            f"The answer was cut off: {error.message}",
            "Ask again; if it happens again, check the service.",
            method=error.method,
            path=error.path,
        ) from None
    yield Final(executor.run(backend.with_citations(event.answer)))


class SearchResource(Resource):
    """Search and question answering."""

    def search(
        self,
        query: str,
        type: Literal["hybrid", "text", "vector"] = "hybrid",
        notebook: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> pd.DataFrame:
        """Return the passages matching a query, best first; columns as `labext.nb.records.HIT`.

        `.attrs["note"]` has what the service states about the search, such as a failed embedding
        model, or None.

        Args:
            query: search terms or a description of the subject.
            type: `text` searches by words, `vector` by meaning, `hybrid` by both. A server that
                has no hybrid search gets the two others, and their hits are merged. If the
                embedding model fails, a `hybrid` search is by words alone.
            notebook: search this notebook only.
            **options: limits and restrictions, as in `SearchOptions` and `ScopeOptions`.

        Raises:
            SetupError: `vector` search needs an embedding model, and the service has none; a
                `hybrid` one is by words alone then.
        """
        search = self._build_query(Query, query, notebook, options)
        hits = Hits([])
        if not search.scope.is_empty:
            hits = self._run(self._backend.search(search, type))
        frame = views.hit_frame(hits)
        frame.attrs["note"] = hits.note
        return frame

    def ask(
        self, question: str, notebook: str | None = None, **options: Unpack[AskOptions]
    ) -> Answer:
        """Answer a question from the sources and notes, with citations.

        There is no timeout while the service works. Sources that are still being
        processed are ignored; `sources.unprocessed` lists them, `sources.wait` waits for them.

        Args:
            question: the question.
            notebook: answer from this notebook only.
            **options: limits, restrictions and models, as in `AskOptions`, `SearchOptions` and
                `ScopeOptions`.

        Raises:
            SetupError: no language model is set.
            ServiceError: the model's provider failed.
            OutcomeUnknownError: the response was lost; the question is not repeated by itself.
            InputError: the question or its scope is empty.
        """
        checked = validate_question(self._build_query(Question, question, notebook, options))
        return self._run(self._backend.ask(checked))

    def ask_stream(
        self,
        question: str,
        notebook: str | None = None,
        *,
        idle: float = IDLE_TIMEOUT,
        **options: Unpack[AskOptions],
    ) -> Iterator[AskEvent]:
        """Stream an answer: yield a `Strategy`, `Words`, `Partial` answers and the `Final` answer.

        The total time is unlimited; only silence of the service is limited.

        Args:
            question: the question.
            notebook: answer from this notebook only.
            idle: the maximum number of seconds between two events.
            **options: as for `ask`.

        Raises:
            ServiceError: the answer failed, with the service's message, or the stream ended early.
            UnreachableError: the stream was cut off, or was silent for `idle` seconds.
        """
        checked = validate_question(self._build_query(Question, question, notebook, options))
        return stream_answer(self._executor, self._backend, checked, idle)

    def _build_query(
        self, kind: type[Q], text: str, notebook: str | None, options: Mapping[str, Any]
    ) -> Q:
        allowed = AskOptions if kind is Question else SearchOptions
        check_keywords(options, allowed.__optional_keys__)
        check_count("limit", options.get("limit"))
        scope = {key: options[key] for key in options if key in ScopeOptions.__optional_keys__}
        others: dict[str, Any] = {
            key: self._model(value) if key in _MODELS else value
            for key, value in options.items()
            if key not in scope
        }
        return kind(text, resolve_scope(self._titles, notebook=notebook, **scope), **others)

"""`%nb search` and `%nb ask`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.options import OUT
from labext_magics.nb import options, processing, scope
from labext_magics.nb import view as source_view

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb import AskOptions


def search(
    call: Call,
    *,
    query: str,
    type: Literal["hybrid", "text", "vector"] | None,
    notebook: str | None,
    all_notebooks: bool,
    limit: int | None,
    sources: list[str],
    notes: list[str],
    min_similarity: float | None,
    no_sources: bool,
    no_notes: bool,
    rewrite: bool,
    rerank: bool,
) -> pd.DataFrame:
    """Return one row per matching passage, best first."""
    target = scope.notebook_or_all(call, notebook, all_notebooks)
    search_type = type or "hybrid"
    if _needs_sources(sources, notes, no_sources):
        processing.wait_for_text(
            call, target, sources or None, wait=False, vectors=search_type != "text"
        )
    restriction = scope.search_scope(sources, notes, no_sources, no_notes)
    with scope.interrupted_as_error("Run this line again.", "The search"):
        hits = call.nb.search(
            query,
            search_type,
            notebook=None if target is None else target.id,
            limit=limit,
            min_similarity=min_similarity,
            rewrite=rewrite or None,
            rerank=rerank or None,
            **restriction,
        )
    from labext_widgets.answers.passages import HITS, citations

    if note := hits.attrs["note"]:
        output.print_message(note)
    call.session.cited = citations(hits)
    opener = source_view.citation_opener(call.nb)
    return HITS.show_hits(hits, query, opener)


def ask(
    call: Call,
    *,
    question: str | None,
    notebook: str | None,
    all_notebooks: bool,
    limit: int | None,
    sources: list[str],
    notes: list[str],
    min_similarity: float | None,
    no_sources: bool,
    no_notes: bool,
    model_override: str | None,
    strategy_model: str | None,
    answer_model: str | None,
    final_answer_model: str | None,
    no_rewrite: bool,
    rerank: bool,
    simple: bool,
    no_wait: bool,
) -> Any:
    """Stream an answer to the display, and return it with its citations.

    Unless `no_wait` is set, the command waits for sources that are still being processed. With
    `simple`, the answer is not streamed.
    """
    import labext_widgets

    text = scope.text_of(call, question, "question", "%nb ask")
    target = scope.notebook_or_all(call, notebook, all_notebooks)
    notebook_id = None if target is None else target.id
    options: AskOptions = {
        "limit": limit,
        "min_similarity": min_similarity,
        "rewrite": False if no_rewrite else None,
        "rerank": rerank or None,
        "model_override": scope.resolve_model(call, model_override),
        "strategy_model": scope.resolve_model(call, strategy_model),
        "answer_model": scope.resolve_model(call, answer_model),
        "final_answer_model": scope.resolve_model(call, final_answer_model),
        **scope.search_scope(sources, notes, no_sources, no_notes),
    }
    if _needs_sources(sources, notes, no_sources):
        processing.wait_for_text(
            call, target, sources or None, wait=not no_wait, vectors=target is None
        )
    if simple:
        with scope.interrupted_as_error("Ask again."):
            answer = call.nb.ask(text, notebook_id, **options)
        view = labext_widgets.answer_view(answer, source_view.citation_opener(call.nb))
    else:
        view = labext_widgets.stream_answer(
            call.nb.ask_stream(text, notebook_id, **options),
            question=text,
            open_citation=source_view.citation_opener(call.nb),
        )
    call.session.cited = view.answer.citations
    if notebook_id is not None:
        answers = call.session.answers.setdefault(notebook_id, {})
        answers[text] = replace(view.answer, question=text)
    return view


def _needs_sources(sources: list[str], notes: list[str], no_sources: bool) -> bool:
    """Return True if sources are in the scope."""
    return bool(sources) or not (notes or no_sources)


_SCOPE_OPTIONS = [
    options.IN_NOTEBOOK,
    options.ALL,
    options.PASSAGES,
    options.SOURCES,
    options.NOTES,
    options.MIN_SIMILARITY,
    options.NO_SOURCES,
    options.NO_NOTES,
]

_RERANK = Parameter("rerank", None, "let a language model rank the passages")

SHORTCUTS = (
    Command(
        "search",
        "Search the sources and notes of the notebook in use.",
        search,
        [
            Parameter(
                "QUERY",
                value_types.prose("QUERY"),
                "the words or the topic to search",
                required=True,
            )
        ],
        [
            Parameter(
                "type",
                value_types.choice("hybrid", "text", "vector"),
                "text: full-text search; vector: search by meaning; hybrid, the default: both",
            ),
            *_SCOPE_OPTIONS,
            Parameter("rewrite", None, "let a language model add other wordings of the query"),
            _RERANK,
            OUT,
        ],
        examples=['hits = %nb search "catabolite repression" --type vector --limit 10'],
    ),
    Command(
        "ask",
        "Answer a question from the notebook in use, with citations.",
        ask,
        [
            Parameter(
                "QUESTION", value_types.prose("QUESTION"), "the question, if not in the cell body"
            )
        ],
        [
            *_SCOPE_OPTIONS,
            options.MODEL,
            Parameter("strategy-model", value_types.MODEL, "the model that plans the searches"),
            Parameter("answer-model", value_types.MODEL, "the model that answers from each search"),
            Parameter(
                "final-answer-model", value_types.MODEL, "the model that writes the final answer"
            ),
            Parameter("no-rewrite", None, "search for the question itself, without a plan"),
            _RERANK,
            Parameter("simple", None, "return the complete answer at once, without streaming"),
            processing.NO_WAIT,
            OUT,
        ],
        body="the question.",
        details="Waits for sources that are still being processed.",
        examples=['%nb ask "Why is glucose added to the uninduced culture?"'],
    ),
)

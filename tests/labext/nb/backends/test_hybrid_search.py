"""Search by words and by meaning at once, also with a server that cannot do both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from labext.errors import InputError, SetupError
from labext.nb.backends.contract import ContractBackend
from labext.nb.backends.contract.search import VECTORS_WEIGHT, WORDS_WEIGHT
from labext.nb.backends.open_notebook import OpenNotebookBackend
from labext.nb.records import Query, Record, Scope

QUERY = Query("lac", Scope(), 3)


def hit(number: int, **score: float) -> dict[str, Any]:
    return {"id": f"source:{number}", "title": "T", "matches": [f"text {number}"], **score}


WORDS = {"results": [hit(1, relevance=8.0), hit(2, relevance=4.0)]}
VECTORS = {"results": [hit(n, similarity=value) for n, value in ((2, 0.8), (3, 0.4), (4, 0.2))]}


def run(backend: Any, *replies: object) -> tuple[list[Record], list[str]]:
    """Return the hits of a hybrid search and the types of the requests."""
    steps = backend.search(QUERY, "hybrid")
    types = []
    request = next(steps)
    for reply in replies:
        types.append(request.json.get("search_type") or request.json["type"])
        try:
            request = steps.throw(reply) if isinstance(reply, Exception) else steps.send(reply)
        except StopIteration as stop:
            return stop.value, types
    raise AssertionError("The search sent another request.")


def assert_merged(hits: list[Record]) -> None:
    assert [hit["id"] for hit in hits] == ["source:2", "source:3", "source:1"]
    assert [hit["relevance"] for hit in hits] == pytest.approx(
        [WORDS_WEIGHT / 2 + VECTORS_WEIGHT, VECTORS_WEIGHT / 2, WORDS_WEIGHT]
    )
    assert [hit["similarity"] for hit in hits] == [0.8, 0.4, None]


def test_server_with_hybrid_search_is_asked_once() -> None:
    hits, types = run(ContractBackend(), {"results": [hit(1, relevance=0.5, similarity=0.4)]})
    assert types == ["hybrid"]
    assert (hits[0]["relevance"], hits[0]["similarity"]) == (0.5, 0.4)


@pytest.mark.parametrize("error", [InputError("No hybrid.", ""), SetupError("No hybrid.", "")])
def test_server_without_hybrid_search_is_asked_for_both(error: Exception) -> None:
    hits, types = run(ContractBackend(), error, WORDS, VECTORS)
    assert types == ["hybrid", "text", "vector"]
    assert_merged(hits)


def test_open_notebook_is_asked_for_both() -> None:
    hits, types = run(OpenNotebookBackend(), WORDS, VECTORS)
    assert types == ["text", "vector"]
    assert_merged(hits)


@pytest.mark.parametrize("options", [{"rewrite": True}, {"rerank": True}])
def test_open_notebook_refuses_to_rewrite_and_rerank_searches(options: dict[str, bool]) -> None:
    with pytest.raises(InputError, match="reranks no passages"):
        next(OpenNotebookBackend().search(replace(QUERY, **options), "text"))


def test_options_of_the_service_are_sent_only_if_they_are_set() -> None:
    def body(query: Query) -> Any:
        return next(ContractBackend().search(query, "hybrid")).json

    assert not {"rewrite", "rerank"} & {*body(QUERY)}
    assert body(replace(QUERY, rewrite=True, rerank=False)).items() >= {
        ("rewrite", True),
        ("rerank", False),
    }


@pytest.mark.parametrize("backend", [ContractBackend(), OpenNotebookBackend()])
def test_server_without_embedding_model_searches_by_words(backend: Any) -> None:
    none = SetupError("No embedding model.", "")
    replies = [WORDS, none] if isinstance(backend, OpenNotebookBackend) else [none, WORDS, none]
    hits, _ = run(backend, *replies)
    assert [(hit["id"], hit["relevance"]) for hit in hits] == [("source:1", 8.0), ("source:2", 4.0)]


def test_invalid_query_is_refused() -> None:
    error = InputError("limit is invalid.", "")
    with pytest.raises(InputError, match="limit"):
        run(ContractBackend(), error, error)

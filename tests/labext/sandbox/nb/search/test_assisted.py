"""Searches with the help of a language model: rewritten queries and reranked passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from labext.sandbox.nb.search import assisted
from labext.sandbox.nb.search.index import Hit


def hit(number: int) -> Hit:
    return Hit(f"source:s{number}", "", number, f"text {number}", None, None, 1.0)


HITS = [hit(number) for number in range(1, 5)]


class Model:
    """A model that always gives one reply, and remembers its prompts."""

    def __init__(self, reply: str) -> None:
        self._reply = reply
        self.prompts: list[str] = []

    def __call__(self, messages: Sequence[Mapping[str, str]]) -> str:
        self.prompts.append(messages[-1]["content"])
        return self._reply


def numbers(hits: Sequence[Hit]) -> list[int]:
    return [hit.passage_id for hit in hits]


def test_query_precedes_the_queries_of_the_model() -> None:
    model = Model('Here they are: ["catabolite repression", " araBAD\\npromoter ", ""]')
    expected = ["keep a gene off", "catabolite repression", "araBAD promoter"]
    assert assisted.rewrite_query(model, "keep a gene off") == expected
    assert "keep a gene off" in model.prompts[0]


@pytest.mark.parametrize("reply", ["", "no idea", "[1, 2", '{"a": 1}', "[1, null, {}]", "[["])
def test_query_is_kept_if_the_reply_can_not_be_read(reply: str) -> None:
    assert assisted.rewrite_query(Model(reply), "query") == ["query"]


def test_number_of_queries_is_limited() -> None:
    many = str([f"query {n}" for n in range(20)]).replace("'", '"')
    assert len(assisted.rewrite_query(Model(many), "query")) == assisted.MAX_QUERIES + 1


def test_hits_of_several_queries_rank_by_their_places_in_all() -> None:
    first, second, third, fourth = HITS
    merged = assisted.merge_hits([[first, second, third], [second, fourth]], 3)
    assert numbers(merged) == [2, 1, 4]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("The order is [3, 1].", [3, 1, 2, 4]),
        ("[4, 4, 9, 0, -1, true, 2]", [4, 2, 1, 3]),
        ("no idea", [1, 2, 3, 4]),
    ],
)
def test_passages_are_in_the_order_of_the_model(reply: str, expected: list[int]) -> None:
    assert numbers(assisted.rerank(Model(reply), "query", HITS)) == expected


def test_prompt_has_the_passages_with_their_numbers() -> None:
    model = Model("[]")
    assisted.rerank(model, "the query", HITS)
    assert "the query" in model.prompts[0]
    assert all(f"Passage {number}: \ntext {number}" in model.prompts[0] for number in range(1, 5))


def test_model_is_not_asked_to_order_a_single_passage() -> None:
    model: Any = Model("[]")
    assert assisted.rerank(model, "query", HITS[:1]) == HITS[:1]
    assert model.prompts == []

"""Whatever is typed is a query, never an error of the database."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

World = Any
SIGNS = ['"', "'", "*", "(", ")", "^", ":", "-", "+", "{", "}", "\0", "\ud800", "“", "”", "%", "_"]
WORDS = [
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "title",
    "nb_words",
    "arabinose",
    "Arabinose",
    "the",
    "é",
    "中",
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, make_world: Any) -> Any:
    world = make_world(tmp_path_factory.mktemp("query"))
    world.source("a", "Arabinose induces the promoter AND more, NEAR 100 % of it.", "title: it's")
    yield world
    world.database.close()


@given(st.lists(st.sampled_from([*SIGNS, *WORDS, " "]), max_size=12).map("".join) | st.text())
@example('"')
@example('""')
@example('" AND "')
@example("arabinose*")
@example("title:arabinose")
@example("NEAR(arabinose induces, 2)")
@example("x" * 100_000)
@example(" ".join(f"w{number}" for number in range(5000)))
@example('"a b" ' * 300)
def test_arbitrary_query_is_accepted(shared: World, query: str) -> None:
    for hit in shared.text(query):
        assert hit.parent_id == "source:a"


@pytest.mark.parametrize(
    "query",
    ["arabinose*", "title:arabinose", "arabinose)", '"arabinose', "NOT arabinose", "-arabinose"],
)
def test_punctuation_around_words_is_ignored(shared: World, query: str) -> None:
    assert len(shared.text(query)) == 1


def test_fts_operators_are_plain_words(shared: World) -> None:
    assert len(shared.text("promoter NOT induces")) == 1
    assert len(shared.text("NEAR")) == 1
    assert shared.text('"promoter NEAR"') == []

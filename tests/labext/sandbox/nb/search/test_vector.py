"""Vector search with every embedding model, and the vectors of the built-in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from starlette.exceptions import HTTPException

from labext.sandbox.core.database import Database
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.embedding.embedder import MiniLmEmbedder
from labext.sandbox.nb.providers import calls
from labext.sandbox.nb.providers.minilm import model, tokenizer
from labext.sandbox.nb.search import index
from labext.sandbox.nb.tables import Model, Vector
from labext.sandbox.nb.text.passages import PassageText

World = Any

SUGAR = "Cells were grown in glucose medium to keep the gene switched off."
BREAD = "The bakery opens at seven and closes in the afternoon."
HEAT = "Bacteria were kept warm at thirty-seven degrees overnight."
PARAPHRASE = "sugar represses transcription"


def parents(hits: list[Any]) -> list[str]:
    return [hit.parent_id for hit in hits]


def words(text: str) -> set[str]:
    return set(text.lower().rstrip(".").split())


def test_paraphrase_without_shared_words_is_found(sqlite_world):
    assert not words(PARAPHRASE) & words(SUGAR)
    sqlite_world.source("bread", BREAD)
    sugar = sqlite_world.source("sugar", SUGAR)
    assert sqlite_world.text(PARAPHRASE) == []
    (hit, *_) = sqlite_world.vector(PARAPHRASE)
    assert (hit.parent_id, hit.text) == (sugar, SUGAR)
    assert index.MIN_SIMILARITY <= hit.similarity == hit.relevance <= 1
    assert parents(sqlite_world.hybrid(PARAPHRASE))[0] == sugar


def test_query_whose_words_are_found_needs_more_similarity(sqlite_world):
    sugar = sqlite_world.source("first", "Glucose represses the promoter.")
    sqlite_world.source("second", "The plasmid is lost at high temperature.")
    assert index.MIN_SIMILARITY < sqlite_world.vector("glucose")[1].similarity < 0.2
    assert parents(sqlite_world.hybrid("glucose")) == [sugar]
    assert len(sqlite_world.hybrid("fructose")) == len(sqlite_world.vector("fructose")) == 2


def test_vector_hits_are_sorted_by_cosine_similarity(sqlite_world):
    for name, text in {"sugar": SUGAR, "bread": BREAD, "heat": HEAT}.items():
        sqlite_world.source(name, text)
    hits = sqlite_world.vector(PARAPHRASE, min_similarity=-1)
    query, *vectors = MiniLmEmbedder().embed([PARAPHRASE, *(hit.text for hit in hits)])
    assert [hit.similarity for hit in hits] == pytest.approx([query @ vector for vector in vectors])
    assert [hit.similarity for hit in hits] == sorted((h.similarity for h in hits), reverse=True)


def test_vector_search_reflects_changes_at_once(world):
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
    assert world.spaces() == {"model:all-minilm-l6-v2": 1}


def test_precomputed_vectors_are_used(sqlite_world):
    embedder = MiniLmEmbedder()
    with sqlite_world.database.write() as session:
        # The vector of another text, which shows that the stored vector is used.
        embeddings = embedder.embed_passages([SUGAR], [""])
        index.index_passages(session, "source:a", "A", [PassageText(BREAD)], embeddings)
    assert parents(sqlite_world.vector(PARAPHRASE)) == ["source:a"]


def test_writes_of_another_process_are_found(world):
    world.source("bread", BREAD)
    assert world.vector(PARAPHRASE) == []
    other = Database(world.database.url)
    with other.write() as session:
        index.index_passages(session, "source:other", "", [PassageText(SUGAR)])
        index.remove_passages(session, ["source:bread"])
    other.close()
    assert parents(world.vector(PARAPHRASE, min_similarity=-1)) == ["source:other"]


def test_vector_search_without_model_is_422_but_text_search_works(sqlite_world):
    sugar = sqlite_world.source("sugar", SUGAR)
    sqlite_world.embed_by(None)
    with pytest.raises(HTTPException) as caught:
        sqlite_world.vector(PARAPHRASE)
    assert caught.value.status_code == 422
    assert "pip install 'labext-jupyter[semantic]'" in caught.value.detail
    assert parents(sqlite_world.hybrid("glucose")) == [sugar]
    assert parents(sqlite_world.text("glucose")) == [sugar]


ON_SQLITE = pytest.mark.parametrize("world", ["sqlite"], indirect=True)
"""Mark a rule that does not depend on the database."""


@pytest.fixture
def server(world: World, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """An embedding model that separates sugar from other words, and records its inputs."""
    requests: list[list[str]] = []

    def embed(_site: object, model: Model, texts: list[str]) -> list[list[float]]:
        assert model.name == "tiny"
        requests.append(list(texts))
        is_sugar = ["sugar" in text or "glucose" in text for text in texts]
        return [[3.0, 0.0] if found else [0.0, 9.0] for found in is_sugar]

    monkeypatch.setattr(calls, "embed", embed)
    with world.database.write() as session:
        session.add(Model(id="model:tiny", name="tiny", kind="embedding", provider="house"))
    return requests


@ON_SQLITE
def test_remote_model_embeds_passages_once(world, server):
    sugar = world.source("sugar", SUGAR)
    world.source("bread", BREAD)
    world.embed_by("tiny")
    (hit,) = world.vector("sugar")
    assert (hit.parent_id, hit.similarity) == (sugar, pytest.approx(1))
    assert sorted(map(len, server)) == [1, 2]
    world.vector("sugar")
    assert len(server) == 3  # the passages' vectors are kept


def test_changed_model_embeds_in_the_background(world, server, monkeypatch):
    sugar = world.source("sugar", SUGAR)
    for number in range(4):
        world.source(f"heat{number}", HEAT)
    world.vector(PARAPHRASE)
    monkeypatch.setattr(passage_vectors, "MAX_FOREGROUND_PASSAGES", 2)
    world.embed_by("tiny")
    for _ in range(2):  # as before, and the search sends no request for vectors
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
    assert not world.renew()  # no task is left


@ON_SQLITE
def test_changed_vector_length_is_422(world, server, monkeypatch):
    world.source("sugar", SUGAR)
    world.embed_by("tiny")
    world.vector("sugar")
    monkeypatch.setattr(calls, "embed", lambda *_: [[1.0, 0.0, 0.0]])
    for is_new in (False, True, False):
        if is_new:
            world.source("later", SUGAR)
        with pytest.raises(HTTPException, match="model tiny returns vectors of another") as caught:
            world.vector("sugar")
        assert caught.value.status_code == 422


@pytest.fixture
def fail(server: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the embedding model fail for texts with a word, by default for all."""
    embed = calls.embed

    def fail(word: str = "", status: int = 502, wait: str = "10") -> None:
        def failing(site: Any, model: Model, texts: list[str]) -> list[list[float]]:
            vectors = embed(site, model, texts)
            if any(word in text for text in texts):
                headers = {"Retry-After": wait} if status == 429 else None
                raise HTTPException(status, "The server is down.", headers)
            return vectors

        monkeypatch.setattr(calls, "embed", failing)

    return fail


def noted(world: World, query: str, by: str) -> tuple[list[str], str | None]:
    """Return the parents that a search finds, and its note."""
    report = index.SearchReport()
    return parents(world.index.find(query, by, limit=10, report=report)), report.note


@ON_SQLITE
def test_hybrid_search_is_by_words_if_the_embedding_model_fails(world, server, fail):
    sugar = world.source("sugar", SUGAR)
    world.source("bread", BREAD)
    world.embed_by("tiny")
    fail()
    note = "Searched by words alone, as the embedding model failed: The server is down."
    assert noted(world, "glucose", "hybrid") == ([sugar], note)
    assert noted(world, "glucose", "text") == ([sugar], None)
    with pytest.raises(HTTPException, match="down") as caught:
        world.vector("glucose")
    assert caught.value.status_code == 502
    fail(status=429)  # the client waits
    with pytest.raises(HTTPException):
        world.hybrid("glucose")
    fail(status=429, wait="86400")  # for which it does not
    assert noted(world, "glucose", "hybrid") == ([sugar], note)


@ON_SQLITE
def test_failed_embedding_model_is_called_once_in_a_request(world, server, fail):
    world.source("sugar", SUGAR)
    world.embed_by("tiny")
    fail()
    report = index.SearchReport()
    for _ in range(3):
        world.index.find("glucose", "hybrid", limit=10, report=report)
    assert len(server) == 1


@ON_SQLITE
def test_passages_that_can_not_be_embedded_are_searched_by_words(world, server, fail):
    sugar = world.source("sugar", SUGAR)
    world.embed_by("tiny")
    world.vector("sugar")
    fail("bakery")
    bread = world.source("bread", BREAD)
    reason = "in 1 passage, as the embedding model failed: The server is down."
    for by, query, found in (
        ("vector", "sugar", sugar), ("hybrid", "sugar", sugar), ("hybrid", "opens at seven", bread)
    ):  # fmt: skip
        hits, note = noted(world, query, by)
        assert found in hits
        assert note == f"Searched by words alone {reason}"


@ON_SQLITE
def test_vectors_of_another_length_are_ignored(world, server):
    sugar = world.source("sugar", SUGAR)
    odd = world.source("odd", "A sugar beet.")
    later = world.source("later", "No sugar is left.")
    world.embed_by("tiny")
    with world.database.write() as session:
        for number, vector in enumerate(([1.0, 0.0], [0.6, 0.0, 0.8], [1.0, 0.0]), 1):
            stored = np.array(vector, np.float32).tobytes()
            session.add(Vector(passage_id=number, space="model:tiny", vector=stored))
            session.flush()
    assert parents(world.vector("sugar")) == [sugar, later]
    assert set(parents(world.hybrid("sugar"))) == {sugar, odd, later}


@ON_SQLITE
def test_search_tells_that_the_vectors_of_a_new_model_could_not_be_computed(
    world, server, fail, monkeypatch
):
    sugar = world.source("sugar", SUGAR)
    for number in range(4):
        world.source(f"heat{number}", HEAT)
    world.vector(PARAPHRASE)
    monkeypatch.setattr(passage_vectors, "MAX_FOREGROUND_PASSAGES", 2)
    world.embed_by("tiny")
    assert noted(world, PARAPHRASE, "hybrid")[1] is None
    fail()
    assert world.renew()
    for by in ("hybrid", "vector"):
        hits, note = noted(world, PARAPHRASE, by)
        assert hits[0] == sugar
        assert note == (
            "Searched with the vectors of the previous embedding model, as those of the new one "
            "could not be computed: The server is down."
        )
    assert noted(world, "glucose", "text")[1] is None
    fail("nothing")
    assert world.renew()
    assert noted(world, PARAPHRASE, "hybrid")[1] is None


@ON_SQLITE
def test_search_tells_that_many_passages_have_no_vectors(world, server, fail, monkeypatch):
    monkeypatch.setattr(passage_vectors, "MAX_FOREGROUND_PASSAGES", 2)
    world.source("bread", BREAD)
    for number in range(7):
        world.source(f"heat{number}", HEAT)
    world.embed_by("tiny")
    fail("bakery")
    world.vector("sugar")
    assert world.renew()
    assert noted(world, "sugar", "hybrid")[1] == (
        "Searched by words alone in 6 passages, as their vectors could not be computed: "
        "The server is down."
    )


def test_empty_text_has_a_vector():
    vectors = MiniLmEmbedder().embed(["", " ", "word"])
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors[2]) == pytest.approx(1)


def test_vectors_are_those_of_the_reference():
    # The similarities in its model card, within the error of int8 weights.
    others = ["That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    first, *vectors = MiniLmEmbedder().embed(["That is a happy person", *others])
    similarities = [float(first @ vector) for vector in vectors]
    assert similarities == pytest.approx([0.695, 0.943, 0.257], abs=0.03)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello world!", [7592, 2088, 999]),
        ("Naïve α-helix 終。\0", [15743, 1155, 1011, 25743, 100, 1636]),
        ("", []),
        ("x" * 101, [100]),
    ],
)
def test_tokens_are_those_of_the_reference(text, tokens):
    assert tokenizer.split_tokens(text) == [101, *tokens, 102]


def test_long_texts_are_cut():
    assert len(tokenizer.split_tokens("word " * 10_000)) == tokenizer.MAX_TOKENS


def test_batch_does_not_change_a_vector():
    texts = ["sugar", "The bakery opens at seven and closes in the afternoon. " * 20, ""] * 2
    together = model.embed(texts)
    assert np.allclose(together, np.concatenate([model.embed([text]) for text in texts]))


def test_vector_of_a_passage_covers_its_title_and_headings():
    embedder = MiniLmEmbedder()
    query, plain = embedder.embed(["How are bacteria stored?", "Freeze the pellets at -80 °C."])
    texts = ["3. Freeze the pellets at -80 °C.", "Freeze the pellets at -80 °C."]
    vectors = embedder.embed_passages(texts, ["", "Storage of bacterial cultures"]).vectors
    assert np.allclose(vectors[0], plain, atol=1e-6), "list numbers do not count"
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[1] @ query > vectors[0] @ query + 0.02

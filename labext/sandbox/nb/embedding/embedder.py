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
    """Makes vectors of texts."""

    @property
    def id(self) -> str:
        """What its vectors can be compared with: `labext.sandbox.nb.tables.Vector.space`."""

    @property
    def is_quick(self) -> bool:
        """Whether it makes thousands while somebody waits."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """The vectors of texts: of shape (texts, dimensions), rows of length 1.

        Raises:
            HTTPException: 502 or 422, the model's server failed or can't be asked.
        """


class WordLlamaEmbedder:
    """Means of static embeddings of the words' parts, 256 dimensions; offline."""

    id = registry.WORDLLAMA
    is_quick = True

    def embed(self, texts: Sequence[str]) -> Floats:
        """See `Embedder`."""
        # Texts of like length together: each batch is filled up to its longest one.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found = _load_wordllama().embed([texts[place] or " " for place in order])
        return _normalize(found[sorted(range(len(texts)), key=order.__getitem__)])


class ServerEmbedder:
    """A model of an OpenAI-compatible server."""

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
    """The embedder of the default slot; None where it has no model, or that isn't installed."""
    model = registry.get_default_model(session, "embedding")
    return None if model is None else create_embedder(site, model)


def embedder_of_space(session: Session, site: Site, space: str) -> Embedder | None:
    """The embedder that makes vectors in a space; None where there is none any more."""
    model = session.get(Model, space.partition("@")[0])
    found = None if model is None else create_embedder(site, model)
    return found if found is not None and found.id == space else None


def create_embedder(site: Site, model: Model) -> Embedder | None:
    """The embedder that is a model; None where what it needs isn't installed."""
    if not registry.is_built_in(model):
        return ServerEmbedder(site, model)
    return WordLlamaEmbedder() if find_spec("wordllama") is not None else None


def _normalize(vectors: Any) -> Floats:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Floats = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return found


def _load_wordllama() -> Any:
    with _load_lock:
        return _cached_wordllama()


@functools.cache
def _cached_wordllama() -> Any:
    import wordllama  # type: ignore[import-untyped]

    weights = Path(wordllama.__file__).parent  # they come with the package
    return wordllama.WordLlama.load(cache_dir=weights, disable_download=True)

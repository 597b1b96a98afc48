"""Embed texts with the default embedding model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.actions import Action
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.embedding import token_signs
from labext.sandbox.nb.providers import minilm, registry
from labext.sandbox.nb.providers.minilm import model as minilm_model
from labext.sandbox.nb.tables import Model, Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


CONTEXT_WEIGHT = 0.2
"""Weight of the title and headings in a passage's vector; its text has 1."""

_LIST_NUMBER = re.compile(r"(?m)^[ \t]*\d{1,3}[.)][ \t]+")


@dataclass(frozen=True)
class PassageEmbeddings:
    """The embeddings of passages.

    Attributes:
        space: the identifier of the model.
        vectors: unit vectors, of shape (passages, dimensions).
        token_signs: the signs of each passage's token states (`token_signs.pack`); empty if the
            model does not report the states.
    """

    space: str
    vectors: Floats
    token_signs: Sequence[bytes] = ()


class MiniLmEmbedder:
    """Offline embedding with 384 dimensions by all-MiniLM-L6-v2."""

    id = registry.MINILM

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors of texts, of shape (texts, dimensions)."""
        return _normalize(minilm_model.embed(texts))

    def embed_query(self, query: str) -> tuple[Floats, Floats | None]:
        """Return the unit vector of a query, and the states of its tokens."""
        [states] = minilm_model.embed_tokens([query])
        return _normalize(states.mean(axis=0, keepdims=True))[0], states

    def embed_passages(self, texts: Sequence[str], contexts: Sequence[str]) -> PassageEmbeddings:
        """Embed passages: their vectors are weighted sums of those of the texts and the contexts.

        `contexts` has the title and the headings of each passage, if any.
        """
        distinct = list(dict.fromkeys(filter(str.strip, contexts)))
        plain = [_LIST_NUMBER.sub("", text) for text in texts]  # numbers have no meaning
        states = [*minilm_model.embed_tokens(plain)]
        vectors = _normalize([tokens.mean(axis=0) for tokens in states])
        context_vectors = dict(zip(distinct, self.embed(distinct), strict=True))
        for row, context in enumerate(contexts):
            vectors[row] += CONTEXT_WEIGHT * context_vectors.get(context, 0)
        return PassageEmbeddings(self.id, _normalize(vectors), [*map(token_signs.pack, states)])


class ServerEmbedder:
    """Embedding by a model of an OpenAI-compatible server."""

    def __init__(self, site: Site, model: Model) -> None:
        self.id = model.id
        self._site = site
        self._model = model

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors of texts, of shape (texts, dimensions).

        Raises:
            HTTPException: 502 if the server failed; 422 if the model can't be used, or if its
                vectors have another length than those that are stored.
        """
        import numpy as np

        from labext.sandbox.nb.providers import calls

        vectors = np.array(calls.embed(self._site, self._model, texts), np.float32)
        with self._site.database.read() as session:
            stored = session.scalars(select(Vector.vector).where(Vector.space == self.id).limit(1))
            first = stored.first()
        if first is not None and len(first) != vectors[0].nbytes:
            raise errors.not_configured(
                f"The embedding model {self._model.name} returns vectors of another length than "
                "before.",
                "Delete the model, add it, and set it again.",
                Action.set_model("embedding"),
            )
        return _normalize(vectors)

    def embed_query(self, query: str) -> tuple[Floats, Floats | None]:
        """Return the unit vector of a query; servers do not report the states of its tokens."""
        return self.embed([query])[0], None

    def embed_passages(self, texts: Sequence[str], _contexts: Sequence[str]) -> PassageEmbeddings:
        """Embed the texts of passages."""
        return PassageEmbeddings(self.id, self.embed(texts))


Embedder = MiniLmEmbedder | ServerEmbedder
"""Computes vectors of texts; `id` names the embedding space (`Vector.space`)."""


def default_embedder(session: Session, site: Site) -> Embedder | None:
    """Return the embedder of the default slot; None if it is empty or not installed."""
    model = registry.get_default_model(session, "embedding")
    return None if model is None else create_embedder(site, model)


def embedder_of_space(session: Session, site: Site, space: str) -> Embedder | None:
    """Return the embedder of an embedding space; None if it no longer exists."""
    model = session.get(Model, space)
    return None if model is None else create_embedder(site, model)


def create_embedder(site: Site, model: Model) -> Embedder | None:
    """Return the embedder for a model; None if its package isn't installed."""
    if not registry.is_built_in(model):
        return ServerEmbedder(site, model)
    return MiniLmEmbedder() if minilm.is_installed() else None


def _normalize(vectors: Any) -> Floats:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normalized: Floats = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return normalized

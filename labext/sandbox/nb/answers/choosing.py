"""Which model writes."""

from __future__ import annotations

from functools import partial

from labext.sandbox.nb.answers.prompted import Prompted
from labext.sandbox.nb.answers.quoted import PassageQuoter, Similarity, by_embedding
from labext.sandbox.nb.answers.writing import Writer
from labext.sandbox.nb.models import chatting, registry
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.search.embedding import embedder_of
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site


def writer(site: Site, model: Model, line: Line) -> Writer:
    """A model of type `llm` as a writer; its server is asked over a line that may be hung up."""
    if registry.is_built_in(model):
        return PassageQuoter(_similarity(site))
    return Prompted(model.name, partial(chatting.reply, site, model, line=line))


def _similarity(site: Site) -> Similarity | None:
    """Return similarity by wordllama; the scores of other models have unknown scales."""
    with site.database.read() as session:
        embedder = embedder_of(session, site)
    if embedder is None or embedder.id != registry.WORDLLAMA:
        return None
    return by_embedding(embedder.embed)

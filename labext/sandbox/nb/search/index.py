"""The search index: store, remove and find passages."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import orjson
from sqlalchemy import delete, func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from labext.sandbox.core.database import is_disk_full
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.search import full_text
from labext.sandbox.nb.search.scope import Scope
from labext.sandbox.nb.tables import Note, Passage, Source
from labext.sandbox.nb.text.segmentation import PassageText

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from labext.sandbox.nb.embedding.embedder import Floats
    from labext.sandbox.nb.search.vector_matrix import VectorMatrix

SMOOTHING = 60
"""How much the first ranks stand out; Cormack, Clarke and Büttcher's own value."""


def fuse_rankings(rankings: Iterable[Sequence[int]]) -> list[tuple[int, float]]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).

    Args:
        rankings: of the same things, each the best first.

    Returns:
        What any of them has, the best first, with its score; equals in the order they came in.
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, thing in enumerate(ranking, start=1):
            scores[thing] += 1 / (SMOOTHING + rank)
    return sorted(scores.items(), key=lambda scored: -scored[1])


log = logging.getLogger(__name__)

MIN_SIMILARITY = 0.1
"""What is less alike has nothing to do with what is looked for.

The real service's 0.2 is for larger models: two words are seldom so near to a passage here.
"""

NO_EMBEDDING_MODEL = (
    "A vector search needs an embedding model, and none is set. Install one by "
    "`pip install 'labext-jupyter[semantic]'` and restart the sandbox, or set a model of type "
    "embedding: `%nb models defaults --set embedding=NAME`."
)

_MIN_DEPTH = 50
"""How far down the rankings that are fused go at least."""


@dataclass(frozen=True)
class Hit:
    """A passage that was found.

    Attributes:
        parent_id, title: of the source or note it is of.
        passage_id, text, page: the passage's.
        similarity: cosine of its vector and the query's, -1 to 1; None where only words counted.
        relevance: higher is better, comparable within one search alone.
    """

    parent_id: str
    title: str
    passage_id: int
    text: str
    page: int | None
    similarity: float | None
    relevance: float


def index_passages(
    session: Session,
    parent_id: str,
    title: str,
    pieces: Sequence[PassageText],
    vectors: NDArray[np.float32] | None = None,
    model: str | None = None,
) -> None:
    """Store the passages of a source or a note in place of those it had, in this transaction.

    Args:
        session: a writing one.
        parent_id: the source's or the note's.
        title: of it; it is found by that too.
        pieces: in their order.
        vectors: of shape (pieces, dimensions), rows of length 1; None: they are made later.
        model: `Embedder.id` of what made them.
    """
    remove_passages(session, [parent_id])
    passages = [
        Passage(parent_id=parent_id, position=position, text=piece.text, page=piece.page)
        for position, piece in enumerate(pieces)
    ]
    session.add_all(passages)
    session.flush()
    full_text.add_words(session, title, passages)
    if vectors is not None and model is not None:
        passage_vectors.add_vectors(session, model, [passage.id for passage in passages], vectors)


def retitle_passages(session: Session, parent_id: str, title: str) -> None:
    """Find a source or a note by another title from now on; its passages stay as they are."""
    full_text.update_title(session, parent_id, title)


def remove_passages(session: Session, parent_ids: Collection[str]) -> None:
    """Remove the passages of sources and notes, and with them their vectors."""
    # As one value: there may be more identifiers than a statement may have values.
    among = func.json_each(orjson.dumps(list(parent_ids)).decode()).table_valued("value")
    here = Passage.parent_id.in_(select(among.c.value))
    full_text.remove_words(session, session.scalars(select(Passage.id).where(here)).all())
    session.execute(delete(Passage).where(here))


class SearchIndex:
    """Finds passages; one for the service, used from several threads."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._matrix: VectorMatrix | None = None
        self._reading = threading.Lock()

    def find(
        self,
        query: str,
        by: Literal["text", "vector", "both"],
        *,
        limit: int,
        min_similarity: float | None = None,
        source_ids: Collection[str] | None = None,
        note_ids: Collection[str] | None = None,
        include_sources: bool = True,
        include_notes: bool = True,
    ) -> list[Hit]:
        """Return the best passages, the best first.

        `source_ids` and `note_ids`: among these alone; where only one of the two is given, nothing
        of the other kind is found. Without a `min_similarity` it is `LEAST_SIMILARITY` for what
        is found by its vector alone, and words alone are reason enough; a given one holds for all
        but a search by `text`. Without an embedding model `both` is by `text`.

        Raises:
            HTTPException: 422 without an embedding model where `by` is `vector`; 502 or 422 where
                its server fails or can't be asked.
        """
        scope = Scope(source_ids, note_ids, include_sources, include_notes)
        meaning = None if by == "text" else self._meaning(query)
        if by == "vector" and meaning is None:
            raise errors.not_configured(NO_EMBEDDING_MODEL)
        with self._site.database.read() as session:
            if meaning is None:
                ranked = full_text.find_by_words(session, query, scope, limit)
                return _load_hits(session, [(number, None, rank) for number, rank in ranked])
            least = MIN_SIMILARITY if min_similarity is None else min_similarity
            matrix, vector = meaning
            if by == "vector":
                alike = matrix.similar(vector, scope, least, limit)
                return _load_hits(session, [(number, value, value) for number, value in alike])
            depth = max(limit, _MIN_DEPTH)
            rankings = [
                [number for number, _ in full_text.find_by_words(session, query, scope, depth)],
                [number for number, _ in matrix.similar(vector, scope, least, depth)],
            ]
            known = matrix.similarities(vector, [*rankings[0], *rankings[1]])
            found = [
                (number, known.get(number), score)
                for number, score in fuse_rankings(rankings)
                if min_similarity is None or known.get(number, -1.0) >= min_similarity
            ]
            return _load_hits(session, found[:limit])

    def _meaning(self, query: str) -> tuple[VectorMatrix, Floats] | None:
        """What passages are compared with, and their vectors; None without an embedding model."""
        database = self._site.database
        with database.read() as session:
            embedder = passage_vectors.serving_embedder(session, self._site)
            if embedder is None:
                return None
            lacking = passage_vectors.count_missing(session, embedder.id)
            due = passage_vectors.is_embedding_due(
                session, self._site
            ) and not passage_vectors.is_embedding_queued(session, self._site)
        try:
            if lacking:
                passage_vectors.embed_missing(
                    database,
                    embedder,
                    None if embedder.is_quick else passage_vectors.MAX_FOREGROUND_PASSAGES,
                )
            if due:
                with database.write() as session:
                    passage_vectors.queue_if_due(session, self._site)
        except OperationalError as error:
            if not is_disk_full(error):
                raise
            log.warning("The disk is full: %d passages are found by their words alone.", lacking)
        vector = embedder.embed([query])[0]
        return self._current(embedder.id), vector

    def _current(self, space: str) -> VectorMatrix:
        """The vectors of a space as they are now, whoever has changed them."""
        from labext.sandbox.nb.search.vector_matrix import VectorMatrix

        with self._reading, self._site.database.read() as session:
            known = self._matrix
            if known is None or known.space != space:
                known = VectorMatrix.empty(space)
            self._matrix = known.current(session)
            return self._matrix


def _load_hits(session: Session, found: Sequence[tuple[int, float | None, float]]) -> list[Hit]:
    """What is told of passages: each with its similarity and its relevance."""
    title = func.coalesce(Source.title, Note.title, "")
    statement = (
        select(Passage, title)
        .outerjoin(Source, Source.id == Passage.parent_id)
        .outerjoin(Note, Note.id == Passage.parent_id)
        .where(Passage.id.in_([number for number, _, _ in found]))
    )
    there = {passage.id: (passage, title) for passage, title in session.execute(statement)}
    return [
        Hit(passage.parent_id, title, passage.id, passage.text, passage.page, similarity, relevance)
        for number, similarity, relevance in found
        if number in there  # else it went meanwhile
        for passage, title in [there[number]]
    ]

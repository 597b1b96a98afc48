"""What can be searched: passages put, removed and found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from labext.sandbox.nb.search import words
from labext.sandbox.nb.search.passages import Piece
from labext.sandbox.nb.search.scope import Scope
from labext.sandbox.nb.store import Note, Passage, Source, Vector
from labext.sandbox.service import Site

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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


def put(
    session: Session,
    parent_id: str,
    title: str,
    pieces: Sequence[Piece],
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
    remove(session, [parent_id])
    passages = [
        Passage(parent_id=parent_id, position=position, text=piece.text, page=piece.page)
        for position, piece in enumerate(pieces)
    ]
    session.add_all(passages)
    session.flush()
    words.put(session, title, passages)
    if vectors is not None and model is not None:
        session.add_all(
            Vector(passage_id=passage.id, space=model, vector=vector.tobytes())
            for passage, vector in zip(passages, vectors, strict=True)
        )


def retitle(session: Session, parent_id: str, title: str) -> None:
    """Find a source or a note by another title from now on; its passages stay as they are."""
    words.retitle(session, parent_id, title)


def remove(session: Session, parent_ids: Collection[str]) -> None:
    """Remove the passages of sources and notes, and with them their vectors."""
    for parent_id in parent_ids:
        here = Passage.parent_id == parent_id
        words.remove(session, session.scalars(select(Passage.id).where(here)).all())
        session.execute(delete(Passage).where(here))


class Index:
    """Finds passages; one for the service, used from several threads."""

    def __init__(self, site: Site) -> None:
        self._site = site

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
        of the other kind is found.

        Raises:
            HTTPException: 422 without an embedding model where `by` is `vector`.
        """
        scope = Scope(source_ids, note_ids, include_sources, include_notes)
        with self._site.database.read() as session:
            found = words.find(session, query, scope, limit)
            return _hits(session, [(number, None, rank) for number, rank in found])


def _hits(session: Session, found: Sequence[tuple[int, float | None, float]]) -> list[Hit]:
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

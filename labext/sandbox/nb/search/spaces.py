"""Which space passages are compared in, and what has no vector in it yet.

Where another embedding model is set, the passages get vectors of it in the background; until all
have one, what is there of the model before serves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, func, insert, select
from sqlalchemy.orm import Session

from labext.sandbox.database import Database, counted
from labext.sandbox.nb.search.embedding import Embedder, embedder_in, embedder_of
from labext.sandbox.nb.store import Passage, Vector
from labext.sandbox.service import Site

if TYPE_CHECKING:
    from labext.sandbox.nb.search.embedding import Floats

AT_ONCE = 128
"""Passages that get their vectors while somebody waits, whatever makes them."""


def serving(session: Session, site: Site) -> Embedder | None:
    """The embedder of the space that a search is made in now; None without an embedding model."""
    wanted = embedder_of(session, site)
    if wanted is None:
        return None
    if lacking(session, wanted.id) <= AT_ONCE:
        return wanted
    before = (
        embedder_in(session, site, space)
        for space in _others(session, wanted.id)
        if lacking(session, space) <= AT_ONCE
    )
    return next((embedder for embedder in before if embedder is not None), wanted)


def lacking(session: Session, space: str) -> int:
    """How many passages have no vector in a space."""
    return counted(session, Passage) - counted(session, Vector, Vector.space == space)


def has_others(session: Session, space: str) -> bool:
    """Whether there are vectors in other spaces too."""
    return bool(_others(session, space))


def fill(database: Database, embedder: Embedder, most: int | None = None) -> int:
    """Give passages the vectors that they lack, the newest first, and return how many there were.

    Raises:
        HTTPException: as `Embedder.embed`.
    """
    with database.read() as session:
        rows = session.execute(
            select(Passage.id, Passage.text)
            .where(~_has_vector(embedder.id))
            .order_by(Passage.id.desc())
            .limit(most)
        ).all()
    if rows:
        vectors = embedder.embed([text for _, text in rows])
        with database.write(durable=False) as session:  # they can be made again
            add(session, embedder.id, [number for number, _ in rows], vectors)
    return len(rows)


def add(session: Session, space: str, passage_ids: Sequence[int], vectors: Floats) -> None:
    """Store vectors of passages; not of those that went meanwhile, or have one already."""
    if not passage_ids:
        return
    among = Passage.id.between(min(passage_ids), max(passage_ids))
    there = set(session.scalars(select(Passage.id).where(among, ~_has_vector(space))))
    rows = [
        {"passage_id": number, "space": space, "vector": vector.tobytes()}
        for number, vector in zip(passage_ids, vectors, strict=True)
        if number in there
    ]
    if rows:
        session.execute(insert(Vector), rows)


def _has_vector(space: str) -> ColumnElement[bool]:
    return select(Vector.id).where(Vector.passage_id == Passage.id, Vector.space == space).exists()


def _others(session: Session, space: str) -> list[str]:
    """The other spaces that have vectors, the fullest first."""
    others = select(Vector.space).where(Vector.space != space).group_by(Vector.space)
    return list(session.scalars(others.order_by(func.count().desc())))

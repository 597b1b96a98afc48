"""The passage vectors of one embedding model as a matrix in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.search.scope import Scope
from labext.sandbox.nb.tables import Passage, Vector

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class VectorMatrix:
    """The vectors of an embedding space, one per row.

    Attributes:
        numbers: the identifiers of the vectors, ascending.
        passages: the identifiers of the passages.
        parents: the distinct parents; `places` has the index of each row's parent.
        vectors: unit vectors of shape (rows, dimensions); zero for those of another length.
    """

    space: str
    numbers: Integers
    passages: Integers
    parents: tuple[str, ...]
    places: Integers
    vectors: Floats

    @classmethod
    def empty(cls, space: str, dimensions: int) -> VectorMatrix:
        """Return an empty matrix."""
        none = np.zeros(0, np.int64)
        return cls(space, none, none, (), none, np.zeros((0, dimensions), np.float32))

    def fits(self, space: str, dimensions: int) -> bool:
        """Return whether the matrix is of a space, with vectors of a length."""
        return (self.space, self.vectors.shape[1]) == (space, dimensions)

    def current(self, session: Session) -> VectorMatrix:
        """Return the matrix with the current rows of the table; self if nothing has changed."""
        last = int(self.numbers[-1]) if len(self.numbers) else 0
        count, top = passage_vectors.count_vectors(session, self.space)
        if (count, top) == (len(self.numbers), last):
            return self
        return self._with_later(session, last)._without_deleted(session, count)

    def similar(
        self, vector: Floats, scope: Scope, min_similarity: float, limit: int
    ) -> list[tuple[int, float]]:
        """Return the passages most similar to a vector with their cosine, the best first."""
        cosines = self._cosines(vector)
        similar = cosines >= min_similarity
        if not scope.is_everything:
            in_scope = np.fromiter(map(scope.has, self.parents), bool, len(self.parents))
            similar &= in_scope[self.places]
        rows = np.flatnonzero(similar)
        if len(rows) > limit:
            rows = rows[np.argpartition(-cosines[rows], limit - 1)[:limit]]
        # Passages with equal texts have equal similarity: the earlier one comes first.
        rows = rows[np.lexsort((self.passages[rows], -cosines[rows]))]
        return [(int(self.passages[row]), float(cosines[row])) for row in rows]

    def similarities(self, vector: Floats, passages: list[int]) -> dict[int, float]:
        """Return the similarities of passages to a vector, omitting those without a vector."""
        rows = np.flatnonzero(np.isin(self.passages, passages))
        cosines = self._cosines(vector, rows)
        selected = self.passages[rows]
        return {
            int(passage): float(cosine) for passage, cosine in zip(selected, cosines, strict=True)
        }

    def _cosines(self, vector: Floats, rows: Integers | None = None) -> Floats:
        """Return the cosines of some or of all rows with a vector."""
        vectors = self.vectors if rows is None else self.vectors[rows]
        cosines: Floats = np.clip(vectors @ vector, -1, 1)
        return cosines

    def _with_later(self, session: Session, last: int) -> VectorMatrix:
        statement = (
            select(Vector.id, Vector.passage_id, Passage.parent_id, Vector.vector)
            .join(Passage, Passage.id == Vector.passage_id)
            .where(Vector.space == self.space, Vector.id > last)
            .order_by(Vector.id)
        )
        rows = session.execute(statement).all()
        if not rows:
            return self
        places = {parent: place for place, parent in enumerate(self.parents)}
        new_places = [places.setdefault(parent, len(places)) for _, _, parent, _ in rows]
        other = bytes(self.vectors.shape[1] * self.vectors.itemsize)
        stored = (row[3] if len(row[3]) == len(other) else other for row in rows)
        vectors = np.frombuffer(b"".join(stored), np.float32).reshape(len(rows), -1)
        return replace(
            self,
            numbers=np.append(self.numbers, [row[0] for row in rows]),
            passages=np.append(self.passages, [row[1] for row in rows]),
            parents=tuple(places),
            places=np.append(self.places, new_places),
            vectors=np.concatenate([self.vectors, vectors]) if len(self.vectors) else vectors,
        )

    def _without_deleted(self, session: Session, count: int) -> VectorMatrix:
        if count == len(self.numbers):
            return self
        existing = session.scalars(select(Vector.id).where(Vector.space == self.space)).all()
        mask = np.isin(self.numbers, existing)
        return replace(
            self,
            numbers=self.numbers[mask],
            passages=self.passages[mask],
            places=self.places[mask],
            vectors=self.vectors[mask],
        )

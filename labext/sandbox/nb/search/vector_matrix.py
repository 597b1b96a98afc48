"""The passage vectors of one embedding model as a matrix in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from labext.sandbox.nb import errors
from labext.sandbox.nb.search.scope import Scope
from labext.sandbox.nb.tables import Passage, Vector

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class VectorMatrix:
    """The vectors of a space, row by row.

    Attributes:
        numbers: of the rows in the table, rising.
        passages: the passages'.
        parents: of what there are passages, and `places` in it, one a row.
        vectors: of shape (rows, dimensions), of length 1.
    """

    space: str
    numbers: Integers
    passages: Integers
    parents: tuple[str, ...]
    places: Integers
    vectors: Floats

    @classmethod
    def empty(cls, space: str) -> VectorMatrix:
        """Before anything was read."""
        none = np.zeros(0, np.int64)
        return cls(space, none, none, (), none, np.zeros((0, 0), np.float32))

    def current(self, session: Session) -> VectorMatrix:
        """The matrix as the table is now: this one, where nothing has changed."""
        last = int(self.numbers[-1]) if len(self.numbers) else 0
        here = Vector.space == self.space
        count, top = session.execute(select(func.count(), func.max(Vector.id)).where(here)).one()
        if (count, top or 0) == (len(self.numbers), last):
            return self
        return self._with_later(session, last)._without_gone(session, count)

    def similar(
        self, vector: Floats, scope: Scope, least: float, limit: int
    ) -> list[tuple[int, float]]:
        """The passages most like a vector, with the cosine of the two; the best first.

        Raises:
            HTTPException: 422, the model's vectors have another length than before.
        """
        likeness = self._likeness(vector)
        among = np.fromiter(map(scope.has, self.parents), bool, len(self.parents))
        found = np.flatnonzero(among[self.places] & (likeness >= least))
        if len(found) > limit:
            found = found[np.argpartition(-likeness[found], limit - 1)[:limit]]
        # Passages with equal texts are equally like it: then the earlier one.
        found = found[np.lexsort((self.passages[found], -likeness[found]))]
        return [(int(self.passages[row]), float(likeness[row])) for row in found]

    def similarities(self, vector: Floats, passages: list[int]) -> dict[int, float]:
        """How like a vector these passages are; without those that have no vector."""
        rows = np.flatnonzero(np.isin(self.passages, passages))
        likeness = self._likeness(vector)
        return {int(self.passages[row]): float(likeness[row]) for row in rows}

    def _likeness(self, vector: Floats) -> Floats:
        if not len(self.vectors):
            return np.zeros(0, np.float32)
        if self.vectors.shape[1:] != vector.shape:
            raise errors.not_configured(
                f"The embedding model {self.space} makes other vectors than before.",
                "Give the slot embedding another one, delete this one and add it again: "
                "`%nb models delete NAME --yes`.",
            )
        likeness: Floats = np.clip(self.vectors @ vector, -1, 1)
        return likeness

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
        vectors = np.frombuffer(b"".join(row[3] for row in rows), np.float32)
        vectors = vectors.reshape(len(rows), -1)
        return VectorMatrix(
            self.space,
            np.append(self.numbers, [row[0] for row in rows]),
            np.append(self.passages, [row[1] for row in rows]),
            tuple(places),
            np.append(self.places, new_places),
            np.concatenate([self.vectors, vectors]) if len(self.vectors) else vectors,
        )

    def _without_gone(self, session: Session, count: int) -> VectorMatrix:
        if count == len(self.numbers):
            return self
        there = session.scalars(select(Vector.id).where(Vector.space == self.space)).all()
        kept = np.isin(self.numbers, there)
        return VectorMatrix(
            self.space,
            self.numbers[kept],
            self.passages[kept],
            self.parents,
            self.places[kept],
            self.vectors[kept],
        )

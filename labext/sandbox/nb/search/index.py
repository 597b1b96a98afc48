"""What can be searched: passages put, removed and found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from labext.sandbox.nb.search.passages import Piece
from labext.sandbox.service import Site


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
        model: the identifier of the embedding model that made them.
    """
    raise NotImplementedError


def remove(session: Session, parent_ids: Collection[str]) -> None:
    """Remove the passages of sources and notes."""
    raise NotImplementedError


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
        raise NotImplementedError

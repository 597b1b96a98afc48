"""Store the vectors of passages, and create missing ones in a background task."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, delete, func, insert, select
from sqlalchemy.orm import Session

from labext.sandbox.core.database import Database, after_commit, count_rows
from labext.sandbox.core.queue import Task, TaskKind, TaskOutcome
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files, limits
from labext.sandbox.nb.embedding.embedder import Embedder, default_embedder, embedder_of_space
from labext.sandbox.nb.tables import Passage, Vector
from labext.sandbox.nb.task_process import open_site

if TYPE_CHECKING:
    from labext.sandbox.nb.embedding.embedder import Floats

MAX_FOREGROUND_PASSAGES = 128
"""Passages that get their vectors while somebody waits, whatever makes them."""


def serving_embedder(session: Session, site: Site) -> Embedder | None:
    """The embedder of the space that a search is made in now; None without an embedding model."""
    wanted = default_embedder(session, site)
    if wanted is None:
        return None
    if count_missing(session, wanted.id) <= MAX_FOREGROUND_PASSAGES:
        return wanted
    before = (
        embedder_of_space(session, site, space)
        for space in _other_spaces(session, wanted.id)
        if count_missing(session, space) <= MAX_FOREGROUND_PASSAGES
    )
    return next((embedder for embedder in before if embedder is not None), wanted)


def count_missing(session: Session, space: str) -> int:
    """How many passages have no vector in a space."""
    return count_rows(session, Passage) - count_rows(session, Vector, Vector.space == space)


def has_other_spaces(session: Session, space: str) -> bool:
    """Whether there are vectors in other spaces too."""
    return bool(_other_spaces(session, space))


def embed_missing(database: Database, embedder: Embedder, most: int | None = None) -> int:
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
            add_vectors(session, embedder.id, [number for number, _ in rows], vectors)
    return len(rows)


def add_vectors(session: Session, space: str, passage_ids: Sequence[int], vectors: Floats) -> None:
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


def _other_spaces(session: Session, space: str) -> list[str]:
    """The other spaces that have vectors, the fullest first."""
    others = select(Vector.space).where(Vector.space != space).group_by(Vector.space)
    return list(session.scalars(others.order_by(func.count().desc())))


EMBED_TASK = "nb.embed"
_BATCH_SIZE = 256


def embed_task_kind(site: Site) -> TaskKind:
    """The kind of the task."""
    return TaskKind(
        name=EMBED_TASK,
        entry="labext.sandbox.nb.embedding.passage_vectors:run",
        on_end=partial(_on_end, site),
        work=lambda _task: _embed_work_folder(site),
        memory=partial(limits.get_limit, name="embedding_memory"),
        limit=1,
    )


def queue_if_due(session: Session, site: Site) -> None:
    """See to it that passages get their vectors in the background, where that is due.

    To be called in the transaction that stores many passages or sets another embedding model; a
    search finds all passages without it, but may have to wait for their vectors.
    """
    if is_embedding_due(session, site) and not is_embedding_queued(session, site):
        site.queue.put(session, EMBED_TASK, EMBED_TASK, {})


def is_embedding_due(session: Session, site: Site) -> bool:
    """Whether there is more to do than a search does by the way."""
    wanted = default_embedder(session, site)
    if wanted is None:
        return False
    short = count_missing(session, wanted.id)
    return short > MAX_FOREGROUND_PASSAGES or (not short and has_other_spaces(session, wanted.id))


def is_embedding_queued(session: Session, site: Site) -> bool:
    """Whether the task waits or runs already."""
    return site.queue.find(session, EMBED_TASK) is not None


def run(work: Path, _payload: dict[str, Any]) -> dict[str, Any]:
    """Do what is due: the task's entry, in a process of its own."""
    with open_site(work) as site:
        return {"passages": _embed_all(site)}


def _embed_work_folder(site: Site) -> Path:
    return files.work_folder(site, "vectors")


def _embed_all(site: Site) -> int:
    with site.database.read() as session:
        wanted = default_embedder(session, site)
    if wanted is None:
        return 0
    made = 0
    while some := embed_missing(site.database, wanted, _BATCH_SIZE):
        made += some
    _remove_other_spaces(site, wanted)
    return made


def _remove_other_spaces(site: Site, wanted: Embedder) -> None:
    """Remove the vectors of the models before, once all passages have one of this."""
    with site.database.write(durable=False) as session:
        if not count_missing(session, wanted.id):
            session.execute(delete(Vector).where(Vector.space != wanted.id))


def _on_end(site: Site, session: Session, _task: Task, ending: TaskOutcome) -> None:
    """What became due meanwhile is done next; after a failure the next search asks again."""
    after_commit(session, partial(shutil.rmtree, _embed_work_folder(site), ignore_errors=True))
    if ending.outcome == "done":
        queue_if_due(session, site)

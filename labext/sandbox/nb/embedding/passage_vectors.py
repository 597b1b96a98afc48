"""Store the vectors of passages, and create missing ones in a background task."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, func, insert, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.messages import pluralize
from labext.sandbox.core.database import Database, after_commit, count_rows
from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.core.queue import Task, TaskKind, TaskOutcome
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files, limits
from labext.sandbox.nb.background_tasks import open_site
from labext.sandbox.nb.embedding.embedder import (
    Embedder,
    PassageEmbeddings,
    default_embedder,
    embedder_of_space,
)
from labext.sandbox.nb.settings import EMBEDDING_FAILURE, get_setting, set_setting
from labext.sandbox.nb.tables import Note, Passage, Source, TokenSigns, Vector

MAX_FOREGROUND_PASSAGES = 32
"""Maximum number of passages embedded within a request, or while a source is processed."""


def serving_embedder(session: Session, site: Site) -> Embedder | None:
    """Return the embedder to search with; None without an embedding model."""
    default = default_embedder(session, site)
    if default is None:
        return None
    if (
        not has_other_spaces(session, default.id)
        or count_missing(session, default.id) <= MAX_FOREGROUND_PASSAGES
    ):
        return default
    others = select(Vector.space).where(Vector.space != default.id).group_by(Vector.space)
    largest_first = session.scalars(others.order_by(func.count().desc())).all()
    previous = (
        embedder_of_space(session, site, space)
        for space in largest_first
        if count_missing(session, space) <= MAX_FOREGROUND_PASSAGES
    )
    return next((embedder for embedder in previous if embedder is not None), default)


def count_missing(session: Session, space: str) -> int:
    """Return the number of passages without a vector in a space."""
    return count_rows(session, Passage) - count_vectors(session, space)[0]


def count_vectors(session: Session, space: str) -> tuple[int, int]:
    """Return the number of vectors in a space, and the greatest of their identifiers or 0."""
    count = select(func.count()).select_from(Vector)
    # Separate queries for both ends read only the index, not the rows.
    queries = (*_ends_of_spaces(), count, select(func.max(Vector.id)))
    first, last, number, top = session.execute(
        select(*(query.scalar_subquery() for query in queries))
    ).one()
    if {first, last} <= {None, space}:
        return number, top or 0
    statement = select(func.count(), func.max(Vector.id)).where(Vector.space == space)
    number, top = session.execute(statement).one()  # much slower
    return number, top or 0


def has_other_spaces(session: Session, space: str) -> bool:
    """Return whether there are vectors in other spaces."""
    ends = session.execute(select(*(end.scalar_subquery() for end in _ends_of_spaces()))).one()
    return not {*ends} <= {None, space}


def _ends_of_spaces() -> tuple[Select[tuple[str]], Select[tuple[str]]]:
    """Return the queries of the first and the last space in the order of their names."""
    return select(func.min(Vector.space)), select(func.max(Vector.space))


def passage_context(title: str, heading: str) -> str:
    """Return the context of a passage that its vector covers, empty if it has none."""
    return f"{title}\n{heading}".strip()


def embed_missing(database: Database, embedder: Embedder, limit: int) -> int:
    """Embed passages without vectors, the newest first, and return their number."""
    title = func.coalesce(Source.title, Note.title, "")
    with database.read() as session:
        rows = session.execute(
            select(Passage.id, Passage.text, title, Passage.heading)
            .outerjoin(Source, Source.id == Passage.parent_id)
            .outerjoin(Note, Note.id == Passage.parent_id)
            .where(~_has_vector(embedder.id))
            .order_by(Passage.id.desc())
            .limit(limit)
        ).all()
    if rows:
        embeddings = embedder.embed_passages(
            [text for _, text, _, _ in rows],
            [passage_context(title, heading) for _, _, title, heading in rows],
        )
        with database.write(durable=False) as session:  # vectors can be recomputed
            add_embeddings(session, [row[0] for row in rows], embeddings)
    return len(rows)


def add_embeddings(
    session: Session, passage_ids: Sequence[int], embeddings: PassageEmbeddings
) -> None:
    """Store embeddings of passages, except those that were deleted or have one already."""
    if not passage_ids:
        return
    space = embeddings.space
    in_range = Passage.id.between(min(passage_ids), max(passage_ids))
    missing = set(session.scalars(select(Passage.id).where(in_range, ~_has_vector(space))))
    vectors = [
        {"passage_id": number, "space": space, "vector": vector.tobytes()}
        for number, vector in zip(passage_ids, embeddings.vectors, strict=True)
        if number in missing
    ]
    if vectors:
        session.execute(insert(Vector), vectors)
    present = select(TokenSigns.passage_id).where(TokenSigns.passage_id.in_(missing))
    missing -= set(session.scalars(present))
    signs = [
        {"passage_id": number, "signs": signs}
        for number, signs in zip(passage_ids, embeddings.token_signs, strict=False)
        if number in missing
    ]
    if signs:
        session.execute(insert(TokenSigns), signs)


def _has_vector(space: str) -> ColumnElement[bool]:
    return select(Vector.id).where(Vector.passage_id == Passage.id, Vector.space == space).exists()


EMBED_TASK = "nb.embed"
_BATCH_SIZE = 64


def embed_task_kind(site: Site) -> TaskKind:
    """Return the task kind that embeds passages."""
    return TaskKind(
        name=EMBED_TASK,
        entry="labext.sandbox.nb.embedding.passage_vectors:run",
        on_end=partial(_on_end, site),
        work=lambda _task: _embed_work_folder(site),
        memory=partial(limits.get_limit, name="embedding_memory"),
        limit=1,
    )


def queue_if_due(session: Session, site: Site) -> None:
    """Queue the embedding of passages in the background, if it is due.

    Call this in the transaction that stores many passages or changes the embedding model. Searches
    find all passages without it, but may have to wait for vectors.
    """
    if is_embedding_due(session, site) and not is_embedding_queued(session, site):
        site.queue.put(session, EMBED_TASK, EMBED_TASK, {})


def is_embedding_due(session: Session, site: Site) -> bool:
    """Return whether there is more to embed than a search does itself."""
    embedder = default_embedder(session, site)
    if embedder is None:
        return False
    missing = count_missing(session, embedder.id)
    return missing > MAX_FOREGROUND_PASSAGES or (
        not missing and has_other_spaces(session, embedder.id)
    )


def is_embedding_queued(session: Session, site: Site) -> bool:
    """Return whether the task is queued or running."""
    return site.queue.find(session, EMBED_TASK) is not None


def run(work: Path, _payload: dict[str, Any]) -> dict[str, Any]:
    """Embed all passages: the entry point of the task process."""
    total = 0
    with open_site(work) as site:
        with site.database.read() as session:
            embedder = default_embedder(session, site)
        if embedder is None:
            return {"passages": 0}
        try:
            while count := embed_missing(site.database, embedder, _BATCH_SIZE):
                total += count
        except HTTPException as error:
            raise TaskError(str(error.detail)) from None
        with site.database.write(durable=False) as session:
            if not count_missing(session, embedder.id):  # those of previous models are in no use
                session.execute(delete(Vector).where(Vector.space != embedder.id))
    return {"passages": total}


def failure_note(session: Session, missing: int, *, uses_previous: bool) -> str | None:
    """Return what a search tells if the last embedding in the background failed, else None.

    `missing` passages have no vector of the model that the search uses, maybe the previous one.
    """
    reason = get_setting(session, EMBEDDING_FAILURE)
    if reason is None:
        return None
    if uses_previous:
        return (
            "Searched with the vectors of the previous embedding model, as those of the new one "
            f"could not be computed: {reason}"
        )
    if missing > MAX_FOREGROUND_PASSAGES:
        return (
            f"Searched by words alone in {pluralize(missing, 'passage')}, as their vectors could "
            f"not be computed: {reason}"
        )
    return None


def _embed_work_folder(site: Site) -> Path:
    return files.work_folder(site, "vectors")


def _on_end(site: Site, session: Session, _task: Task, ending: TaskOutcome) -> None:
    """Queue the task again if more is due; after a failure, the next search does so."""
    after_commit(session, partial(shutil.rmtree, _embed_work_folder(site), ignore_errors=True))
    set_setting(session, EMBEDDING_FAILURE, ending.reason or None)
    if ending.outcome == "done":
        queue_if_due(session, site)

"""The background task that embeds the passages that have no vector of the embedding model yet."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import delete
from sqlalchemy.orm import Session

from labext.sandbox.database import after_commit
from labext.sandbox.nb import limits
from labext.sandbox.nb.processes import opened
from labext.sandbox.nb.search import spaces
from labext.sandbox.nb.search.embedding import Embedder, embedder_of
from labext.sandbox.nb.sources import folders
from labext.sandbox.nb.store import Vector
from labext.sandbox.queue import Ending, Kind, Task
from labext.sandbox.service import Site

EMBED = "nb.embed"
_BATCH = 256


def kind(site: Site) -> Kind:
    """The kind of the task."""
    return Kind(
        name=EMBED,
        entry="labext.sandbox.nb.search.renewal:run",
        on_end=partial(_ended, site),
        work=lambda _task: _work(site),
        memory=partial(limits.limit, name="embedding_memory"),
        limit=1,
    )


def renew(session: Session, site: Site) -> None:
    """See to it that passages get their vectors in the background, where that is due.

    To be called in the transaction that stores many passages or sets another embedding model; a
    search finds all passages without it, but may have to wait for their vectors.
    """
    if is_due(session, site) and not is_coming(session, site):
        site.queue.put(session, EMBED, EMBED, {})


def is_due(session: Session, site: Site) -> bool:
    """Whether there is more to do than a search does by the way."""
    wanted = embedder_of(session, site)
    if wanted is None:
        return False
    short = spaces.lacking(session, wanted.id)
    return short > spaces.AT_ONCE or (not short and spaces.has_others(session, wanted.id))


def is_coming(session: Session, site: Site) -> bool:
    """Whether the task waits or runs already."""
    return site.queue.find(session, EMBED) is not None


def run(work: Path, _payload: dict[str, Any]) -> dict[str, Any]:
    """Do what is due: the task's entry, in a process of its own."""
    with opened(work) as site:
        return {"passages": _renew(site)}


def _work(site: Site) -> Path:
    return folders.work(site, "vectors")


def _renew(site: Site) -> int:
    with site.database.read() as session:
        wanted = embedder_of(session, site)
    if wanted is None:
        return 0
    made = 0
    while some := spaces.fill(site.database, wanted, _BATCH):
        made += some
    _leave_only(site, wanted)
    return made


def _leave_only(site: Site, wanted: Embedder) -> None:
    """Remove the vectors of the models before, once all passages have one of this."""
    with site.database.write(durable=False) as session:
        if not spaces.lacking(session, wanted.id):
            session.execute(delete(Vector).where(Vector.space != wanted.id))


def _ended(site: Site, session: Session, _task: Task, ending: Ending) -> None:
    """What became due meanwhile is done next; after a failure the next search asks again."""
    after_commit(session, partial(shutil.rmtree, _work(site), ignore_errors=True))
    if ending.outcome == "done":
        renew(session, site)

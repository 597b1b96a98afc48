"""The task in the background that gives passages their vectors, and analyses the corpus anew.

It does whatever is due: there is nothing to tell it, and one of it is enough.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from labext.sandbox.database import after_commit, counted
from labext.sandbox.nb import limits
from labext.sandbox.nb.processes import opened
from labext.sandbox.nb.search import spaces
from labext.sandbox.nb.search.embedding import Embedder, Lsa, analysis_path, embedder_of
from labext.sandbox.nb.sources import folders
from labext.sandbox.nb.store import Making, Passage, Vector
from labext.sandbox.queue import Ending, Kind, Task
from labext.sandbox.service import Site

EMBED = "nb.embed"
_BATCH = 256
_CHANGED = 0.1
"""The part of the corpus that is new or gone, from which on it is analysed anew."""


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
    if isinstance(wanted, Lsa) and _is_stale(session, wanted):
        return True
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
        stale = isinstance(wanted, Lsa) and _is_stale(session, wanted)
    if wanted is None:
        return 0
    if stale:
        return _analyse(site)
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


def _is_stale(session: Session, lsa: Lsa) -> bool:
    """Whether the corpus has changed much since it was analysed."""
    making = session.scalars(select(Making).order_by(Making.id.desc()).limit(1)).first()
    passages = counted(session, Passage)
    if making is None or not lsa.is_made:
        return passages > 0
    later = counted(session, Passage, Passage.id > making.last)
    gone = making.passages - (passages - later)
    return later + gone > _CHANGED * making.passages


def _analyse(site: Site) -> int:
    """Analyse the corpus; the new space takes the old one's place whole, in one transaction."""
    from labext.sandbox.nb.search.lsa import Analysis

    with site.database.read() as session:
        rows = session.execute(select(Passage.id, Passage.text).order_by(Passage.id)).all()
    texts = [text for _, text in rows]
    analysis = Analysis.of(texts)
    vectors = analysis.embed(texts)
    with site.database.write() as session:
        making = Making(passages=len(rows), last=max((number for number, _ in rows), default=0))
        session.add(making)
        session.flush()
        path = analysis_path(site.folder, making.id)
        path.parent.mkdir(exist_ok=True)
        analysis.save(path)
        space = Lsa(site.folder, making.id).id
        spaces.add(session, space, [number for number, _ in rows], vectors)
        session.execute(delete(Vector).where(Vector.space != space))
    _forget_before(site, making.id)
    return len(rows)


def _forget_before(site: Site, making: int) -> None:
    """Remove earlier analyses; the last but one may still be read."""
    with site.database.write(durable=False) as session:
        session.execute(delete(Making).where(Making.id < making))
    for path in analysis_path(site.folder, making).parent.glob("*.npz"):
        if path.stem.isdigit() and int(path.stem) < making - 1:
            path.unlink(missing_ok=True)


def _ended(site: Site, session: Session, _task: Task, ending: Ending) -> None:
    """What became due meanwhile is done next; after a failure the next search asks again."""
    after_commit(session, partial(shutil.rmtree, _work(site), ignore_errors=True))
    if ending.outcome == "done":
        renew(session, site)

"""Sources that go: their rows, their passages, their files, and what is being done with them."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import delete
from sqlalchemy.orm import Session

from labext.sandbox.nb.ingestion import tasks
from labext.sandbox.nb.search import index
from labext.sandbox.nb.sources import folders, records
from labext.sandbox.nb.store import Source
from labext.sandbox.service import Site

KILL_SECONDS = 5.0
"""How long an answer waits for the processes to be gone."""


def remove(site: Site, session: Session, source_ids: Collection[str]) -> list[str]:
    """Remove sources in this transaction, and their original files once it stands.

    What a kill keeps it from removing then goes at the next start.

    Args:
        site: where they are kept.
        session: a writing one.
        source_ids: of sources that are there.

    Returns:
        The names of the tasks that were told to stop, for `Queue.wait_all` after the transaction.
    """
    index.remove(session, source_ids)
    session.execute(delete(Source).where(Source.id.in_(source_ids)))
    folders.remove_after_commit(session, site, source_ids)
    return site.queue.cancel_all(session, [tasks.key(each) for each in source_ids], "Deleted.")


def remove_one(site: Site, identifier: str) -> dict[str, str]:
    """Remove a source; says so.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        title = records.found(session, identifier).title
        stopped = remove(site, session, [identifier])
    site.queue.wait_all(site.database, stopped, KILL_SECONDS)
    return {"message": f"The source {title} is deleted."}

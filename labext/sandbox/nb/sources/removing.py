"""Sources that go: their rows, their passages, their files, and what is being done with them."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import delete
from sqlalchemy.orm import Session

from labext.sandbox.database import after_commit
from labext.sandbox.folder import remove as remove_file
from labext.sandbox.nb.search import index
from labext.sandbox.nb.store import Source
from labext.sandbox.service import Site


def remove(site: Site, session: Session, source_ids: Collection[str]) -> None:
    """Remove sources in this transaction, and their original files once it stands.

    Args:
        site: where they are kept.
        session: a writing one.
        source_ids: of sources that are there.
    """
    site.queue.cancel_all(session, [*source_ids], "deleted")
    index.remove(session, source_ids)
    session.execute(delete(Source).where(Source.id.in_(source_ids)))
    files = [site.folder / "originals" / each.rpartition(":")[2] for each in source_ids]

    def remove_files() -> None:
        for file in files:
            if file.exists():
                remove_file(file)

    after_commit(session, remove_files)

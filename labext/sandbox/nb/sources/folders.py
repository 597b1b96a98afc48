"""Where the service keeps sources' bytes, and how what no row stands for is cleared away.

<service>/originals/<id>   an uploaded file
<service>/incoming/…       a file while it is uploaded
<service>/work/<id>/       where the process of a source works
<service>/work/vectors/   where the one works that gives passages their vectors
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from functools import partial
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.database import after_commit
from labext.sandbox.nb.store import Source
from labext.sandbox.service import Site


def original(site: Site, identifier: str) -> Path:
    """The bytes of an upload."""
    return site.folder / "originals" / _last(identifier)


def work(site: Site, identifier: str) -> Path:
    """Where the process of a source, or of what has another name, works."""
    return site.folder / "work" / _last(identifier)


def incoming(site: Site) -> Path:
    """Where uploads are written until they are whole."""
    return site.folder / "incoming"


def prepare(site: Site) -> None:
    """Make the folders, and clear away what a kill has left: no row stands for it."""
    for name in ("incoming", "work"):
        shutil.rmtree(site.folder / name, ignore_errors=True)
    for name in ("incoming", "work", "originals"):
        (site.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    with site.database.read() as session:
        uploads = select(Source.id).where(Source.kind == "upload")
        kept = {_last(identifier) for identifier in session.scalars(uploads)}
    for file in (site.folder / "originals").iterdir():
        if file.name not in kept:
            file.unlink(missing_ok=True)


def remove_after_commit(session: Session, site: Site, identifiers: Collection[str]) -> None:
    """Remove what is kept of sources, once the transaction that deletes them stands."""
    for identifier in identifiers:
        after_commit(session, partial(original(site, identifier).unlink, missing_ok=True))
        after_commit(session, partial(shutil.rmtree, work(site, identifier), ignore_errors=True))


def _last(identifier: str) -> str:
    return identifier.rpartition(":")[2]

"""Where the notebook service keeps the files of sources.

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
from labext.sandbox.folder import entries
from labext.sandbox.nb.store import Source
from labext.sandbox.service import Site

ORIGINALS = "originals"
"""The folder of uploaded files; every entry belongs to a source."""


def original(site: Site, identifier: str) -> Path:
    """The bytes of an upload."""
    return site.folder / ORIGINALS / _last(identifier)


def work(site: Site, identifier: str) -> Path:
    """Where the process of a source, or of what has another name, works."""
    return site.folder / "work" / _last(identifier)


def incoming(site: Site) -> Path:
    """Where uploads are written until they are whole."""
    return site.folder / "incoming"


def prepare(site: Site) -> None:
    """Make the folders, and empty those for uploads and tasks that a kill has cut off."""
    for name in ("incoming", "work"):
        shutil.rmtree(site.folder / name, ignore_errors=True)
    for name in ("incoming", "work", ORIGINALS):
        (site.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)


def orphans(site: Site) -> Collection[Path]:
    """Return the uploaded files that have no source."""
    with site.database.read() as session:
        uploads = session.scalars(select(Source.id).where(Source.kind == "upload"))
        kept = {original(site, identifier) for identifier in uploads}
    return entries(site.folder / ORIGINALS) - kept


def remove_after_commit(session: Session, site: Site, identifiers: Collection[str]) -> None:
    """Remove what is kept of sources, once the transaction that deletes them stands."""
    for identifier in identifiers:
        after_commit(session, partial(original(site, identifier).unlink, missing_ok=True))
        after_commit(session, partial(shutil.rmtree, work(site, identifier), ignore_errors=True))


def _last(identifier: str) -> str:
    return identifier.rpartition(":")[2]

"""Notebooks made and changed, and what is in them."""

from __future__ import annotations

import time
from typing import Any

from labext.sandbox.nb import identifiers, limits
from labext.sandbox.nb.notebooks import finding
from labext.sandbox.nb.notebooks.bodies import ChangedNotebook, NewNotebook
from labext.sandbox.nb.sources import records as sources
from labext.sandbox.nb.store import Link, Notebook
from labext.sandbox.service import Site


def make(site: Site, wanted: NewNotebook) -> dict[str, Any]:
    """Make a notebook; its record.

    Raises:
        HTTPException: 413, its description is too long.
    """
    now = time.time()
    with site.database.write() as session:
        limits.check_text(session, wanted.description or "")
        made = Notebook(
            id=identifiers.new("notebook"),
            name=wanted.name,
            description=wanted.description or "",
            created=now,
            updated=now,
        )
        session.add(made)
        session.flush()
        return finding.shown(session, made.id)


def change(site: Site, identifier: str, wanted: ChangedNotebook) -> dict[str, Any]:
    """Change what is given of a notebook; its record.

    Raises:
        HTTPException: 404; 413, its description is too long.
    """
    given = wanted.model_dump(exclude_none=True)
    with site.database.write() as session:
        found = finding.notebook(session, identifier)
        limits.check_text(session, wanted.description or "")
        for name, value in given.items():
            setattr(found, name, value)
        if given:
            found.updated = time.time()
        session.flush()
        return finding.shown(session, identifier)


def link(site: Site, identifier: str, source_id: str) -> None:
    """Put a source into a notebook, unless it is there.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        finding.notebook(session, identifier)
        sources.found(session, source_id)
        session.merge(Link(notebook_id=identifier, source_id=source_id))


def unlink(site: Site, identifier: str, source_id: str) -> None:
    """Take a source out of a notebook, if it is there; the source stays.

    Raises:
        HTTPException: 404, there is no such notebook or source.
    """
    with site.database.write() as session:
        finding.notebook(session, identifier)
        sources.found(session, source_id)
        found = session.get(Link, (identifier, source_id))
        if found is not None:
            session.delete(found)

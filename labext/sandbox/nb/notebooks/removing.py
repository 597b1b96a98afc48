"""What goes with a notebook, and a notebook that goes.

The preview and the deletion count by the same function, each in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import Session, aliased

from labext.sandbox.database import counted
from labext.sandbox.nb.notebooks import finding
from labext.sandbox.nb.search import index
from labext.sandbox.nb.sources import removing as sources
from labext.sandbox.nb.store import ChatSession, Link, Note
from labext.sandbox.service import Site


@dataclass(frozen=True)
class Contents:
    """What is in a notebook.

    Attributes:
        notes: the identifiers of its notes.
        exclusive: of the sources that no other notebook uses.
        shared: of those that another one uses too.
        sessions: how many conversations there are about it.
    """

    notes: Sequence[str]
    exclusive: Sequence[str]
    shared: Sequence[str]
    sessions: int


def preview(site: Site, identifier: str) -> dict[str, Any]:
    """What would go with a notebook.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        found = finding.notebook(session, identifier)
        contents = _contents(session, identifier)
    return {
        "notebook_id": found.id,
        "notebook_name": found.name,
        "note_count": len(contents.notes),
        "exclusive_source_count": len(contents.exclusive),
        "shared_source_count": len(contents.shared),
        "session_count": contents.sessions,
    }


def delete(site: Site, identifier: str, *, delete_sources: bool) -> dict[str, Any]:
    """Delete a notebook with its notes and sessions, and perhaps the sources it alone uses.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        found = finding.notebook(session, identifier)
        contents = _contents(session, identifier)
        doomed = contents.exclusive if delete_sources else ()
        index.remove(session, contents.notes)
        session.delete(found)  # its links, notes and sessions go with it
        session.flush()
        stopped = sources.remove(site, session, doomed)
    site.queue.wait_all(site.database, stopped, sources.KILL_SECONDS)
    return {
        "message": f"The notebook {found.name} is deleted.",
        "deleted_notes": len(contents.notes),
        "deleted_sources": len(doomed),
        "unlinked_sources": len(contents.exclusive) + len(contents.shared) - len(doomed),
        "deleted_chat_sessions": contents.sessions,
    }


def _contents(session: Session, identifier: str) -> Contents:
    elsewhere = aliased(Link)
    used = exists().where(
        elsewhere.source_id == Link.source_id, elsewhere.notebook_id != identifier
    )
    rows = session.execute(select(Link.source_id, used).where(Link.notebook_id == identifier))
    sources = [(source_id, bool(shared)) for source_id, shared in rows]
    return Contents(
        notes=session.scalars(select(Note.id).where(Note.notebook_id == identifier)).all(),
        exclusive=[source_id for source_id, shared in sources if not shared],
        shared=[source_id for source_id, shared in sources if shared],
        sessions=counted(session, ChatSession, ChatSession.notebook_id == identifier),
    )

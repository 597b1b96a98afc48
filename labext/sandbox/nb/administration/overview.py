"""How the service is set up, and how much is in it."""

from __future__ import annotations

from sqlalchemy import func, select

from labext.sandbox.database import counted
from labext.sandbox.nb import settings
from labext.sandbox.nb.administration import Administration, Record
from labext.sandbox.nb.store import (
    COMPLETED,
    FAILED,
    NEW,
    RUNNING,
    ChatSession,
    Default,
    Note,
    Notebook,
    Source,
)


def status(admin: Administration) -> Record:
    """Where the service is, its settings, its numbers, and its models by their slots."""
    with admin.database.read() as session:
        by_status = session.execute(select(Source.status, func.count()).group_by(Source.status))
        sources = dict.fromkeys((NEW, RUNNING, COMPLETED, FAILED), 0)
        for state, number in by_status:
            sources[state] = number
        slots = session.scalars(select(Default).order_by(Default.slot))
        return {
            "running": admin.running,
            "base_url": f"{admin.site.origin}/api" if admin.site.origin else "",
            "password": settings.value(session, settings.PASSWORD) is not None,
            "private_fetches": settings.private_fetches(session),
            "notebooks": counted(session, Notebook),
            "sources": sources,
            "notes": counted(session, Note),
            "sessions": counted(session, ChatSession),
            "models": {default.slot: default.model_id for default in slots},
        }

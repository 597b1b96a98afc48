"""The material of a notebook that there is to talk about, and how much it is.

Source of the shapes: real services, section nb (chat context).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from labext.sandbox.nb import faults
from labext.sandbox.nb.chat.bodies import ContextConfig, WantedContext
from labext.sandbox.nb.chat.sessions import session_of
from labext.sandbox.nb.notebooks.finding import notebook
from labext.sandbox.nb.sources import records
from labext.sandbox.nb.store import Insight, Link, Note, Source
from labext.sandbox.service import Site

LETTERS_A_TOKEN = 4
"""An estimate that holds for English and for most models."""

FULL, INSIGHTS = "full content", "insights"


def context(site: Site, wanted: WantedContext) -> dict[str, Any]:
    """The material, with the number of its characters and about how many tokens they are.

    Raises:
        HTTPException: 400, neither a session nor a notebook is named; 404, it is not there.
    """
    config = wanted.context_config or ContextConfig()
    with site.database.read() as session:
        notebook_id = _notebook_id(session, wanted)
        chosen = config.sources is not None or config.notes is not None
        sources, notes = [], []
        if _is_included(wanted.include_sources, config.include_sources):
            parts = (config.sources or {}) if chosen else None
            sources = _sources(session, notebook_id, parts)
        if _is_included(wanted.include_notes, config.include_notes):
            parts = (config.notes or {}) if chosen else None
            notes = _notes(session, notebook_id, parts)
    size = sum(map(_letters, (*sources, *notes)))
    return {
        "context": {"sources": sources, "notes": notes},
        "token_count": -(-size // LETTERS_A_TOKEN),
        "char_count": size,
    }


def _notebook_id(session: Session, wanted: WantedContext) -> str:
    if wanted.session_id is not None:
        return session_of(session, wanted.session_id).notebook_id
    if wanted.notebook_id is None:
        raise faults.invalid("Name a session by session_id, or a notebook by notebook_id.")
    return notebook(session, wanted.notebook_id).id


def _is_included(*said: bool | None) -> bool:
    return False not in said


def _sources(
    session: Session, notebook_id: str, parts: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    """The notebook's sources with their insights, and with their text where it is wanted."""
    linked = select(Source).join(Link).where(Link.notebook_id == notebook_id)
    linked = linked.options(undefer(Source.full_text)).order_by(Source.created, Source.id)
    insights = _insights(session, notebook_id)
    found = []
    for source in session.scalars(linked):
        part = FULL if parts is None else parts.get(source.id, "")
        if part in (FULL, INSIGHTS):
            record = {
                "id": source.id,
                "title": source.title,
                "insights": insights.get(source.id, []),
            }
            found.append(record | {"full_text": source.full_text or ""} if part == FULL else record)
    return found


def _insights(session: Session, notebook_id: str) -> dict[str, list[dict[str, Any]]]:
    """What models have made of each of a notebook's sources, by the source."""
    made = select(Insight).join(Link, Link.source_id == Insight.source_id)
    made = made.where(Link.notebook_id == notebook_id).order_by(Insight.created, Insight.id)
    found: dict[str, list[dict[str, Any]]] = {}
    for each in session.scalars(made):
        found.setdefault(each.source_id, []).append(records.insight(each))
    return found


def _notes(
    session: Session, notebook_id: str, parts: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    here = select(Note).where(Note.notebook_id == notebook_id).order_by(Note.created, Note.id)
    return [
        {"id": note.id, "title": note.title, "content": note.content}
        for note in session.scalars(here)
        if parts is None or parts.get(note.id) == FULL
    ]


def _letters(record: Mapping[str, Any]) -> int:
    """The characters of a record's texts."""
    texts: Iterable[str | None] = (
        record["title"],
        record.get("full_text"),
        record.get("content"),
        *(each["content"] for each in record.get("insights", ())),
    )
    return sum(len(text or "") for text in texts)

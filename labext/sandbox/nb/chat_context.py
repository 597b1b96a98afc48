"""The context of a chat: the parts of a notebook that a model gets, and its size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Literal

from fastapi import APIRouter
from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.nb import errors
from labext.sandbox.nb.queries import load
from labext.sandbox.nb.schemas import Identifier, Record, RequestBody
from labext.sandbox.nb.sources.schemas import InsightRecord
from labext.sandbox.nb.tables import ChatSession, Insight, Note, Notebook, NotebookSource, Source

ContextPart = Literal["full content", "insights", "not in context"]
"""The part of a source or note in the context (NB-163)."""


class ContextConfig(RequestBody):
    """The parts of a context, by identifier or kind; if any is named, only those are included."""

    sources: dict[Identifier, ContextPart] | None = None
    notes: dict[Identifier, ContextPart] | None = None
    include_sources: bool | None = None
    include_notes: bool | None = None


class ContextRequest(RequestBody):
    """The notebook of a context: that of a session, or a given one."""

    session_id: Identifier | None = None
    notebook_id: Identifier | None = None
    context_config: ContextConfig | None = None
    include_sources: bool | None = None
    include_notes: bool | None = None


class ContextMaterial(Record):
    """The sources and notes of a context."""

    sources: list[dict[str, Any]]
    notes: list[dict[str, Any]]


class ContextRecord(Record):
    """A context and its size; `token_count` is an estimate."""

    context: ContextMaterial
    token_count: int
    char_count: int


CHARACTERS_PER_TOKEN = 4
"""An estimate for English text and most models."""

FULL_CONTENT, INSIGHTS = "full content", "insights"

router = APIRouter()


@router.post("/chat/context", response_model=ContextRecord)
def post_context(site: SiteDep, body: ContextRequest) -> dict[str, Any]:
    """Get the context material of a notebook and its size."""
    config = body.context_config or ContextConfig()
    with site.database.read() as session:
        if body.session_id is not None:
            notebook_id = load(session, ChatSession, body.session_id).notebook_id
        elif body.notebook_id is not None:
            notebook_id = load(session, Notebook, body.notebook_id).id
        else:
            raise errors.bad_request("Name a session by session_id, or a notebook by notebook_id.")
        chosen = config.sources is not None or config.notes is not None
        sources, notes = [], []
        if False not in (body.include_sources, config.include_sources):
            parts = (config.sources or {}) if chosen else None
            sources = _source_entries(session, notebook_id, parts)
        if False not in (body.include_notes, config.include_notes):
            parts = (config.notes or {}) if chosen else None
            notes = _note_entries(session, notebook_id, parts)
    texts = [text for entry in sources for text in (entry["title"], entry.get("full_text"))]
    texts += [insight["content"] for entry in sources for insight in entry["insights"]]
    texts += [text for entry in notes for text in (entry["title"], entry["content"])]
    size = sum(len(text or "") for text in texts)
    return {
        "context": {"sources": sources, "notes": notes},
        "token_count": -(-size // CHARACTERS_PER_TOKEN),
        "char_count": size,
    }


def _source_entries(
    session: Session, notebook_id: str, parts: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    """Return the notebook's sources with their insights, and with full text where requested."""
    of_notebook = NotebookSource.notebook_id == notebook_id
    insights: dict[str, list[dict[str, Any]]] = defaultdict(list)
    query = select(Insight).join(NotebookSource, NotebookSource.source_id == Insight.source_id)
    for insight in session.scalars(query.where(of_notebook).order_by(Insight.created, Insight.id)):
        record = InsightRecord.model_validate(insight).model_dump(exclude={"source_id"})
        insights[insight.source_id].append(record)
    linked = select(Source).join(NotebookSource).where(of_notebook)
    linked = linked.options(undefer(Source.full_text)).order_by(Source.created, Source.id)
    entries = []
    for source in session.scalars(linked):
        part = FULL_CONTENT if parts is None else parts.get(source.id, "")
        if part in (FULL_CONTENT, INSIGHTS):
            entry = {"id": source.id, "title": source.title, "insights": insights[source.id]}
            full_text = {"full_text": source.full_text or ""} if part == FULL_CONTENT else {}
            entries.append(entry | full_text)
    return entries


def _note_entries(
    session: Session, notebook_id: str, parts: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    query = select(Note).where(Note.notebook_id == notebook_id).order_by(Note.created, Note.id)
    return [
        {"id": note.id, "title": note.title, "content": note.content}
        for note in session.scalars(query)
        if parts is None or parts.get(note.id) == FULL_CONTENT
    ]

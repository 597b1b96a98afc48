"""Chat sessions, their messages, and the context that a model is given."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakValueDictionary
from zlib import crc32

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from labext.sandbox.core.data_folder import FileLock
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.ask.answers import (
    Answer,
    ChatTurn,
    MarkRemover,
    mention_unprocessed,
    resolve_query,
)
from labext.sandbox.nb.ask.service import create_writer
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.chat.schemas import (
    ContextConfig,
    ContextRequest,
    ContextSelection,
    NewMessage,
)
from labext.sandbox.nb.crud import load
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.providers.usage import Monitor, Usage
from labext.sandbox.nb.search.index import Hit, SearchIndex
from labext.sandbox.nb.search.scope import Scope, check_identifiers_exist, count_unprocessed
from labext.sandbox.nb.sources.schemas import InsightRecord
from labext.sandbox.nb.tables import (
    ChatSession,
    Insight,
    Message,
    Model,
    Note,
    Notebook,
    NotebookSource,
    Source,
)

HUMAN, AI = "human", "ai"


def check_model(session: Session, identifier: str | None) -> None:
    """Check that a model, if one is given, can chat.

    Raises:
        HTTPException: 404 if it does not exist; 422 if it is not of type `llm`.
    """
    if identifier is not None:
        registry.get_model(session, identifier, registry.LLM)


MAX_PASSAGES = 10
"""Maximum number of passages that a message is answered from."""


LOCK_FILES = 256
LOCK_POLL_SECONDS = 0.05


class SessionLocks:
    """Locks that serialize the answers within each session.

    On PostgreSQL also among the processes of the service, by a lock on a file: it is released when
    its process ends. Sessions share a few files, which are kept.
    """

    def __init__(self, site: Site) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._folder = site.folder / "work" / "sessions" if site.database.is_postgresql else None

    @asynccontextmanager
    async def of(self, session_id: str) -> AsyncIterator[None]:
        """Hold the lock of a session."""
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock, self._among_processes(session_id):
            yield

    @asynccontextmanager
    async def _among_processes(self, session_id: str) -> AsyncIterator[None]:
        if self._folder is None:
            yield
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(self._folder / f"{crc32(session_id.encode()) % LOCK_FILES}.lock")
        while not lock.acquire():
            await asyncio.sleep(LOCK_POLL_SECONDS)
        try:
            yield
        finally:
            lock.release()


def answer_message(
    site: Site,
    index: SearchIndex,
    new: NewMessage,
    cancel_token: CancelToken,
    monitor: Monitor,
) -> dict[str, Any]:
    """Answer a message and return all messages of the session.

    The monitor receives the words of the answer, without its citation marks.

    Raises:
        HTTPException: 404 if the session, model, a source or a note does not exist; 422 if no model
            is set or it can't chat; 502 if the model's server failed.
        CallCancelledError: if the call was cancelled.
    """
    cancel_token.check()
    asked_at = time.time()
    with site.database.read() as session:
        chat_session = load(session, ChatSession, new.session_id)
        model = _select_model(session, chat_session, new.model_override)
        history = [ChatTurn(item.kind == HUMAN, item.content) for item in chat_session.messages]
        selection = new.context or ContextSelection()
        check_identifiers_exist(session, selection.source_ids, selection.note_ids)
        scope = _notebook_scope(session, chat_session.notebook_id, selection)
        unprocessed = count_unprocessed(session, Scope(*scope))
    hits = _find_passages(index, resolve_query(history, new.message), *scope)
    if monitor.on_words is not None:
        monitor = Monitor(monitor.usage, MarkRemover(monitor.on_words).feed)
    writer = create_writer(site, model, cancel_token, monitor)
    answer = mention_unprocessed(writer.talk(history, new.message, hits), unprocessed)
    cancel_token.check()
    return _store_messages(site, new, asked_at, answer, writer.name, monitor.usage)


def _select_model(session: Session, chat_session: ChatSession, override: str | None) -> Model:
    """Return the model of the request, or else of the session, or else of the slot."""
    if override is not None or chat_session.model_override is None:
        return registry.select_model(session, "chat", override)
    model = session.get(Model, chat_session.model_override)
    if model is None:
        raise errors.not_configured(
            f"The session's model {chat_session.model_override} no longer exists. Give the session "
            "another `model_override`, or null for the default."
        )
    return registry.get_model(session, model.id, registry.LLM)


def _notebook_scope(
    session: Session, notebook_id: str, selection: ContextSelection
) -> tuple[Collection[str], Collection[str]]:
    """Return the identifiers of the notebook's sources and notes that are searched."""
    linked = session.scalars(
        select(NotebookSource.source_id).where(NotebookSource.notebook_id == notebook_id)
    )
    notes = session.scalars(select(Note.id).where(Note.notebook_id == notebook_id))
    source_ids = linked if selection.include_sources is not False else ()
    note_ids = notes if selection.include_notes is not False else ()
    if selection.source_ids is None and selection.note_ids is None:
        return frozenset(source_ids), frozenset(note_ids)
    return (
        frozenset(source_ids) & frozenset(selection.source_ids or ()),
        frozenset(note_ids) & frozenset(selection.note_ids or ()),
    )


def _find_passages(
    index: SearchIndex, question: str, source_ids: Collection[str], note_ids: Collection[str]
) -> list[Hit]:
    if not source_ids and not note_ids:
        return []
    hits = index.find(
        question, "hybrid", limit=MAX_PASSAGES, source_ids=source_ids, note_ids=note_ids
    )
    return [hit for hit in hits if hit.is_citable]


def _store_messages(
    site: Site, new: NewMessage, asked_at: float, answer: Answer, writer_name: str, usage: Usage
) -> dict[str, Any]:
    with site.database.write() as session:
        chat_session = load(
            session, ChatSession, new.session_id
        )  # raises if it was deleted meanwhile
        chat_session.updated = now = time.time()
        question = Message(kind=HUMAN, content=new.message, citations=[], created=asked_at)
        reply = Message(
            kind=AI,
            content=answer.text,
            citations=[citation.record() for citation in answer.citations],
            model=writer_name,
            usage=usage.record(),
            created=now,
        )
        messages = chat_session.messages
        messages += [question, reply]
    return {"session_id": new.session_id, "messages": messages}


CHARACTERS_PER_TOKEN = 4
"""An estimate for English text and most models."""

FULL_CONTENT, INSIGHTS = "full content", "insights"


def build_context(site: Site, request: ContextRequest) -> dict[str, Any]:
    """Return the context material with its number of characters and estimated tokens.

    Raises:
        HTTPException: 400 if neither a session nor a notebook is named; 404 if it does not exist.
    """
    config = request.context_config or ContextConfig()
    with site.database.read() as session:
        notebook_id = _notebook_id(session, request)
        chosen = config.sources is not None or config.notes is not None
        sources, notes = [], []
        if _is_included(request.include_sources, config.include_sources):
            parts = (config.sources or {}) if chosen else None
            sources = _source_entries(session, notebook_id, parts)
        if _is_included(request.include_notes, config.include_notes):
            parts = (config.notes or {}) if chosen else None
            notes = _note_entries(session, notebook_id, parts)
    size = sum(map(_count_characters, (*sources, *notes)))
    return {
        "context": {"sources": sources, "notes": notes},
        "token_count": -(-size // CHARACTERS_PER_TOKEN),
        "char_count": size,
    }


def _notebook_id(session: Session, request: ContextRequest) -> str:
    if request.session_id is not None:
        return load(session, ChatSession, request.session_id).notebook_id
    if request.notebook_id is None:
        raise errors.bad_request("Name a session by session_id, or a notebook by notebook_id.")
    return load(session, Notebook, request.notebook_id).id


def _is_included(*flags: bool | None) -> bool:
    return False not in flags


def _source_entries(
    session: Session, notebook_id: str, parts: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    """Return the notebook's sources with their insights, and with full text where requested."""
    linked = select(Source).join(NotebookSource).where(NotebookSource.notebook_id == notebook_id)
    linked = linked.options(undefer(Source.full_text)).order_by(Source.created, Source.id)
    insights = _insights_by_source(session, notebook_id)
    entries = []
    for source in session.scalars(linked):
        part = FULL_CONTENT if parts is None else parts.get(source.id, "")
        if part in (FULL_CONTENT, INSIGHTS):
            record = {
                "id": source.id,
                "title": source.title,
                "insights": insights.get(source.id, []),
            }
            entries.append(
                record | {"full_text": source.full_text or ""} if part == FULL_CONTENT else record
            )
    return entries


def _insights_by_source(session: Session, notebook_id: str) -> dict[str, list[dict[str, Any]]]:
    """Return the insights of a notebook's sources, by source."""
    query = select(Insight).join(NotebookSource, NotebookSource.source_id == Insight.source_id)
    query = query.where(NotebookSource.notebook_id == notebook_id).order_by(
        Insight.created, Insight.id
    )
    by_source: dict[str, list[dict[str, Any]]] = {}
    for insight in session.scalars(query):
        record = InsightRecord.model_validate(insight).model_dump(exclude={"source_id"})
        by_source.setdefault(insight.source_id, []).append(record)
    return by_source


def _note_entries(
    session: Session, notebook_id: str, parts: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    query = select(Note).where(Note.notebook_id == notebook_id).order_by(Note.created, Note.id)
    return [
        {"id": note.id, "title": note.title, "content": note.content}
        for note in session.scalars(query)
        if parts is None or parts.get(note.id) == FULL_CONTENT
    ]


def _count_characters(record: Mapping[str, Any]) -> int:
    """Return the number of characters of a record's texts."""
    texts: Iterable[str | None] = (
        record["title"],
        record.get("full_text"),
        record.get("content"),
        *(insight["content"] for insight in record.get("insights", ())),
    )
    return sum(len(text or "") for text in texts)

"""Chat sessions, their messages, and the context that a model is given."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from weakref import WeakValueDictionary

from sqlalchemy import func, select
from sqlalchemy.orm import Session, undefer

from labext.sandbox.core.database import count_rows
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, tables
from labext.sandbox.nb.ask.answers import Answer, ChatTurn, mention_unprocessed, resolve_query
from labext.sandbox.nb.ask.service import create_writer
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.chat.schemas import (
    ContextConfig,
    ContextRequest,
    ContextSelection,
    NewMessage,
    NewSession,
    SessionUpdate,
)
from labext.sandbox.nb.dependencies import format_time
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.queries import get_notebook
from labext.sandbox.nb.search.index import Hit, SearchIndex
from labext.sandbox.nb.search.scope import Scope, check_identifiers_exist, count_unprocessed
from labext.sandbox.nb.sources import service
from labext.sandbox.nb.tables import (
    ChatSession,
    Insight,
    Message,
    Model,
    Note,
    NotebookSource,
    Source,
)

HUMAN, AI = "human", "ai"


def load_session(session: Session, identifier: str) -> ChatSession:
    """Return a chat session by its identifier.

    Raises:
        HTTPException: 404.
    """
    chat_session = session.get(ChatSession, identifier)
    if chat_session is None:
        raise errors.not_found("chat session", identifier)
    return chat_session


def load_messages(session: Session, identifier: str) -> list[Message]:
    """Return the messages of a session, in order."""
    query = select(Message).where(Message.session_id == identifier)
    return list(session.scalars(query.order_by(Message.id)))


def list_sessions(site: Site, notebook_id: str | None) -> list[dict[str, Any]]:
    """Return the records of all sessions or of a notebook's, the last used first.

    Raises:
        HTTPException: 404 if the notebook does not exist.
    """
    message_count = (
        select(func.count()).where(Message.session_id == ChatSession.id).scalar_subquery()
    )
    query = select(ChatSession, message_count).order_by(ChatSession.updated.desc(), ChatSession.id)
    with site.database.read() as session:
        if notebook_id is not None:
            get_notebook(session, notebook_id)
            query = query.where(ChatSession.notebook_id == notebook_id)
        return [
            _session_record(chat_session, count) for chat_session, count in session.execute(query)
        ]


def get_session(site: Site, identifier: str) -> dict[str, Any]:
    """Return a session's record with its messages.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        chat_session = load_session(session, identifier)
        messages = [message_record(message) for message in load_messages(session, identifier)]
    return _session_record(chat_session, len(messages)) | {"messages": messages}


def create_session(site: Site, new: NewSession) -> dict[str, Any]:
    """Create a session; the default title is numbered within the notebook.

    Raises:
        HTTPException: 404 if the notebook or model does not exist; 422 if the model can't chat.
    """
    with site.database.write() as session:
        get_notebook(session, new.notebook_id)
        _check_model(session, new.model_override)
        number = 1 + count_rows(session, ChatSession, ChatSession.notebook_id == new.notebook_id)
        now = time.time()
        chat_session = ChatSession(
            id=tables.new_identifier("chat_session"),
            notebook_id=new.notebook_id,
            title=new.title or f"Chat {number}",
            model_override=new.model_override,
            created=now,
            updated=now,
        )
        session.add(chat_session)
    return _session_record(chat_session, 0)


def update_session(site: Site, identifier: str, update: SessionUpdate) -> dict[str, Any]:
    """Change the given fields of a session and return its record.

    Raises:
        HTTPException: 404 if the session or model does not exist; 422 if the model can't chat; 400
            if the title is empty.
    """
    with site.database.write() as session:
        chat_session = load_session(session, identifier)
        if update.title is not None:
            if not update.title:
                raise errors.bad_request("title: can't be empty")
            chat_session.title = update.title
        if "model_override" in update.model_fields_set:
            _check_model(session, update.model_override)
            chat_session.model_override = update.model_override
        if update.title is not None or "model_override" in update.model_fields_set:
            chat_session.updated = time.time()
        message_count = count_rows(session, Message, Message.session_id == identifier)
    return _session_record(chat_session, message_count)


def delete_session(site: Site, identifier: str) -> None:
    """Delete a session with its messages.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        session.delete(load_session(session, identifier))


def message_record(message: Message) -> dict[str, Any]:
    """Return a message's record."""
    return {
        "id": str(message.id),
        "type": message.kind,
        "content": message.content,
        "citations": message.citations,
        "model": message.model,
        "timestamp": format_time(message.created),
    }


def _check_model(session: Session, identifier: str | None) -> None:
    if identifier is not None:
        registry.get_model(session, identifier, registry.LLM)


def _session_record(chat_session: ChatSession, messages: int) -> dict[str, Any]:
    return {
        "id": chat_session.id,
        "notebook_id": chat_session.notebook_id,
        "title": chat_session.title,
        "model_override": chat_session.model_override,
        "created_at": format_time(chat_session.created),
        "updated_at": format_time(chat_session.updated),
        "message_count": messages,
    }


MAX_PASSAGES = 10
"""Maximum number of passages that a message is answered from."""


class SessionLocks:
    """Locks that serialize the answers within each session."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, session_id: str) -> asyncio.Lock:
        """Return the lock of a session."""
        return self._locks.setdefault(session_id, asyncio.Lock())


def answer_message(
    site: Site, index: SearchIndex, new: NewMessage, cancel_token: CancelToken
) -> dict[str, Any]:
    """Answer a message and return all messages of the session.

    Raises:
        HTTPException: 404 if the session, model, a source or a note does not exist; 422 if no model
            is set or it can't chat; 502 if the model's server failed.
        CallCancelledError: if the call was cancelled.
    """
    cancel_token.check()
    asked_at = time.time()
    with site.database.read() as session:
        chat_session = load_session(session, new.session_id)
        model = _select_model(session, chat_session, new.model_override)
        history = [
            ChatTurn(m.kind == HUMAN, m.content) for m in load_messages(session, chat_session.id)
        ]
        selection = new.context or ContextSelection()
        check_identifiers_exist(session, selection.source_ids, selection.note_ids)
        scope = _notebook_scope(session, chat_session.notebook_id, selection)
        unprocessed = count_unprocessed(session, Scope(*scope))
    hits = _find_passages(index, resolve_query(history, new.message), *scope)
    writer = create_writer(site, model, cancel_token)
    answer = mention_unprocessed(writer.talk(history, new.message, hits), unprocessed)
    cancel_token.check()
    return _store_messages(site, new, asked_at, answer, writer.name)


def _select_model(session: Session, chat_session: ChatSession, override: str | None) -> Model:
    """Return the model of the request, or else of the session, or else of the slot."""
    if override is not None or chat_session.model_override is None:
        return registry.select_model(session, "chat", override)
    model = session.get(Model, chat_session.model_override)
    if model is None:
        raise errors.not_configured(
            f"The session's model {chat_session.model_override} is there no more. Give the session "
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
    return index.find(
        question, "both", limit=MAX_PASSAGES, source_ids=source_ids, note_ids=note_ids
    )


def _store_messages(
    site: Site, new: NewMessage, asked_at: float, answer: Answer, writer_name: str
) -> dict[str, Any]:
    with site.database.write() as session:
        chat_session = load_session(session, new.session_id)  # raises if it was deleted meanwhile
        chat_session.updated = now = time.time()
        here = {"session_id": chat_session.id}
        session.add(Message(kind=HUMAN, content=new.message, created=asked_at, **here))
        session.flush()
        citations = [citation.record() for citation in answer.citations]
        session.add(
            Message(
                kind=AI,
                content=answer.text,
                citations=citations,
                model=writer_name,
                created=now,
                **here,
            )
        )
        session.flush()
        messages = [message_record(message) for message in load_messages(session, chat_session.id)]
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
        return load_session(session, request.session_id).notebook_id
    if request.notebook_id is None:
        raise errors.bad_request("Name a session by session_id, or a notebook by notebook_id.")
    return get_notebook(session, request.notebook_id).id


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
        by_source.setdefault(insight.source_id, []).append(service.insight_record(insight))
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

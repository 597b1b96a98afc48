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
    """The chat session of an identifier.

    Raises:
        HTTPException: 404.
    """
    found = session.get(ChatSession, identifier)
    if found is None:
        raise errors.not_found("chat session", identifier)
    return found


def load_messages(session: Session, identifier: str) -> list[Message]:
    """What was said in a session, in its order."""
    here = select(Message).where(Message.session_id == identifier)
    return list(session.scalars(here.order_by(Message.id)))


def list_sessions(site: Site, notebook_id: str | None) -> list[dict[str, Any]]:
    """The records of all sessions, or of a notebook's; the last used first.

    Raises:
        HTTPException: 404, there is no such notebook.
    """
    many = select(func.count()).where(Message.session_id == ChatSession.id).scalar_subquery()
    wanted = select(ChatSession, many).order_by(ChatSession.updated.desc(), ChatSession.id)
    with site.database.read() as session:
        if notebook_id is not None:
            get_notebook(session, notebook_id)
            wanted = wanted.where(ChatSession.notebook_id == notebook_id)
        return [_session_record(found, count) for found, count in session.execute(wanted)]


def get_session(site: Site, identifier: str) -> dict[str, Any]:
    """A session's record with its messages.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        found = load_session(session, identifier)
        said = [message_record(each) for each in load_messages(session, identifier)]
    return _session_record(found, len(said)) | {"messages": said}


def create_session(site: Site, wanted: NewSession) -> dict[str, Any]:
    """Make a session; without a title it gets a number among its notebook's.

    Raises:
        HTTPException: 404, there is no such notebook or model; 422, the model can't chat.
    """
    with site.database.write() as session:
        get_notebook(session, wanted.notebook_id)
        _check_model(session, wanted.model_override)
        number = 1 + count_rows(session, ChatSession, ChatSession.notebook_id == wanted.notebook_id)
        now = time.time()
        made = ChatSession(
            id=tables.new_identifier("chat_session"),
            notebook_id=wanted.notebook_id,
            title=wanted.title or f"Chat {number}",
            model_override=wanted.model_override,
            created=now,
            updated=now,
        )
        session.add(made)
    return _session_record(made, 0)


def update_session(site: Site, identifier: str, wanted: SessionUpdate) -> dict[str, Any]:
    """Change what is given of a session; its record.

    Raises:
        HTTPException: 404, there is no such session or model; 422, the model can't chat; 400, an
            empty title.
    """
    with site.database.write() as session:
        found = load_session(session, identifier)
        if wanted.title is not None:
            if not wanted.title:
                raise errors.bad_request("title: can't be empty")
            found.title = wanted.title
        if "model_override" in wanted.model_fields_set:
            _check_model(session, wanted.model_override)
            found.model_override = wanted.model_override
        if wanted.title is not None or "model_override" in wanted.model_fields_set:
            found.updated = time.time()
        many = count_rows(session, Message, Message.session_id == identifier)
    return _session_record(found, many)


def delete_session(site: Site, identifier: str) -> None:
    """Delete a session with what was said in it.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        session.delete(load_session(session, identifier))


def message_record(message: Message) -> dict[str, Any]:
    """A message as it is answered."""
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


def _session_record(found: ChatSession, messages: int) -> dict[str, Any]:
    return {
        "id": found.id,
        "notebook_id": found.notebook_id,
        "title": found.title,
        "model_override": found.model_override,
        "created_at": format_time(found.created),
        "updated_at": format_time(found.updated),
        "message_count": messages,
    }


MAX_PASSAGES = 10
"""That a message is answered from, at most."""


class SessionLocks:
    """Whose turn it is: the messages of a session are answered one after the other."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, session_id: str) -> asyncio.Lock:
        """The turn of a session, to be taken."""
        return self._locks.setdefault(session_id, asyncio.Lock())


def answer_message(
    site: Site, index: SearchIndex, said: NewMessage, cancel_token: CancelToken
) -> dict[str, Any]:
    """Have a message answered; all messages of the session then.

    Raises:
        HTTPException: 404, there is no such session, model, source or note; 422, no model is set,
            or it can't chat; 502, the model's server failed.
        CallCancelledError: if the call was cancelled.
    """
    cancel_token.check()
    asked = time.time()
    with site.database.read() as session:
        found = load_session(session, said.session_id)
        model = _select_model(session, found, said.model_override)
        history = [ChatTurn(m.kind == HUMAN, m.content) for m in load_messages(session, found.id)]
        wanted = said.context or ContextSelection()
        check_identifiers_exist(session, wanted.source_ids, wanted.note_ids)
        scope = _notebook_scope(session, found.notebook_id, wanted)
        waiting = count_unprocessed(session, Scope(*scope))
    hits = _find_passages(index, resolve_query(history, said.message), *scope)
    by = create_writer(site, model, cancel_token)
    answer = mention_unprocessed(by.talk(history, said.message, hits), waiting)
    cancel_token.check()
    return _store_messages(site, said, asked, answer, by.name)


def _select_model(session: Session, found: ChatSession, override: str | None) -> Model:
    """The call's model, or the session's, or the slot's."""
    if override is not None or found.model_override is None:
        return registry.select_model(session, "chat", override)
    model = session.get(Model, found.model_override)
    if model is None:
        raise errors.not_configured(
            f"The session's model {found.model_override} is there no more. Give the session "
            "another `model_override`, or null for the default."
        )
    return registry.get_model(session, model.id, registry.LLM)


def _notebook_scope(
    session: Session, notebook_id: str, wanted: ContextSelection
) -> tuple[Collection[str], Collection[str]]:
    """Which of the notebook's sources and notes are looked in."""
    linked = session.scalars(
        select(NotebookSource.source_id).where(NotebookSource.notebook_id == notebook_id)
    )
    notes = session.scalars(select(Note.id).where(Note.notebook_id == notebook_id))
    sources_there = linked if wanted.include_sources is not False else ()
    notes_there = notes if wanted.include_notes is not False else ()
    if wanted.source_ids is None and wanted.note_ids is None:
        return frozenset(sources_there), frozenset(notes_there)
    return (
        frozenset(sources_there) & frozenset(wanted.source_ids or ()),
        frozenset(notes_there) & frozenset(wanted.note_ids or ()),
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
    site: Site, said: NewMessage, asked: float, answer: Answer, by: str
) -> dict[str, Any]:
    with site.database.write() as session:
        found = load_session(session, said.session_id)  # it may have been deleted meanwhile
        found.updated = now = time.time()
        here = {"session_id": found.id}
        session.add(Message(kind=HUMAN, content=said.message, created=asked, **here))
        session.flush()
        citations = [each.record() for each in answer.citations]
        session.add(
            Message(
                kind=AI, content=answer.text, citations=citations, model=by, created=now, **here
            )
        )
        session.flush()
        messages = [message_record(each) for each in load_messages(session, found.id)]
    return {"session_id": said.session_id, "messages": messages}


CHARACTERS_PER_TOKEN = 4
"""An estimate that holds for English and for most models."""

FULL_CONTENT, INSIGHTS = "full content", "insights"


def build_context(site: Site, wanted: ContextRequest) -> dict[str, Any]:
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
            sources = _source_entries(session, notebook_id, parts)
        if _is_included(wanted.include_notes, config.include_notes):
            parts = (config.notes or {}) if chosen else None
            notes = _note_entries(session, notebook_id, parts)
    size = sum(map(_count_characters, (*sources, *notes)))
    return {
        "context": {"sources": sources, "notes": notes},
        "token_count": -(-size // CHARACTERS_PER_TOKEN),
        "char_count": size,
    }


def _notebook_id(session: Session, wanted: ContextRequest) -> str:
    if wanted.session_id is not None:
        return load_session(session, wanted.session_id).notebook_id
    if wanted.notebook_id is None:
        raise errors.bad_request("Name a session by session_id, or a notebook by notebook_id.")
    return get_notebook(session, wanted.notebook_id).id


def _is_included(*said: bool | None) -> bool:
    return False not in said


def _source_entries(
    session: Session, notebook_id: str, parts: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    """The notebook's sources with their insights, and with their text where it is wanted."""
    linked = select(Source).join(NotebookSource).where(NotebookSource.notebook_id == notebook_id)
    linked = linked.options(undefer(Source.full_text)).order_by(Source.created, Source.id)
    insights = _insights_by_source(session, notebook_id)
    found = []
    for source in session.scalars(linked):
        part = FULL_CONTENT if parts is None else parts.get(source.id, "")
        if part in (FULL_CONTENT, INSIGHTS):
            record = {
                "id": source.id,
                "title": source.title,
                "insights": insights.get(source.id, []),
            }
            found.append(
                record | {"full_text": source.full_text or ""} if part == FULL_CONTENT else record
            )
    return found


def _insights_by_source(session: Session, notebook_id: str) -> dict[str, list[dict[str, Any]]]:
    """What models have made of each of a notebook's sources, by the source."""
    made = select(Insight).join(NotebookSource, NotebookSource.source_id == Insight.source_id)
    made = made.where(NotebookSource.notebook_id == notebook_id).order_by(
        Insight.created, Insight.id
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for each in session.scalars(made):
        found.setdefault(each.source_id, []).append(service.insight_record(each))
    return found


def _note_entries(
    session: Session, notebook_id: str, parts: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    here = select(Note).where(Note.notebook_id == notebook_id).order_by(Note.created, Note.id)
    return [
        {"id": note.id, "title": note.title, "content": note.content}
        for note in session.scalars(here)
        if parts is None or parts.get(note.id) == FULL_CONTENT
    ]


def _count_characters(record: Mapping[str, Any]) -> int:
    """The characters of a record's texts."""
    texts: Iterable[str | None] = (
        record["title"],
        record.get("full_text"),
        record.get("content"),
        *(each["content"] for each in record.get("insights", ())),
    )
    return sum(len(text or "") for text in texts)

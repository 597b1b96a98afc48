"""Chat sessions about a notebook: their endpoints, and answers to messages."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import Annotated, Any, Literal
from weakref import WeakValueDictionary

from fastapi import APIRouter, Request, Response
from pydantic import BeforeValidator, Field
from sqlalchemy import select
from sqlalchemy.orm import Session, selectinload

from labext.sandbox.core.dependencies import SiteDep, app_state
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, streaming
from labext.sandbox.nb.ask.answers import (
    Answer,
    ChatTurn,
    MarkRemover,
    mention_unprocessed,
    resolve_query,
)
from labext.sandbox.nb.ask.schemas import CitationRecord
from labext.sandbox.nb.ask.service import create_writer
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.crud import add_crud_routes
from labext.sandbox.nb.dependencies import CancelTokenDep, ThreadsDep
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.providers.usage import Monitor, Usage
from labext.sandbox.nb.queries import load, numbered_name
from labext.sandbox.nb.schemas import (
    Identifier,
    Identifiers,
    NonEmptyText,
    Record,
    RequestBody,
    SingleLine,
    Timestamp,
    UsageRecord,
)
from labext.sandbox.nb.search.index import MIN_EVIDENCE_SIMILARITY, SearchIndex, SearchReport
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.search.router import IndexDep
from labext.sandbox.nb.search.scope import Scope, check_identifiers_exist, count_unprocessed
from labext.sandbox.nb.tables import ChatSession, Message, Model, Note, Notebook, NotebookSource

MAX_PASSAGES = 10
"""Maximum number of passages that a message is answered from."""

LOCK_POLL_SECONDS = 0.05

HUMAN, AI = "human", "ai"

MAX_MESSAGE_LENGTH = 100_000
"""Maximum characters of a message."""


class NewSession(RequestBody):
    """A new chat session about a notebook."""

    notebook_id: Identifier
    title: SingleLine | None = Field(None, examples=["Induction"])
    model_override: Identifier | None = Field(
        None, description="The model that answers; by default that of the slot `chat`."
    )


class SessionUpdate(RequestBody):
    """Fields to change; omitted ones are kept, and `"model_override": null` removes the model."""

    title: SingleLine | None = None
    model_override: Identifier | None = None


class ContextSelection(RequestBody):
    """The part of the notebook that a message is answered from; by default all of it."""

    include_sources: bool | None = None
    include_notes: bool | None = None
    source_ids: Identifiers | None = None
    note_ids: Identifiers | None = None


class NewMessage(RequestBody):
    """A message of the user; `model_override` has priority over the session's."""

    session_id: Identifier
    message: NonEmptyText = Field(
        max_length=MAX_MESSAGE_LENGTH, examples=["What should I vary first?"]
    )
    context: ContextSelection | None = None
    model_override: Identifier | None = None


class MessageRecord(Record):
    """A message; a human's has no model and no citations."""

    id: Annotated[str, BeforeValidator(str)]
    type: Literal["human", "ai"] = Field(validation_alias="kind")
    content: str
    citations: list[CitationRecord]
    model: str | None
    usage: UsageRecord | None
    timestamp: Timestamp = Field(validation_alias="created")


class SessionRecord(Record):
    """A session."""

    id: str = Field(examples=["chat_session:tew7qut8ma0fvf0pw7ly"])
    notebook_id: str
    title: str
    model_override: str | None
    created_at: Timestamp
    updated_at: Timestamp
    message_count: int


class SessionWithMessages(SessionRecord):
    """A session with all of its messages."""

    messages: list[MessageRecord]


class ChatReply(Record):
    """All messages of a session, the answer last."""

    session_id: str
    messages: list[MessageRecord]
    note: str | None = Field(description="What to know about the search, as that of a search.")


class SessionLocks:
    """Locks that serialize the answers within each session.

    On PostgreSQL also among the processes of the service, by a lock on one byte of a file, at a
    position that is a hash of the session's identifier. It is released when its process ends.
    """

    def __init__(self, site: Site) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._path = site.folder / "work" / "sessions.lock" if site.database.is_postgresql else None
        self._descriptor: int | None = None

    @asynccontextmanager
    async def of(self, session_id: str) -> AsyncIterator[None]:
        """Hold the lock of a session."""
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock, self._among_processes(session_id):
            yield

    @asynccontextmanager
    async def _among_processes(self, session_id: str) -> AsyncIterator[None]:
        if self._path is None:
            yield
            return
        import fcntl

        if self._descriptor is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        position = int.from_bytes(blake2b(session_id.encode(), digest_size=7).digest())
        while True:
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, position)
                break
            except (BlockingIOError, PermissionError):  # held by another process
                await asyncio.sleep(LOCK_POLL_SECONDS)
        try:
            yield
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, position)


router = APIRouter()

add_crud_routes(
    router,
    "/chat/sessions/{session_id}",
    ChatSession,
    SessionRecord,
    (ChatSession.updated.desc(), ChatSession.id),
    record_with_details=SessionWithMessages,
    load_row=lambda session, identifier: load(
        session, ChatSession, identifier, selectinload(ChatSession.messages)
    ),
)


@router.post("/chat/sessions", response_model=SessionRecord)
def post_session(site: SiteDep, body: NewSession) -> ChatSession:
    """Create a session about a notebook. The default title is numbered within the notebook."""
    with site.database.write() as session:
        load(session, Notebook, body.notebook_id)
        if body.model_override is not None:
            registry.get_model(session, body.model_override, registry.LLM)
        chat_session = ChatSession(
            notebook_id=body.notebook_id,
            title=body.title or numbered_name(session, ChatSession.title, body.notebook_id, "Chat"),
            model_override=body.model_override,
        )
        session.add(chat_session)
        session.flush()
        session.refresh(chat_session)
    return chat_session


@router.put("/chat/sessions/{session_id}", response_model=SessionRecord)
def put_session(site: SiteDep, session_id: Identifier, body: SessionUpdate) -> ChatSession:
    """Update the title or the model of a session."""
    with site.database.write() as session:
        chat_session = load(session, ChatSession, session_id)
        if body.title == "":
            raise errors.bad_request("title: can't be empty")
        if body.model_override is not None:
            registry.get_model(session, body.model_override, registry.LLM)
        values = body.model_dump(exclude_unset=True)
        if body.title is None:
            values.pop("title", None)
        chat_session.change(**values)
        session.flush()
        session.refresh(chat_session)
    return chat_session


@router.post("/chat/execute", response_model=ChatReply, responses=streaming.RESPONSES)
async def post_execute(
    request: Request,
    site: SiteDep,
    index: IndexDep,
    body: NewMessage,
    cancel_token: CancelTokenDep,
    threads: ThreadsDep,
    turns: Annotated[SessionLocks, app_state("turns")],
) -> Response:
    """Answer a message of a session from the notebook, as JSON or as server-sent events.

    Messages that arrive while another one is answered are queued.
    """

    def answer(monitor: Monitor) -> dict[str, Any]:
        reply = answer_message(site, index, body, cancel_token, monitor)
        return ChatReply.model_validate(reply).model_dump(mode="json")

    lock = turns.of(body.session_id)
    return await streaming.respond(request, threads, answer, cancel_token, lock)


def answer_message(
    site: Site, index: SearchIndex, new: NewMessage, cancel_token: CancelToken, monitor: Monitor
) -> dict[str, Any]:
    """Answer a message and return all messages of the session.

    The monitor receives the words of the answer, without its citation marks.
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
        unprocessed = count_unprocessed(session, scope)
    report = SearchReport()
    hits: list[Hit] = []
    if scope.only:
        hits = index.find(
            resolve_query(history, new.message),
            "hybrid",
            limit=MAX_PASSAGES,
            min_vector_similarity=MIN_EVIDENCE_SIMILARITY,
            scope=scope,
            report=report,
        )
    if monitor.on_words is not None:
        monitor = Monitor(monitor.usage, MarkRemover(monitor.on_words).feed)
    writer = create_writer(site, model, cancel_token, monitor)
    citable = [hit for hit in hits if hit.is_citable]
    answer = mention_unprocessed(writer.talk(history, new.message, citable), unprocessed)
    cancel_token.check()
    messages = _store_messages(site, new, asked_at, answer, writer.name, monitor.usage)
    return {"session_id": new.session_id, "messages": messages, "note": report.note}


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


def _notebook_scope(session: Session, notebook_id: str, selection: ContextSelection) -> Scope:
    """Return the notebook's sources and notes that are searched."""
    linked = session.scalars(
        select(NotebookSource.source_id).where(NotebookSource.notebook_id == notebook_id)
    )
    notes = session.scalars(select(Note.id).where(Note.notebook_id == notebook_id))
    source_ids = linked if selection.include_sources is not False else ()
    note_ids = notes if selection.include_notes is not False else ()
    if selection.source_ids is None and selection.note_ids is None:
        return Scope(frozenset(source_ids), frozenset(note_ids))
    return Scope(
        frozenset(source_ids) & frozenset(selection.source_ids or ()),
        frozenset(note_ids) & frozenset(selection.note_ids or ()),
    )


def _store_messages(
    site: Site, new: NewMessage, asked_at: float, answer: Answer, writer_name: str, usage: Usage
) -> list[Message]:
    with site.database.write() as session:
        # Raises if it was deleted meanwhile.
        chat_session = load(session, ChatSession, new.session_id)
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
    return messages

"""Endpoints of chat sessions."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from sqlalchemy.orm import selectinload

from labext.sandbox.core.database import count_rows
from labext.sandbox.nb import errors, streaming
from labext.sandbox.nb.cancellation import cancel_on_disconnect
from labext.sandbox.nb.chat import service
from labext.sandbox.nb.chat.schemas import (
    ChatReply,
    ContextRecord,
    ContextRequest,
    NewMessage,
    NewSession,
    SessionRecord,
    SessionUpdate,
    SessionWithMessages,
)
from labext.sandbox.nb.chat.service import SessionLocks, answer_message, build_context
from labext.sandbox.nb.crud import add_crud_routes, load
from labext.sandbox.nb.dependencies import CancelTokenDep, SiteDep, ThreadsDep
from labext.sandbox.nb.providers.usage import Monitor, Usage
from labext.sandbox.nb.schemas import Identifier
from labext.sandbox.nb.search.router import IndexDep
from labext.sandbox.nb.streaming import result_events
from labext.sandbox.nb.tables import ChatSession, Notebook

router = APIRouter()


async def _get_session_locks(request: Request) -> SessionLocks:
    turns: SessionLocks = request.app.state.turns
    return turns


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
        service.check_model(session, body.model_override)
        number = 1 + count_rows(session, ChatSession, ChatSession.notebook_id == body.notebook_id)
        chat_session = ChatSession(
            notebook_id=body.notebook_id,
            title=body.title or f"Chat {number}",
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
        if body.title is not None:
            if not body.title:
                raise errors.bad_request("title: can't be empty")
            chat_session.title = body.title
        if "model_override" in body.model_fields_set:
            service.check_model(session, body.model_override)
            chat_session.model_override = body.model_override
        if body.title is not None or "model_override" in body.model_fields_set:
            chat_session.updated = time.time()
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
    turns: Annotated[SessionLocks, Depends(_get_session_locks)],
) -> Any:
    """Answer a message of a session from the notebook, at once or as server-sent events.

    Messages that arrive while one is answered wait for their turn.
    """

    def answer(monitor: Monitor) -> dict[str, Any]:
        return answer_message(site, index, body, cancel_token, monitor)

    def answer_as_json(monitor: Monitor) -> dict[str, Any]:
        return ChatReply.model_validate(answer(monitor)).model_dump(mode="json")

    async def events() -> AsyncGenerator[bytes, None]:
        async with turns.of(body.session_id):
            async for event in threads.stream(result_events(answer_as_json), cancel_token):
                yield event

    async def result() -> dict[str, Any]:
        async with turns.of(body.session_id):
            return await threads.run(lambda: answer(Monitor(Usage())))

    if streaming.wants_stream(request):
        return await streaming.stream_response(request, events(), cancel_token)
    return await cancel_on_disconnect(request, cancel_token, result())


@router.post("/chat/context", response_model=ContextRecord)
def post_context(site: SiteDep, body: ContextRequest) -> dict[str, Any]:
    """Get the context material of a notebook and its size."""
    return build_context(site, body)

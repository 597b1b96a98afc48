"""Endpoints of chat sessions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

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
from labext.sandbox.nb.dependencies import (
    CancelTokenDep,
    SiteDep,
    ThreadsDep,
    json_response,
)
from labext.sandbox.nb.schemas import Identifier, MessageResponse
from labext.sandbox.nb.search.dependencies import IndexDep

router = APIRouter()


async def _get_session_locks(request: Request) -> SessionLocks:
    turns: SessionLocks = request.app.state.turns
    return turns


@router.get("/chat/sessions", response_model=list[SessionRecord])
def get_sessions(
    site: SiteDep,
    notebook_id: Annotated[
        Identifier | None, Query(description="Of this notebook alone; all if left out.")
    ] = None,
) -> Response:
    """List sessions, the last used first."""
    return json_response(service.list_sessions(site, notebook_id))


@router.post("/chat/sessions", response_model=SessionRecord)
def post_session(site: SiteDep, body: NewSession) -> Response:
    """Begin a session about a notebook."""
    return json_response(service.create_session(site, body))


@router.get("/chat/sessions/{session_id}", response_model=SessionWithMessages)
def get_session(site: SiteDep, session_id: Identifier) -> Response:
    """Show a session with its messages."""
    return json_response(service.get_session(site, session_id))


@router.put("/chat/sessions/{session_id}", response_model=SessionRecord)
def put_session(site: SiteDep, session_id: Identifier, body: SessionUpdate) -> Response:
    """Change a session's title or model."""
    return json_response(service.update_session(site, session_id, body))


@router.delete("/chat/sessions/{session_id}", response_model=MessageResponse)
def delete_session(site: SiteDep, session_id: Identifier) -> Response:
    """Delete a session with its messages."""
    service.delete_session(site, session_id)
    return json_response({"message": f"The chat session {session_id} is deleted."})


@router.post("/chat/execute", response_model=ChatReply)
async def post_execute(
    request: Request,
    site: SiteDep,
    index: IndexDep,
    body: NewMessage,
    cancel_token: CancelTokenDep,
    threads: ThreadsDep,
    turns: Annotated[SessionLocks, Depends(_get_session_locks)],
) -> Response:
    """Say something in a session, and have it answered from the notebook.

    Messages that come while one is answered wait for their turn.
    """

    async def answer() -> dict[str, Any]:
        async with turns.of(body.session_id):
            return await threads.run(lambda: answer_message(site, index, body, cancel_token))

    return json_response(await cancel_on_disconnect(request, cancel_token, answer()))


@router.post("/chat/context", response_model=ContextRecord)
def post_context(site: SiteDep, body: ContextRequest) -> Response:
    """Show the context material of a notebook and its size."""
    return json_response(build_context(site, body))

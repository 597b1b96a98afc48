"""The routes of the group Chat (contract, Endpoints); each calls a function of the package."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from labext.sandbox.nb.bodies import Done, Identifier
from labext.sandbox.nb.calls import IndexOf, LineOf, SiteOf, ThreadsOf, json_answer
from labext.sandbox.nb.chat import sessions
from labext.sandbox.nb.chat.bodies import (
    ChangedSession,
    Context,
    NewMessage,
    NewSession,
    SessionRecord,
    Talked,
    WantedContext,
    WholeSession,
)
from labext.sandbox.nb.chat.context import context
from labext.sandbox.nb.chat.talking import Turns, talk
from labext.sandbox.nb.models.leaving import while_there

api = APIRouter()


async def _turns(request: Request) -> Turns:
    turns: Turns = request.app.state.turns
    return turns


@api.get("/chat/sessions", response_model=list[SessionRecord])
def get_sessions(
    site: SiteOf,
    notebook_id: Annotated[
        Identifier | None, Query(description="Of this notebook alone; all if left out.")
    ] = None,
) -> Response:
    """List sessions, the last used first."""
    return json_answer(sessions.listed(site, notebook_id))


@api.post("/chat/sessions", response_model=SessionRecord)
def post_session(site: SiteOf, body: NewSession) -> Response:
    """Begin a session about a notebook."""
    return json_answer(sessions.make(site, body))


@api.get("/chat/sessions/{session_id}", response_model=WholeSession)
def get_session(site: SiteOf, session_id: Identifier) -> Response:
    """Show a session with its messages."""
    return json_answer(sessions.shown(site, session_id))


@api.put("/chat/sessions/{session_id}", response_model=SessionRecord)
def put_session(site: SiteOf, session_id: Identifier, body: ChangedSession) -> Response:
    """Change a session's title or model."""
    return json_answer(sessions.change(site, session_id, body))


@api.delete("/chat/sessions/{session_id}", response_model=Done)
def delete_session(site: SiteOf, session_id: Identifier) -> Response:
    """Delete a session with its messages."""
    sessions.delete(site, session_id)
    return json_answer({"message": f"The chat session {session_id} is deleted."})


@api.post("/chat/execute", response_model=Talked)
async def post_execute(
    request: Request,
    site: SiteOf,
    index: IndexOf,
    body: NewMessage,
    line: LineOf,
    threads: ThreadsOf,
    turns: Annotated[Turns, Depends(_turns)],
) -> Response:
    """Say something in a session, and have it answered from the notebook.

    Messages that come while one is answered wait for their turn.
    """

    async def answered() -> dict[str, Any]:
        async with turns.of(body.session_id):
            return await threads.run(lambda: talk(site, index, body, line))

    return json_answer(await while_there(request, line, answered()))


@api.post("/chat/context", response_model=Context)
def post_context(site: SiteOf, body: WantedContext) -> Response:
    """Tell what material of a notebook there is to talk about, and how much it is."""
    return json_answer(context(site, body))

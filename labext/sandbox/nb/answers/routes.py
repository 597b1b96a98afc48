"""The routes that answer questions (contract, Search and Events)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response, StreamingResponse
from starlette.exceptions import HTTPException

from labext.redaction import logger
from labext.sandbox.nb.answers.asking import Asking, Event, asking
from labext.sandbox.nb.answers.bodies import Answered, Question
from labext.sandbox.nb.calls import IndexOf, LineOf, SiteOf, ThreadsOf, json_answer
from labext.sandbox.nb.models.leaving import while_there
from labext.sandbox.nb.models.line import HungUp

api = APIRouter()
log = logger(__name__)

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Lines `data: {json}`, each an event with a `type`: `strategy`, `answer`, "
        "`final_answer`, `complete`; or `error` with a `message`, which is the last.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


def _asking(site: SiteOf, index: IndexOf, question: Question, line: LineOf) -> Asking:
    return asking(site, index, question, line)


AskingOf = Annotated[Asking, Depends(_asking)]


@api.post("/search/ask", response_class=Response, responses=_STREAM)
async def post_ask(asked: AskingOf, line: LineOf, threads: ThreadsOf) -> Response:
    """Answer a question from the knowledge base, as server-sent events."""
    return StreamingResponse(
        threads.stream(map(_line_of, _told(asked.events())), line),
        media_type="text/event-stream",
        headers=_HEADERS,
    )


@api.post("/search/ask/simple", response_model=Answered)
async def post_ask_simple(
    request: Request, asked: AskingOf, line: LineOf, threads: ThreadsOf
) -> Response:
    """Answer a question from the knowledge base, in one piece."""
    return json_answer(await while_there(request, line, threads.run(asked.answered)))


def _line_of(event: Event) -> bytes:
    return b"data: " + orjson.dumps(event) + b"\n\n"


def _told(events: Iterator[Event]) -> Iterator[Event]:
    """The events; a failure is the last one of them, since the answer has begun (contract)."""
    try:
        yield from events
    except HungUp:
        return
    except HTTPException as error:
        yield {"type": "error", "message": str(error.detail)}
    except Exception:
        log.exception("A question could not be answered.")
        yield {"type": "error", "message": "The service failed; its log says how."}

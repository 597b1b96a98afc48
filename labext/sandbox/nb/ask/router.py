"""Endpoints that answer questions, as server-sent events or in one response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response, StreamingResponse
from starlette.exceptions import HTTPException

from labext.actions import Action
from labext.redaction import get_logger
from labext.sandbox.nb.ask.schemas import AnswerRecord, Question
from labext.sandbox.nb.ask.service import AnswerRun, Event, prepare_answer
from labext.sandbox.nb.cancellation import CallCancelledError, cancel_on_disconnect
from labext.sandbox.nb.dependencies import (
    CancelTokenDep,
    SiteDep,
    ThreadsDep,
)
from labext.sandbox.nb.search.router import IndexDep

router = APIRouter()
log = get_logger(__name__)

_STREAM_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Lines `data: {json}`, each an event with a `type`: `strategy`, `answer`, "
        "`final_answer`, `complete`; or `error` with a `message`, which is the last.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
_STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


def _answer_run(
    site: SiteDep, index: IndexDep, question: Question, cancel_token: CancelTokenDep
) -> AnswerRun:
    return prepare_answer(site, index, question, cancel_token)


AnswerRunDep = Annotated[AnswerRun, Depends(_answer_run)]


@router.post("/search/ask", response_class=Response, responses=_STREAM_RESPONSES)
async def post_ask(
    run: AnswerRunDep, cancel_token: CancelTokenDep, threads: ThreadsDep
) -> Response:
    """Answer a question from the knowledge base, as server-sent events."""
    return StreamingResponse(
        threads.stream(map(_encode_event, _with_error_event(run.events())), cancel_token),
        media_type="text/event-stream",
        headers=_STREAM_HEADERS,
    )


@router.post("/search/ask/simple", response_model=AnswerRecord)
async def post_ask_simple(
    request: Request, run: AnswerRunDep, cancel_token: CancelTokenDep, threads: ThreadsDep
) -> dict[str, Any]:
    """Answer a question from the knowledge base, in one piece."""
    return await cancel_on_disconnect(request, cancel_token, threads.run(run.answered))


def _encode_event(event: Event) -> bytes:
    return b"data: " + orjson.dumps(event) + b"\n\n"


def _with_error_event(events: Iterator[Event]) -> Iterator[Event]:
    """Yield the events; a failure becomes the last event, since the response has begun."""
    try:
        yield from events
    except CallCancelledError:
        return
    except HTTPException as error:
        action = getattr(error, "action", None)
        sent = {"action": action.to_json()} if isinstance(action, Action) else {}
        yield {"type": "error", "message": str(error.detail), **sent}
    except Exception:
        log.exception("A question could not be answered.")
        yield {"type": "error", "message": "The service failed; its log says how."}

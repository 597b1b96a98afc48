"""Endpoints that answer questions, as server-sent events or in one response."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response, StreamingResponse

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.nb import streaming
from labext.sandbox.nb.ask.schemas import AnswerRecord, Question
from labext.sandbox.nb.ask.service import AnswerRun, prepare_answer
from labext.sandbox.nb.cancellation import cancel_on_disconnect
from labext.sandbox.nb.dependencies import CancelTokenDep, ThreadsDep
from labext.sandbox.nb.search.router import IndexDep
from labext.sandbox.nb.streaming import encode_events

router = APIRouter()

_STREAM_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Lines `data: {json}`, each an event with a `type`: `strategy`, "
        "`answer`, `final_answer`, `complete`; before an answer, `words` with the `content` "
        "written since the last one; or `error` with a `message`, which is the last.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


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
        encode_events(threads.stream(run.push_events, cancel_token)),
        media_type=streaming.MEDIA_TYPE,
        headers=streaming.HEADERS,
    )


@router.post("/search/ask/simple", response_model=AnswerRecord)
async def post_ask_simple(
    request: Request, run: AnswerRunDep, cancel_token: CancelTokenDep, threads: ThreadsDep
) -> dict[str, Any]:
    """Answer a question from the knowledge base, in one piece."""
    return await cancel_on_disconnect(request, cancel_token, threads.run(run.answered))

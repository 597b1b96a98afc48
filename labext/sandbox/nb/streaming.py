"""Responses as server-sent events, whose words arrive as a model writes them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import orjson
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request

from labext.actions import Action
from labext.redaction import get_logger
from labext.sandbox.core.web import unavailable
from labext.sandbox.nb.cancellation import (
    CallCancelledError,
    CancelToken,
    ModelThreads,
    cancel_on_disconnect,
)
from labext.sandbox.nb.providers.usage import Monitor, Usage

log = get_logger(__name__)

Event = dict[str, Any]

MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The result. A request that accepts `text/event-stream` gets lines "
        "`data: {json}`, each an event with a `type`: `words` with the `content` written since the "
        "last one, then `complete` with the result, or `error` with a `message`.",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    }
}


async def encode_events(
    events: AsyncIterator[Event], *, raise_first: bool = False
) -> AsyncGenerator[bytes, None]:
    """Yield the events encoded; a failure becomes the last event, since the response has begun.

    With `raise_first` a failure before the first event is raised, so that it determines the status.
    """
    begun = not raise_first
    try:
        async for event in events:
            begun = True
            yield _encode(event)
    except Exception as error:
        if not begun:
            raise
        if not isinstance(error, CallCancelledError):
            yield _encode(_error_event(error))


def _error_event(error: Exception) -> Event:
    refusal = error if isinstance(error, HTTPException) else unavailable(error)
    if refusal is None:
        log.error("A question could not be answered.", exc_info=error)
        refusal = HTTPException(500, "The service failed; its log has the reason.")
    action = getattr(refusal, "action", None)
    fields = {"action": action.to_json()} if isinstance(action, Action) else {}
    return {"type": "error", "message": str(refusal.detail), **fields}


async def respond(
    request: Request,
    threads: ModelThreads,
    work: Callable[[Monitor], Event],
    cancel_token: CancelToken,
    lock: AbstractAsyncContextManager[None] | None = None,
) -> Response:
    """Return the result of a function as JSON, or as events with the words of its model calls.

    `lock` is held meanwhile. A failure before the first words determines the status.
    """

    async def result() -> Event:
        async with lock or nullcontext():
            return await threads.run(lambda: work(Monitor(Usage())))

    if MEDIA_TYPE not in request.headers.get("accept", ""):
        return JSONResponse(await cancel_on_disconnect(request, cancel_token, result()))

    def push_events(push: Callable[[Event], None]) -> None:
        monitor = Monitor(Usage(), lambda words: push({"type": "words", "content": words}))
        push({"type": "complete", **work(monitor)})

    async def events() -> AsyncGenerator[bytes, None]:
        async with lock or nullcontext():
            pushed = threads.stream(push_events, cancel_token)
            async for event in encode_events(pushed, raise_first=True):
                yield event

    encoded = events()
    first = await cancel_on_disconnect(request, cancel_token, anext(encoded), is_last=False)

    async def body() -> AsyncIterator[bytes]:
        yield first
        async for event in encoded:
            yield event

    return StreamingResponse(body(), media_type=MEDIA_TYPE, headers=HEADERS)


def _encode(event: Event) -> bytes:
    return b"data: " + orjson.dumps(event) + b"\n\n"

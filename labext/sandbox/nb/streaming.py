"""Responses as server-sent events, whose words arrive as a model writes them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import orjson
from fastapi.responses import StreamingResponse
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


def wants_stream(request: Request) -> bool:
    """Return whether the client accepts server-sent events."""
    return MEDIA_TYPE in request.headers.get("accept", "")


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
    except CallCancelledError:
        if not begun:
            raise
    except HTTPException as error:
        if not begun:
            raise
        action = getattr(error, "action", None)
        fields = {"action": action.to_json()} if isinstance(action, Action) else {}
        yield _encode({"type": "error", "message": str(error.detail), **fields})
    except Exception as error:
        if not begun:
            raise
        refused = unavailable(error)
        if refused is None:
            log.exception("A question could not be answered.")
            refused = HTTPException(500, "The service failed; its log has the reason.")
        yield _encode({"type": "error", "message": refused.detail})


def result_events(
    threads: ModelThreads, work: Callable[[Monitor], Event], cancel_token: CancelToken
) -> AsyncGenerator[bytes, None]:
    """Yield the words that a function's model calls write, then its result.

    A failure before the first words is raised.
    """

    def run(push: Callable[[Event], None]) -> None:
        monitor = Monitor(Usage(), lambda words: push({"type": "words", "content": words}))
        push({"type": "complete", **work(monitor)})

    return encode_events(threads.stream(run, cancel_token), raise_first=True)


async def stream_response(
    request: Request, events: AsyncGenerator[bytes, None], cancel_token: CancelToken
) -> StreamingResponse:
    """Return the response with some events; it begins with the first of them."""
    first = await cancel_on_disconnect(request, cancel_token, anext(events), is_last=False)

    async def body() -> AsyncIterator[bytes]:
        yield first
        async for event in events:
            yield event

    return StreamingResponse(body(), media_type=MEDIA_TYPE, headers=HEADERS)


def _encode(event: Event) -> bytes:
    return b"data: " + orjson.dumps(event) + b"\n\n"

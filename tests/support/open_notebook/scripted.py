"""A server that returns recorded responses in order, and records its requests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from open_notebook.facts import Recording
from open_notebook.serving import METHODS, ReceivedRequest, listening


@dataclass
class Script:
    """The remaining responses and the received requests.

    Attributes:
        base_url: ends in `/api`.
        pending: recordings of the next responses; if empty, the response is a 599.
    """

    base_url: str = ""
    pending: list[Recording] = field(default_factory=list)
    received: list[ReceivedRequest] = field(default_factory=list)

    def load(self, recordings: Iterable[Recording]) -> None:
        """Start over with the responses of these recordings."""
        self.pending, self.received = list(recordings), []


@contextmanager
def scripted() -> Iterator[Script]:
    """Run a scripted server."""
    script = Script()

    async def answer(request: Request) -> Response:
        script.received.append(await _received(request))
        if not script.pending:
            return Response("no response is left", 599)
        return _response(script.pending.pop(0))

    app = Starlette(routes=[Route("/{path:path}", answer, methods=METHODS)])
    with listening(app) as root:
        script.base_url = f"{root}/api"
        yield script


async def _received(request: Request) -> ReceivedRequest:
    body: Any = None
    if "multipart" in request.headers.get("content-type", ""):
        async with request.form() as form:
            body = {
                name: value.filename if isinstance(value, UploadFile) else value
                for name, value in form.items()
            }
    elif content := await request.body():
        body = json.loads(content)
    path = unquote(request.url.path)
    query = dict(request.query_params)
    return ReceivedRequest(request.method, path, query, body)


def _response(recording: Recording) -> Response:
    if recording.events:
        lines = "".join(f"data: {json.dumps(event)}\n\n" for event in recording.events)
        return Response(lines, recording.status, media_type="text/event-stream")
    headers = {
        k: v for k, v in recording.response_headers.items() if k not in ("content-type", "location")
    }
    kind = recording.response_headers.get("content-type")
    if recording.answer is not None:
        content, kind = json.dumps(recording.answer).encode(), "application/json"
    else:
        content = recording.text.encode() or b"\0" * recording.bytes
    return Response(content, recording.status, headers, media_type=kind)

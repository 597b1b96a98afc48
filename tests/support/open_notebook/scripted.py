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
from open_notebook.serving import listening

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True)
class Heard:
    """A request as it came over the wire.

    Attributes:
        path: unquoted, as a server reads it.
        body: the fields of the JSON or the form; a file by its name.
    """

    method: str
    path: str
    query: dict[str, str]
    body: Any
    authorization: str | None


@dataclass
class Script:
    """The remaining responses and the received requests.

    Attributes:
        base_url: ends in `/api`.
        coming: recordings whose answers come next; with none left it answers 599.
    """

    base_url: str = ""
    coming: list[Recording] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)

    def plays(self, recordings: Iterable[Recording]) -> None:
        """Begin anew, with the answers of these."""
        self.coming, self.heard = list(recordings), []


@contextmanager
def scripted() -> Iterator[Script]:
    """Serve until the block ends."""
    script = Script()

    async def answer(request: Request) -> Response:
        script.heard.append(await _heard(request))
        if not script.coming:
            return Response("asked for more than was recorded", 599)
        return _answer(script.coming.pop(0))

    app = Starlette(routes=[Route("/{path:path}", answer, methods=METHODS)])
    with listening(app) as root:
        script.base_url = f"{root}/api"
        yield script


async def _heard(request: Request) -> Heard:
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
    return Heard(request.method, path, query, body, request.headers.get("authorization"))


def _answer(told: Recording) -> Response:
    if told.events:
        lines = "".join(f"data: {json.dumps(event)}\n\n" for event in told.events)
        return Response(lines, told.status, media_type="text/event-stream")
    headers = {k: v for k, v in told.told.items() if k not in ("content-type", "location")}
    kind = told.told.get("content-type")
    if told.answer is not None:
        content, kind = json.dumps(told.answer).encode(), "application/json"
    else:
        content = told.text.encode() or b"\0" * told.bytes
    return Response(content, told.status, headers, media_type=kind)

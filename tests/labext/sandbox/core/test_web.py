"""The guard around an application: body sizes and host names."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from labext.sandbox.core.web import guard_app, handle_errors


async def _length(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def _ask(body: list[bytes], headers: dict[str, str], limit: int = 100) -> tuple[int, bytes]:
    """The status and body that the guarded application answers to a body sent in pieces."""
    app = Starlette(routes=[Route("/", _length, methods=["POST"])])
    handle_errors(app, lambda _status, message: {"detail": message})
    sent: list[Message] = []
    pieces = iter(body)

    async def receive() -> Message:
        piece = next(pieces, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await guard_app(app, max_bytes=limit)(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def _response(
    body: list[bytes], headers: dict[str, str] | None = None, limit: int = 100
) -> tuple[int, bytes]:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    # In a thread of its own: a browser test leaves a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        request = _ask(body, {"host": "localhost"} | (headers or {}), limit)
        return pool.submit(asyncio.run, request).result()


def test_body_within_the_limit_is_accepted():
    assert _response([b"x" * 50, b"x" * 50]) == (200, b"100")


def test_oversized_body_is_refused():
    assert _response([b"x" * 50, b"x" * 51])[0] == 413
    assert _response([], {"content-length": "101"})[0] == 413
    assert _response([], {"content-length": "9" * 30})[0] == 413


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:8000", 200),
        ("127.0.0.1", 200),
        ("localhost.evil.example", 400),
        ("0.0.0.0", 400),
        ("[::1]", 400),
        ("", 400),
    ],
)
def test_foreign_host_header_is_refused(host, status):
    assert _response([b"x"], {"host": host})[0] == status

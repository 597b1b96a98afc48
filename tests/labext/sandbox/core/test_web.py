"""The flood guard, and the guard around an application."""

from __future__ import annotations

import threading

import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from labext.sandbox.core.web import SlidingWindowLimiter, guard_app, handle_errors


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_rate_window_slides(clock):
    guard = SlidingWindowLimiter(3, 10, clock)
    remaining = []
    for moment in (0, 4, 8):
        clock.now = 1000 + moment
        remaining.append(guard.take("a").remaining)
    assert remaining == [2, 1, 0]
    clock.now = 1009.5
    refused = guard.take("a")
    assert not refused.allowed
    assert refused.reset == pytest.approx(0.5)
    assert refused.retry_after == {"Retry-After": "1"}
    clock.now = 1010
    assert guard.take("a").allowed
    assert not guard.take("a").allowed
    clock.now = 1014
    assert guard.take("a").allowed


def test_each_identity_has_its_own_rate_limit(clock):
    guard = SlidingWindowLimiter(1, 10, clock)
    assert guard.take("a").allowed
    assert not guard.take("a").allowed
    assert guard.take("b").allowed


def test_rate_limit_is_429_with_retry_after(clock):
    guard = SlidingWindowLimiter(1, 10, clock)
    guard.check("a")
    clock.now += 2.5
    with pytest.raises(HTTPException) as caught:
        guard.check("a")
    assert caught.value.status_code == 429
    assert caught.value.headers == {"Retry-After": "8"}


def test_rate_limit_can_be_off(clock):
    guard = SlidingWindowLimiter(None, 10, clock)
    assert all(guard.take("a").allowed for _ in range(10_000))


def test_idle_identities_are_forgotten(clock):
    guard = SlidingWindowLimiter(5, 10, clock)
    for number in range(1000):
        guard.take(str(number))
    clock.now += 11
    guard.take("late")
    assert list(guard._seen) == ["late"]


def test_threads_share_the_rate_limit():
    guard = SlidingWindowLimiter(500, 1000)
    allowed: list[bool] = []

    def ask() -> None:
        allowed.extend([guard.take("a").allowed for _ in range(200)])

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(allowed) == 500


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

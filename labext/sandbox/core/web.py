"""Request guards, body limits, error handlers, downloads and rate limits of all services."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labext.actions import Action
from labext.sandbox.core.database import (
    error_line,
    is_disk_full,
    is_unavailable,
    may_have_committed,
    track_commits,
)
from labext.sandbox.core.file_storage.objects import StoreError

ALLOWED_HOSTS = ("127.0.0.1", "localhost")
"""Accepted Host headers. Others are refused because of DNS rebinding."""

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 2 * 1024**3
"""Body size limit of all services, in bytes; a service may set a lower one."""

TOO_LARGE_MESSAGE = "The request's body is too large."


def guard_app(
    app: ASGIApp, *, hosts: Sequence[str] = ALLOWED_HOSTS, max_bytes: int = MAX_BODY_BYTES
) -> ASGIApp:
    """Wrap `app` in the check of the Host header (400) and the body size limit (413)."""
    bounded = app if isinstance(app, BodyLimitedApp) else BodyLimitMiddleware(app, max_bytes)

    async def tracked(scope: Scope, receive: Receive, send: Send) -> None:
        track_commits()
        await bounded(scope, receive, send)

    return TrustedHostMiddleware(tracked, allowed_hosts=list(hosts), www_redirect=False)


class BodyLimitedApp:
    """Base class of applications that limit the size of request bodies themselves."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        raise NotImplementedError


class BodyLimitMiddleware(BodyLimitedApp):
    """Refuse bodies of more than `max_bytes` bytes with 413, by declared or received length."""

    def __init__(
        self,
        app: ASGIApp,
        max_bytes: int,
        body: Callable[[int, str], Any] = lambda _status, sentence: {"error": sentence},
    ) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"")
        if declared.isdigit() and int(declared[:18]) > self._max_bytes:
            refusal = JSONResponse(self._body(413, TOO_LARGE_MESSAGE), 413)
            await refusal(scope, receive, send)
            return
        await self._app(scope, self._bounded(receive), send)

    def _bounded(self, receive: Receive) -> Receive:
        received = 0

        async def bounded() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                raise HTTPException(413, TOO_LARGE_MESSAGE)
            return message

        return bounded


def handle_errors(app: Starlette, body: Callable[[int, str], Any]) -> None:
    """Return every error of `app` as JSON in the form of `body(status, message)`.

    The `action` of an HTTPException that has one is added as data. Errors of the framework are
    included: unknown paths and methods, and bodies that FastAPI cannot parse (400 instead of 422).
    A full disk returns 500; its transaction was rolled back. A database that is busy or cannot be
    reached returns 503, see `unavailable`. Unexpected errors are logged and return 500 without
    details.
    """
    from fastapi.exceptions import RequestValidationError

    def refuse(_request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            raise error
        content = body(error.status_code, str(error.detail))
        action = getattr(error, "action", None)
        if isinstance(action, Action):
            content["action"] = action.to_json()
        return JSONResponse(content, error.status_code, headers=error.headers)

    def misread(_request: Request, error: Exception) -> Response:
        if not isinstance(error, RequestValidationError):
            raise error
        return JSONResponse(body(400, _first_error(error.errors())), 400)

    def unwritten(request: Request, error: Exception) -> Response:
        refusal = unavailable(error)
        if refusal is not None:
            return refuse(request, refusal)
        if not is_disk_full(error):
            log.error("%s failed.", request.url.path, exc_info=error)
            return fail(request, error)
        log.error("The disk can't be written: %s", error)
        message = "The service's disk is full or can't be written; nothing was changed."
        return JSONResponse(body(500, message), 500)

    def fail(_request: Request, _error: Exception) -> Response:
        return JSONResponse(body(500, "The service failed; its log has the reason."), 500)

    for kind in (OSError, DBAPIError, PoolTimeoutError, StoreError):
        app.add_exception_handler(kind, unwritten)
    app.add_exception_handler(HTTPException, refuse)
    app.add_exception_handler(RequestValidationError, misread)
    app.add_exception_handler(Exception, fail)


RETRY_SECONDS = 5
"""Time after which a client may repeat a request that the database could not answer."""


def unavailable(error: Exception) -> HTTPException | None:
    """Return the refusal of a request whose database or storage cannot be reached; else None.

    503 with Retry-After means that nothing was changed; 504 that a change may have been made.
    """
    if isinstance(error, StoreError):
        log.error("%s", error)
        what, problem = "file storage", "does not respond"
    elif is_unavailable(error):
        log.error("The database is not available: %s", error_line(error))
        what, problem = "database", "is busy or does not respond"
    else:
        return None
    if may_have_committed():
        return HTTPException(504, f"The connection to the service's {what} was lost.")
    return HTTPException(
        503,
        f"The service's {what} {problem}; try again in a few seconds.",
        headers={"Retry-After": str(RETRY_SECONDS)},
    )


def _first_error(errors: Sequence[Mapping[str, Any]]) -> str:
    if not errors:
        return "The request could not be read."
    if errors[0].get("type") == "json_invalid":
        return "The request's body is not JSON."
    where = [str(part) for part in errors[0].get("loc", ())]
    if where == ["body"] and errors[0].get("type") in ("missing", "model_attributes_type"):
        return "Send a JSON object as the request's body, with Content-Type: application/json."
    if where and where[0] in ("body", "query", "path"):  # a field may have such a name, too
        del where[0]
    message = str(errors[0].get("msg", "could not be read"))
    return f"{'.'.join(where)}: {message}" if where else f"The request could not be read: {message}"


class DownloadResponse(FileResponse):
    """A file in large chunks, with support for Range, If-Range and ETag.

    The status is sent once the file is open, so that a file deleted just before is an error, too.

    Args:
        path: the file.
        not_found: the error if it does not exist.
        media_type: the content type, by default guessed from the name; browsers guess no other.
        filename: the name for a download; None to let the browser display the file.

    Raises:
        HTTPException: `not_found`.
    """

    chunk_size = 1 << 20

    def __init__(
        self,
        path: Path,
        not_found: HTTPException,
        media_type: str | None = None,
        filename: str | None = None,
    ) -> None:
        try:
            stat = path.stat()
        except FileNotFoundError:
            raise not_found from None
        headers = {"X-Content-Type-Options": "nosniff"}
        super().__init__(
            path, filename=filename, media_type=media_type, headers=headers, stat_result=stat
        )
        self.size = stat.st_size
        self._not_found = not_found

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        start_messages: list[Message] = []

        async def send_when_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                start_messages.append(message)
                return
            while start_messages:
                await send(start_messages.pop())
            await send(message)

        try:
            await super().__call__(scope, receive, send_when_open)
        except FileNotFoundError:
            if not start_messages:
                raise
            raise self._not_found from None


@dataclass(frozen=True)
class RateLimitStatus:
    """Rate limit state of an identity.

    Attributes:
        allowed: whether this request is within the limit.
        limit, remaining: requests per window, in total and remaining.
        reset: seconds until the oldest counted request leaves the window, which allows another one.
    """

    allowed: bool
    limit: int
    remaining: int
    reset: float

    @property
    def retry_after(self) -> dict[str, str]:
        """The header of a 429: whole seconds, at least 1."""
        return {"Retry-After": str(max(1, math.ceil(self.reset)))}


class SlidingWindowLimiter:
    """Limit the requests per identity in a sliding time window.

    Allows `requests` in the last `seconds`. Refused requests don't count. `requests=None` allows
    everything. Safe to use from threads.
    """

    def __init__(
        self,
        requests: int | None,
        seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.requests = requests
        self.seconds = seconds
        self._clock = clock
        self._seen: dict[str, deque[float]] = {}
        self._lock = threading.Lock()
        self._swept = clock()

    def take(self, identity: str) -> RateLimitStatus:
        """Count a request of `identity` and return whether it is within the limit."""
        if self.requests is None:
            return RateLimitStatus(True, 0, 0, 0.0)
        with self._lock:
            now = self._clock()
            self._sweep(now)
            request_times = self._seen.setdefault(identity, deque())
            while request_times and request_times[0] <= now - self.seconds:
                request_times.popleft()
            allowed = len(request_times) < self.requests
            if allowed:
                request_times.append(now)
            remaining = max(0, self.requests - len(request_times))
            return RateLimitStatus(
                allowed, self.requests, remaining, request_times[0] + self.seconds - now
            )

    def check(self, identity: str) -> RateLimitStatus:
        """Count a request; raise 429 with Retry-After if it is over the limit.

        Raises:
            HTTPException: too many requests.
        """
        allowance = self.take(identity)
        if not allowance.allowed:
            raise HTTPException(
                429,
                f"More than {allowance.limit} requests in {self.seconds:g} seconds; wait a little.",
                headers=allowance.retry_after,
            )
        return allowance

    def _sweep(self, now: float) -> None:
        """Remove identities without a request in the last window."""
        if now - self._swept < self.seconds:
            return
        self._swept = now
        over = [
            name
            for name, request_times in self._seen.items()
            if not request_times or request_times[-1] <= now - self.seconds
        ]
        for name in over:
            del self._seen[name]

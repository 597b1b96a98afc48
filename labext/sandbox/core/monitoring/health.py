"""Health of a service: whether its database responds and its queue runs."""

from __future__ import annotations

from typing import Protocol

import anyio
import anyio.to_thread
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from labext.sandbox.core.database import Database

PATH = "/health"

CHECK_SECONDS = 5.0
"""Time that the database has to respond."""


class RunsTasks(Protocol):
    """The queue of a service process."""

    def problem(self) -> str:
        """Return why queued tasks do not run, as a sentence; empty if they do."""


class HealthCheck:
    """Check the database and the queue; also when all threads of the service are busy."""

    def __init__(self, database: Database, queue: RunsTasks) -> None:
        self._database = database
        self._queue = queue
        self._thread = anyio.CapacityLimiter(1)

    async def problem(self) -> str:
        """Return why the service cannot work, as a sentence; empty if it can."""
        try:
            with anyio.fail_after(CHECK_SECONDS):
                await anyio.to_thread.run_sync(
                    self._read, abandon_on_cancel=True, limiter=self._thread
                )
        except TimeoutError:
            return f"The database has not responded for {CHECK_SECONDS:g} seconds."
        except (SQLAlchemyError, OSError):
            return "The database does not respond."
        return self._queue.problem()

    async def response(self) -> JSONResponse:
        """Return 200 if the service can work, 503 with the reason if not."""
        problem = await self.problem()
        content = {"status": "unhealthy", "reason": problem} if problem else {"status": "healthy"}
        return JSONResponse(content, 503 if problem else 200, {"Cache-Control": "no-store"})

    def _read(self) -> None:
        with self._database.read() as session:
            session.execute(select(1))


class HealthEndpoint:
    """Answer `GET /health` before any check of the host name, credentials or rate limit."""

    def __init__(self, app: ASGIApp, check: HealthCheck) -> None:
        self._app = app
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"] == PATH and scope["method"] in _METHODS:
            await (await self._check.response())(scope, receive, send)
        else:
            await self._app(scope, receive, send)


_METHODS = ("GET", "HEAD")

"""Health of a service, and the monitoring of its process: health, metrics and request ids."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Callable

import anyio
import anyio.to_thread
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from labext.extras import install_line
from labext.sandbox.core.data_folder import DataFolder, ensure_secret, list_entries, remove_path
from labext.sandbox.core.database import Database
from labext.sandbox.core.executors.worker_states import Executors
from labext.sandbox.core.monitoring.request_log import RequestMonitor, RequestRecord, log_request
from labext.sandbox.core.queue import Queue
from labext.sandbox.core.server_settings import ServerSettings

PATH = "/health"

CHECK_SECONDS = 5.0
"""Time that the database has to respond."""


class HealthCheck:
    """Check the database, the queue and the file storage; also when all threads are busy."""

    def __init__(
        self, database: Database, queue: Executors, storage_problem: Callable[[], str] = lambda: ""
    ) -> None:
        self._database = database
        self._storage_problem = storage_problem
        self._queue = queue
        self._thread = anyio.CapacityLimiter(1)
        self._storage_thread = anyio.CapacityLimiter(1)

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
        return self._queue.problem() or await self._problem_of_storage()

    async def _problem_of_storage(self) -> str:
        try:
            with anyio.fail_after(CHECK_SECONDS):
                return await anyio.to_thread.run_sync(
                    self._storage_problem, abandon_on_cancel=True, limiter=self._storage_thread
                )
        except TimeoutError:
            return f"The file storage has not responded for {CHECK_SECONDS:g} seconds."

    async def response(self) -> JSONResponse:
        """Return 200 if the service can work, 503 with the reason if not."""
        problem = await self.problem()
        content = {"status": "unhealthy", "reason": problem} if problem else {"status": "healthy"}
        return JSONResponse(content, 503 if problem else 200, {"Cache-Control": "no-store"})

    def _read(self) -> None:
        with self._database.read() as session:
            session.execute(select(1))


class HealthEndpoint:
    """Serve `GET /health` before any check of the host name, credentials or rate limit."""

    def __init__(self, app: ASGIApp, check: HealthCheck) -> None:
        self._app = app
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        is_get = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        if is_get and scope["path"] == PATH:
            await (await self._check.response())(scope, receive, send)
        else:
            await self._app(scope, receive, send)


log = logging.getLogger("labext.sandbox")


def prepare_metrics(folder: DataFolder) -> None:
    """Empty the folder in which service processes keep their counters, before they start."""
    if importlib.util.find_spec("prometheus_client") is None:
        log.warning("There are no metrics: run `%s` for them.", install_line("server"))
        return
    folder.metrics.mkdir(mode=0o700, exist_ok=True)
    for path in list_entries(folder.metrics):
        remove_path(path)
    # prometheus_client reads it when it is imported.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder.metrics)


class Monitoring:
    """Health of a service process; for a server also metrics and request ids.

    Args:
        process: the number of this process; None if there is one.
        storage_problem: returns why the file storage cannot be used; empty if it can.
    """

    def __init__(
        self,
        folder: DataFolder,
        server: ServerSettings | None,
        database: Database,
        queue: Queue,
        executors: Executors,
        process: int | None,
        storage_problem: Callable[[], str],
    ) -> None:
        self._health = HealthCheck(database, executors, storage_problem)
        self._is_server = server is not None
        self._reports: list[Callable[[RequestRecord], None]] = []
        self._add_metrics: Callable[[ASGIApp], ASGIApp] = lambda app: app
        if server is None:
            return
        if server.log_format == "json":
            self._reports.append(log_request)
        if importlib.util.find_spec("prometheus_client") is not None:
            from labext.sandbox.core.monitoring.metrics import (
                MetricsEndpoint,
                RequestMetrics,
                ServerState,
            )

            state = ServerState(folder.metrics, database, queue, executors)
            token = ensure_secret(folder.secrets / "metrics_token")
            self._reports.append(RequestMetrics(folder.metrics, process, database.engine).count)
            self._add_metrics = lambda app: MetricsEndpoint(app, folder.metrics, state, token)

    def wrap(self, app: ASGIApp, service: str) -> ASGIApp:
        """Return the application of an endpoint of a service with monitoring."""
        if self._is_server:
            app = self._add_metrics(RequestMonitor(app, service, self._report))
        return HealthEndpoint(app, self._health)

    def _report(self, request: RequestRecord) -> None:
        for report in self._reports:
            report(request)

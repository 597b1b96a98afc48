"""Wrap the applications of a service process in health, metrics and request ids."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Callable

from starlette.types import ASGIApp

from labext.extras import install_line
from labext.sandbox.core.data_folder import (
    DataFolder,
    ensure_secret,
    list_entries,
    remove_path,
)
from labext.sandbox.core.database import Database
from labext.sandbox.core.monitoring.health import HealthCheck, HealthEndpoint
from labext.sandbox.core.monitoring.request_log import (
    JsonFormatter,
    RequestMonitor,
    RequestRecord,
    TextFormatter,
    log_request,
)
from labext.sandbox.core.queue import Queue
from labext.sandbox.core.server_settings import ServerSettings
from labext.sandbox.core.service_protocol import Executors

log = logging.getLogger("labext.sandbox")


def start_logging(server: ServerSettings | None) -> None:
    """Log to the standard error, in the format of the server's settings."""
    handler = logging.StreamHandler()
    in_json = server is not None and server.log_format == "json"
    handler.setFormatter(JsonFormatter() if in_json else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.captureWarnings(in_json)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


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
    """Health of a sandbox's service process; also metrics and request ids of a server's.

    Args:
        slots: the number of concurrent tasks on this machine, of all service processes.
        process: the number of this process; None if there is one.
    """

    def __init__(
        self,
        folder: DataFolder,
        server: ServerSettings | None,
        database: Database,
        queue: Queue,
        executors: Executors,
        slots: int,
        process: int | None,
    ) -> None:
        self._health = HealthCheck(database, executors)
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

            state = ServerState(folder.metrics, database, queue, slots, executors.workers)
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

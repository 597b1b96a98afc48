"""Metrics of a server in the Prometheus text format, of all its service processes together."""

from __future__ import annotations

import hmac
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from sqlalchemy import Engine, event, func, select
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from labext.sandbox.core.database import Database, is_disk_full, is_unavailable
from labext.sandbox.core.executors.worker_states import Executors, WorkerState
from labext.sandbox.core.monitoring.request_log import RequestRecord
from labext.sandbox.core.queue import QUEUED, RUNNING, STARTING, Queue, Task

PATH = "/metrics"

_PROCESS_FILE = "process-*.pid"

_FILE_BYTES = 1 << 20
"""Size of a file with the counters of a process: more than those of all routes take."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the classes of durations."""


class RequestMetrics:
    """Count the requests and the errors of the database of one service process."""

    def __init__(self, folder: Path, process: int | None, engine: Engine) -> None:
        (folder / _PROCESS_FILE.replace("*", str(process or 0))).write_text(str(os.getpid()))
        # prometheus_client maps files with holes: on a full disk, SIGBUS would end the process.
        for kind in ("counter", "histogram"):
            (folder / f"{kind}_{os.getpid()}.db").write_bytes(bytes(_FILE_BYTES))
        registry = CollectorRegistry()
        labels = ("service", "route", "method")
        self._requests = Counter(
            "labext_requests", "Requests.", (*labels, "status"), registry=registry
        )
        self._seconds = Histogram(
            "labext_request_seconds",
            "Time from a request to the end of its response.",
            labels,
            buckets=SECONDS,
            registry=registry,
        )
        self._errors = Counter(
            "labext_database_errors", "Errors of the database.", ("kind",), registry=registry
        )
        for kind in ("unavailable", "disk full", "other"):
            self._errors.labels(kind)
        event.listen(engine, "handle_error", self._count_error)

    def count(self, request: RequestRecord) -> None:
        """Count a request that has ended."""
        labels = request.service, request.route, request.method
        self._requests.labels(*labels, request.status).inc()
        self._seconds.labels(*labels).observe(request.seconds)

    def _count_error(self, context: ExceptionContext) -> None:
        error = context.sqlalchemy_exception or context.original_exception
        if isinstance(error, IntegrityError):  # for example a name that exists
            return
        unavailable = is_unavailable(error) or context.is_disconnect
        kind = "unavailable" if unavailable else "disk full" if is_disk_full(error) else "other"
        self._errors.labels(kind).inc()


class ServerState(Collector):
    """The state of the server at the time of a scrape: from the database, and of its processes.

    Args:
        folder: the folder with the ids of the service processes.
        executors: the workers.
    """

    def __init__(
        self, folder: Path, database: Database, queue: Queue, executors: Executors
    ) -> None:
        self._folder = folder
        self._database = database
        self._queue = queue
        self._executors = executors

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; without those of the queue if the database does not respond."""
        try:
            counts, oldest = self._read_queue()
            workers = self._executors.workers()
        except SQLAlchemyError:
            yield GaugeMetricFamily("labext_database_up", "Whether it responds.", value=0)
        else:
            yield GaugeMetricFamily("labext_database_up", "Whether it responds.", value=1)
            yield from self._queue_metrics(counts, oldest)
            yield from _worker_metrics(workers)
            yield CounterMetricFamily(
                "labext_workers_lost",
                "Workers on other machines that ended without notice or were cut off.",
                value=self._executors.lost_workers(),
            )
        yield from self._process_metrics()

    def _read_queue(self) -> tuple[dict[tuple[str, str], int], float | None]:
        count = select(Task.kind, Task.state, func.count()).group_by(Task.kind, Task.state)
        with self._database.read() as session:
            counts = {(kind, state): number for kind, state, number in session.execute(count)}
            oldest = session.scalar(select(func.min(Task.created)).where(Task.state == QUEUED))
        return counts, oldest

    def _queue_metrics(
        self, counts: Mapping[tuple[str, str], int], oldest: float | None
    ) -> Iterator[Metric]:
        tasks = GaugeMetricFamily(
            "labext_tasks", "Unfinished tasks.", labels=("service", "kind", "state")
        )
        for kind in self._queue.kinds:
            service = kind.partition(".")[0]
            for state in (QUEUED, STARTING, RUNNING):
                tasks.add_metric((service, kind, state), counts.get((kind, state), 0))
        yield tasks
        yield GaugeMetricFamily(
            "labext_queue_age_seconds",
            "Time since the oldest waiting task was queued; 0 if none waits.",
            value=0.0 if oldest is None else max(0.0, time.time() - oldest),
        )

    def _process_metrics(self) -> Iterator[Metric]:
        names = ("process",)
        cpu = CounterMetricFamily(
            "labext_cpu_seconds", "CPU time of a service process.", None, names
        )
        memory = GaugeMetricFamily(
            "labext_resident_memory_bytes", "Memory of a service process.", labels=names
        )
        started = GaugeMetricFamily(
            "labext_start_time_seconds", "Start of a service process.", labels=names
        )
        for file in sorted(self._folder.glob(_PROCESS_FILE)):
            number = file.stem.partition("-")[2]
            try:
                process = psutil.Process(int(file.read_text()))
                with process.oneshot():
                    times = process.cpu_times()
                    cpu.add_metric((number,), times.user + times.system)
                    memory.add_metric((number,), process.memory_info().rss)
                    started.add_metric((number,), process.create_time())
            except (psutil.Error, OSError, ValueError):  # it is being replaced
                continue
        yield from (cpu, memory, started)


def _worker_metrics(workers: Sequence[WorkerState]) -> Iterator[Metric]:
    """Yield the workers by name; workers of the same name are merged, since series are unique."""
    names = ("worker",)
    slots = GaugeMetricFamily("labext_worker_slots", "Slots of ready workers.", labels=names)
    busy = GaugeMetricFamily("labext_worker_slots_busy", "Slots in use.", labels=names)
    ready = GaugeMetricFamily("labext_worker_ready", "Number of ready workers.", labels=names)
    for name in dict.fromkeys(worker.name for worker in workers):
        same = [worker for worker in workers if worker.name == name]
        is_ready = [worker for worker in same if worker.state == "ready"]
        slots.add_metric((name,), sum(worker.slots for worker in is_ready))
        busy.add_metric((name,), sum(worker.busy for worker in same))
        ready.add_metric((name,), len(is_ready))
    yield from (slots, busy, ready)


class MetricsEndpoint:
    """Serve `GET /metrics` to requests with the token, before the check of the Host header."""

    def __init__(self, app: ASGIApp, folder: Path, state: ServerState, token: str) -> None:
        self._app = app
        self._registry = CollectorRegistry()
        MultiProcessCollector(self._registry, str(folder))  # type: ignore[no-untyped-call]
        self._registry.register(state)
        self._authorization = f"Bearer {token}"
        self._thread = anyio.CapacityLimiter(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        sent = headers.get("authorization", "")
        response: Response = PlainTextResponse(
            "The token of the metrics is missing or wrong; the server's data folder has it in "
            "secrets/metrics_token.\n",
            401,
            {"WWW-Authenticate": "Bearer"},
        )
        if hmac.compare_digest(sent.encode(), self._authorization.encode()):
            encode, media_type = choose_encoder(headers.get("accept", ""))
            content = await anyio.to_thread.run_sync(
                lambda: encode(self._registry), limiter=self._thread
            )
            response = Response(content, headers={"Content-Type": media_type})
        await response(scope, receive, send)

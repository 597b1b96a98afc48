"""Short texts: the number processed per second, and the delay of a synchronous upload.

Several hundred texts are inserted into the queue of the database, so that requests are not
measured. Then a text is uploaded whose response is sent after its processing.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
import requests
from databases import open_database
from sqlalchemy import func, select

from labext.sandbox import Sandbox
from labext.sandbox.core.database import Database
from labext.sandbox.core.queue import Task
from labext.sandbox.nb import tables
from labext.sandbox.nb.ingestion import tasks
from labext.sandbox.nb.tables import COMPLETED, Source

pytestmark = pytest.mark.benchmark

WORKERS = 2


@pytest.fixture(scope="session")
def services() -> list[str]:
    return ["labext.sandbox.nb.app:service"]


def text(number: int) -> str:
    return f"Arabinose induces the promoter of plasmid {number} in culture {number * 7}. " * 5


@contextlib.contextmanager
def database_of(box: Sandbox) -> Iterator[Database]:
    database = open_database(box.data_dir)
    try:
        yield database
    finally:
        database.close()


def queue_texts(database: Database, count: int) -> None:
    """Queue texts as asynchronous uploads do."""
    with database.write() as session:
        for number in range(count):
            content = text(number)
            source = Source(
                id=tables.new_identifier("source"),
                kind="text",
                topic="",
                title=f"Text {number}",
                full_text=content,
                size=len(content),
            )
            session.add(source)
            session.add(
                Task(
                    kind=tasks.PROCESS.name,
                    key=tasks.PROCESS.key(source.id),
                    payload={"source": source.id, "titled": True, "short": True},
                    priority=2,
                )
            )


def waiting(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(Task)) or 0


def cpu_seconds(host: psutil.Process) -> float:
    """Return the CPU time of the host and of its descendants, including ended ones."""
    total = 0.0
    for process in (host, *host.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


@pytest.mark.parametrize("count", [300, 1000])
def test_short_texts(
    benchmark: Any, figure: Callable[[str, str], None], new_box: Callable[..., Sandbox], count: int
) -> None:
    count = count if benchmark.enabled else 5
    box = new_box(workers=WORKERS)
    host = psutil.Process(box.status().pid)
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {box.nb.password}"
    waits: list[float] = []

    def upload() -> None:
        started_at = time.perf_counter()
        answer = session.post(
            f"{box.nb.base_url}/sources",
            json={"text": text(-1), "process_async": False},
            timeout=600,
        )
        assert answer.json()["status"] == "completed", answer.text
        waits.append(time.perf_counter() - started_at)

    with session, database_of(box) as database:
        upload()  # the model is loaded
        upload()
        before = cpu_seconds(host)
        queue_texts(database, count)
        start = time.perf_counter()

        def run() -> None:
            upload()
            while waiting(database):
                time.sleep(0.02)

        benchmark.pedantic(run, rounds=1, iterations=1)
        seconds = time.perf_counter() - start
        cpu = cpu_seconds(host) - before
        with database.read() as reading:
            done = select(func.count()).select_from(Source).where(Source.status == COMPLETED)
            assert reading.scalar(done) == count + 3
    figure(
        f"{count} short texts on {WORKERS} workers",
        f"{(count + 1) / seconds:.1f} a second ({cpu / (count + 1) * 1000:.0f} ms of CPU each); an "
        f"awaited upload took {waits[1]:.2f} s alone and {waits[2]:.2f} s behind them",
    )

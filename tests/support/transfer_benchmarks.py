"""Benchmark clients: in separate processes with their peak memory, or on one connection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import orjson
import psutil
from databases import open_database
from sqlalchemy import Table, insert, select

from labext.sandbox import Sandbox
from labext.sandbox.jobs.tables import (
    COMPLETE,
    STOPPED,
    Account,
    Job,
    current_timestamp,
    job_record,
)

PEAK_MEMORY = """
import threading
import psutil

class PeakMemory:
    '''Peak increase of the memory of this process during the block, in bytes.'''

    def __enter__(self):
        self._process, self._done = psutil.Process(), threading.Event()
        self._before = self._peak = self._process.memory_info().rss
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()
        self.bytes = self._peak - self._before

    def _watch(self):
        while not self._done.wait(0.01):
            self._peak = max(self._peak, self._process.memory_info().rss)
"""


def run_client(
    script: str, *arguments: object, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run a script, which may use `PeakMemory`; return the JSON object in its last line."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK_MEMORY + script, *map(str, arguments)],
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def compare_transfers(
    benchmark: Any,
    figure: Callable[[str, str], None],
    transfer: Callable[[str], dict[str, float]],
    title: str,
    baseline: str,
) -> list[dict[str, float]]:
    """Compare the speed of labext with that of a baseline, and record it with the memory.

    Args:
        benchmark: the fixture.
        figure: the fixture.
        transfer: transfers once by `bare` or `ours`; returns `seconds`, `bytes` and `memory`.
        title: the name of the figure, without the size.
        baseline: the name of the baseline.

    Returns:
        The results of all transfers.
    """
    results: dict[str, list[dict[str, float]]] = {"bare": [], "ours": []}

    def take_turns() -> None:
        for how in sorted(results, reverse=len(results["bare"]) % 2 == 0):
            results[how].append(transfer(how))

    benchmark.pedantic(take_turns, rounds=15 if benchmark.enabled else 1, iterations=1)
    mib = results["ours"][0]["bytes"] / 2**20
    speed = {how: mib / median(run["seconds"] for run in runs) for how, runs in results.items()}
    ratio = speed["ours"] / speed["bare"]
    memory = max(run["memory"] for run in results["ours"]) / 2**20
    benchmark.extra_info |= {"speed_ratio": ratio, "memory_mib": memory}
    figure(
        f"{mib:,.0f} MiB {title}",
        f"{ratio:.2f} of the speed of {baseline}, of 0.9 ({speed['ours']:,.0f} MiB/s to "
        f"{speed['bare']:,.0f}); {memory:.0f} MiB more memory, of 32",
    )
    return [*results["bare"], *results["ours"]]


class Connection:
    """A client with one connection to a service that obeys the rate limit.

    `http.client` costs less than the services do.
    """

    def __init__(self, box: Sandbox, base_url: str, headers: Mapping[str, str]) -> None:
        address = urlsplit(base_url)
        self._connection = HTTPConnection(address.hostname or "", address.port)
        self._headers = {"Content-Type": "application/json", **headers}
        pid = box.status().pid
        assert pid is not None
        self._host = psutil.Process(pid)

    def close(self) -> None:
        self._connection.close()

    def request(self, method: str, path: str, content: bytes | None = None) -> bytes:
        """Return the body of a successful response."""
        while True:
            self._connection.request(method, f"/api{path}", content, self._headers)
            response = self._connection.getresponse()
            body = response.read()
            if response.status != 429:
                assert response.status == 200, body
                return body
            time.sleep(int(response.headers["Retry-After"]))

    def measure(self, calls: Sequence[Callable[[], object]]) -> tuple[float, float]:
        """Return the median seconds of a call, and the host's CPU seconds per call."""
        calls[0]()
        durations = []
        before = self._host.cpu_times()
        for call in calls:
            started_at = time.perf_counter()
            call()
            durations.append(time.perf_counter() - started_at)
        after = self._host.cpu_times()
        used = after.user + after.system - before.user - before.system
        return median(durations), used / len(calls)


def insert_jobs(box: Sandbox, start: int, end: int) -> None:
    """Insert complete digest jobs of the student."""
    database = open_database(box.data_dir)
    try:
        with database.write() as session:
            student = session.scalars(select(Account).where(Account.owner.is_(False))).first()
            assert student is not None
            table = Job.__table__
            assert isinstance(table, Table)
            rows = [_job_row(student.id, number) for number in range(start, end)]
            session.execute(insert(table), rows)
    finally:
        database.close()


def _job_row(account: int, number: int) -> dict[str, Any]:
    moment = current_timestamp()
    values = {
        "account_id": account,
        "name": f"digest-of-plasmid-{number}",
        "type": "digest",
        "tool": "digest",
        "status": COMPLETE if number % 4 else STOPPED,
        "created": moment,
        "started": moment,
        "completed": moment,
        "settings": '{"sequence":"GAATTCAAAAAAGAATTCAAAAAAGAATTC","enzymes":["EcoRI","HindIII"]}',
        "score": '{"length":30,"cuts":3,"fragments":4,"longest":14,"shortest":1}',
        "weighted_hours": 0.000012,
        "bytes": 0,
    }
    return values | {"record": orjson.dumps(job_record(Job(**values))).decode()}

"""Jobs per minute of a trivial tool (digest), and the overhead of the service.

The overhead is measured in two ways. Share of the workers' time: 1 - seconds of the jobs' processes
/ (workers x total seconds), the time that a worker waits between two jobs. Share of the CPU time:
that of the host and the fork server in the total of both and the jobs; it hardly depends on the
load of the machine.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

from labext.sandbox import Sandbox

pytestmark = [pytest.mark.benchmark, pytest.mark.usefixtures("cold_if_measured")]

WORKERS = 2
SETTINGS = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI", "HindIII"]}
USED = (
    "SELECT count(*), sum(weighted_hours) FROM jobs_jobs WHERE type = 'digest' "
    "AND status = 'Complete' AND name LIKE 'measured%'"
)


class Service:
    """A sandbox with jobs, measured from another process."""

    def __init__(self, box: Sandbox) -> None:
        self._address, self._database = box.jobs.base_url, box.data_dir / "sandbox.sqlite"
        self._session = requests.Session()
        self._session.headers["x-api-key"] = box.jobs.api_key
        pid = box.status().pid
        assert pid is not None
        self._host = psutil.Process(pid)
        [self._fork_server] = self._host.children()

    def submit(self, name: str, jobs: int, batches: bool) -> None:
        if not batches:
            for number in range(jobs):
                body = {"jobName": f"{name}{number}", "type": "digest", "settings": SETTINGS}
                self._post("submit-job", body)
            return
        for start in range(0, jobs, 100):
            names = [f"j{number}" for number in range(min(100, jobs - start))]
            body = {"batchName": f"{name}{start}", "type": "digest", "jobNames": names}
            self._post("submit-batch", body | {"settings": [SETTINGS] * len(names)})

    def _post(self, path: str, body: dict[str, Any]) -> None:
        answer = self._session.post(self._address + path, json=body, timeout=60)
        assert answer.status_code == 200, answer.text

    def wait(self) -> None:
        """Wait for the end of all tasks; polls the database instead of the service."""
        until = time.monotonic() + 600
        while self._ask("SELECT count(*) FROM tasks")[0]:
            assert time.monotonic() < until
            time.sleep(0.02)

    def used(self) -> tuple[int, float]:
        """Return the number of complete jobs, and the seconds of their processes."""
        jobs, hours = self._ask(USED)
        return jobs, (hours or 0.0) * 3600

    def cpu(self) -> tuple[float, float, float]:
        """Return the CPU seconds of the host, of the fork server, and of the ended jobs."""
        host, server = self._host.cpu_times(), self._fork_server.cpu_times()
        jobs = server.children_user + server.children_system
        return host.user + host.system, server.user + server.system, jobs

    def _ask(self, statement: str) -> Any:
        connection = sqlite3.connect(f"file:{self._database}?mode=ro", uri=True)
        try:
            return connection.execute(statement).fetchone()
        finally:
            connection.close()


@pytest.mark.parametrize("how", ["batches of 100", "single jobs"])
def test_jobs_a_minute(
    benchmark: Any,
    figure: Callable[[str, str], None],
    new_box: Callable[..., Sandbox],
    tmp_path: Path,
    how: str,
) -> None:
    jobs = 600 if benchmark.enabled else 6
    service = Service(new_box(workers=WORKERS, data_dir=tmp_path / "box"))
    service.submit("warm", max(2, jobs // 12), True)
    service.wait()
    before = service.cpu()

    def run() -> None:
        service.submit("measured", jobs, how.startswith("batches"))
        service.wait()

    started_at = time.perf_counter()
    benchmark.pedantic(run, rounds=1, iterations=1)
    seconds = time.perf_counter() - started_at
    host, server, tools = (after - was for after, was in zip(service.cpu(), before, strict=True))
    done, running = service.used()
    assert done == jobs
    assert tools > 0
    waiting = 1 - running / (WORKERS * seconds)
    own = (host + server) / (host + server + tools)
    benchmark.extra_info |= {"waiting_share": waiting, "cpu_share": own}
    figure(
        f"digest in {how}, {jobs} jobs on {WORKERS} workers",
        f"{jobs / seconds * 60:,.0f} jobs a minute; of the workers' time {waiting:.0%} is the "
        f"service's; of the CPU {own:.0%} (a job: host {host / jobs * 1000:.1f} ms, fork server "
        f"{server / jobs * 1000:.1f} ms, the job's process {tools / jobs * 1000:.1f} ms)",
    )

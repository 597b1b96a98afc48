"""Tasks on three workers with two slots each: throughput, and the cost of kills and partitions.

A normal run has few tasks and faults, short leases and one kind of service. LABEXT_CLUSTER_TASKS,
_KILLS and _PARTITIONS set other numbers; 2000, 50 and 5 take about ten minutes.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest
import short_intervals
from cluster import Cluster, Proxy
from labext_test_cluster_service import Ended, create_queue, start_service
from labext_test_warm import ForkedProcess
from sqlalchemy import func, select
from supervision import Harness
from waiting import wait_until

from labext.sandbox.core.executors.cluster.dask_executor import DaskExecutor
from labext.sandbox.core.queue import Task

pytestmark = pytest.mark.benchmark

WORKERS = 3


# Read at import, since the environment of a test lacks these variables.
IS_LONG = "LABEXT_CLUSTER_TASKS" in os.environ
TASKS, KILLS, PARTITIONS, SEED = (
    int(os.environ.get(f"LABEXT_CLUSTER_{name}", default))
    for name, default in (("TASKS", 16), ("KILLS", 1), ("PARTITIONS", 0), ("SEED", 1))
)


def _await_workers(harness: Harness, slots: int) -> None:
    remote = harness.supervisor.remote
    assert isinstance(remote, DaskExecutor)
    wait_until(lambda: remote.free_slots() == slots)


def test_throughput_of_sleeping_tasks(
    benchmark: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Run tasks that sleep for one second; goal: 95 % of the ideal rate on an idle machine."""
    rounds = 20 if request.config.getoption("--benchmark-only") else 1
    cluster = Cluster(tmp_path / "cluster")
    harness = Harness(tmp_path, remote=lambda: DaskExecutor(cluster.address, None, "service"))
    try:
        for _ in range(WORKERS):
            cluster.start_worker()
        harness.supervisor.start()
        _await_workers(harness, 2 * WORKERS)
        keys = [f"t{number}" for number in range(2 * WORKERS * rounds)]

        def run() -> None:
            with harness.database.write() as session:
                for key in keys:
                    harness.queue.put(session, "wait", key, {"seconds": 1.0})
            assert harness.queue.wait(harness.database, keys, 60 + 3 * rounds)

        began = time.monotonic()
        benchmark.pedantic(run, rounds=1, iterations=1)
        share = rounds / (time.monotonic() - began)
        assert {harness.outcomes[key].outcome for key in keys} == {"done"}
        benchmark.extra_info["share of ideal"] = round(share, 3)
    finally:
        harness.close()
        cluster.close()


class _Site:
    """A service, a scheduler and workers, each of which can be killed.

    With the address of a PostgreSQL database the service has two processes.
    """

    def __init__(self, folder: Path, url: str = "") -> None:
        self.folder = folder
        self.url = url
        self.cluster = Cluster(folder / "cluster")
        self.proxies = [Proxy(self.cluster.port) for _ in range(2)]
        self.kills: Counter[str] = Counter()
        self.workers = [self._start_worker() for _ in range(WORKERS)]
        self.database, self.queue = create_queue(folder, url)
        self.services = {name: self._start_service(name) for name in (("0", "1") if url else ("",))}

    def _start_worker(self) -> ForkedProcess:
        return self.cluster.start_worker(address=self.proxies[1].address)

    def _start_service(self, process: str) -> ForkedProcess:
        return start_service(self.folder, self.proxies[0].address, self.url, process)

    def kill(self, what: str) -> None:
        """Kill a process with SIGKILL, and start it again."""
        self.kills[what] += 1
        if what == "service":
            name = random.choice([*self.services])
            self.services[name].kill()
            self.services[name].wait()
            self.services[name] = self._start_service(name)
        elif what == "scheduler":
            assert self.cluster.scheduler is not None
            self.cluster.scheduler.kill()
            self.cluster.scheduler.wait()
            self.cluster.start_scheduler()
        else:
            number = random.randrange(WORKERS)
            self.workers[number].kill()
            self.workers[number].wait()
            self.workers[number] = self._start_worker()

    def remaining(self) -> int:
        with self.database.read() as session:
            return session.scalar(select(func.count()).select_from(Task)) or 0

    def processes(self) -> list[int]:
        """Return the processes of tasks and fork servers of this test."""
        found = []
        for process in psutil.process_iter():
            try:
                if str(self.folder) in process.environ().get("LABEXT_TASKS", ""):
                    found.append(process.pid)
            except psutil.Error:
                continue
        return found

    def close(self) -> None:
        for service in self.services.values():
            service.kill()
            service.wait()
        self.cluster.close()
        for proxy in self.proxies:
            proxy.close()
        self.database.close()


@pytest.mark.parametrize("processes", [1, 2] if IS_LONG else [2])
def test_kills_and_partitions_neither_lose_nor_duplicate_tasks(
    benchmark: Any,
    tmp_path: Path,
    processes: int,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks = TASKS
    if not IS_LONG:
        short_intervals.use(monkeypatch)
    random.seed(SEED)
    several = processes > 1
    url = request.getfixturevalue("postgresql_server").new_database() if several else ""
    site = _Site(tmp_path, url)
    runs, locks = tmp_path / "runs", tmp_path / "locks"
    locks.mkdir()
    try:
        with site.database.write() as session:
            for number in range(tasks):
                payload = {"file": str(runs), "seconds": 0.5, "lock": str(locks / str(number))}
                site.queue.put(session, "run", f"t{number}", payload)
        wait_until(runs.exists)

        def run() -> None:
            faults = [*(["worker", "scheduler", "service"] * KILLS)[:KILLS]]
            faults += ["partition"] * PARTITIONS
            random.shuffle(faults)
            for number, fault in enumerate(faults):
                left = tasks * (len(faults) - number) // (len(faults) + 1)
                wait_until(lambda left=left: site.remaining() <= left, 120)
                if fault == "partition":
                    proxy = random.choice(site.proxies)
                    proxy.stop()
                    time.sleep(random.choice([2, 6, 12]))
                    proxy.resume()
                else:
                    site.kill(fault)
            wait_until(lambda: site.remaining() == 0, 300)

        benchmark.pedantic(run, rounds=1, iterations=1)
        with site.database.read() as session:
            ended = {row.key: row for row in session.scalars(select(Ended))}
        lost = [f"t{n}" for n in range(tasks) if f"t{n}" not in ended]
        doubled = [row.key for row in ended.values() if row.times > 1]
        overlaps = (locks / "overlaps").read_text() if (locks / "overlaps").exists() else ""
        failed = {row.key: row.outcome for row in ended.values() if row.outcome != "done"}
        benchmark.extra_info |= {
            "processes": processes,
            "tasks": tasks,
            "kills": dict(site.kills),
            "partitions": PARTITIONS,
            "begun": len(runs.read_text().split()),
            "attempts": sum(row.attempt for row in ended.values()),
        }
        assert (lost, doubled, failed) == ([], [], {})
        assert overlaps == "", "two attempts of a task ran at the same time"
        with site.database.write() as session:
            for number in range(2 * WORKERS):
                payload = {"file": str(runs), "seconds": 300}
                site.queue.put(session, "run", f"last{number}", payload)
        begun = len(runs.read_text().split())
        wait_until(lambda: len(runs.read_text().split()) > begun)
        stopped = time.monotonic()
        for service in site.services.values():
            service.terminate()
        for worker in site.workers:
            worker.terminate()
        wait_until(lambda: not site.processes(), 10)
        benchmark.extra_info["seconds to end"] = round(time.monotonic() - stopped, 1)
        print(benchmark.extra_info)
    finally:
        site.close()

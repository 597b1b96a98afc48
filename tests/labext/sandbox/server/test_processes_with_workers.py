"""Several service processes with workers on other machines: one of them hands out the jobs."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import host_log
import psutil
import pytest
import requests
import short_intervals
from cluster import SUPPORT, Cluster
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import func, select
from tls_server import make_server
from waiting import wait_until

from labext.sandbox.core.database import Database
from labext.sandbox.core.queue import Task
from labext.sandbox.core.signing import new_key
from labext.sandbox.jobs.administration import open_administration
from labext.sandbox.jobs.tables import Job, Usage
from labext.sandbox.server import Server

pytestmark = pytest.mark.faults

SERVICES = ["labext_test_journal:service"]
TOOLS = ["keep_journal"]
SLOTS = 2


class Run(NamedTuple):
    """A process of a job, between its first and its last line."""

    label: str
    pid: int
    began: float
    last: float


def read_runs(journal: Path) -> list[Run]:
    """Return the processes that have written to a journal, in the order of their starts."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    times: dict[tuple[str, int], list[float]] = {}
    for label, pid, moment in map(str.split, lines):
        times.setdefault((label, int(pid)), []).append(float(moment))
    found = [Run(label, pid, min(t), max(t)) for (label, pid), t in times.items()]
    return sorted(found, key=lambda run: run.began)


class Site:
    """A server with two processes, the workers of a test, and accounts with keys."""

    def __init__(
        self, server: Server, database: Database, folder: Path, keys: dict[str, str]
    ) -> None:
        self.server = server
        self.database = database
        self.journal = folder / "journal"
        self._keys = keys
        address = (server.status().worker_command or "").split()[3]
        self.workers = Cluster(folder / "cluster", beside=address)

    def start_worker(self, name: str) -> Any:
        return self.workers.start_worker(
            name=name,
            slots=SLOTS,
            memory=8 << 30,
            capabilities=TOOLS,
            preload=["labext_test_journal"],
        )

    def ask(self, method: str, path: str, user: str = "eve@example.org", **more: Any) -> Any:
        """Send a request on a new connection; again if its process was killed meanwhile."""
        if user not in self._keys:
            self._keys[user] = new_key("sk_")
            with open_administration(self.server.data_dir) as admin:
                admin.add_account(user)
                admin.add_key(user, self._keys[user])
        assert self.server.settings is not None
        for _ in range(50):
            with contextlib.suppress(requests.ConnectionError):
                response = requests.request(
                    method,
                    f"{self.server.settings.origin('jobs')}{path}",
                    headers={"x-api-key": self._keys[user], "Connection": "close"},
                    verify=str(self.server.settings.ca_bundle),
                    timeout=30,
                    **more,
                )
                assert response.status_code == 200, response.text
                return json.loads(response.text) if method == "GET" else response.text
            time.sleep(0.1)
        pytest.fail("nobody answers")

    def submit(self, name: str, count: int, seconds: float, user: str = "eve@example.org") -> None:
        labels = [f"{name}-{number}" for number in range(count)]
        settings = [
            {"journal": str(self.journal), "label": label, "seconds": seconds} for label in labels
        ]
        body = {"batchName": name, "type": TOOLS[0], "settings": settings}
        body["jobNames"] = [f"n{number}" for number in range(count)]
        self.ask("POST", "/api/submit-batch", user, json=body)

    def is_complete(self, batch: str) -> bool:
        with self.database.read() as session:
            statuses = {*session.scalars(select(Job.status).where(Job.name.like(f"{batch}-n%")))}
        assert not statuses & {"Stopped", "Failed"}, statuses
        return statuses == {"Complete"}

    def stop_jobs(self) -> None:
        for job in self.ask("GET", "/api/jobs?limit=1000")["jobs"]:
            if job["JobStatus"] in ("Running", "In Queue"):
                self.ask("POST", "/api/stop-job", json={"jobName": job["JobName"]})

    def runs(self) -> list[Run]:
        return read_runs(self.journal)

    def metrics(self) -> dict[str, float]:
        """Return the metrics without labels other than the worker, from one of the processes."""
        assert self.server.settings is not None
        token = (self.server.data_dir / "secrets" / "metrics_token").read_text()
        response = requests.get(
            f"{self.server.settings.origin('jobs')}/metrics",
            headers={"Authorization": f"Bearer {token}", "Connection": "close"},
            verify=str(self.server.settings.ca_bundle),
            timeout=30,
        )
        assert response.status_code == 200, response.text
        found: dict[str, float] = {}
        for family in text_string_to_metric_families(response.text):
            for sample in family.samples:
                if set(sample.labels) <= {"worker"} and "_worker" in sample.name:
                    key = " ".join([sample.name, *sample.labels.values()])
                    assert key not in found, "a series has one value"
                    found[key] = sample.value
        return found

    def ready(self) -> list[str]:
        """Return the names of the workers that are ready, as the dispatcher last published them."""
        return [
            worker["name"] for worker in self.server.status().cluster if worker["state"] == "ready"
        ]

    def published_busy(self) -> list[int]:
        """Return the used slots of the workers as the dispatcher last published them.

        The other process answers with these states.
        """
        return [worker["busy"] for worker in self.server.status().cluster]

    def processes(self) -> list[psutil.Process]:
        """Return the service processes; the first one hands out the jobs."""
        children = psutil.Process(self.server.status().pid).children()
        return [child for child in children if not _is_scheduler(child)]

    def schedulers(self) -> list[psutil.Process]:
        parent = psutil.Process(self.server.status().pid)
        return [child for child in parent.children(recursive=True) if _is_scheduler(child)]

    def dispatcher(self) -> psutil.Process:
        file = self.server.data_dir / "metrics" / "process-0.pid"
        return psutil.Process(int(file.read_text()))


def _is_scheduler(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return any("scheduler_process" in word for word in process.cmdline())
    return False


@pytest.fixture(scope="module")
def running_site(
    tmp_path_factory: pytest.TempPathFactory, postgresql_server: Any
) -> Iterator[tuple[Server, Database, dict[str, str]]]:
    """A running server, which every test but the last one leaves running; its database and keys."""
    url, folder = postgresql_server.new_database(), tmp_path_factory.mktemp("server")
    server = make_server(
        folder, url, processes=2, executor="dask", services=SERVICES, log_format="json"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(SUPPORT), prepend=":")
        short_intervals.use(patch)
        server.start()
    with contextlib.closing(Database(url)) as database:
        yield server, database, {}
    server.stop()


@pytest.fixture
def site(
    running_site: tuple[Server, Database, dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Site]:
    """The server and new workers, with short leases."""
    server, database, keys = running_site
    short_intervals.use(monkeypatch)
    site = Site(server, database, tmp_path, keys)
    yield site
    print(server.status(), *site.runs(), sep="\n")  # pytest shows it if the test has failed
    host_log.print_end(server.data_dir)
    if server.status().running:
        site.stop_jobs()
    site.workers.close()


def test_state_of_workers_is_the_same_from_every_process(site: Site) -> None:
    site.start_worker("bench")
    wait_until(lambda: "bench" in site.ready())
    site.submit("busy", 3, 120.0)
    wait_until(lambda: site.published_busy() == [SLOTS])
    seen = [site.ask("GET", "/api/workers") for _ in range(6)]  # either process answers
    for report in seen:
        local, bench = report["workers"]
        assert (local["slots"], local["busy"]) == (2, 0)
        assert (bench["name"], bench["state"]) == ("bench", "ready")
        assert (bench["slots"], bench["busy"], len(bench["jobs"])) == (SLOTS, SLOTS, SLOTS)
        assert report["executor"].startswith("tcp://127.0.0.1:")
    [worker] = site.server.status().cluster
    assert (worker["name"], worker["state"], worker["busy"]) == ("bench", "ready", SLOTS)
    assert len(site.schedulers()) == 1


def test_metrics_show_slots_running_tasks_and_lost_workers(site: Site) -> None:
    workers = [site.start_worker("bench") for _ in range(2)]  # of one machine: the same name
    wait_until(lambda: site.ready().count("bench") == 2)
    wait_until(lambda: site.metrics().get("labext_worker_ready bench") == 2)
    lost = site.metrics()["labext_workers_lost_total"]
    site.submit("measured", 4, 4.0)
    wait_until(lambda: site.published_busy() == [SLOTS, SLOTS])
    wait_until(lambda: site.metrics().get("labext_worker_slots_busy bench") == 2 * SLOTS)
    for _ in range(4):  # either process answers
        metrics = site.metrics()
        assert metrics["labext_worker_slots bench"] == 2 * SLOTS
        assert metrics["labext_worker_slots_busy bench"] == 2 * SLOTS
        assert metrics["labext_worker_slots_busy local"] == 0
        assert metrics["labext_workers_lost_total"] == lost
    workers[0].kill()
    wait_until(lambda: site.ready() == ["bench"], 15)
    wait_until(lambda: site.metrics()["labext_worker_ready bench"] == 1, 15)
    assert site.metrics()["labext_worker_slots bench"] in (SLOTS, 2 * SLOTS)
    wait_until(lambda: site.metrics()["labext_workers_lost_total"] == lost + 1, 20)
    wait_until(lambda: site.is_complete("measured"), 60)
    wait_until(lambda: site.metrics()["labext_worker_slots_busy bench"] == 0, 10)
    assert site.metrics()["labext_worker_slots bench"] == SLOTS
    workers[1].terminate()  # its end is reported, so it is not lost
    wait_until(lambda: "labext_worker_ready bench" not in site.metrics(), 20)
    time.sleep(1.2)
    assert {site.metrics()["labext_workers_lost_total"] for _ in range(4)} == {lost + 1}
    lines = (site.server.data_dir / "host.log").read_text().splitlines()
    loggers = {json.loads(line)["logger"].partition(".")[0] for line in lines}
    assert loggers == {"labext"}, "not dask's, which also runs in the scheduler"


def test_killed_dispatcher_is_replaced_and_no_job_runs_twice(site: Site) -> None:
    for name in ("a", "b"):
        site.start_worker(name)
    wait_until(lambda: {"a", "b"} <= {*site.ready()})
    [scheduler] = site.schedulers()
    before = _used(site)
    site.submit("killed", 10, 1.5)
    for _ in range(2):
        wait_until(lambda: len(_running(site)) == 2 * SLOTS, 60)
        first = site.dispatcher()
        begun = len(site.runs())
        killed = time.monotonic()
        first.kill()
        wait_until(lambda gone=first: not gone.is_running())
        site.ask("GET", "/api/workers")  # the other one answers meanwhile
        wait_until(lambda begun=begun: len(site.runs()) > begun, 30)
        assert time.monotonic() - killed < 15
    wait_until(lambda: site.is_complete("killed"), 120)
    assert site.schedulers() == [scheduler]
    for label in {run.label for run in site.runs()}:
        same = [run for run in site.runs() if run.label == label]
        for run, later in itertools.pairwise(same):
            assert run.last < later.began, "two attempts of a job ran at the same time"
    # Jobs whose end was not fetched in time run again, and count once.
    assert len(site.runs()) <= 10 + 2 * 2 * SLOTS
    assert _used(site) == before + 10


def _used(site: Site) -> int:
    """Return the number of jobs that count as used."""
    with site.database.read() as session:
        jobs = session.scalar(select(func.sum(Usage.jobs)).where(Usage.tool == TOOLS[0]))
    return int(jobs or 0)


def _running(site: Site) -> list[Run]:
    now = time.monotonic()
    return [run for run in site.runs() if run.last > now - 0.5]


def test_cancel_through_another_process_reaches_the_worker(
    site: Site, postgresql_server: Any
) -> None:
    site.start_worker("bench")
    site.submit("long", 1, 60.0)
    wait_until(lambda: site.published_busy() == [1])
    [run] = wait_until(site.runs)

    def is_cancelled() -> bool:
        with site.database.read() as session:
            return bool(session.scalars(select(Task.cancelled)).one())

    def is_suspended() -> bool:
        """Suspend the dispatcher outside a transaction, so that the other process answers."""
        dispatcher.suspend()
        query = "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'"
        if postgresql_server.run(query):
            dispatcher.resume()
            time.sleep(0.05)
            return False
        return True

    dispatcher = site.dispatcher()
    wait_until(is_suspended)
    try:
        stop = threading.Thread(
            target=site.ask, args=("POST", "/api/stop-job"), kwargs={"json": {"jobName": "long-n0"}}
        )
        stop.start()  # it returns after the end of the job
        wait_until(is_cancelled, 5)
    finally:
        dispatcher.resume()
    wait_until(lambda: not psutil.pid_exists(run.pid), 15)
    stop.join(30)
    wait_until(lambda: site.ask("GET", "/api/workers")["workers"][1]["busy"] == 0)
    assert [one.pid for one in site.runs()] == [run.pid]


def test_accounts_take_turns_at_the_workers(site: Site) -> None:
    site.start_worker("bench")
    wait_until(lambda: "bench" in site.ready())
    site.submit("many", 20, 0.6)
    wait_until(site.runs)
    submitted = time.monotonic()
    site.submit("one", 1, 0.6, "mallory@example.org")
    wait_until(lambda: site.is_complete("one"))
    order = [run.label for run in site.runs() if run.began > submitted]
    assert order.index("one-0") <= SLOTS + 1
    assert not site.is_complete("many")


def test_killed_scheduler_is_started_once_again(site: Site) -> None:
    site.start_worker("new")  # workers of earlier tests may still be listed
    wait_until(lambda: "new" in site.ready())
    [scheduler] = site.schedulers()
    scheduler.kill()
    wait_until(lambda: [one.pid for one in site.schedulers() if one != scheduler], 15)
    site.submit("after", 2, 0.3)
    wait_until(lambda: site.is_complete("after"), 60)
    assert len(site.schedulers()) == 1


def test_all_processes_end_with_a_killed_parent(site: Site) -> None:
    site.start_worker("bench")
    site.submit("orphaned", 4, 1.0)
    wait_until(site.runs)
    parent = psutil.Process(site.server.status().pid)
    processes = parent.children(recursive=True)
    os.kill(parent.pid, signal.SIGKILL)
    assert psutil.wait_procs(processes, timeout=15)[1] == []
    site.server.start()
    wait_until(lambda: site.is_complete("orphaned"), 60)


def test_stop_ends_the_scheduler_and_all_jobs_on_workers(site: Site) -> None:
    site.start_worker("bench")
    site.submit("endless", 2, 120.0)
    wait_until(lambda: len(site.runs()) == 2)
    parent = psutil.Process(site.server.status().pid)
    processes = [parent, *parent.children(recursive=True)]
    assert site.server.stop() is True
    assert psutil.wait_procs(processes, timeout=5)[1] == []
    wait_until(lambda: not any(psutil.pid_exists(run.pid) for run in site.runs()), 10)

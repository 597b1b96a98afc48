"""Jobs on workers, `GET /workers`, and the command `labext worker` (JOBS-200 to JOBS-202)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import select
from waiting import wait_until

from labext.errors import LabextError
from labext.jobs import JobsClient
from labext.sandbox import Sandbox
from labext.sandbox.core.executors.worker_states import Executors, WorkerState
from labext.sandbox.jobs.job_creation import run_key
from labext.sandbox.jobs.scheduling import list_workers
from labext.sandbox.jobs.tables import IN_QUEUE, Account, Job

pytestmark = pytest.mark.contract

SERVICES = ["labext.sandbox.jobs.app:service"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox whose jobs run on workers, with a scheduler beside it."""
    folder = tmp_path_factory.mktemp("cluster")
    with Sandbox(folder / "data", executor="dask", services=SERVICES) as box:
        yield box


@pytest.fixture
def client(cluster: Sandbox) -> Iterator[JobsClient]:
    with JobsClient(cluster.jobs.base_url, cluster.jobs.api_key, rate=None) as client:
        yield client


def _start_worker(cluster: Sandbox, folder: Path) -> subprocess.Popen[bytes]:
    command = (cluster.status().worker_command or "").split()
    assert command[:3] == ["labext", "worker", "--connect"]
    options = ["--slots", "2", "--memory", "8GiB", "--name", "bench", "--local-dir", str(folder)]
    with (folder / "worker.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "labext.cli", *command[1:], *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def test_jobs_wait_for_a_worker_and_run_on_it(
    cluster: Sandbox, client: JobsClient, tmp_path: Path
) -> None:
    settings = {"sequence": "AAAGAATTCAAA", "enzymes": ["EcoRI"]}
    client.submit("cut", "digest", settings)
    before = client.workers()
    assert list(before["name"]) == ["local"]
    [waiting] = before.attrs["waiting"]
    assert (waiting["tool"], waiting["jobs"]) == ("digest", 1)
    assert waiting["reason"] == f"No worker is connected to {before.attrs['executor']}."
    shown: Any = client.show("cut")
    assert shown["QueueReason"].tolist() == [waiting["reason"]]
    assert waiting["reason"] in repr(shown) or waiting["reason"] in shown._repr_html_()
    worker = _start_worker(cluster, tmp_path)
    try:
        client.wait("cut", timeout=120)
        frame = client.workers()
        assert frame.attrs["waiting"] == []
        row = frame.set_index("name").loc["bench"]
        assert (row["state"], row["slots"], row["memory"]) == ("ready", 2, 8 << 30)
        assert "digest" in row["tools"]
        assert "digest with" in client.log("cut")
        assert "fragments.csv" in client.result_files("cut")
        wait_until(lambda: any(w["name"] == "bench" for w in cluster.status().cluster), 15)
        _check_loopback_only(cluster, worker.pid)
    finally:
        worker.terminate()
        assert worker.wait(20) == 0
    [line] = (tmp_path / "worker.log").read_text().splitlines()
    assert "is connected to" in line, "dask logs nothing"
    assert not list(tmp_path.glob("*/forkserver.lock"))


def _check_loopback_only(cluster: Sandbox, worker: int) -> None:
    """Check that the scheduler and workers, which have no certificates, listen on loopback only."""
    host = cluster.status().pid
    assert host is not None
    processes = [host, worker]
    processes += [child.pid for child in psutil.Process(host).children(recursive=True)]
    listening = {
        connection.laddr.ip
        for pid in processes
        for connection in psutil.Process(pid).net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}


def test_jobs_of_others_are_counted_and_not_named(site, student) -> None:
    class OneWorker(Executors):
        def workers(self) -> list[WorkerState]:
            keys = (run_key(1), run_key(2), "nb.read 7")
            return [WorkerState("w", "", "ready", 4, 3, None, (), keys, 0.0)]

    with site.database.write() as session:
        [other] = session.scalars(select(Account).where(Account.id != student.id).limit(1))
        for number, owner in ((1, student), (2, other)):
            texts = {"tool": "digest", "type": "digest", "settings": "{}", "created": "now"}
            name = f"j{number}"
            session.add(Job(id=number, name=name, account_id=owner.id, status=IN_QUEUE, **texts))
    report = list_workers(replace(site, executors=OneWorker()), student)
    [worker] = report["workers"]
    assert (worker["jobs"], worker["busy"]) == (["j1"], 3)


def test_scheduler_beside_the_services_ends_with_them(cluster: Sandbox) -> None:
    pid = cluster.status().pid
    assert pid is not None
    schedulers = [
        child
        for child in psutil.Process(pid).children()
        if any("scheduler_process" in word for word in child.cmdline())
    ]
    assert len(schedulers) == 1
    os.kill(pid, 9)
    psutil.wait_procs(schedulers, timeout=10)
    assert not schedulers[0].is_running()


def test_sandbox_does_not_start_without_its_scheduler(tmp_path: Path) -> None:
    box = Sandbox(tmp_path, executor="tcp://127.0.0.1:1", services=SERVICES)
    with pytest.raises(LabextError, match="can't be reached"):
        box.start()
    assert box.status().state == "stopped"

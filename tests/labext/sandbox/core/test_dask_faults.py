"""Killed workers and schedulers, partitions and foreign certificates of a dask cluster."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import SUPPORT, Cluster, Proxy, environment, tree
from labext_test_cluster_service import create_queue
from supervision import Harness, is_gone, state
from waiting import wait_until

from labext.errors import SetupError
from labext.sandbox.core.executors.cluster.address import (
    TlsFiles,
    check_connection,
    write_certificates,
)
from labext.sandbox.core.executors.cluster.dask_executor import DaskExecutor
from labext.sandbox.core.executors.cluster.protocol import RPC_SECONDS

pytestmark = pytest.mark.faults


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path / "cluster")
    yield cluster
    cluster.close()


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    proxy = Proxy(cluster.port)
    yield proxy
    proxy.close()


def _start(tmp_path: Path, address: str, tls: TlsFiles | None = None) -> Harness:
    folder = tmp_path / "service"
    folder.mkdir()
    harness = Harness(folder, remote=lambda: DaskExecutor(address, tls, "service"))
    harness.supervisor.start()
    return harness


def _begun(runs: Path, count: int) -> list[int]:
    """Wait until a task has begun `count` times; return its processes."""
    wait_until(lambda: runs.exists() and len(runs.read_text().split()) >= count)
    return [int(pid) for pid in runs.read_text().split()]


def test_task_of_a_killed_worker_runs_on_another(tmp_path: Path, cluster: Cluster) -> None:
    first = cluster.start_worker()
    harness = _start(tmp_path, cluster.address)
    runs = tmp_path / "runs"
    try:
        harness.put("count_runs", "only", file=str(runs), seconds=3)
        _begun(runs, 1)
        wait_until(lambda: state(harness, "only")[0] == "running")
        processes = tree(first.pid)
        first.kill()
        cluster.start_worker()
        wait_until(lambda: all(is_gone(pid) for pid in processes[1:]), 10)
        outcome = harness.result("only", 60)
        assert outcome.result == {"pid": _begun(runs, 2)[1]}
        assert len(_begun(runs, 2)) == 2
        assert harness.starts == ["only", "only"]
    finally:
        harness.close()


def test_task_goes_on_while_the_scheduler_is_restarted(tmp_path: Path, cluster: Cluster) -> None:
    cluster.start_worker()
    harness = _start(tmp_path, cluster.address)
    runs = tmp_path / "runs"
    try:
        harness.put("count_runs", "only", file=str(runs), seconds=5)
        [pid] = _begun(runs, 1)
        assert cluster.scheduler is not None
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        cluster.start_scheduler()
        outcome = harness.result("only", 60)
        # If the reconnection takes longer than a lease, it has begun again.
        assert outcome.result["pid"] == _begun(runs, 1)[-1]
        assert outcome.outcome == "done"
        assert len(_begun(runs, 1)) <= 2
        assert is_gone(pid)
        harness.put("answer", "later")
        assert harness.result("later").outcome == "done"
    finally:
        harness.close()


def test_short_partition_does_not_disturb_a_task(
    tmp_path: Path, cluster: Cluster, proxy: Proxy
) -> None:
    cluster.start_worker()
    harness = _start(tmp_path, proxy.address)
    runs = tmp_path / "runs"
    try:
        harness.put("count_runs", "only", file=str(runs), seconds=4)
        [pid] = _begun(runs, 1)
        proxy.stop()
        time.sleep(2)
        proxy.resume()
        assert harness.result("only").result == {"pid": pid}
    finally:
        proxy.resume()
        harness.close()


def test_partition_ends_the_task_at_the_worker_and_repeats_it(
    tmp_path: Path, cluster: Cluster, proxy: Proxy
) -> None:
    cluster.start_worker()
    harness = _start(tmp_path, proxy.address)
    runs = tmp_path / "runs"
    try:
        harness.put("count_runs", "only", file=str(runs), seconds=60)
        [pid] = _begun(runs, 1)
        proxy.stop()
        wait_until(lambda: is_gone(pid), 10)
        wait_until(lambda: state(harness, "only")[0] == "queued", 20)
        proxy.resume()
        assert _begun(runs, 2)[1] != pid
        harness.cancel("only")
        assert harness.result("only", 15).outcome == "stopped"
        assert all(is_gone(pid) for pid in _begun(runs, 2))
    finally:
        proxy.resume()
        harness.close()


class _CutOff:
    """A service that cannot reach the worker `w0`; one message arrives there late."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, op: str, delay: float) -> None:
        self.is_on = False
        self.delivered = threading.Event()
        self.replies: list[Any] = []
        self._held: list[asyncio.Task[None]] = []
        send = DaskExecutor._call

        async def deliver(executor: DaskExecutor, worker: Any, message: dict[str, Any]) -> None:
            await asyncio.sleep(delay)
            self.replies.append(await send(executor, worker, **message))
            self.delivered.set()

        async def call(
            executor: DaskExecutor, worker: Any, seconds: float = RPC_SECONDS, **message: Any
        ) -> Any:
            if not self.is_on or worker.label != "w0":
                return await send(executor, worker, seconds, **message)
            if message["op"] == op and not self._held:
                self._held.append(asyncio.create_task(deliver(executor, worker, message)))
            await asyncio.sleep(seconds)
            raise TimeoutError

        monkeypatch.setattr(DaskExecutor, "_call", call)


def test_message_held_back_does_not_keep_a_task_that_starts_elsewhere(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.start_worker()
    cut = _CutOff(monkeypatch, "labext_sync", 4)
    harness = _start(tmp_path, cluster.address)
    runs = tmp_path / "runs"
    try:
        harness.put("count_runs", "only", file=str(runs), seconds=60)
        [pid] = _begun(runs, 1)
        wait_until(lambda: state(harness, "only")[0] == "running")
        cluster.start_worker()
        cut.is_on = True
        assert cut.delivered.wait(20)
        assert not is_gone(pid)  # its lease is not over yet
        _begun(runs, 2)
        assert is_gone(pid)
    finally:
        harness.close()


def test_start_held_back_does_not_start_a_task_that_runs_elsewhere(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.start_worker()
    cut = _CutOff(monkeypatch, "labext_start", 12)
    harness = _start(tmp_path, cluster.address)
    runs = tmp_path / "runs"
    try:
        remote = harness.supervisor.remote
        assert isinstance(remote, DaskExecutor)
        wait_until(lambda: [w.state for w in remote.workers()] == ["ready"])
        cut.is_on = True
        harness.put("count_runs", "only", file=str(runs), seconds=60)
        cluster.start_worker()
        _begun(runs, 1)
        assert cut.delivered.wait(20)
        assert cut.replies == [{"refused": "late"}]
        assert len(_begun(runs, 1)) == 1
    finally:
        harness.close()


def test_task_of_a_killed_service_waits_for_its_end_at_a_worker_that_does_not_answer(
    tmp_path: Path, cluster: Cluster
) -> None:
    first = cluster.start_worker()
    runs = tmp_path / "runs"
    database, queue = create_queue(tmp_path)
    service = _start_service(tmp_path, cluster.address)
    try:
        with database.write() as session:
            queue.put(session, "run", "first", {"file": str(runs), "seconds": 60})
        [pid] = _begun(runs, 1)
        cluster.start_worker()
        service.kill()
        first.send_signal(signal.SIGSTOP)
        service.wait()
        with database.write() as session:
            queue.put(session, "run", "second", {"file": str(runs), "seconds": 60})
        service = _start_service(tmp_path, cluster.address)
        _begun(runs, 2)  # a task without an earlier attempt does not wait
        assert not is_gone(pid)
        first.send_signal(signal.SIGCONT)
        assert len(_begun(runs, 3)) == 3
        assert is_gone(pid)
    finally:
        first.send_signal(signal.SIGCONT)
        service.terminate()
        service.wait()
        database.close()


def _start_service(folder: Path, address: str) -> subprocess.Popen[bytes]:
    program = str(SUPPORT / "labext_test_cluster_service.py")
    with (folder / "service.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, program, str(folder), address],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def test_cancelled_task_ends_although_its_worker_is_disconnected(
    tmp_path: Path, cluster: Cluster, proxy: Proxy
) -> None:
    cluster.start_worker(address=proxy.address)
    harness = _start(tmp_path, cluster.address)
    runs = tmp_path / "runs"
    try:
        harness.put("count_runs", "only", file=str(runs), seconds=60)
        [pid] = _begun(runs, 1)
        cluster.workers[0].send_signal(signal.SIGSTOP)
        harness.cancel("only")
        assert harness.result("only", 30).outcome == "stopped"
        cluster.workers[0].send_signal(signal.SIGCONT)
        wait_until(lambda: is_gone(pid), 10)
    finally:
        harness.close()


def test_stopping_worker_returns_its_task(tmp_path: Path, cluster: Cluster) -> None:
    first = cluster.start_worker()
    harness = _start(tmp_path, cluster.address)
    runs = tmp_path / "runs"
    try:
        harness.put("count_runs", "only", file=str(runs), seconds=2)
        [pid] = _begun(runs, 1)
        first.terminate()
        wait_until(lambda: state(harness, "only")[0] == "queued", 5)
        assert is_gone(pid)
        assert first.wait(10) == 0
        cluster.start_worker()
        assert harness.result("only", 60).outcome == "done"
    finally:
        harness.close()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folders of two authorities."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("ours", "foreign"):
        write_certificates(folder / name, ["localhost"])
    return folder / "ours", folder / "foreign"


def _files(folder: Path, role: str) -> tuple[Path, Path, Path]:
    return folder / "ca.pem", folder / f"{role}.pem", folder / f"{role}.key"


def test_tls_between_all_parts(tmp_path: Path, certificates: tuple[Path, Path]) -> None:
    ours, foreign = certificates
    cluster = Cluster(tmp_path / "cluster", tls=_files(ours, "server"))
    try:
        cluster.start_worker(tls=[*map(str, _files(ours, "worker"))])
        harness = _start(tmp_path, cluster.address, TlsFiles(*_files(ours, "server")))
        try:
            assert harness.run("answer", x=1).result == {"x": 1}
        finally:
            harness.close()
        stranger = cluster.start_worker(tls=[*map(str, _files(foreign, "worker"))])
        plain = cluster.start_worker(tls=None, address=cluster.address.replace("tls", "tcp"))
        # It trusts the authority, but its own certificate is from another one.
        mixed = (_files(ours, "worker")[0], *_files(foreign, "worker")[1:])
        intruder = cluster.start_worker(tls=[*map(str, mixed)])
        for worker, log, line in (
            (stranger, "worker1.log", "has a certificate of another authority"),
            (intruder, "worker3.log", "refuses this certificate"),
            (plain, "worker2.log", "the server may use TLS"),
        ):
            assert worker.wait(60) == 1, cluster.log(log)
            assert line in cluster.log(log)
    finally:
        cluster.close()


def test_unreachable_scheduler_and_missing_tls_are_one_line(
    tmp_path: Path, cluster: Cluster, certificates: tuple[Path, Path]
) -> None:
    tls = TlsFiles(*_files(certificates[0], "worker"))
    with pytest.raises(SetupError, match="does not use TLS"):
        check_connection(cluster.address.replace("tcp", "tls"), tls)
    with pytest.raises(SetupError, match="can't be reached"):
        check_connection("tcp://127.0.0.1:1", None)

"""Killed workers and schedulers, partitions and foreign certificates of a dask cluster."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest
import short_intervals
from cluster import Cluster, Proxy, tree
from labext_test_cluster_service import create_queue, start_service
from supervision import Harness, NewHarness, is_gone, state
from waiting import wait_until

from labext.errors import SetupError
from labext.sandbox.core.executors.cluster import scheduler_process
from labext.sandbox.core.executors.cluster.address import (
    TlsFiles,
    check_connection,
    write_certificates,
)
from labext.sandbox.core.executors.cluster.dask_executor import DaskExecutor
from labext.sandbox.core.executors.cluster.protocol import RPC_SECONDS
from labext.sandbox.core.executors.launcher import clean_environment

pytestmark = pytest.mark.faults


Start = Callable[..., Harness]


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.close()


@pytest.fixture
def cluster(scheduler: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster whose workers are stopped after the test, with short leases."""
    short_intervals.use(monkeypatch)
    yield scheduler
    scheduler.stop_workers()


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    proxy = Proxy(cluster.port)
    yield proxy
    proxy.close()


@pytest.fixture
def start(cluster: Cluster, new_harness: NewHarness) -> Start:
    """Start a service whose tasks run on the workers."""

    def start(address: str = cluster.address, tls: TlsFiles | None = None) -> Harness:
        return new_harness(remote=lambda: DaskExecutor(address, tls, "service"))

    return start


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The file with the processes of the task that has begun."""
    return tmp_path / "runs"


@pytest.fixture
def begin(cluster: Cluster, start: Start, runs: Path) -> Callable[..., tuple[Any, Harness, int]]:
    """Return a function that starts a worker and a service, and a task of some seconds.

    It returns the worker, the service and the process of the task `only`, which has begun.
    """

    def begin(seconds: float = 60, address: str = cluster.address) -> tuple[Any, Harness, int]:
        worker, harness = cluster.start_worker(), start(address)
        harness.put("count_runs", "only", file=str(runs), seconds=seconds)
        [pid] = _begun(runs, 1)
        return worker, harness, pid

    return begin


def _begun(runs: Path, count: int) -> list[int]:
    """Wait until a task has begun `count` times; return its processes."""
    wait_until(lambda: runs.exists() and len(runs.read_text().split()) >= count)
    return [int(pid) for pid in runs.read_text().split()]


def test_task_of_a_killed_worker_runs_on_another(cluster, begin, runs):
    first, harness, _ = begin(2)
    wait_until(lambda: state(harness, "only")[0] == "running")
    processes = tree(first.pid)
    first.kill()
    cluster.start_worker()
    wait_until(lambda: all(is_gone(pid) for pid in processes[1:]), 10)
    outcome = harness.result("only", 60)
    assert outcome.result == {"pid": _begun(runs, 2)[1]}
    assert len(_begun(runs, 2)) == 2
    assert harness.starts == ["only", "only"]


def test_task_goes_on_at_a_worker_that_has_the_address_of_a_dead_one(begin):
    _, harness, _ = begin(3)
    executor = harness.supervisor.remote
    [worker] = executor.workers()
    dead = {worker.address: {"name": "labext|dead|0123abcd|1"}}
    executor._loop.call_soon_threadsafe(executor._list_workers, dead)
    wait_until(lambda: {w.name for w in executor.workers()} == {worker.name, "dead"})
    assert harness.result("only").outcome == "done"
    assert harness.starts == ["only"]
    wait_until(lambda: [w.name for w in executor.workers()] == [worker.name])


def test_task_goes_on_while_the_scheduler_is_restarted(cluster, begin, runs):
    _, harness, pid = begin(4)
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


def test_only_a_long_partition_ends_the_task_at_the_worker_and_repeats_it(proxy, begin, runs):
    _, harness, pid = begin(address=proxy.address)
    proxy.stop()
    time.sleep(0.5)
    proxy.resume()
    time.sleep(short_intervals.SECONDS["LEASE_SECONDS"] + 1)
    assert not is_gone(pid)
    assert state(harness, "only")[0] == "running"
    proxy.stop()
    wait_until(lambda: is_gone(pid), 10)
    wait_until(lambda: state(harness, "only")[0] == "queued", 20)
    proxy.resume()
    assert _begun(runs, 2)[1] != pid
    harness.cancel("only")
    assert harness.result("only", 15).outcome == "stopped"
    assert all(is_gone(pid) for pid in _begun(runs, 2))


def test_message_held_back_does_not_keep_a_task_that_starts_elsewhere(
    cluster, begin, runs, monkeypatch
):
    """The service cannot reach the worker `w0`; one message arrives there late."""
    is_cut = threading.Event()
    delivered = threading.Event()
    held: list[asyncio.Task[None]] = []
    send = DaskExecutor._call

    async def deliver(executor: DaskExecutor, worker: Any, message: dict[str, Any]) -> None:
        await asyncio.sleep(2)
        await send(executor, worker, **message)
        delivered.set()

    async def call(
        executor: DaskExecutor, worker: Any, seconds: float = RPC_SECONDS, **message: Any
    ) -> Any:
        if not is_cut.is_set() or worker.label != "w0":
            return await send(executor, worker, seconds, **message)
        if message["op"] == "labext_sync" and not held:
            held.append(asyncio.create_task(deliver(executor, worker, message)))
        await asyncio.sleep(seconds)
        raise TimeoutError

    monkeypatch.setattr(DaskExecutor, "_call", call)
    _, harness, pid = begin()
    wait_until(lambda: state(harness, "only")[0] == "running")
    cluster.start_worker()
    is_cut.set()
    assert delivered.wait(20)
    assert not is_gone(pid)  # its lease is not over yet
    _begun(runs, 2)
    assert is_gone(pid)


def test_task_of_a_killed_service_waits_for_its_end_at_a_worker_that_does_not_answer(
    tmp_path, cluster, runs
):
    first = cluster.start_worker()
    database, queue = create_queue(tmp_path)
    service = start_service(tmp_path, cluster.address)
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
        service = start_service(tmp_path, cluster.address)
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


def test_cancelled_task_ends_although_its_worker_is_disconnected(begin):
    worker, harness, pid = begin()
    worker.send_signal(signal.SIGSTOP)
    harness.cancel("only")
    assert harness.result("only", 30).outcome == "stopped"
    worker.send_signal(signal.SIGCONT)
    wait_until(lambda: is_gone(pid), 10)


def test_stopping_worker_returns_its_task(cluster, begin):
    first, harness, pid = begin(1)
    first.terminate()
    wait_until(lambda: state(harness, "only")[0] == "queued", 5)
    assert is_gone(pid)
    assert first.wait(10) == 0
    cluster.start_worker()
    assert harness.result("only", 60).outcome == "done"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folders of two authorities."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("ours", "foreign"):
        write_certificates(folder / name, ["localhost"])
    return folder / "ours", folder / "foreign"


def _files(folder: Path, role: str) -> tuple[Path, Path, Path]:
    return folder / "ca.pem", folder / f"{role}.pem", folder / f"{role}.key"


def test_tls_between_all_parts(tmp_path, certificates, start):
    ours, foreign = certificates
    cluster = Cluster(tmp_path / "cluster", tls=_files(ours, "server"))
    try:
        cluster.start_worker(tls=[*map(str, _files(ours, "worker"))])
        harness = start(cluster.address, TlsFiles(*_files(ours, "server")))
        assert harness.run("answer", x=1).result == {"x": 1}
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


def test_unreachable_scheduler_and_missing_tls_are_one_line(cluster, certificates):
    tls = TlsFiles(*_files(certificates[0], "worker"))
    with pytest.raises(SetupError, match="does not use TLS"):
        check_connection(cluster.address.replace("tcp", "tls"), tls)
    with pytest.raises(SetupError, match="can't be reached"):
        check_connection("tcp://127.0.0.1:1", None)


def test_scheduler_does_not_log_requests_to_lost_workers(monkeypatch, capfd):
    environment = clean_environment() | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"}
    monkeypatch.setattr(scheduler_process, "clean_environment", lambda: environment)
    with socket.socket() as free, socket.socket() as lost:
        free.bind(("127.0.0.1", 0))
        lost.bind(("127.0.0.1", 0))  # refuses connections
        port, worker = free.getsockname()[1], f"tcp://127.0.0.1:{lost.getsockname()[1]}"
        free.close()
        scheduler = scheduler_process.SchedulerProcess(port, None)
        try:
            scheduler.ensure()
            wait_until(lambda: _can_connect(scheduler.address))
            asyncio.run(_request_with_timeout(scheduler.address, worker))
            time.sleep(2)  # the scheduler gives up after a second
        finally:
            scheduler.close()
    assert capfd.readouterr().err == ""


def test_interrupted_scheduler_ends_without_a_message(capfd):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    scheduler = scheduler_process.SchedulerProcess(port, None)
    try:
        scheduler.ensure()
        wait_until(lambda: _can_connect(scheduler.address))
        assert scheduler._process
        scheduler._process.send_signal(signal.SIGINT)  # as Ctrl+C in a terminal does
        scheduler._process.wait(timeout=20)
    finally:
        scheduler.close()
    assert capfd.readouterr().err == ""


def _can_connect(address: str) -> bool:
    with contextlib.suppress(SetupError):
        check_connection(address, None)
        return True
    return False


async def _request_with_timeout(scheduler: str, worker: str) -> None:
    remote = distributed.rpc(scheduler)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(remote.proxy(msg={"op": "labext_sync"}, worker=worker), 0.3)
    await remote.close_rpc()

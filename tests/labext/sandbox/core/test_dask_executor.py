"""Tasks on workers of a dask cluster on the loopback interface."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from cluster import Cluster
from supervision import Harness, NewHarness, descendants, is_gone, state
from waiting import wait_until

from labext.sandbox.core.executors.cluster import dask_executor
from labext.sandbox.core.executors.cluster.dask_executor import DaskExecutor

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    cluster.start_worker()
    yield cluster
    cluster.close()


@pytest.fixture
def connect(new_harness: NewHarness, tmp_path: Path, cluster: Cluster) -> NewHarness:
    """Start a service whose tasks run on the workers."""

    def connect(address: str = cluster.address, **options: Any) -> Harness:
        return new_harness(remote=lambda: DaskExecutor(address, None, tmp_path.name), **options)

    return connect


@pytest.fixture
def harness(connect: NewHarness) -> Harness:
    return connect()


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "given" / "inputs"
    folder.mkdir(parents=True)
    return folder


def _remote(harness: Harness) -> DaskExecutor:
    remote = harness.supervisor.remote
    assert isinstance(remote, DaskExecutor)
    return remote


def test_task_runs_on_the_worker(harness: Harness, cluster: Cluster) -> None:
    harness.put("surroundings", "only")
    outcome = harness.result("only")
    assert outcome.outcome == "done"
    assert outcome.result["leads"]
    assert Path(outcome.result["cwd"]).is_relative_to(cluster.folder)
    assert (harness.work("only") / "made").read_text() == "x"
    assert harness.starts == ["only"]


def test_failures_are_reported_as_by_the_local_executor(harness: Harness) -> None:
    harness.put("fail", "error", error="TaskError")
    harness.put("die", "exit", how="exit", code=3)
    harness.put("die", "signal", how="signal", number=11)
    for key, reason in (
        ("error", "sequence: X is no base."),
        ("exit", "The tool's process ended with exit code 3"),
        ("signal", "SIGSEGV"),
    ):
        outcome = harness.result(key)
        assert outcome.outcome == "failed"
        assert reason in outcome.reason


def test_limits_of_time_and_memory_hold_on_the_worker(connect: NewHarness) -> None:
    harness = connect(memory=200 << 20)
    harness.put("descend", "late", 1.0)
    harness.put("fill_memory", "large", mib=400, seconds=60)
    pids = descendants(harness, "late") if (harness.work("late") / "pids").exists() else []
    late, large = harness.result("late"), harness.result("large")
    assert (late.outcome, late.over) == ("stopped", "time")
    assert (large.outcome, large.over) == ("stopped", "memory")
    assert all(is_gone(pid) for pid in pids)


def test_log_grows_while_the_task_runs(harness: Harness, tmp_path: Path) -> None:
    release = tmp_path / "release"
    harness.put("speak", "only", release=str(release))
    log = harness.work("only") / "log.txt"
    wait_until(lambda: log.exists() and log.read_text() == "first line\n")
    wait_until(lambda: state(harness, "only")[0] == "running")
    release.touch()
    assert harness.result("only").outcome == "done"
    assert log.read_text() == "first line\nlast line\n"


def test_cancel_ends_all_processes_of_the_task(harness: Harness) -> None:
    harness.put("descend", "only")
    worker_tasks: list[int] = []

    def found() -> bool:
        worker_tasks[:] = [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if "time.sleep(300)" in " ".join(process.info["cmdline"] or [])
        ]
        return len(worker_tasks) >= 3

    wait_until(found)
    wait_until(lambda: state(harness, "only")[0] == "running")
    harness.cancel("only")
    outcome = harness.result("only", 5)
    assert (outcome.outcome, outcome.reason) == ("stopped", "stopped by hand")
    assert all(is_gone(pid) for pid in worker_tasks)


def test_large_files_travel_in_parts(connect: NewHarness, cluster: Cluster, inputs: Path) -> None:
    (inputs / "structure").mkdir()
    content = os.urandom(1 << 20)
    digest = hashlib.sha256()
    with (inputs / "structure" / "large.bin").open("wb") as file:
        for _ in range(64):
            file.write(content)
            digest.update(content)
    (inputs / "empty.txt").touch()
    harness = connect(inputs=inputs)
    processes = [cluster.scheduler.pid, cluster.workers[0].pid]
    before = [_peak(pid) for pid in processes]
    outcome = harness.run("digest_inputs")
    assert outcome.result == {
        "empty.txt": hashlib.sha256().hexdigest(),
        "structure/large.bin": digest.hexdigest(),
    }
    copy = harness.work("only") / "output" / "structure" / "large.bin"
    with copy.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == digest.hexdigest()
    for pid, peak in zip(processes, before, strict=True):
        assert _peak(pid) - peak < 48 << 20


def _peak(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def test_task_waits_for_a_worker_that_has_what_it_needs(harness: Harness, cluster: Cluster) -> None:
    harness.put("answer", "rna", needs="rna_fold")
    harness.put("answer", "other")
    assert harness.result("other").outcome == "done"
    remote = _remote(harness)
    assert state(harness, "rna") == ("queued", 0)
    assert harness.supervisor.why_waiting("rna_fold", 1, None) == "No worker has rna_fold."
    why = harness.supervisor.why_waiting("", 99, 1 << 20)
    assert why == "No worker has 99 cores and 1 MiB of memory for a task."
    assert harness.supervisor.why_waiting("", 1, None) == ""
    worker = cluster.start_worker(capabilities=["rna_fold"], slots=1)
    assert harness.result("rna").outcome == "done"
    assert {w.name: w.slots for w in remote.workers()} == {"w0": 2, "w1": 1}
    worker.terminate()
    assert worker.wait(10) == 0
    wait_until(lambda: [w.name for w in remote.workers() if w.state == "ready"] == ["w0"])


def test_files_are_exchanged_in_a_shared_folder(
    connect: NewHarness,
    cluster: Cluster,
    inputs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (inputs / "large.bin").write_bytes(os.urandom(1 << 20))
    worker = cluster.start_worker(shared_dir=str(shared), capabilities=["shared"], name="sharing")
    calls = []
    call = DaskExecutor._call

    async def record(self: DaskExecutor, worker: Any, *arguments: Any, **message: Any) -> Any:
        calls.append(message["op"])
        return await call(self, worker, *arguments, **message)

    monkeypatch.setattr(DaskExecutor, "_call", record)
    harness = connect(inputs=inputs)
    harness.put("digest_inputs", "only", needs="shared")
    outcome = harness.result("only")
    assert outcome.outcome == "done"
    [state] = [w for w in _remote(harness).workers() if w.name == "sharing"]
    assert Path(state.shared_dir or "").parent == shared
    assert (harness.work("only") / "output" / "large.bin").stat().st_size == 1 << 20
    assert not {"labext_put", "labext_read"} & {*calls}
    worker.terminate()
    assert worker.wait(10) == 0
    assert not list(shared.iterdir())


def test_closing_the_service_ends_its_tasks_on_the_workers(
    harness: Harness, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    harness.put("count_runs", "only", file=str(runs), seconds=60)
    wait_until(runs.exists)
    harness.close()
    assert is_gone(int(runs.read_text()))
    assert state(harness, "only") == ("queued", 0)


def test_worker_that_has_just_ended_does_not_delay_the_end_of_the_service(
    connect: NewHarness, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_executor, "DISCOVERY_SECONDS", 3.0)
    worker = cluster.start_worker(capabilities=["brief"], name="brief")
    harness = connect()
    harness.put("surroundings", "only", needs="brief")
    assert harness.result("only").outcome == "done"
    monkeypatch.setattr(dask_executor, "LEASE_SECONDS", 3600.0)
    worker.terminate()
    assert worker.wait(10) == 0
    remote = _remote(harness)
    harness.close()
    assert not remote._thread.is_alive()


def test_worker_of_another_version_is_refused(
    connect: NewHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Cluster(tmp_path / "other")
    monkeypatch.setattr(dask_executor, "versions", lambda: {"labext": "99.0", "Python": "3.11"})
    worker = own.start_worker()
    harness = connect(own.address)
    try:
        harness.put("answer", "only")
        assert worker.wait(60) == 1
        assert "the service has labext 99.0" in own.log("worker0.log")
        why = harness.supervisor.why_waiting("", 1, None)
        assert "the service has labext 99.0" in why
        assert state(harness, "only") == ("queued", 0)
    finally:
        harness.close()
        own.close()


def test_full_disk_of_a_worker_is_reported_and_its_tasks_wait(
    connect: NewHarness, cluster: Cluster, inputs: Path
) -> None:
    (inputs / "large.bin").write_bytes(bytes(3 << 20))
    worker = cluster.start_worker(capabilities=["tiny"], name="tiny", max_file_bytes=1 << 20)
    harness = connect(inputs=inputs)
    harness.put("digest_inputs", "only", needs="tiny")
    remote = _remote(harness)
    wait_until(lambda: "full" in {w.state for w in remote.workers()})
    assert "make room there" in harness.supervisor.why_waiting("tiny", 1, None)
    wait_until(lambda: state(harness, "only") == ("queued", 0))
    worker.terminate()
    worker.wait(10)

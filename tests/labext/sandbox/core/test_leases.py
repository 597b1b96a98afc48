"""Leases of attempts at a worker, on a clock that the test advances."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import event_loops
import pytest
from fake_clock import Clock
from supervision import is_gone

from labext.errors import SetupError
from labext.sandbox.core.data_folder import FileLock
from labext.sandbox.core.executors.cluster import attempt_runner
from labext.sandbox.core.executors.cluster.attempt_runner import (
    LOOK_SECONDS,
    AttemptRunner,
    create_folder,
)
from labext.sandbox.core.executors.cluster.attempts import RemoteWorker
from labext.sandbox.core.executors.cluster.dask_worker import create_local_folder
from labext.sandbox.core.executors.cluster.protocol import (
    DOUBT_SECONDS,
    LEASE_SECONDS,
    POLL_SECONDS,
    versions,
)

pytestmark = pytest.mark.faults

SUPPORT = Path(__file__).parents[3] / "support"
REQUESTED = {"1.1": ["running", 0]}


@pytest.fixture(autouse=True)
def _path_of_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT), prepend=":")


class Service:
    """Messages of a service to a worker, each of which can be created long before it arrives."""

    def __init__(self, runner: AttemptRunner, runs: Path) -> None:
        self.runner = runner
        self.runs = runs
        self.sequence = 0

    def sync(
        self, clock: float | None, requested: dict[str, list[Any]] = REQUESTED
    ) -> Callable[[], Awaitable[dict[str, Any]]]:
        self.sequence += 1
        sequence = self.sequence
        return lambda: self.runner.sync(
            "service", "first", sequence, requested, versions(), clock, timeout=0
        )

    def start(
        self, clock: float, files: list[tuple[str, bytes]] | None = ()
    ) -> Callable[[], Awaitable[dict[str, Any]]]:
        self.sequence += 1
        request = {
            "entry": "labext_test_entries:count_runs",
            "payload": {"file": str(self.runs), "seconds": 60},
        }
        sequence = self.sequence
        return lambda: self.runner.start_attempt(
            "service",
            "first",
            sequence,
            clock,
            "1.1",
            request,
            1,
            0,
            None,
            False,
            None if files is None else [*files],
        )

    async def first_contact(self) -> float:
        """Return the time of the worker."""
        reply = await self.sync(None, {})()
        return float(reply["clock"])

    async def begun(self) -> int:
        """Wait for the process of the attempt, and return its pid."""
        async with asyncio.timeout(30):
            while not (self.runs.exists() and self.runs.read_text()):
                await asyncio.sleep(0.01)
        return int(self.runs.read_text())


@asynccontextmanager
async def _worker(tmp_path: Path, clock: Clock) -> AsyncIterator[Service]:
    runner = AttemptRunner(
        tmp_path / "worker", slots=1, memory=1 << 30, preload=["labext_test_entries"], clock=clock
    )
    await runner.start()
    try:
        yield Service(runner, tmp_path / "runs")
    finally:
        await runner.close()


def with_worker(
    check: Callable[[Service, Clock], Awaitable[None]],
) -> Callable[[Path, Clock], None]:
    """Make a test of a check of a worker and the messages of its service."""

    def run(tmp_path: Path, clock: Clock) -> None:
        async def main() -> None:
            async with _worker(tmp_path, clock) as service:
                await check(service, clock)

        event_loops.run(main())

    return run


async def _ends(pid: int) -> None:
    async with asyncio.timeout(10):
        while not is_gone(pid):
            await asyncio.sleep(0.01)


async def _goes_on(pid: int) -> None:
    """Check that the process outlives a look at the leases."""
    await asyncio.sleep(2 * LOOK_SECONDS)
    assert not is_gone(pid)


@with_worker
async def test_message_that_was_held_back_does_not_extend_a_lease(
    service: Service, clock: Clock
) -> None:
    now = await service.first_contact()
    await service.start(now)()
    pid = await service.begun()
    held_back = service.sync(now)
    clock.now = now + LEASE_SECONDS - 1
    await held_back()
    await _goes_on(pid)
    clock.now = now + LEASE_SECONDS + 0.1
    await _ends(pid)


@with_worker
async def test_answered_messages_renew_a_lease(service: Service, clock: Clock) -> None:
    now = await service.first_contact()
    await service.start(now)()
    pid = await service.begun()
    for _ in range(4):
        clock.now += LEASE_SECONDS - 0.1
        now = (await service.sync(now)())["clock"]
        assert now == clock.now
        # The answer alone renews nothing; the message that returns its time does.
        await service.sync(now)()
    await _goes_on(pid)
    overtaken = service.sync(clock.START)
    await overtaken()  # it does not shorten the lease
    clock.now = now + LEASE_SECONDS - 0.1
    await _goes_on(pid)
    clock.now = now + LEASE_SECONDS + 0.1
    await _ends(pid)


@with_worker
async def test_slow_connection_does_not_end_a_lease(service: Service, clock: Clock) -> None:
    # The service gives up an attempt whose answer takes any longer; see `DaskExecutor._sync`.
    back_and_forth = DOUBT_SECONDS - POLL_SECONDS / 2
    returned = await service.first_contact()
    clock.now += back_and_forth
    await service.start(returned)()
    pid = await service.begun()
    for _ in range(5):
        await service.sync(returned)()
        clock.now += POLL_SECONDS  # the worker waits for news before it answers
        answer = (await service.sync(returned)())["clock"]
        clock.now += back_and_forth
        returned = answer
    await _goes_on(pid)


@with_worker
async def test_message_for_other_attempts_does_not_extend_a_lease(
    service: Service, clock: Clock
) -> None:
    now = await service.first_contact()
    overtaken = service.sync(now + LEASE_SECONDS - 1, {})
    await service.start(now)()
    pid = await service.begun()
    clock.now = now + LEASE_SECONDS - 1
    await overtaken()  # it was sent before the attempt was created, and does not end it
    await _goes_on(pid)
    clock.now = now + LEASE_SECONDS + 0.1
    await _ends(pid)


@with_worker
async def test_first_message_of_a_service_renews_nothing(service: Service, clock: Clock) -> None:
    now = await service.first_contact()
    await service.start(now)()
    pid = await service.begun()
    clock.now = now + LEASE_SECONDS - 1
    await service.sync(None)()
    clock.now = now + LEASE_SECONDS + 0.1
    await _ends(pid)


def test_workers_that_start_together_delete_only_folders_of_dead_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire = FileLock.acquire

    def acquire_late(lock: FileLock, seconds: float = 0.0) -> bool:
        if lock.path.name == "worker.lock":
            time.sleep(0.05)
        return acquire(lock, seconds)

    monkeypatch.setattr(FileLock, "acquire", acquire_late)
    dead = tmp_path / "dead"
    dead.mkdir()
    folders = [tmp_path / f"worker{number}" for number in range(4)]
    with ThreadPoolExecutor(len(folders)) as pool:
        locks = list(pool.map(create_folder, folders))
    assert all(FileLock(folder / "worker.lock").is_held() for folder in folders)
    assert not dead.exists()
    for lock in locks:
        lock.release()


def test_worker_deletes_no_folders_beside_its_own(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    create_folder(create_local_folder(tmp_path) / "a916247c").release()
    assert (tmp_path / "thesis").is_dir()


def test_folder_that_others_can_change_is_refused(tmp_path: Path) -> None:
    folder = create_local_folder(tmp_path)
    assert create_local_folder(tmp_path) == folder
    folder.chmod(0o777)
    with pytest.raises(SetupError, match="others can change its files"):
        create_local_folder(tmp_path)
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    with pytest.raises(SetupError, match="belongs to another user"):
        create_local_folder(tmp_path)


def test_worker_is_refused_if_another_does_not_finish_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_runner, "START_SECONDS", 0.05)
    starting = FileLock(tmp_path / "starting.lock")
    assert starting.acquire()
    with pytest.raises(SetupError, match="Another worker is still deleting old folders"):
        create_folder(tmp_path / "worker")
    assert not (tmp_path / "worker").exists()
    starting.release()


def test_worker_without_news_is_ready_until_its_next_answer_is_overdue() -> None:
    worker = RemoteWorker("w|1", "w", "tcp://127.0.0.1:1", clock=0.0)
    worker.clock_at = time.monotonic() - POLL_SECONDS - 0.5
    worker.contact = worker.clock_at - POLL_SECONDS
    assert worker.state == "ready"
    worker.clock_at -= POLL_SECONDS
    assert worker.state == "unreachable"


@with_worker
async def test_start_that_arrives_after_its_lease_is_refused(
    service: Service, clock: Clock
) -> None:
    start = service.start(await service.first_contact())
    clock.now += LEASE_SECONDS + 0.1
    assert await start() == {"refused": "late"}
    assert (await service.sync(clock.now)())["attempts"] == {}
    assert not (service.runner.folder / "1").exists()
    await service.start(clock.now)()
    assert await service.begun() != os.getpid()


@with_worker
async def test_attempt_whose_lease_ends_while_it_receives_its_inputs_does_not_start(
    service: Service, clock: Clock
) -> None:
    await service.start(await service.first_contact(), files=None)()
    clock.now += LEASE_SECONDS + 0.1
    assert await service.runner.run("service", "1.1") == {"refused": "gone"}

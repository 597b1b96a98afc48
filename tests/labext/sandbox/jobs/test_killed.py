"""The service is killed at random times while a client submits, runs, aggregates and deletes jobs.

The client records its confirmed requests and repeats a request after an error. At the end, the
service must match these records: nothing is lost or done twice.
"""

from __future__ import annotations

import random
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from databases import open_database
from sqlalchemy import func, select
from supervision import kill_host
from waiting import wait_until

from labext import JobsClient
from labext.errors import LabextError, NotFoundError
from labext.jobs import records
from labext.sandbox import Sandbox
from labext.sandbox.core.queue import Task
from labext.sandbox.jobs.tables import Job, Usage

pytestmark = pytest.mark.faults

KILLS = 2
"""In each of the four phases: 8 in all."""

JOBS = 4
"""In a batch."""

CUT = {"sequence": "AAGAATTCAAAAGCTTAA", "enzymes": ["EcoRI", "HindIII"]}
FOLD = {"sequence": "GACUAGCUAGGCAUUAGCGAUCGGAUCUUAGGCAUCGAUUAGC" * 4}


@dataclass
class ConfirmedRequests:
    """Confirmed requests of the client, with the jobs of batches and pipelines."""

    jobs: set[str] = field(default_factory=set)
    parents: dict[str, list[str]] = field(default_factory=dict)
    submitted: int = 0
    attempts: int = 0
    kills: int = 0

    def names(self) -> list[str]:
        subjobs = [f"{name}-{job}" for name, jobs in self.parents.items() for job in jobs]
        return sorted([*self.jobs, *self.parents, *subjobs])


class User:
    """A user who repeats every request until it is confirmed."""

    def __init__(self, box: Sandbox) -> None:
        self.client = JobsClient(box.jobs.base_url, box.jobs.api_key)
        self.confirmed = ConfirmedRequests()

    def submit(self, name: str) -> None:
        self._retry(lambda: self.client.submit(name, "digest", CUT))
        self.confirmed.jobs.add(name)
        self.confirmed.submitted += 1

    def batch(self, name: str, tool: str = "digest", settings: dict[str, Any] = CUT) -> None:
        jobs = {f"j{n}": settings for n in range(JOBS)}
        self._retry(lambda: self.client.submit_batch(name, tool, jobs))
        self.confirmed.parents[name] = list(jobs)
        self.confirmed.submitted += JOBS

    def pipeline(self, name: str) -> None:
        sequences = ["ACDEFGHIKL", "MKTAYIAKQR", "GIGKFLHSAK", "LLGDFFRKSK"]
        self._retry(lambda: self.client.run_pipeline(name, "helix-to-modes", sequences))
        jobs = [
            f"stage{stage}-{tool}-{n}"
            for stage, tool in [(1, "peptide_build"), (2, "normal_modes")]
            for n in range(1, len(sequences) + 1)
        ]
        self.confirmed.parents[name] = jobs
        self.confirmed.submitted += len(jobs)

    def delete(self, name: str) -> None:
        def attempt() -> None:
            # An earlier attempt without a response may have deleted it.
            with suppress(NotFoundError):
                self.client.delete(name)

        self._retry(attempt)
        self.confirmed.jobs.discard(name)
        self.confirmed.parents.pop(name, None)

    def job(self, name: str) -> dict[str, Any]:
        return self._retry(lambda: self.client.job(name))

    def _retry(self, request: Callable[[], Any]) -> Any:
        until = time.monotonic() + 60
        while True:
            self.confirmed.attempts += 1
            try:
                return request()
            except LabextError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)


@pytest.fixture
def killed(new_box: Any) -> Iterator[tuple[Sandbox, User, Callable[[float], threading.Thread]]]:
    box: Sandbox = new_box(workers=2)
    user = User(box)

    def kill_after(seconds: float) -> threading.Thread:
        """Kill the host from another thread after a delay, and start it again."""

        def kill() -> None:
            time.sleep(seconds)
            kill_host(box)
            box.start()
            user.confirmed.kills += 1

        thread = threading.Thread(target=kill)
        thread.start()
        return thread

    yield box, user, kill_after
    user.client.close()


def until_state(user: User, name: str, *states: str) -> None:
    wait_until(lambda: records.phase(user.job(name)) in states, 60)


def until_idle(box: Sandbox) -> None:
    with closing(open_database(box.data_dir)) as database:

        def is_idle() -> bool:
            with database.read() as session:
                return session.scalars(select(Task.id)).first() is None

        wait_until(is_idle, 120)


def test_no_job_is_lost_or_duplicated_by_repeated_kills(killed, kit, tmp_path):
    box, user, kill_after = killed
    chance = random.Random(20261120)
    api = kit.Api(box)
    single = api.submit("digest", CUT)
    row, address = api.ended(single), api.address(single)
    api.upload("kept.txt", b"kept")
    user.confirmed.jobs.add(single)
    user.confirmed.submitted += 1

    for n in range(KILLS):  # while jobs and batches are submitted
        killer = kill_after(chance.uniform(0, 0.15))
        number = 0
        while killer.is_alive():
            number += 1
            user.submit(f"single{n}-{number}")
            user.batch(f"sent{n}-{number}")
        killer.join()
        # Jobs that run during three kills are stopped, which is not tested here.
        until_idle(box)

    for n in range(KILLS):  # while jobs run
        user.batch(f"run{n}", "rna_fold", FOLD)
        user.pipeline(f"pipe{n}")
        kill_after(chance.uniform(0.1, 0.8)).join()
        until_state(user, f"run{n}", "Complete")
        until_state(user, f"pipe{n}", "Complete")

    for n in range(KILLS):  # while a batch is aggregated
        name = f"aggregate{n}"
        user.batch(name)
        until_state(user, name, "Aggregating", "Complete")
        kill_after(chance.uniform(0, 0.05)).join()
        until_state(user, name, "Complete")

    for n in range(KILLS):  # while jobs are deleted, of a complete and of a running batch
        running = f"deleted{n}"
        user.batch(running, "rna_fold", FOLD)
        killer = kill_after(chance.uniform(0, 0.15))
        user.delete(running)
        user.delete(f"aggregate{n}")
        killer.join()
        assert user.confirmed.kills == 3 * KILLS + n + 1

    check_as_in_the_ledger(box, user, kit, tmp_path)
    again = kit.Api(box)
    assert again.row(single) == row
    assert again.get("files").json() == ["kept.txt"]
    assert again.session.get(address, timeout=30).status_code == 200


def check_as_in_the_ledger(box: Sandbox, user: User, kit: Any, folder: Path) -> None:
    confirmed = user.confirmed
    until_idle(box)
    rows = list(user.client.iter_jobs(subjobs=True))
    assert sorted(row["JobName"] for row in rows) == confirmed.names()
    assert {records.phase(row) for row in rows} == {"Complete"}

    for parent in ("run0", "pipe0"):
        user.client.download(parent, folder / f"{parent}.zip")
        with zipfile.ZipFile(folder / f"{parent}.zip") as archive:
            assert archive.testzip() is None
            lines = archive.read("metrics.csv").splitlines()
            assert len(lines) == len(confirmed.parents[parent]) + 1

    with closing(open_database(box.data_dir)) as database, database.read() as session:
        stored = {str(number) for number in session.scalars(select(Job.id))}
        assert session.scalar(select(func.sum(Usage.jobs))) == confirmed.submitted
    on_disk = {entry.name for entry in (box.data_dir / "jobs" / "jobs").iterdir()}
    assert on_disk <= stored
    assert not list((box.data_dir / "jobs").rglob("*.part"))
    assert not list((box.data_dir / "tasks").glob("[0-9]*"))
    assert not kit.processes_in(box.data_dir / "jobs")

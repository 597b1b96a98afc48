"""A client submitting 1,000 jobs is killed repeatedly and resumed.

It is killed before the service processes a batch, after that, or at one of its own steps. All
moments are drawn from a seeded generator.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sys
from collections import Counter
from typing import Any

import pandas  # noqa: F401 - imported before the client is forked
import pytest

from labext.jobs import JobsClient

pytestmark = pytest.mark.faults
PLAN = {f"j{n:04d}": {"sequence": f"{n:012b}"} for n in range(1000)}


def submit_or_resume(url: str, key: str, command: str, last: int) -> None:
    """Be the client, killed at its `last` step if that is not 0."""
    count = 0

    def step(event: str, _: tuple[Any, ...]) -> None:
        nonlocal count
        if event in ("open", "os.rename", "os.remove", "socket.connect"):
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(step)
    jobs = JobsClient(url, key)
    if command == "submit":
        jobs.submit_batch("big", "fold", PLAN)
    else:
        jobs.resume("big")


class Killer:
    """Kill the client before or after the service processes a batch."""

    def __init__(self, ledger: Any) -> None:
        self.ledger = ledger
        self.pid = self.count = self.batch = 0
        self.phase = ""
        self.accepted: Counter[str] = Counter()
        self._submit = ledger.do_submit_batch
        ledger.do_submit_batch = self.submit_batch

    def submit_batch(self, query: dict[str, str], body: Any) -> Any:
        self.count += 1
        chosen = self.count == self.batch
        if chosen and self.phase == "before":
            os.kill(self.pid, signal.SIGKILL)
            return self.ledger.lost_before()
        answer = self._submit(query, body)
        self.accepted[body["batchName"]] += answer.status == 200
        if chosen:
            os.kill(self.pid, signal.SIGKILL)
        return answer

    def run(self, command: str, step: int) -> int | None:
        """Run a client process, killed at a step of its own if not 0; return its exit code."""
        arguments = (self.ledger.url, self.ledger.key, command, step)
        child = multiprocessing.get_context("fork").Process(target=submit_or_resume, args=arguments)
        with self.ledger.lock:  # it waits for the process identifier
            child.start()
            self.pid, self.count = child.pid, 0
        child.join(60)
        return child.exitcode


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # of Python 3.12
def test_client_killed_repeatedly_submits_each_job_once(client: JobsClient, ledger: Any) -> None:
    killer, chance = Killer(ledger), random.Random(1000)
    for life, phase in enumerate(("before", "", "after", "", "after")):
        killer.phase, killer.batch = phase, chance.randint(1, 2) if phase else 0
        step = 0 if phase else chance.randint(1, 16)
        assert killer.run("resume" if life else "submit", step) == -signal.SIGKILL
    killer.batch = 0
    assert client.unfinished()["Name"].tolist() == ["big"]
    done = client.resume("big")
    assert len(done.sent) >= 2
    assert "The service now has all jobs of big (1,000 jobs)." in done.message
    assert client.resume("big").sent == ()
    assert client.unfinished().empty
    assert sorted(ledger.members) == sorted(done.parts)
    assert len(ledger.rows) == len(PLAN) + len(done.parts)
    assert {
        row.Name: json.loads(ledger.rows[row.JobName]["Settings"])
        for row in done.frame.itertuples(index=False)
    } == PLAN
    assert killer.accepted == dict.fromkeys(done.parts, 1)

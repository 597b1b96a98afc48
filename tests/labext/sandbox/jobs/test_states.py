"""The row of a job while its task starts, is requeued after a kill, and restarts."""

from __future__ import annotations

from collections import Counter

import orjson
import pytest
from sqlalchemy import event, select

from labext.sandbox.core.queue import Attempt, Task, TaskOutcome
from labext.sandbox.core.task_transitions import TaskTransitions
from labext.sandbox.jobs import service, submission
from labext.sandbox.jobs.tables import Job

CUT = {"sequence": "AAGAATTC", "enzymes": ["EcoRI"]}
BATCH = {"batchName": "b", "type": "digest", "jobNames": ["a"], "settings": [CUT]}


@pytest.fixture
def ledger(site, student):
    submission.submit_batch(site, student, orjson.dumps(BATCH))
    return TaskTransitions(site.database, site.queue)


def states(site):
    """Return `JobStatus` and the presence of `Started` of the batch and its job."""
    with site.database.read() as session:
        rows = [orjson.loads(record) for record in session.scalars(select(Job.record))]
    assert rows[0]["batchStatus"] == "Running"
    return [(row["JobStatus"], "Started" in row) for row in rows]


def test_job_requeued_after_a_kill_is_in_queue(site, ledger):
    assert states(site) == [("In Queue", False), ("In Queue", False)]
    [task] = [ledger.next({})]
    assert ledger.claim(task) is not None
    assert states(site) == [("In Queue", False), ("In Queue", False)], "it has no process yet"
    assert ledger.start(Attempt(task, 1), 1_800_000_000.0) is None
    assert states(site) == [("Running", True), ("Running", True)]
    ledger.requeue(ledger.taken(), killed=[task])
    assert states(site) == [("Running", True), ("In Queue", False)]
    assert ledger.claim(task) is not None
    assert ledger.start(Attempt(task, 2), 1_800_000_000.0) is None
    assert states(site) == [("Running", True), ("Running", True)]


def test_started_is_the_time_when_the_process_began(site, ledger):
    task = ledger.next(Counter())
    ledger.claim(task)
    # The start and the end of a short job are recorded in one transaction.
    ends = {Attempt(task, 1): TaskOutcome("done", seconds=0.04)}
    ledger.turn({Attempt(task, 1): 1_800_000_000.25}, ends, Counter(), 0)
    with site.database.read() as session:
        started = session.scalars(select(Job.started).where(Job.name == "b-a")).one()
    assert started == "2027-01-15T08:00:00.250Z"


def test_reason_of_a_memory_limit_names_the_command_to_raise_it(site, ledger):
    task = ledger.next(Counter())
    claim = ledger.claim(task)
    assert claim.max_memory == 2 << 30
    ledger.end(
        Attempt(task, 1),
        TaskOutcome("stopped", "The memory limit of 2 GiB was reached.", over="memory"),
    )
    with site.database.read() as session:
        reason = session.scalars(select(Job.reason).where(Job.name == "b-a")).one()
    assert reason == (
        "The memory limit of 2 GiB was reached. To allow more: "
        "`labext sandbox jobs limits set job_memory`."
    )


def test_every_kind_of_task_has_a_memory_limit(site):
    with site.database.read() as session:
        limits = [kind.memory and kind.memory(session) for kind in site.queue.kinds.values()]
    assert limits == [2 << 30] * 2


def test_stopping_a_queued_batch_takes_few_statements(site, student):
    names = [f"j{n}" for n in range(100)]
    body = BATCH | {"jobNames": names, "settings": [CUT] * 100}
    submission.submit_batch(site, student, orjson.dumps(body))
    statements = []
    event.listen(
        site.database.engine,
        "before_cursor_execute",
        lambda *event: statements.append(event[2]),
    )
    service.stop_job(site, student, b'{"jobName": "b"}')
    assert len(statements) < 30, statements
    with site.database.read() as session:
        records = [orjson.loads(record) for record in session.scalars(select(Job.record))]
        assert session.scalars(select(Task)).all() == []
    assert {record["JobStatus"] for record in records} == {"Stopped"}
    assert {record["WeightedHours"] for record in records} == {0.0}
    assert all(record["Completed"] for record in records)

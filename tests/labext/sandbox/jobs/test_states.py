"""What a job's row says while its task starts, is put back by a kill, and starts again."""

from __future__ import annotations

from collections import Counter

import orjson
import pytest
from sqlalchemy import event, select

from labext.sandbox.core.queue import Task, TaskOutcome, TaskTransitions
from labext.sandbox.jobs import service, submission
from labext.sandbox.jobs.tables import Job

CUT = {"sequence": "AAGAATTC", "enzymes": ["EcoRI"]}
BATCH = {"batchName": "b", "type": "digest", "jobNames": ["a"], "settings": [CUT]}


@pytest.fixture
def ledger(site, student):
    submission.submit_batch(site, student, orjson.dumps(BATCH))
    return TaskTransitions(site.database, site.queue)


def states(site):
    """`JobStatus`, and whether there is a `Started`, of the batch and of its job."""
    with site.database.read() as session:
        rows = [orjson.loads(record) for record in session.scalars(select(Job.record))]
    assert rows[0]["batchStatus"] == "Running"
    return [(row["JobStatus"], "Started" in row) for row in rows]


def test_a_job_that_a_kill_has_put_back_is_in_queue_again(site, ledger):
    assert states(site) == [("In Queue", False), ("In Queue", False)]
    [task] = [ledger.next({})]
    assert ledger.claim(task) is not None
    assert states(site) == [("In Queue", False), ("In Queue", False)], "it has no process yet"
    assert ledger.start(task) is None
    assert states(site) == [("Running", True), ("Running", True)]
    ledger.requeue(ledger.taken(), killed=[task])
    assert states(site) == [("Running", True), ("In Queue", False)]
    assert ledger.claim(task) is not None
    assert ledger.start(task) is None
    assert states(site) == [("Running", True), ("Running", True)]


def test_job_over_its_memory_limit_says_how_to_allow_more(site, ledger):
    task = ledger.next(Counter())
    claim = ledger.claim(task)
    assert claim.max_memory == 2 << 30
    ledger.end(
        task, TaskOutcome("stopped", "The memory limit of 2 GiB was reached.", over="memory")
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


def test_a_batch_of_hundred_that_waits_is_stopped_in_a_few_statements(site, student):
    names = [f"j{n}" for n in range(100)]
    body = BATCH | {"jobNames": names, "settings": [CUT] * 100}
    submission.submit_batch(site, student, orjson.dumps(body))
    said = []
    event.listen(
        site.database.engine, "before_cursor_execute", lambda *each: said.append(each[2].split()[0])
    )
    service.stop_job(site, student, b'{"jobName": "b"}')
    assert len(said) < 30, said
    with site.database.read() as session:
        records = [orjson.loads(record) for record in session.scalars(select(Job.record))]
        assert session.scalars(select(Task)).all() == []
    assert {record["JobStatus"] for record in records} == {"Stopped"}
    assert {record["WeightedHours"] for record in records} == {0.0}
    assert all(record["Completed"] for record in records)

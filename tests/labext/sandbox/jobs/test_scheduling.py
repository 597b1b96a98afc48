"""Weights and limits of accounts in the queue, and why a job waits (JOBS-203 to JOBS-206)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import orjson
import pytest
from sqlalchemy import select
from starlette.exceptions import HTTPException

from labext.sandbox.core.executors.worker_states import Executors
from labext.sandbox.core.queue import Attempt, TaskOutcome
from labext.sandbox.core.service_protocol import Options
from labext.sandbox.core.task_transitions import TaskTransitions
from labext.sandbox.jobs import limits, seed, service, submission
from labext.sandbox.jobs.pipelines import service as pipelines
from labext.sandbox.jobs.tables import Account, Job

CUT = {"sequence": "AAGAATTC", "enzymes": ["EcoRI"]}


def _submit(site, account, name):
    body = {"jobName": name, "type": "digest", "settings": CUT}
    return submission.submit_job(site, account, orjson.dumps(body))


def _submit_batch(site, account, name, jobs):
    names = [f"j{n}" for n in range(jobs)]
    body = {"batchName": name, "type": "digest", "jobNames": names, "settings": [CUT] * jobs}
    return submission.submit_batch(site, account, orjson.dumps(body))


def _set(site, account, **values):
    with site.database.write() as session:
        for name, value in values.items():
            setattr(session.get(Account, account.id), name, value)


def _claim(site, free):
    return TaskTransitions(site.database, site.queue).turn({}, {}, Counter(), free).claims


def _reason(site, account, name):
    return orjson.loads(service.list_jobs(site, account, {"jobName": name})).get("QueueReason")


def test_submission_over_the_limit_of_queued_jobs_is_refused(site, student):
    _set(site, student, max_queued=3)
    _submit_batch(site, student, "b", 2)
    job = orjson.dumps({"jobName": "x", "type": "digest", "settings": CUT})
    pipeline = {
        "jobName": "p",
        "initialInputs": ["ACDEFG", "ACDEFGH"],
        "stages": [
            {
                "task": "Structure Prediction",
                "toolSettings": {"peptide_build": {"sequence": "pipe"}},
            }
        ],
    }
    expected = "has 2 queued jobs; with 2 more it would exceed its limit of 3."
    for send in (
        lambda: _submit_batch(site, student, "c", 2),
        lambda: pipelines.submit_pipeline(site, student, orjson.dumps(pipeline)),
    ):
        with pytest.raises(HTTPException) as error:
            send()
        assert error.value.status_code == 403
        assert expected in error.value.detail
    with site.database.read() as session:
        assert len(session.scalars(select(Job)).all()) == 3, "no part of it is stored"
    _submit(site, student, "third")
    rows = orjson.dumps({"type": "digest", "settings": [CUT]})
    for body in (job, rows):
        assert submission.validate_submission(site, student, body)["valid"] is False
    with pytest.raises(HTTPException):
        _submit(site, student, "fourth")
    _claim(site, 1)
    _submit(site, student, "fourth")


def test_account_overrides_the_limits_of_all_accounts(site, student):
    with site.database.write() as session:
        limits.change_limit(session, "max_queued_per_account", 1)
        limits.change_limit(session, "max_running_per_account", 1)
    _submit(site, student, "a")
    with pytest.raises(HTTPException, match="limit of 1"):
        _submit(site, student, "b")
    _set(site, student, max_queued=0)
    for name in "bcde":
        _submit(site, student, name)
    assert len(_claim(site, 5)) == 1
    _set(site, student, max_running=3)
    assert len(_claim(site, 5)) == 2
    _set(site, student, max_running=0)
    assert len(_claim(site, 5)) == 2


def test_accounts_start_jobs_by_their_weights(site, student):
    with site.database.write() as session:
        other = Account(
            organization_id=student.organization_id,
            email="b@example.org",
            gates=[],
            storage_quota=1 << 20,
        )
        session.add(other)
    _set(site, student, weight=3.0)
    _submit_batch(site, other, "b", 20)
    _submit_batch(site, student, "a", 20)
    owners = Counter(claim.payload["account"] for claim in _claim(site, 12))
    assert owners == {student.id: 9, other.id: 3}


def test_queued_job_has_the_reason_why_it_waits(site, student):
    _submit(site, student, "first")
    _submit(site, student, "second")
    assert _reason(site, student, "first") == "All slots are busy."
    assert _reason(site, student, "second") == (
        "All slots are busy. 1 other job of the account will start before it."
    )
    _set(site, student, max_running=1)
    [claim] = _claim(site, 2)
    transitions = TaskTransitions(site.database, site.queue)
    assert _reason(site, student, "first") is None, "its process is being started"
    assert _reason(site, student, "second") == "The account runs 1 of at most 1 job at a time."
    transitions.turn({Attempt(claim.id, 1): 1.0}, {}, Counter(), 0)
    assert _reason(site, student, "first") is None
    transitions.end(Attempt(claim.id, 1), TaskOutcome("done"))
    assert _reason(site, student, "second") == "All slots are busy."


def test_queued_job_names_what_no_worker_has(site, student):
    class Workers(Executors):
        def why_waiting(self, needs, cores, memory):
            return f"No worker has {needs}."

    site = replace(site, executors=Workers())
    _submit(site, student, "a")
    assert _reason(site, student, "a") == "No worker has digest."


def test_start_options_are_the_limits_of_all_accounts(site):
    options = Options(max_running_per_account=2, max_queued_per_account=500)
    seed.seed(replace(site, options=options))
    seed.seed(site)  # a start without the options
    with site.database.read() as session:
        assert limits.limit_value(session, "max_running_per_account") == 2
        assert limits.limit_value(session, "max_queued_per_account") == 500

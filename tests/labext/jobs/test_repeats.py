"""Retry modes of the job service's operations, and stops and deletes that are repeated."""

from __future__ import annotations

from typing import Any

import pytest

from labext.actions import Action
from labext.errors import AccessError, LabextError, NotFoundError
from labext.http import Operation, RetryMode
from labext.jobs import JobsClient, api

pytestmark = pytest.mark.faults

ALL = {name: op for name, op in vars(api).items() if isinstance(op, Operation)}
READS = {
    "TOOLS", "WORKERS", "JOB", "JOBS", "VALIDATE", "RESULT", "FILES", "FOLDERS", "PRESIGN", "USAGE",
    "LOG", "OUTPUTS", "OUTPUT",
}  # fmt: skip
IDEMPOTENT = {"STOP", "CANCEL_JOB", "CANCEL_BATCH", "UPLOAD"}
DELETES = {"DELETE", "DELETE_FILE"}
SUBMISSIONS = {"SUBMIT", "SUBMIT_BATCH", "SUBMIT_PIPELINE", "RUN_PIPELINE"}


def test_retry_mode_of_every_operation() -> None:
    kinds = [READS, IDEMPOTENT, DELETES, SUBMISSIONS]
    assert sorted(name for kind in kinds for name in kind) == sorted(ALL)
    assert all(ALL[name].repeat is RetryMode.ALWAYS for name in READS | IDEMPOTENT)
    assert all(ALL[name].repeat is RetryMode.DELETE for name in DELETES)
    for name in SUBMISSIONS:
        assert ALL[name].repeat is RetryMode.UNSENT
        assert "creates no duplicate" in ALL[name].find_out
        assert ALL[name].action == Action.list_jobs()


def test_stop_refused_after_a_lost_response_is_success(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    ledger.fail("stop-job", ledger.lost_after(), ledger.answer(400, "Job f1 is not running"))
    assert client.stop("f1") == "f1 is already Stopped."
    assert ledger.count("stop-job") == 2


def test_stop_continues_past_a_part_that_has_ended(client: JobsClient, ledger: Any) -> None:
    jobs = {f"h{n}": {"sequence": "A"} for n in range(150)}
    client.submit_batch("folds", "fold", jobs)
    ledger.complete("folds-part1of2")
    ledger.fail("stop-job", ledger.answer(400, "Cannot stop: no running job"), None)
    assert client.stop("folds") == (
        "folds: folds-part1of2 is already Complete; folds-part2of2 stopped."
    )


def test_stop_refused_while_running_is_an_error(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    for words in ("Stopping is not allowed", "Job f1 is not ready to be stopped"):
        ledger.fail("stop-job", ledger.answer(400, words))
        with pytest.raises(LabextError, match=words):
            client.stop("f1")


def test_delete_removes_a_journal_record_without_a_batch(client: JobsClient, ledger: Any) -> None:
    ledger.fail("submit-batch", ledger.answer(403, "Budget exceeded"))
    with pytest.raises(AccessError, match="Budget exceeded"):
        client.submit_batch("few", "fold", {"a": {"sequence": "A"}})
    assert client.unfinished_names() == ["few"]
    assert client.delete("few").startswith("The service does not have few")
    assert client.unfinished_names() == []
    with pytest.raises(NotFoundError):
        client.delete("few")

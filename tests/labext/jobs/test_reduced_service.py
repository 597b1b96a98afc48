"""A service that gives less than the sandbox: no tally, no Stage, no hours, other words and forms.

What is known of such services is in the ledger of this folder; here are the words for a job that is
not there, and what of a row may be absent.
"""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import AccessError, InputError, JobFailedError, NotFoundError, SignInError
from labext.jobs import JobsClient
from labext.progress import Outcome

pytestmark = pytest.mark.faults

NOT_THERE = [
    "No jobs found",
    "No job found with name f1",
    "No such job: f1",
    "Job f1 does not exist",
    "Job f1 doesn't exist.",
    "Could not find job f1",
    "Unknown jobName f1",
    "Invalid jobName: f1",
    "Invalid job name",
    {"error": "Job f1 not found"},
    {"message": "job is nonexistent"},
    {"detail": "Job Not Found"},
    {"title": "no matching jobs"},
]


@pytest.mark.parametrize("words", NOT_THERE)
def test_a_job_that_is_not_there_is_told_in_many_words(
    client: JobsClient, ledger: Any, words: Any
) -> None:
    absent = ledger.answer(400, words, "text/plain" if isinstance(words, str) else "")
    ledger.fail("jobs", absent, absent)
    with pytest.raises(NotFoundError):
        client._service.row("f1")
    assert client.submit("f1", "fold", {"sequence": "A"}).created, "its name is free"
    for operation, act in (("stop-job", client.stop), ("delete-job", client.delete)):
        ledger.fail(operation, absent)
        with pytest.raises(NotFoundError):
            act("f1")


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "Invalid API key", SignInError),
        (400, "jobEmail is not allowed here", InputError),
        (403, "Forbidden", AccessError),
    ],
)
def test_a_refusal_to_look_never_frees_a_name(
    client: JobsClient, ledger: Any, status: int, words: str, kind: type[Exception]
) -> None:
    ledger.fail("jobs", ledger.answer(status, words, "text/plain"))
    with pytest.raises(kind):
        client.submit("f1", "fold", {"sequence": "A"})
    assert ledger.count("submit-job") == 0


def test_a_delete_that_lost_its_answer_has_succeeded_where_400_stands_for_a_missing_job(
    client: JobsClient, ledger: Any
) -> None:
    ledger.add("f1")
    gone = ledger.answer(400, "Job f1 not found", "text/plain")
    ledger.fail("delete-job", ledger.lost_after(), gone)
    client.delete("f1")
    assert ledger.count("delete-job") == 2
    assert not ledger.rows


@pytest.mark.usefixtures("quick_looks")
@pytest.mark.parametrize("status", [400, 404])
def test_a_pipeline_whose_jobs_are_not_listed_is_watched_all_the_same(
    client: JobsClient, ledger: Any, status: int
) -> None:
    ledger.add("p1", "pipeline", JobStatus="Running")
    ledger.fail("jobs", None, ledger.answer(status, "No batch p1", "text/plain"))
    watch = client.watch("p1")
    seen = next(watch)
    assert (seen.kind, seen.phase, dict(seen.states), seen.stage) == ("pipeline", "Running", {}, "")
    ledger.complete("p1")
    *_, last = watch
    assert last.outcome is Outcome.COMPLETE


@pytest.mark.usefixtures("quick_looks")
def test_a_batch_without_a_tally_that_is_deleted_between_two_requests_ends_the_watch(
    client: JobsClient, ledger: Any
) -> None:
    ledger.add_batch("b1", {"a": {}})
    ledger.as_list = lambda rows, key: {"jobs": rows, "startKey": key}
    ledger.by_name = lambda row: {key: row[key] for key in row if key != "statuses"}
    watch = client.watch("b1")
    assert dict(next(watch).states) == {"In Queue": 1}
    ledger.fail("jobs", None, ledger.answer(400, "Batch b1 not found", "text/plain"))
    assert next(seen for seen in watch if not seen.states).outcome is None
    del ledger.rows["b1"]
    *_, last = watch
    assert (last.phase, last.outcome) == ("Deleted", Outcome.STOPPED)


def test_a_job_that_failed_or_waits_in_the_services_other_words(
    client: JobsClient, ledger: Any
) -> None:
    ledger.add("f1", JobStatus="Pending")
    seen = next(client.watch("f1"))
    assert (seen.phase, seen.outcome) == ("Pending", None)
    ledger.rows["f1"]["JobStatus"] = "Failed"
    with pytest.raises(JobFailedError, match="f1 has ended as Failed"):
        client.wait("f1")


def test_hours_and_scores_that_are_absent_are_missing_values(
    client: JobsClient, ledger: Any
) -> None:
    ledger.add_batch("b1", {"a": {}, "b": {}})
    ledger.complete("b1")
    for table in (client.jobs(), client.jobs(batch="b1", scores=True), client.show("b1")):
        assert table["WeightedHours"].isna().all()
        assert str(table["WeightedHours"].dtype) in ("float64", "Float64")

"""Services with less than the sandbox: no tally, stages or hours, and other messages."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import AccessError, InputError, NotFoundError, SignInError
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
def test_messages_for_a_missing_job_are_recognized(
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
def test_refused_lookup_does_not_count_as_a_free_name(
    client: JobsClient, ledger: Any, status: int, words: str, kind: type[Exception]
) -> None:
    ledger.fail("jobs", ledger.answer(status, words, "text/plain"))
    with pytest.raises(kind):
        client.submit("f1", "fold", {"sequence": "A"})
    assert ledger.count("submit-job") == 0


def test_400_not_found_of_a_repeated_delete_is_success(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    job_not_found = ledger.answer(400, "Job f1 not found", "text/plain")
    ledger.fail("delete-job", ledger.lost_after(), job_not_found)
    client.delete("f1")
    assert ledger.count("delete-job") == 2
    assert not ledger.rows


@pytest.mark.usefixtures("quick_polls")
@pytest.mark.parametrize("status", [400, 404])
def test_pipeline_without_a_job_list_is_watched(
    client: JobsClient, ledger: Any, status: int
) -> None:
    ledger.add("p1", "pipeline", JobStatus="Running")
    ledger.fail("jobs", None, ledger.answer(status, "No batch p1", "text/plain"))
    watch = client.watch("p1")
    snapshot = next(watch)
    assert (snapshot.kind, snapshot.phase, dict(snapshot.states), snapshot.stage) == (
        "pipeline",
        "Running",
        {},
        "",
    )
    ledger.complete("p1")
    *_, last = watch
    assert last.outcome is Outcome.COMPLETE


@pytest.mark.usefixtures("quick_polls")
def test_watch_ends_if_a_batch_without_tally_is_deleted(client: JobsClient, ledger: Any) -> None:
    ledger.add_batch("b1", {"a": {}})
    ledger.as_list = lambda rows, key: {"jobs": rows, "startKey": key}
    ledger.by_name = lambda row: {key: row[key] for key in row if key != "statuses"}
    watch = client.watch("b1")
    assert dict(next(watch).states) == {"In Queue": 1}
    ledger.fail("jobs", None, ledger.answer(400, "Batch b1 not found", "text/plain"))
    assert next(snapshot for snapshot in watch if not snapshot.states).outcome is None
    del ledger.rows["b1"]
    *_, last = watch
    assert (last.phase, last.outcome) == ("Deleted", Outcome.STOPPED)


def test_absent_hours_and_scores_are_missing_values(client: JobsClient, ledger: Any) -> None:
    ledger.add_batch("b1", {"a": {}, "b": {}})
    ledger.complete("b1")
    for table in (client.jobs(), client.jobs(batch="b1", scores=True), client.show("b1")):
        assert table["WeightedHours"].isna().all()
        assert str(table["WeightedHours"].dtype) in ("float64", "Float64")

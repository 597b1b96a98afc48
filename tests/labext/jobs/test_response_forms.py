"""Response formats, errors and missing features of real job services."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labext.errors import (
    AccessError,
    BusyError,
    ConflictError,
    InputError,
    JobFailedError,
    LabextError,
    NotFoundError,
    NotReadyError,
    ServiceError,
    SignInError,
)
from labext.jobs import JobsClient
from labext.progress import Outcome

pytestmark = pytest.mark.faults


SETTINGS = {"sequence": "GGGAAACCC"}


def test_list_is_read_page_by_page(client: JobsClient, ledger: Any) -> None:
    for number in range(2345):
        ledger.add(f"f{number}")
    assert len(client.jobs()) == 2345
    assert ledger.count("jobs") == 3
    assert client.jobs(limit=1001)["JobName"].tolist() == [f"f{2344 - n}" for n in range(1001)]
    assert [row["JobName"] for row in client.iter_jobs(limit=2)] == ["f2344", "f2343"]


def test_deeply_nested_confirmation_is_plain_text(client: JobsClient, ledger: Any) -> None:
    ledger.fail("submit-job", ledger.answer(body="[" * 10**5, kind="text/plain", first_acts=True))
    assert client.submit("f1", "fold", SETTINGS).created


def test_presigned_url_is_not_shown(client: JobsClient, ledger: Any) -> None:
    url = "https://bucket.example.org/f?X-Amz-Signature=0123456789abcdef"
    ledger.add("f1", resultUrl=url)
    assert client.job("f1")["resultUrl"] == url
    assert "0123456789abcdef" not in repr(client.job("f1"))
    assert "resultUrl" not in client.show("f1").columns
    assert "resultUrl" not in client.jobs().columns


@pytest.mark.parametrize("body", ["null", '"text"', '{"message": "hello"}'])
def test_response_that_is_no_list_is_a_service_error(
    client: JobsClient, ledger: Any, body: str
) -> None:
    for act, operation in ((client.tools, "tools"), (client.files, "files")):
        ledger.fail(operation, ledger.answer(body=body))
        with pytest.raises(ServiceError, match="invalid list of"):
            act()


@pytest.mark.parametrize(
    ("status", "words", "kind", "step"),
    [
        (401, "Invalid key", SignInError, "LABEXT_JOBS_API_KEY"),
        (400, {"error": "Invalid x-api-key"}, SignInError, "LABEXT_JOBS_API_KEY"),
        (400, '"Job f1 not found"', NotFoundError, "jobs.jobs()"),
        (404, "", NotFoundError, "jobs.jobs()"),
        (400, "Job f1 is not complete. Status: In Queue", NotReadyError, "jobs.wait("),
        (400, "Job f1 is not complete. Status: Stopped", JobFailedError, "See `jobs.show("),
        (403, {"message": "Budget exceeded for the organization"}, AccessError, "larger budget"),
        (403, "9 queued jobs; this would exceed its limit.", AccessError, "jobs.jobs()"),
        (403, {"detail": "Too many requests"}, AccessError, "Wait a few minutes"),
        (403, "Rate-limited", AccessError, "Wait a few minutes"),
        (403, "Only corporate users operate this", AccessError, "permission, the budget, or"),
        (403, "", AccessError, "permission, the budget, or too many requests"),
        (429, {"title": "slow down"}, BusyError, ""),
        (400, "what is that", InputError, "Correct the request"),
    ],
)
def test_error_type_and_next_step_depend_on_the_message(
    client: JobsClient, ledger: Any, status: int, words: Any, kind: type, step: str
) -> None:
    ledger.add("f1")
    ledger.fail("stop-job", *[ledger.answer(status, words)] * 10)
    ledger.not_served["cancelJob"] = ledger.answer(404)
    with pytest.raises(kind) as raised:
        client.stop("f1")
    error = raised.value
    assert isinstance(error, LabextError)
    message = words if isinstance(words, str) else next(iter(words.values()))
    assert message.strip('"') in error.message
    assert error.status == status
    assert step in error.next_step


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Job f1 is not complete. Status: In Queue", NotReadyError),
        ("Job name f1 is already taken.", ConflictError),
        ("The following files have not been uploaded: f1.pdb", InputError),
    ],
)
def test_clear_message_of_the_service_is_not_repeated_in_other_words(
    client: JobsClient, ledger: Any, words: str, kind: type[LabextError]
) -> None:
    ledger.add("f1")
    ledger.fail("stop-job", ledger.answer(400, words))
    with pytest.raises(kind) as raised:
        client.stop("f1")
    assert raised.value.message == f"{words.rstrip('.')}."


@pytest.mark.parametrize(
    "words", ["Job f1 has no output file 'x.txt'", "Job f1 has no PDB files", "File not found: x"]
)
def test_missing_output_differs_from_a_missing_job(
    client: JobsClient, ledger: Any, tmp_path: Path, words: str
) -> None:
    ledger.add("f1")
    ledger.complete("f1")
    ledger.fail("result", ledger.answer(404, {"error": words}))
    with pytest.raises(NotFoundError, match=r'`jobs\.outputs\("f1"\)` lists its files'):
        client.download("f1", tmp_path, file="x.txt")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"detail": "Not Found"}, "application/json"),
        ("404 page not found", "text/plain"),
        ("<html><head><title>404 Not Found</title></head></html>", "text/html"),
        ("", "text/plain"),
    ],
)
def test_wrong_path_of_the_address_is_not_a_missing_object(
    client: JobsClient, ledger: Any, body: Any, kind: str
) -> None:
    for operation, call in (("tools", client.tools), ("jobs", client.jobs)):
        ledger.fail(operation, ledger.answer(404, body, kind))
        with pytest.raises(NotFoundError, match="no job service at this address") as raised:
            call()
        assert raised.value.next_step == "Check the service's address, with the path of its API."
    ledger.fail("jobs", ledger.answer(404, {"error": "No account is called x."}))
    with pytest.raises(NotFoundError, match="no object has this name: No account"):
        client.jobs(email="x")


def test_invalid_start_key_names_the_parameter(client: JobsClient, ledger: Any) -> None:
    ledger.fail("jobs", ledger.answer(400, {"error": "startKey was not given out here."}))
    with pytest.raises(InputError, match="`start_key="):
        client.jobs(start_key="nonsense")


@pytest.mark.usefixtures("quick_polls")
def test_outcome_of_a_batch_is_its_own_status(client: JobsClient, ledger: Any) -> None:
    ledger.add_batch("b", {"x": SETTINGS, "y": SETTINGS})
    ledger.complete("b")
    ledger.rows["b"]["batchStatus"] = "Aggregating"
    watch = client.watch("b")
    first = next(watch)
    assert (first.phase, first.states, first.total) == ("Aggregating", {"Complete": 2}, 2)
    assert first.outcome is None
    ledger.rows["b"].update(batchStatus="AggregationFailed", AggregationError="over quota.")
    *_, last = watch
    assert (last.outcome, last.reason) == (Outcome.FAILED, "over quota.")
    with pytest.raises(
        JobFailedError,
        match=r"b did not complete: its status is AggregationFailed: over quota\. See",
    ):
        client.wait("b")


def test_reason_is_that_of_a_failed_job(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1", Reason="time limit")
    for state, reason in (("Complete", ""), ("Stopped", "time limit")):
        ledger.rows["f1"]["JobStatus"] = state
        (snapshot,) = client.watch("f1")
        assert snapshot.reason == reason


@pytest.mark.usefixtures("quick_polls")
def test_deleted_job_ends_the_watch(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    watch = client.watch("f1")
    next(watch)
    del ledger.rows["f1"]
    *_, last = watch
    assert (last.phase, last.outcome) == ("Deleted", Outcome.STOPPED)


def test_wait_times_out(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    expected = r"f1 did not complete within 0\.1 seconds: its status is In Queue\. Wait again; "
    with pytest.raises(NotReadyError, match=expected + r"`jobs\.show\(\"f1\"\)` says why"):
        client.wait("f1", timeout=0.1)
    ledger.complete("f1")
    assert client.wait("f1")["JobStatus"] == "Complete"


def test_unknown_job_name_suggests_a_similar_one(client: JobsClient, ledger: Any) -> None:
    ledger.add("helix1")
    for act in (client.job, lambda name: next(client.watch(name))):
        with pytest.raises(NotFoundError, match=r'called "helix".*did you mean "helix1"'):
            act("helix")


NOT_THERE = [
    "No jobs found",
    "No such job: f1",
    "Job f1 does not exist",
    "Job f1 doesn't exist.",
    "Could not find job f1",
    "Unknown jobName f1",
    "Invalid job name",
    {"error": "Job f1 not found"},
    {"message": "job is nonexistent"},
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

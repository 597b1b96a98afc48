"""Every form in which real services answer, and answers that are none."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from labext.errors import (
    AccessError,
    BusyError,
    InputError,
    JobFailedError,
    LabextError,
    NotFoundError,
    NotReadyError,
    ResponseLimitError,
    ServiceError,
    SignInError,
)
from labext.jobs import JobsClient
from labext.progress import Outcome

pytestmark = pytest.mark.faults

SETTINGS = {"sequence": "GGGAAACCC"}


@pytest.mark.parametrize(
    "form",
    [
        lambda row: row,
        lambda row: {"jobs": [row]},
        lambda row: {"jobs": [row], "startKey": "", "statuses": {"Complete": 1}},
        lambda row: {"0": row, "statuses": {"Complete": 1}},
        lambda row: [row],
    ],
)
def test_a_row_by_name_in_every_form(client: JobsClient, ledger: Any, form: Any) -> None:
    ledger.add("f1", settings=SETTINGS)
    ledger.by_name = form
    assert client.job("f1")["JobName"] == "f1"
    assert client.show("f1")["Settings"].tolist() == [SETTINGS]
    assert not client.submit("f1", "fold", SETTINGS).created


@pytest.mark.parametrize("empty", [None, {}, [], {"jobs": []}, {"jobs": [], "statuses": {}}])
def test_no_row_is_no_job(client: JobsClient, ledger: Any, empty: Any) -> None:
    ledger.add("other")
    ledger.fail("jobs", ledger.answer(body=empty))
    with pytest.raises(NotFoundError, match=r'No job, batch or pipeline is called "othr".*"other"'):
        client.job("othr")


@pytest.mark.parametrize(
    "form",
    [
        lambda rows, key: {"jobs": rows, "startKey": key, "statuses": {}},
        lambda rows, key: {"jobs": rows, **({"startKey": key} if key else {})},
        lambda rows, key: {"jobs": rows, "startKey": key or None},
        lambda rows, key: {
            **{str(n): row for n, row in enumerate(rows)},
            "statuses": {},
            "startKey": key,
        },
    ],
)
def test_a_list_in_every_form(client: JobsClient, ledger: Any, form: Any) -> None:
    for number in range(2345):
        ledger.add(f"f{number}")
    ledger.as_list = form
    assert len(client.jobs()) == 2345
    assert ledger.count("jobs") == 3
    assert client.jobs(limit=1001)["JobName"].tolist() == [f"f{2344 - n}" for n in range(1001)]
    assert [row["JobName"] for row in client.iter_jobs(limit=2)] == ["f2344", "f2343"]


def test_a_list_that_was_cut_short_goes_on(client: JobsClient, ledger: Any) -> None:
    for number in range(10):
        ledger.add(f"f{number}")
    first = client.jobs(limit=4)
    rest = client.jobs(start_key=first.attrs["start_key"])
    assert [*first["JobName"], *rest["JobName"]] == [f"f{9 - n}" for n in range(10)]
    assert rest.attrs["start_key"] == ""


def test_a_list_that_goes_round_ends(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    ledger.as_list = lambda rows, _: {"jobs": rows, "startKey": "1"}
    with pytest.raises(ResponseLimitError, match="repeats a page"):
        client.jobs()


def test_an_empty_list_has_the_columns(client: JobsClient) -> None:
    table = client.jobs()
    assert len(table) == 0
    assert table.columns[:4].tolist() == ["JobName", "Type", "JobStatus", "batchStatus"]
    assert str(table["Created"].dtype) == "datetime64[us, UTC]"


def test_malformed_cells_and_unknown_fields_stay(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1", Score="{half", Started="yesterday", WeightedHours="many", Reason="cold")
    ledger.rows["f1"]["Settings"] = None
    table = client.jobs(scores=True)
    assert table["Reason"].tolist() == ["cold"]
    assert table["Started"].isna().all()
    assert not client.jobs()["Score"].isna().any()


def test_a_presigned_address_is_not_shown(client: JobsClient, ledger: Any) -> None:
    url = "https://bucket.example.org/f?X-Amz-Signature=0123456789abcdef"
    ledger.add("f1", resultUrl=url)
    assert client.job("f1")["resultUrl"] == url
    assert "0123456789abcdef" not in repr(client.job("f1"))
    assert "resultUrl" not in client.show("f1").columns
    assert "resultUrl" not in client.jobs().columns


@pytest.mark.parametrize("body", ["", "{half", "<!DOCTYPE html><p>x", "null", '"text"', "[1, 2]"])
def test_answers_that_make_no_sense(client: JobsClient, ledger: Any, body: str) -> None:
    kind = "text/html" if body.startswith("<") else "application/json"
    for act, operation in (
        (client.tools, "tools"),
        (client.jobs, "jobs"),
        (lambda: client.job("f1"), "jobs"),
        (client.files, "files"),
    ):
        ledger.scripts.clear()
        ledger.fail(operation, *[ledger.answer(body=body, kind=kind)] * 9)
        if (body, operation) in ((("[1, 2]", "tools")), ("[1, 2]", "files")):
            continue  # a list of what is no tool, or of odd file names: no error
        with pytest.raises(LabextError) as raised:
            act()
        assert isinstance(raised.value, ServiceError | NotFoundError)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("status", "words", "kind", "step"),
    [
        (401, "Invalid key", SignInError, "LABEXT_JOBS_API_KEY"),
        (400, {"error": "Invalid x-api-key"}, SignInError, "LABEXT_JOBS_API_KEY"),
        (400, '"Job f1 not found"', NotFoundError, "jobs.jobs()"),
        (404, "", NotFoundError, "jobs.jobs()"),
        (400, "Job f1 is not complete. Status: In Queue", NotReadyError, "jobs.wait("),
        (403, {"message": "Budget exceeded for the organization"}, AccessError, "larger budget"),
        (403, {"detail": "Too many requests"}, AccessError, "Wait a few minutes"),
        (403, "Rate-limited", AccessError, "Wait a few minutes"),
        (403, "Only corporate users operate this", AccessError, "permission, the budget, or"),
        (403, "", AccessError, "permission, the budget, or a pause"),
        (429, {"title": "slow down"}, BusyError, ""),
        (400, "what is that", InputError, "objects to"),
    ],
)
def test_a_refusal_is_told_by_its_text(
    client: JobsClient, ledger: Any, status: int, words: Any, kind: type, step: str
) -> None:
    ledger.add("f1")
    ledger.fail("stop-job", *[ledger.answer(status, words)] * 9)
    ledger.not_served["cancelJob"] = ledger.answer(404)
    with pytest.raises(kind) as raised:
        client.stop("f1")
    said = words if isinstance(words, str) else next(iter(words.values()))
    error = raised.value
    assert isinstance(error, LabextError)
    assert said.strip('"') in error.message
    assert error.status == status
    assert step in error.next_step


@pytest.mark.parametrize(
    "words", ["Job f1 has no output file 'x.txt'", "Job f1 has no PDB files", "File not found: x"]
)
def test_an_output_that_is_not_there_is_told_apart_from_a_job(
    client: JobsClient, ledger: Any, tmp_path: Path, words: str
) -> None:
    ledger.add("f1")
    ledger.complete("f1")
    ledger.fail("result", ledger.answer(404, {"error": words}))
    with pytest.raises(NotFoundError, match='Without `file="FILE"` and `pdbs_only=True`'):
        client.download("f1", tmp_path, file="x.txt")


def test_a_list_that_can_not_go_on_says_which_key_to_give(client: JobsClient, ledger: Any) -> None:
    ledger.fail("jobs", ledger.answer(400, {"error": "startKey was not given out here."}))
    with pytest.raises(InputError, match="`start_key="):
        client.jobs(start_key="nonsense")


def test_the_key_goes_with_every_request_but_never_into_a_message(
    client: JobsClient, ledger: Any
) -> None:
    ledger.add("f1")
    ledger.complete("f1")
    ledger.fail("tools", ledger.answer(401, "bad key ledger-key-0123456789"))
    with pytest.raises(SignInError) as raised:
        client.tools()
    assert "ledger-key" not in str(raised.value)
    assert "ledger-key" not in repr(client)
    assert "ledger-key" not in repr(vars(raised.value))
    client.jobs()
    assert {key for operation, key in ledger.keys} == {"ledger-key-0123456789"}


def test_an_unknown_state_is_shown_and_never_ends(client: JobsClient, ledger: Any) -> None:
    ledger.add_batch("b", {"x": SETTINGS})
    ledger.rows["b"]["batchStatus"] = "Hibernating"
    ledger.rows["b-x"]["JobStatus"] = "Dreaming"
    stop = threading.Event()
    seen = []
    for progress in client.watch("b", stop):
        seen.append(progress)
        if progress.elapsed > 1.5:
            stop.set()
    assert seen[-1].phase == "Hibernating"
    assert seen[-1].states == {"Dreaming": 1}
    assert seen[-1].outcome is None
    assert ledger.count("jobs") <= 4


@pytest.mark.usefixtures("quick_looks")
def test_a_batch_is_judged_by_its_own_status_alone(client: JobsClient, ledger: Any) -> None:
    ledger.add_batch("b", {"x": SETTINGS, "y": SETTINGS})
    ledger.complete("b")
    ledger.rows["b"]["batchStatus"] = "Aggregating"
    watch = client.watch("b")
    first = next(watch)
    assert (first.phase, first.states, first.total) == ("Aggregating", {"Complete": 2}, 2)
    assert first.outcome is None
    ledger.rows["b"].update(batchStatus="AggregationFailed", AggregationError="over quota")
    *_, last = watch
    assert (last.outcome, last.reason) == (Outcome.FAILED, "over quota")
    with pytest.raises(JobFailedError, match="b has ended as AggregationFailed: over quota"):
        client.wait("b")


def test_a_batch_without_a_tally_is_counted(client: JobsClient, ledger: Any) -> None:
    ledger.add_batch("b", {"x": SETTINGS, "y": SETTINGS})
    ledger.by_name = lambda row: {key: row[key] for key in row if key != "statuses"}
    assert next(client.watch("b")).states == {"In Queue": 2}


def test_a_single_job_with_a_tally_is_no_batch(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    ledger.by_name = lambda row: {**row, "statuses": {"In Queue": 1}}
    seen = next(client.watch("f1"))
    assert (seen.kind, seen.states, seen.total) == ("job", {}, None)


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("Complete", Outcome.COMPLETE),
        ("Stopped", Outcome.STOPPED),
        ("Failed", Outcome.FAILED),
        ("Deleted", Outcome.STOPPED),
    ],
)
def test_a_job_ends(client: JobsClient, ledger: Any, state: str, outcome: Outcome) -> None:
    ledger.add("f1", Reason="time limit")
    ledger.rows["f1"]["JobStatus"] = state
    (seen,) = client.watch("f1")
    assert seen.outcome is outcome
    assert seen.reason == ("" if outcome is Outcome.COMPLETE else "time limit")


@pytest.mark.usefixtures("quick_looks")
def test_a_job_deleted_while_it_is_watched_ends_the_watch(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    watch = client.watch("f1")
    next(watch)
    del ledger.rows["f1"]
    *_, last = watch
    assert (last.phase, last.outcome) == ("Deleted", Outcome.STOPPED)


def test_waiting_has_an_end(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    with pytest.raises(NotReadyError, match=r"f1 is not complete after 0\.3 seconds"):
        client.wait("f1", timeout=0.3)
    ledger.complete("f1")
    assert client.wait("f1")["JobStatus"] == "Complete"


def test_an_unknown_name_is_not_watched(client: JobsClient, ledger: Any) -> None:
    ledger.add("helix1")
    with pytest.raises(NotFoundError, match='did you mean "helix1"'):
        next(client.watch("helix"))

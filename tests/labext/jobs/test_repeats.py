"""Which operation is sent again after its answer was lost: as each one declares."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import AccessError, LabextError, NotFoundError, OutcomeUnknownError
from labext.http import HttpClient, Operation, RetryMode
from labext.jobs import JobsClient, api

pytestmark = pytest.mark.faults

ALL = {name: op for name, op in vars(api).items() if isinstance(op, Operation)}
READS = {
    "TOOLS", "JOB", "JOBS", "VALIDATE", "RESULT", "FILES", "FOLDERS", "PRESIGN", "USAGE",
}  # fmt: skip
AGAIN_IS_THE_SAME = {"STOP", "CANCEL_JOB", "CANCEL_BATCH", "UPLOAD"}
REMOVALS = {"DELETE", "DELETE_FILE"}
SUBMISSIONS = {"SUBMIT", "SUBMIT_BATCH", "SUBMIT_PIPELINE", "RUN_PIPELINE"}


def send(transport: HttpClient, op: Operation) -> Any:
    path = {"filename": "a.pdb"} if "{filename}" in op.path else None
    return transport.send(op, path=path, json={} if op.method == "POST" else None)


@pytest.fixture
def reach() -> Any:
    def make(server: Any) -> HttpClient:
        return HttpClient(server.url, auth=None, rate=None, timeout=(2, 2))

    return make


def test_every_operation_is_of_one_kind() -> None:
    kinds = [READS, AGAIN_IS_THE_SAME, REMOVALS, SUBMISSIONS]
    assert sorted(name for kind in kinds for name in kind) == sorted(ALL)
    assert all(ALL[name].repeat is RetryMode.ALWAYS for name in READS | AGAIN_IS_THE_SAME)
    assert all(ALL[name].repeat is RetryMode.DELETE for name in REMOVALS)
    assert all(ALL[name].repeat is RetryMode.UNSENT for name in SUBMISSIONS)


@pytest.mark.parametrize("lost", ["silence", "reset"])
@pytest.mark.parametrize("name", sorted(READS | AGAIN_IS_THE_SAME))
def test_what_does_no_harm_twice_is_asked_again(
    faulty: Any, reach: Any, name: str, lost: str
) -> None:
    server = faulty(getattr(faulty, lost), faulty.answer(b"[]", 502), faulty.answer([]))
    assert send(reach(server), ALL[name]).status == 200
    assert server.count == 3


@pytest.mark.parametrize("name", sorted(REMOVALS))
def test_a_removal_that_is_asked_again_and_finds_nothing_has_succeeded(
    faulty: Any, reach: Any, name: str
) -> None:
    gone = faulty.answer({"error": "not found"}, 404)
    server = faulty(faulty.silence, gone)
    assert send(reach(server), ALL[name]).repeated
    assert server.count == 2
    first = faulty(gone)
    with pytest.raises(NotFoundError):
        send(reach(first), ALL[name])
    assert first.count == 1
    refused = faulty(faulty.answer("busy", 429), gone)
    with pytest.raises(NotFoundError):  # the first one surely removed nothing
        send(reach(refused), ALL[name])


@pytest.mark.parametrize("name", sorted(SUBMISSIONS))
def test_a_submission_is_sent_again_only_if_it_surely_was_not_taken(
    faulty: Any, reach: Any, name: str
) -> None:
    for lost in (faulty.silence, faulty.reset, faulty.answer("gateway", 504)):
        server = faulty(lost, faulty.answer("submitted"))
        with pytest.raises(OutcomeUnknownError) as raised:
            send(reach(server), ALL[name])
        assert server.count == 1
        assert ALL[name].name in raised.value.message
        assert "`jobs.jobs()`" in raised.value.next_step
    rejected = faulty(
        faulty.answer("slow down", 429), faulty.answer("submitted", kind="text/plain")
    )
    assert send(reach(rejected), ALL[name]).text() == "submitted"


def test_what_another_one_has_deleted_is_told(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    ledger.fail("delete-job", ledger.answer(404, {"error": "Job f1 not found"}))
    with pytest.raises(NotFoundError, match="Job f1 not found"):
        client.delete("f1")


def test_a_second_stop_is_as_good_as_the_first(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    assert client.stop("f1") == client.stop("f1") == "f1 stopped"


def test_a_stop_that_is_refused_after_a_lost_answer_has_stopped(
    client: JobsClient, ledger: Any
) -> None:
    ledger.add("f1")
    ledger.fail("stop-job", ledger.lost_after(), ledger.answer(400, "Job f1 is not running"))
    assert client.stop("f1") == "f1 is already Stopped."
    assert ledger.count("stop-job") == 2


def test_a_part_that_has_ended_keeps_no_other_from_being_stopped(
    client: JobsClient, ledger: Any
) -> None:
    jobs = {f"h{n}": {"sequence": "A"} for n in range(150)}
    client.submit_batch("folds", "fold", jobs)
    ledger.complete("folds-part1of2")
    ledger.fail("stop-job", ledger.answer(400, "Cannot stop: no running job"), None)
    assert client.stop("folds") == (
        "folds: folds-part1of2 is already Complete; folds-part2of2 stopped."
    )


def test_a_stop_that_is_refused_while_it_runs_is_told(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    for words in ("Stopping is not allowed", "Job f1 is not ready to be stopped"):
        ledger.fail("stop-job", ledger.answer(400, words))
        with pytest.raises(LabextError, match=words):
            client.stop("f1")


def test_a_record_without_a_batch_is_deleted(client: JobsClient, ledger: Any) -> None:
    ledger.fail("submit-batch", ledger.answer(403, "Budget exceeded"))
    with pytest.raises(AccessError, match="Budget exceeded"):
        client.submit_batch("few", "fold", {"a": {"sequence": "A"}})
    assert client.unfinished_names() == ["few"]
    assert client.delete("few").startswith("Nothing of few is on the service")
    assert client.unfinished_names() == []
    with pytest.raises(NotFoundError):
        client.delete("few")

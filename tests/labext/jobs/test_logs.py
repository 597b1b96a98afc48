"""Logs and files of jobs, from services with and without endpoints for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from labext.actions import Action
from labext.errors import (
    AccessError,
    InputError,
    LabextError,
    NotFoundError,
    NotReadyError,
    ServiceError,
)
from labext.jobs import JobsClient

pytestmark = pytest.mark.faults


@pytest.fixture
def without(ledger: Any, request: pytest.FixtureRequest) -> Any:
    """The service without the endpoints, with a response for unknown paths."""
    status = getattr(request, "param", 404)
    words = {403: "Missing Authentication Token"}.get(status, "")
    for operation in ("job-log", "job-outputs"):
        ledger.not_served[operation] = ledger.answer(status, {"message": words})
    return ledger


def part(text: str, start: int, *, running: bool, size: int | None = None) -> dict[str, Any]:
    """Return a response with a part of a log."""
    offset = start + len(text.encode())
    size = offset if size is None else size
    return {"text": text, "start": start, "offset": offset, "size": size, "running": running}


def answers(ledger: Any, *parts: dict[str, Any] | None) -> None:
    """Respond to requests for the log with these; None is an outage."""
    for body in parts:
        ledger.fail(
            "job-log", ledger.answer(500, "down") if body is None else ledger.answer(200, body)
        )


def offsets(ledger: Any) -> list[str]:
    return [query["offset"] for operation, query, _ in ledger.received if operation == "job-log"]


@pytest.mark.parametrize(
    "read",
    [
        lambda client, name: client.log(name),
        lambda client, name: next(client.follow_log(name)),
        lambda client, name: client.outputs(name),
        lambda client, name: client.read_output(name, "a.txt"),
    ],
)
@pytest.mark.parametrize("name", ["", "../f1", "f1?email=ada", "f" * 101, None])
def test_invalid_name_is_refused_without_a_request(
    client: JobsClient, ledger: Any, read: Callable[[JobsClient, Any], object], name: Any
) -> None:
    with pytest.raises(InputError, match="The job name "):
        read(client, name)
    assert ledger.received == []


@pytest.mark.parametrize("without", [404, 403, 405, 501], indirect=True)
def test_log_and_files_of_a_complete_job_come_from_its_results(
    client: JobsClient, without: Any
) -> None:
    without.add("f1")
    results = {"rank_1.pdb": "ATOM\n", "fragments.csv": "a,b\n", "log.txt": "one\n", "x.bin": ""}
    without.complete("f1", results=results)
    assert client.log("f1") == "one\n"
    assert list(client.follow_log("f1")) == ["one\n"]
    files = client.outputs("f1")
    assert dict(zip(files["file"], files["bytes"], strict=True)) == {
        name: len(text) for name, text in results.items()
    }
    assert files["view"].fillna("").tolist() == ["structure", "map and gel", "text", ""]
    assert files["modified"].isna().all()
    assert client.read_output("f1", "rank_1.pdb") == b"ATOM\n"


def test_missing_output_file_is_not_found_and_the_others_can_be_listed(
    client: JobsClient, ledger: Any
) -> None:
    message = {"message": "Job f1 has no output file 'x'."}
    ledger.fail("job-outputs", ledger.answer(404, message), ledger.answer(200, {"files": []}))
    with pytest.raises(NotFoundError) as raised:
        client.read_output("f1", "x")
    assert raised.value.message == "Not found: Job f1 has no output file 'x'."
    assert raised.value.action == Action.list_outputs("f1")


def test_unfinished_job_of_a_service_without_logs_is_an_error_in_one_line(
    client: JobsClient, without: Any
) -> None:
    without.add("f1", JobStatus="Stopped")
    for read, noun in ((client.log, "logs"), (client.outputs, "files")):
        with pytest.raises(NotReadyError) as raised:
            read("f1")
        message = f"This service keeps no {noun} of jobs that are not complete; f1 is"
        assert str(raised.value).startswith(message)
        assert 'jobs.show("f1")' in raised.value.next_step
    with pytest.raises(NotReadyError, match="keeps no logs"):
        next(client.follow_log("f1"))


def test_missing_job_is_not_a_missing_endpoint(client: JobsClient, without: Any) -> None:
    for read in (client.log, client.outputs):
        with pytest.raises(NotFoundError, match="f1"):
            read("f1")


def test_batch_has_no_log_and_its_files_once_it_is_complete(
    client: JobsClient, without: Any
) -> None:
    without.add_batch("b1", {"a": {}})
    for read in (client.log, client.outputs):
        with pytest.raises(
            InputError, match=r"b1 is a batch; .* are kept for each of its jobs"
        ) as e:
            read("b1")
        assert 'jobs.jobs(batch="b1")' in e.value.next_step
    without.complete("b1")
    assert set(client.outputs("b1")["file"]) == {"a/log.txt", "metrics.csv"}
    with pytest.raises(InputError, match="are kept for each of its jobs"):
        client.log("b1")


def test_results_without_a_log(client: JobsClient, without: Any) -> None:
    without.add("f1")
    without.complete("f1", results={"a.txt": "a"})
    with pytest.raises(NotFoundError, match=r"have no log\.txt"):
        client.log("f1")


@pytest.mark.parametrize(
    ("status", "error"), [(401, LabextError), (403, AccessError), (400, InputError)]
)
def test_other_refusals_are_not_taken_for_a_missing_endpoint(
    client: JobsClient, ledger: Any, status: int, error: type[LabextError]
) -> None:
    ledger.add("f1")
    ledger.complete("f1")
    ledger.not_served["job-log"] = ledger.answer(status, {"error": "email: not you"})
    with pytest.raises(error, match="not you"):
        client.log("f1")


def test_long_log_is_read_in_parts_and_its_start_left_out(
    client: JobsClient, ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(ledger, part("abc", 0, running=False, size=5), part("de", 3, running=False))
    assert client.log("f1") == "abcde"
    monkeypatch.setattr("labext.jobs.client.logs.MAX_LOG_BYTES", 4)
    answers(ledger, part("ab", 0, running=True, size=9), part("fgh", 5, running=True, size=9))
    answers(ledger, part("i", 8, running=True, size=20))
    assert client.log("f1") == "[The first 5 bytes of this log are omitted.]\nfghi"
    assert offsets(ledger) == ["0", "3", "0", "5", "8"]


@pytest.mark.usefixtures("quick_polls")
def test_log_is_followed_until_the_job_has_ended(client: JobsClient, ledger: Any) -> None:
    answers(
        ledger,
        part("one\n", 0, running=True),
        part("", 4, running=True),
        part("two\n", 4, running=True, size=10),
        part("3\n", 8, running=True),
        part("", 10, running=True),
        part("end\n", 10, running=False, size=15),
        part("!", 14, running=False),
    )
    texts = [text for text in client.follow_log("f1") if text]
    assert texts == ["one\n", "two\n", "3\n", "end\n", "!"]
    assert offsets(ledger) == ["0", "4", "4", "8", "10", "10", "14"]


@pytest.mark.usefixtures("quick_polls")
def test_following_survives_an_outage_and_a_restart_of_the_job(
    client: JobsClient, ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    unavailable = [None] * 5  # all attempts of one request
    answers(ledger, part("one\n", 0, running=True), *unavailable)
    answers(ledger, part("new\n", 0, running=False))
    assert [text for text in client.follow_log("f1") if text] == ["one\n", "new\n"]
    monkeypatch.setattr("labext.progress.MAX_OUTAGE_SECONDS", 0.0)
    answers(ledger, part("one\n", 0, running=True), *unavailable)
    with pytest.raises(ServiceError):
        list(client.follow_log("f1"))


@pytest.mark.usefixtures("quick_polls")
def test_following_survives_a_block_after_too_many_requests(
    client: JobsClient, ledger: Any
) -> None:
    answers(ledger, part("one\n", 0, running=True))
    ledger.fail("job-log", ledger.answer(403, "Too many requests, blocked", "text/plain"))
    answers(ledger, part("two\n", 4, running=False))
    assert [text for text in client.follow_log("f1") if text] == ["one\n", "two\n"]


def test_following_ends_when_it_is_stopped(client: JobsClient, ledger: Any) -> None:
    answers(ledger, part("one\n", 0, running=True))
    stop = threading.Event()
    follow = client.follow_log("f1", stop)
    assert next(follow) == "one\n"
    stop.set()
    assert list(follow) == []


@pytest.mark.parametrize(
    "body",
    [[], {}, {"text": "a"}, part("a", 0, running=True) | {"offset": -1},
     part("a", 0, running=True) | {"size": True}, part("a", 0, running=True) | {"text": None}],
)  # fmt: skip
def test_invalid_log_is_an_error_of_the_service(client: JobsClient, ledger: Any, body: Any) -> None:
    ledger.fail("job-log", ledger.answer(200, body))
    with pytest.raises(ServiceError, match="invalid log"):
        client.log("f1")


@pytest.mark.parametrize("body", [[], {"files": {}}, {"files": ["a"]}, {"files": [{"path": 1}]}])
def test_invalid_list_of_files_is_an_error_of_the_service(
    client: JobsClient, ledger: Any, body: Any
) -> None:
    ledger.fail("job-outputs", ledger.answer(200, body))
    with pytest.raises(ServiceError, match="invalid list of output files"):
        client.outputs("f1")

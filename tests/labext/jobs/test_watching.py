"""Watching jobs on an unreliable service, failed jobs, and the number of requests."""

from __future__ import annotations

import itertools
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from labext import progress
from labext.errors import AccessError, NotReadyError, ServiceError, SignInError
from labext.jobs import JobsClient
from labext.jobs.watch import REQUEST_CREDIT, JobWatcher
from labext.progress import Outcome

pytestmark = pytest.mark.faults


ATTEMPTS = 5


def silent(ledger: Any, how: str, polls: int) -> None:
    """Let the service fail for a number of polls."""
    answer = ledger.lost_before() if how == "gone" else ledger.answer(status=int(how), body="no")
    tries = 1 if how == "403" else ATTEMPTS
    ledger.fail("jobs", *[answer] * (tries * polls))


@pytest.mark.usefixtures("quick_polls")
@pytest.mark.parametrize("how", ["gone", "503", "403"])
def test_watch_continues_after_an_outage(client: JobsClient, ledger: Any, how: str) -> None:
    ledger.add_batch("b", {"x": {}, "y": {}})
    watch = client.watch("b")
    first = next(watch)
    silent(ledger, how, polls=1)
    away = next(snapshot for snapshot in watch if snapshot.reason)
    assert (away.phase, away.states, away.outcome) == (first.phase, first.states, None)
    assert away.reason.startswith("No response, trying again. ")
    ledger.complete("b")
    *_, last = watch
    assert (last.outcome, last.reason) == (Outcome.COMPLETE, "")


@pytest.mark.usefixtures("quick_polls")
def test_timeout_during_an_outage_says_that_the_service_does_not_respond(
    client: JobsClient, ledger: Any
) -> None:
    ledger.add("f1")
    ledger.fail("jobs", None, *[ledger.lost_before()] * 10_000)
    with pytest.raises(
        NotReadyError, match=r"In Queue\. The service has not responded since\. The connection"
    ):
        client.wait("f1", timeout=1)


@pytest.mark.usefixtures("quick_polls")
def test_long_outage_ends_the_watch(
    client: JobsClient, ledger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "MAX_OUTAGE_SECONDS", 0.0)
    ledger.add("f1")
    watch = client.watch("f1")
    next(watch)
    silent(ledger, "gone", polls=1)
    with pytest.raises(ServiceError):
        for _ in itertools.islice(watch, 50):
            pass


def test_watch_does_not_start_without_a_response(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    silent(ledger, "gone", polls=1)
    with pytest.raises(ServiceError):
        next(client.watch("f1"))


@pytest.mark.usefixtures("quick_polls")
def test_refused_key_ends_the_watch(client: JobsClient, ledger: Any) -> None:
    ledger.add("f1")
    watch = client.watch("f1")
    next(watch)
    ledger.fail("jobs", ledger.answer(status=401, body="Invalid API key"))
    with pytest.raises(SignInError):
        for _ in itertools.islice(watch, 50):
            pass


@pytest.mark.usefixtures("small_parts")
def test_poll_of_a_split_batch_takes_one_request(client: JobsClient, ledger: Any) -> None:
    jobs = {f"h{n}": {"sequence": "A"} for n in range(45)}
    client.submit_batch("folds", "fold", jobs)
    parts = [f"folds-part{n}of5" for n in range(1, 6)]
    watched = JobWatcher(client._service, client._parts, "folds")
    watched.poll()
    before, polls = ledger.count("jobs"), 0

    def look() -> Any:
        nonlocal polls
        polls += 1
        return watched.poll()

    ledger.complete(parts[3])  # out of turn
    assert any(look().done == 10 for _ in range(2 * len(parts))), "each part is polled"
    ledger.complete(*parts[:3])
    assert any(look().done == 40 for _ in range(2)), "ended jobs are skipped without a request"
    ledger.complete(parts[4])
    assert any(look().outcome is Outcome.COMPLETE for _ in range(2))
    assert ledger.count("jobs") - before <= polls + len(parts)


def fail(ledger: Any, batch: str, reasons: dict[str, str]) -> None:
    """Stop some of a batch's jobs, each with its reason."""
    for job, reason in reasons.items():
        ledger.rows[f"{batch}-{job}"].update(JobStatus="Stopped", Reason=reason)


def test_failed_jobs_are_listed_with_their_reasons_and_more_than_three_in_one_line(
    client: JobsClient, ledger: Any
) -> None:
    ledger.add_batch("b", {f"j{n}": {} for n in range(9)})
    fail(ledger, "b", {f"j{n}": "Stopped by hand." for n in range(4)})
    fail(ledger, "b", {f"j{n}": "Out of time." for n in range(5, 8)})
    parts = next(client.watch("b")).parts
    assert [(part.name, part.state, part.reason) for part in parts] == [
        ("j0, j1, j2 and 1 more", "Stopped", "Stopped by hand."),
        *((name, "Stopped", "Out of time.") for name in ("j5", "j6", "j7")),
    ]


def test_failed_jobs_are_requested_once_per_change(client: JobsClient, ledger: Any) -> None:
    ledger.add_batch("b", {name: {} for name in "xyz"})
    fail(ledger, "b", {"x": "Out of time."})
    watched = JobWatcher(client._service, client._parts, "b")
    watched.poll()
    before = ledger.count("jobs")
    for _ in range(5):
        assert len(watched.poll().parts) == 1
    assert ledger.count("jobs") - before <= 5


def test_refused_job_list_does_not_end_the_watch(client: JobsClient, ledger: Any) -> None:
    ledger.add_batch("b", {name: {} for name in "xyz"})
    watched = JobWatcher(client._service, client._parts, "b")
    watched.poll()
    fail(ledger, "b", {"x": "Out of time."})
    ledger.fail("jobs", None, ledger.answer(status=400, body="no lists today"))
    assert watched.poll().parts == ()
    assert len(watched.poll().parts) == 1


def test_refused_job_lists_are_limited_by_the_request_credit(
    client: JobsClient, ledger: Any
) -> None:
    ledger.add_batch("b", {name: {} for name in "xyz"})
    fail(ledger, "b", {"x": "Out of time."})
    watched = JobWatcher(client._service, client._parts, "b")
    refusal = ledger.answer(status=400, body="no lists")
    for _ in range(2 * REQUEST_CREDIT):
        ledger.fail("jobs", None, refusal)
        watched.poll()
    before = ledger.count("jobs")
    assert before <= 2 * REQUEST_CREDIT + REQUEST_CREDIT + 2


HOUR = 3600
JOBS = {f"h{n:04d}": {"sequence": "GAUC"} for n in range(1000)}


def count_requests(ledger: Any) -> Counter[str]:
    return Counter(operation for operation, _, _ in ledger.received)


@pytest.fixture
def no_connection(client: JobsClient, ledger: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the service respond to successful lookups of jobs without HTTP."""
    over_http = client._service.http.send

    def send(operation: Any, params: dict[str, Any]) -> Any:
        query = {name: str(value) for name, value in params.items() if value is not None}
        answer = ledger.act("jobs", query, None)
        if answer.status != 200:
            return over_http(operation, params=params)
        ledger.received.append(("jobs", query, None))
        return SimpleNamespace(json=lambda: answer.body)

    monkeypatch.setattr(client._service.http, "send", send)


@pytest.mark.usefixtures("no_connection")
@pytest.mark.parametrize(("name", "requests"), [("one", 404), ("many", 409), ("untold", 410)])
def test_requests_of_an_hour_of_watching(
    client: JobsClient,
    ledger: Any,
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    requests: int,
) -> None:
    ledger.add("one", "fold")
    for part in range(1, 51):
        ledger.add_batch(f"many-part{part}of50", {"a": {}, "b": {}})
    ledger.add_batch("untold", {"a": {}, "b": {}})
    if name == "untold":  # a service that sends no job counts with the row
        ledger._tally = lambda _: {}
    monkeypatch.setattr(progress, "TICK", 15.0)
    watched = JobWatcher(client._service, client._parts, name, clock=clock)
    for snapshot in progress.watch(watched.poll, clock=clock, sleep=clock.sleep):
        assert snapshot.outcome is None
        if snapshot.elapsed >= HOUR:
            break
    assert ledger.count("jobs") == requests <= 410


def test_requests_of_a_batch_of_1000_jobs(client: JobsClient, ledger: Any) -> None:
    client.submit_batch("many", "fold", JOBS)
    sent = count_requests(ledger)
    assert len(ledger.members) == 10
    assert sent == {
        "tools": 1,
        "usage-statistics": 1,  # the remaining budget
        "jobs": 2,  # the batch's name, and the list for the names of its parts
        "validate-job": 1,  # every row, before the first part is sent
        "submit-batch": 10,
    }
    ledger.received.clear()
    assert not client.submit_batch("many", "fold", JOBS).created
    assert count_requests(ledger) == {"usage-statistics": 1, "jobs": 2 + 10}, (
        "the jobs of each part are compared, with one request per part"
    )
    ledger.received.clear()
    assert not client.resume("many").created
    assert count_requests(ledger) == {"jobs": 2 + 10}


def test_one_validation_per_shape_if_rows_cannot_be_validated(
    client: JobsClient, ledger: Any
) -> None:
    ledger.validates_rows = False
    client.submit_batch("many", "fold", JOBS)
    assert count_requests(ledger)["validate-job"] == 1 + 1, (
        "several rows once, then one job of each shape"
    )
    ledger.received.clear()
    client.submit_batch("few", "fold", {"a": {"sequence": "AC"}, "b": {"sequence": "GU"}})
    assert "validate-job" not in count_requests(ledger), (
        "such a batch is accepted or rejected as a whole"
    )


def test_requests_of_a_resumed_batch(client: JobsClient, ledger: Any) -> None:
    ledger.fail("submit-batch", *[None] * 6, ledger.answer(403, "Budget exceeded"))
    with pytest.raises(AccessError, match="6 of 10 parts of many"):
        client.submit_batch("many", "fold", JOBS)
    ledger.received.clear()
    assert len(client.resume("many").sent) == 4
    assert count_requests(ledger) == {"jobs": 2 + 6, "submit-batch": 4}

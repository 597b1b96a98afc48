"""Poll the processing of sources at increasing intervals, with hints for stalled ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from fake_clock import Clock

from labext.actions import Action
from labext.errors import (
    InputError,
    JobFailedError,
    NotFoundError,
    NotReadyError,
    ServiceError,
    UnreachableError,
)
from labext.nb import NotebookClient, polling
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.commands import CommandWatch
from labext.nb.polling import Ingestion, SourceRow
from labext.nb.resource import iter_sources
from labext.progress import UNKNOWN_STATUS_PATIENCE, Outcome

GONE = UnreachableError("No notebook service answers.", "Start it.")


@pytest.fixture
def watch(wire: RequestExecutor, service: Any, clock: Clock) -> Any:
    """Watch sources of a service that has the status endpoint."""
    send = service.send

    def send_with_status(request: Any, on_bytes: Any = None) -> Any:
        if request.op.path.endswith("/status"):
            service.requests.append(request)
            if service.script and (failure := service.script.pop(0)) is not None:
                raise failure
            source = service._one(service.sources, request.path["source"])
            return {name: value for name, value in source.items() if name != "title"}
        return send(request)

    wire.send = send_with_status

    def start(*sources: str, **options: Any) -> Any:
        return polling.watch_sources(
            wire, ContractBackend(), sources, clock=clock, sleep=clock.sleep, **options
        )

    return start


def update(service: Any, source: str, **fields: Any) -> Callable[[], None]:
    return lambda: next(item for item in service.sources if item["id"] == source).update(fields)


def test_watch_of_no_sources_is_complete(watch, service):
    (snapshot,) = watch()
    assert (snapshot.rows, snapshot.outcome) == ((), Outcome.COMPLETE)


def test_watch_reports_each_stage_until_complete(watch, service, clock):
    paper = service.source("paper.pdf", status="new")
    clock.at(3, update(service, paper, status="running", stage="reading"))
    clock.at(10, update(service, paper, status="completed", stage=""))
    snapshots = list(watch(paper))
    rows = [row for snapshot in snapshots for row in snapshot.rows]
    assert {(row.status, row.stage) for row in rows} == {
        ("new", ""),
        ("running", "reading"),
        ("completed", ""),
    }
    assert all(snapshot.outcome is None for snapshot in snapshots[:-1])
    assert snapshots[-1].outcome is Outcome.COMPLETE
    assert snapshots[-1].elapsed == pytest.approx(10, abs=1.5)
    assert rows[0].title == rows[-1].title == "paper.pdf"


def test_seconds_unchanged_are_counted_per_stage(watch, service, clock):
    paper = service.source("paper.pdf", status="running", stage="reading")
    clock.at(20, update(service, paper, stage="embedding"))
    clock.at(60, update(service, paper, status="completed"))
    snapshots = list(watch(paper))
    longest = {}
    for snapshot in snapshots:
        (row,) = snapshot.rows
        longest[row.stage] = max(longest.get(row.stage, 0), row.unchanged)
    assert longest["reading"] == pytest.approx(20, abs=1.5)
    assert longest["embedding"] == pytest.approx(40, abs=1.5)
    assert len(service.requests) < 70  # at most one poll per second; ticks send nothing
    assert len(snapshots) > 200


@pytest.mark.parametrize(
    ("status", "after", "hint"), [("new", 60, "no worker"), ("running", 60, "has stopped")]
)
def test_stalled_source_has_a_hint(watch, service, clock, status, after, hint):
    paper = service.source("paper.pdf", status=status)
    clock.at(after + 20, update(service, paper, status="completed"))
    rows = [snapshot.rows[0] for snapshot in watch(paper)]
    hinted = [row for row in rows if row.reason]
    assert {row.status for row in hinted} == {status}
    assert hinted[0].unchanged == pytest.approx(after, abs=1.5)
    assert {hint in row.reason for row in hinted} == {True}
    assert "Interrupting stops only the watch" in hinted[0].reason
    assert not rows[-1].reason


def test_queued_source_of_a_sandbox_hints_at_its_restart(watch, service, clock, monkeypatch):
    monkeypatch.setattr(polling, "is_sandbox", lambda url: url == "http://notebooks.test/api/")
    paper = service.source("paper.pdf", status="new")
    clock.at(80, update(service, paper, status="completed"))
    (hint,) = {snapshot.rows[0].reason for snapshot in watch(paper)} - {""}
    assert "administrator" not in hint
    assert "`labext sandbox status`" in hint
    assert f"{Action.stop_sandbox()}, then {Action.start_sandbox()}" in hint


def test_moving_queue_has_no_stall_hint(watch, service, clock):
    files = [service.source(f"paper {n}", status="new") for n in range(4)]
    for n, file in enumerate(files):
        clock.at(40 * (n + 1), update(service, file, status="completed"))
    assert not {row.reason for snapshot in watch(*files) for row in snapshot.rows} - {""}


def test_unknown_status_does_not_end_the_watch(watch, service, clock):
    paper = service.source("paper.pdf", status="levitating")
    clock.at(5, update(service, paper, status="completed"))
    statuses = [snapshot.rows[0].status for snapshot in watch(paper)]
    assert (statuses[0], statuses[-1]) == ("levitating", "completed")


def test_unchanging_unknown_status_is_an_error(watch, service, clock):
    paper, other = (
        service.source("paper.pdf", status="levitating"),
        service.source("a", status="new"),
    )
    clock.at(900, update(service, other, status="completed"))
    with pytest.raises(ServiceError, match=r'"paper\.pdf" has had the unknown status "levitating"'):
        [*watch(paper, other)]
    assert clock.elapsed >= 900 + UNKNOWN_STATUS_PATIENCE  # the watch continues for other sources


def test_finished_source_is_not_polled_again(watch, service, clock):
    done, slow = service.source("a", status="completed"), service.source("b", status="running")
    update(service, done, remark="It has no insights.", message="Complete.")()
    clock.at(30, update(service, slow, status="failed", error="It is broken."))
    *_, last = watch(done, slow)
    assert last.outcome is Outcome.FAILED
    assert [row.outcome for row in last.rows] == [Outcome.COMPLETE, Outcome.FAILED]
    assert [row.reason for row in last.rows] == ["It has no insights.", "It is broken."]
    polls = [path for _, path in service.lines() if done.replace(":", "%3A") in path]
    assert len(polls) == 1


def test_last_snapshot_has_the_title_that_processing_found(watch, service, clock):
    paper = service.source("paper.pdf", status="running")
    clock.at(5, update(service, paper, status="completed", title="Tight regulation"))
    titles = [snapshot.rows[0].title for snapshot in watch(paper)]
    assert (titles[0], titles[-1]) == ("paper.pdf", "Tight regulation")


def test_many_sources_are_polled_through_the_list(watch, service, clock):
    many = [service.source(f"paper {n}", status="new") for n in range(300)]
    for n, source in enumerate(many):
        clock.at(n / 10, update(service, source, status="completed", remark="It has no insights."))
    service.max_page = 100
    *_, last = watch(*many)
    assert [row.id for row in last.rows] == many
    assert {row.reason for row in last.rows} == {"It has no insights."}
    assert last.outcome is Outcome.COMPLETE
    assert len(service.requests) < 200


def test_deleted_source_has_failed(watch, service, clock):
    paper = service.source("paper.pdf", status="running")
    clock.at(5, service.sources.clear)
    *_, last = watch(paper)
    assert (last.rows[0].reason, last.outcome) == ("It was deleted.", Outcome.FAILED)
    with pytest.raises(NotFoundError):
        next(watch("source:none"))


def test_short_outage_does_not_end_the_watch(watch, service, clock):
    paper = service.source("paper.pdf", status="running", stage="reading")
    watching = watch(paper)
    next(watching)
    service.script = [GONE] * 20
    clock.at(200, update(service, paper, status="completed"))
    reasons = [snapshot.rows[0].reason for snapshot in watching]
    assert any(reason.startswith("No response, trying again.") for reason in reasons)
    assert reasons[-1] == ""


def test_long_outage_ends_the_watch(watch, service):
    paper = service.source("paper.pdf", status="running")
    watching = watch(paper)
    next(watching)
    service.script = [GONE] * 10_000
    with pytest.raises(UnreachableError):
        list(watching)
    service.script = [GONE]
    with pytest.raises(UnreachableError):
        next(watch(paper))


def row(title: str, status: str, **fields: Any) -> SourceRow:
    return SourceRow(f"source:{title}", title, status, **fields)


def wait_for(*rows: SourceRow, outcome: Outcome | None = None, timeout: float | None = 5) -> None:
    polling.wait_for_sources(iter([Ingestion(rows, 5.0, outcome)]), timeout)


def test_wait_error_names_failed_and_stalled_sources():
    wait_for(row("a", "completed"), outcome=Outcome.COMPLETE)
    with pytest.raises(JobFailedError, match=r"b\.pdf: It is encrypted") as caught:
        wait_for(
            row("a", "completed"),
            row("b.pdf", "failed", reason="It is encrypted."),
            outcome=Outcome.FAILED,
        )
    assert caught.value.message == "1 of 2 sources failed. b.pdf: It is encrypted."
    assert '`nb.sources.retry("b.pdf")`' in caught.value.next_step
    failed = [row(name, "failed", reason="It is encrypted.") for name in ("b.pdf", "c.pdf")]
    with pytest.raises(JobFailedError, match=r"b\.pdf: It is encrypted, c\.pdf: It is encrypted\."):
        wait_for(*failed, outcome=Outcome.FAILED)
    running = row("my film.mp4", "running", stage="hearing", unchanged=4.2)
    with pytest.raises(
        NotReadyError, match=r"my film.mp4 is running \(hearing\), unchanged for 4 seconds"
    ):
        wait_for(row("a", "completed"), running)
    lost = row("b.pdf", "running", reason="No response, trying again. No service answers.")
    with pytest.raises(NotReadyError, match=r"The service has not responded since\. No service"):
        wait_for(lost)


def test_all_pages_are_listed(wire, service):
    identifiers = [service.source(f"paper {n}") for n in range(7)]
    service.max_page = 3
    sources = list(iter_sources(wire, ContractBackend()))
    assert [source["id"] for source in sources] == identifiers
    assert [
        source["id"] for source in iter_sources(wire, ContractBackend(), limit=5, offset=1)
    ] == identifiers[1:6]
    for bad in ({"limit": 0}, {"offset": -1}):
        with pytest.raises(InputError):
            list(iter_sources(wire, ContractBackend(), **bad))


def test_server_that_ignores_the_offset_is_listed_once(wire, service):
    service.source("paper")
    page = [dict(service.sources[0])]
    wire.send = lambda request, on_bytes=None: page
    assert len(list(iter_sources(wire, ContractBackend()))) == 1


@pytest.mark.parametrize("timeout", [timedelta(minutes=5), "300", float("nan"), -1])
def test_timeout_that_is_no_number_of_seconds_is_refused(timeout: Any):
    with pytest.raises(InputError, match="Give seconds, such as `timeout=300`"):
        wait_for(row("a", "running"), timeout=timeout)
    command = CommandWatch(lambda: pytest.fail("polled"), "A command")
    with pytest.raises(InputError, match="Give seconds, such as `timeout=300`"):
        command.wait(timeout)


def test_rebuild_of_vectors_counts_items(monkeypatch: pytest.MonkeyPatch):
    rebuild = {"status": "running", "error_message": None, "processed": 1200, "total": 3000}
    with NotebookClient("http://127.0.0.1:1/api") as client:
        monkeypatch.setattr(client.embeddings, "status", lambda _job: rebuild)
        snapshot = next(client.embeddings.watch("command:1"))
    assert snapshot.stage == "Running, 1,200 of 3,000 items"

"""Sources are watched at a slowing pace, and what stands still is told for how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_clock import Clock

from labext.errors import (
    InputError,
    JobFailedError,
    NotFoundError,
    NotReadyError,
    ServiceError,
    UnreachableError,
)
from labext.nb import polling
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.polling import Ingestion, SourceRow
from labext.nb.resource import iter_sources
from labext.progress import UNKNOWN_STATUS_PATIENCE, Outcome

GONE = UnreachableError("No notebook service answers.", "Start it.")


@pytest.fixture
def watch(wire: RequestExecutor, shelf: Any, clock: Clock) -> Any:
    """Watch sources; the service answers questions for their status as well."""
    send = shelf.send

    def with_status(request: Any, on_bytes: Any = None) -> Any:
        if request.op.path.endswith("/status"):
            shelf.requests.append(request)
            if shelf.script and (failure := shelf.script.pop(0)) is not None:
                raise failure
            return shelf._one(shelf.sources, request.path["source"])
        return send(request)

    wire.send = with_status

    def begin(*sources: str, **options: Any) -> Any:
        return polling.watch_sources(
            wire, ContractBackend(), sources, clock=clock, sleep=clock.sleep, **options
        )

    return begin


def told(shelf: Any, source: str, **fields: Any) -> Callable[[], None]:
    return lambda: next(each for each in shelf.sources if each["id"] == source).update(fields)


def test_a_source_is_followed_to_its_end(watch, shelf, clock):
    paper = shelf.source("paper.pdf", status="new")
    clock.at(3, told(shelf, paper, status="running", stage="reading"))
    clock.at(10, told(shelf, paper, status="completed", stage=""))
    seen = list(watch(paper))
    rows = [row for each in seen for row in each.rows]
    assert {(row.status, row.stage) for row in rows} == {
        ("new", ""),
        ("running", "reading"),
        ("completed", ""),
    }
    assert all(each.outcome is None for each in seen[:-1])
    assert seen[-1].outcome is Outcome.COMPLETE
    assert seen[-1].elapsed == pytest.approx(10, abs=1.5)
    assert rows[0].title == rows[-1].title == "paper.pdf"


def test_how_long_nothing_has_changed_is_counted(watch, shelf, clock):
    paper = shelf.source("paper.pdf", status="running", stage="reading")
    clock.at(20, told(shelf, paper, stage="embedding"))
    clock.at(60, told(shelf, paper, status="completed"))
    seen = list(watch(paper))
    longest = {}
    for each in seen:
        (row,) = each.rows
        longest[row.stage] = max(longest.get(row.stage, 0), row.unchanged)
    assert longest["reading"] == pytest.approx(20, abs=1.5)
    assert longest["embedding"] == pytest.approx(40, abs=1.5)
    assert len(shelf.requests) < 70  # a look a second, and ticks that ask nothing
    assert len(seen) > 200


@pytest.mark.parametrize(
    ("status", "after", "meaning"), [("new", 60, "no worker"), ("running", 60, "has stopped")]
)
def test_what_stands_still_is_told_with_what_that_usually_means(
    watch, shelf, clock, status, after, meaning
):
    paper = shelf.source("paper.pdf", status=status)
    clock.at(after + 20, told(shelf, paper, status="completed"))
    rows = [each.rows[0] for each in watch(paper)]
    said = [row for row in rows if row.reason]
    assert {row.status for row in said} == {status}
    assert said[0].unchanged == pytest.approx(after, abs=1.5)
    assert {meaning in row.reason for row in said} == {True}
    assert "Interrupting stops only the watch" in said[0].reason
    assert not rows[-1].reason


def test_a_queue_that_moves_is_not_said_to_stand_still(watch, shelf, clock):
    files = [shelf.source(f"paper {n}", status="new") for n in range(4)]
    for n, each in enumerate(files):
        clock.at(40 * (n + 1), told(shelf, each, status="completed"))
    assert not {row.reason for each in watch(*files) for row in each.rows} - {""}


def test_an_unknown_state_is_shown_and_ends_nothing(watch, shelf, clock):
    paper = shelf.source("paper.pdf", status="levitating")
    clock.at(5, told(shelf, paper, status="completed"))
    statuses = [each.rows[0].status for each in watch(paper)]
    assert (statuses[0], statuses[-1]) == ("levitating", "completed")


def test_an_unknown_status_that_does_not_change_ends_the_watch(watch, shelf, clock):
    paper, other = shelf.source("paper.pdf", status="levitating"), shelf.source("a", status="new")
    clock.at(900, told(shelf, other, status="completed"))
    with pytest.raises(ServiceError, match=r'gives "paper\.pdf" the status "levitating"'):
        [*watch(paper, other)]
    assert clock.elapsed >= 900 + UNKNOWN_STATUS_PATIENCE  # the others are waited for


def test_what_has_ended_is_not_asked_again(watch, shelf, clock):
    done, slow = shelf.source("a", status="completed"), shelf.source("b", status="running")
    clock.at(30, told(shelf, slow, status="failed", error="It is broken."))
    *_, last = watch(done, slow)
    assert last.outcome is Outcome.FAILED
    assert [row.outcome for row in last.rows] == [Outcome.COMPLETE, Outcome.FAILED]
    assert last.rows[1].reason == "It is broken."
    asked = [path for _, path in shelf.lines() if done.replace(":", "%3A") in path]
    assert len(asked) == 1


def test_many_sources_are_read_from_the_list(watch, shelf, clock):
    many = [shelf.source(f"paper {n}", status="new") for n in range(300)]
    for n, each in enumerate(many):
        clock.at(n / 10, told(shelf, each, status="completed"))
    shelf.most = 100
    *_, last = watch(*many)
    assert [row.id for row in last.rows] == many
    assert last.outcome is Outcome.COMPLETE
    assert len(shelf.requests) < 200


def test_a_source_that_was_deleted_has_ended(watch, shelf, clock):
    paper = shelf.source("paper.pdf", status="running")
    clock.at(5, shelf.sources.clear)
    *_, last = watch(paper)
    assert (last.rows[0].reason, last.outcome) == ("It was deleted.", Outcome.FAILED)
    with pytest.raises(NotFoundError):
        next(watch("source:none"))


def test_a_service_that_is_away_for_a_while_ends_no_watch(watch, shelf, clock):
    paper = shelf.source("paper.pdf", status="running", stage="reading")
    begun = watch(paper)
    next(begun)
    shelf.script = [GONE] * 20
    clock.at(200, told(shelf, paper, status="completed"))
    reasons = [each.rows[0].reason for each in begun]
    assert any(reason.startswith("No response, trying again.") for reason in reasons)
    assert reasons[-1] == ""


def test_one_that_stays_away_is_given_up(watch, shelf):
    paper = shelf.source("paper.pdf", status="running")
    begun = watch(paper)
    next(begun)
    shelf.script = [GONE] * 10_000
    with pytest.raises(UnreachableError):
        list(begun)
    shelf.script = [GONE]
    with pytest.raises(UnreachableError):
        next(watch(paper))


def row(title: str, status: str, **fields: Any) -> SourceRow:
    return SourceRow(f"source:{title}", title, status, **fields)


def waited(*rows: SourceRow, outcome: Outcome | None = None, timeout: float | None = 5) -> None:
    polling.wait_for_sources(iter([Ingestion(rows, 5.0, outcome)]), timeout)


def test_waiting_tells_what_failed_and_what_stands_still():
    waited(row("a", "completed"), outcome=Outcome.COMPLETE)
    with pytest.raises(JobFailedError, match=r"b\.pdf: It is encrypted") as caught:
        waited(
            row("a", "completed"),
            row("b.pdf", "failed", reason="It is encrypted."),
            outcome=Outcome.FAILED,
        )
    assert caught.value.message.startswith("1 of 2 sources failed.")
    assert '`nb.sources.retry("b.pdf")`' in caught.value.next_step
    going = row("my film.mp4", "running", stage="hearing", unchanged=4.2)
    with pytest.raises(
        NotReadyError, match=r"my film.mp4 is running \(hearing\), unchanged for 4 seconds"
    ):
        waited(row("a", "completed"), going)


def test_pages_are_read_to_their_end(wire, shelf):
    made = [shelf.source(f"paper {n}") for n in range(7)]
    shelf.most = 3
    listed = list(iter_sources(wire, ContractBackend()))
    assert [each["id"] for each in listed] == made
    assert [
        each["id"] for each in iter_sources(wire, ContractBackend(), limit=5, offset=1)
    ] == made[1:6]
    for bad in ({"limit": 0}, {"offset": -1}):
        with pytest.raises(InputError):
            list(iter_sources(wire, ContractBackend(), **bad))


def test_a_server_that_ignores_the_offset_is_read_once(wire, shelf):
    shelf.source("paper")
    page = [dict(shelf.sources[0])]
    wire.send = lambda request, on_bytes=None: page
    assert len(list(iter_sources(wire, ContractBackend()))) == 1


def test_an_error_of_the_service_is_no_list(wire, shelf):
    shelf.script = [ServiceError("It failed.")]
    with pytest.raises(ServiceError):
        list(iter_sources(wire, ContractBackend()))

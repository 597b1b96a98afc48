"""Watching: polling interval, unknown states, rates and remaining time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, pairwise

import pytest
from fake_clock import Clock

from labext.errors import ServiceError, UnreachableError
from labext.progress import (
    IN_PROGRESS,
    MAX_OUTAGE_SECONDS,
    TICK,
    UNKNOWN_STATUS_PATIENCE,
    Outage,
    Outcome,
    Progress,
    interval,
    watch,
)


@dataclass
class Service:
    """A job that runs for some seconds and counts polls."""

    clock: Clock
    seconds: float
    phase: Callable[[float], str] = lambda _: "Running"
    polls: int = 0

    def look(self) -> Progress:
        self.polls += 1
        passed = self.clock.now - 1000.0
        over = passed >= self.seconds
        return Progress(
            "folds",
            "batch",
            "Complete" if over else self.phase(passed),
            {"Complete": int(passed // 60)},
            100,
            Outcome.COMPLETE if over else None,
        )


def watched(service: Service) -> list[Progress]:
    return list(watch(service.look, clock=service.clock, sleep=service.clock.sleep))


@pytest.mark.parametrize(
    ("waited", "seconds"),
    [(0, 1), (59, 1), (60, 1), (90, 1.5), (300, 5), (899, 899 / 60), (900, 15), (7200, 15)],
)
def test_interval_is_a_sixtieth_of_the_time_waited(waited: float, seconds: float) -> None:
    assert interval(waited) == pytest.approx(seconds)


def test_end_of_a_short_job_is_seen_within_a_second() -> None:
    clock = Clock()
    assert watched(Service(clock, 5))[-1].elapsed <= 6


def test_snapshots_are_at_most_a_tick_apart() -> None:
    clock = Clock()
    snapshots = list(islice(watch(Service(clock, 99).look, clock=clock, sleep=clock.sleep), 20))
    gaps = [b.elapsed - a.elapsed for a, b in pairwise(snapshots)]
    assert all(0 <= gap <= TICK for gap in gaps)


def test_time_without_change_is_reported() -> None:
    clock = Clock()
    longest = max(snapshot.unchanged for snapshot in watched(Service(clock, 200)))
    assert 55 <= longest <= 65  # one job ends per minute


@pytest.mark.parametrize("word", ["", "Warming Up", "running?", "Complete?"])
def test_unknown_state_does_not_end_the_watch(word: str) -> None:
    clock = Clock()
    service = Service(clock, 600, lambda _: word)
    snapshots = watched(service)
    assert snapshots[0].phase == word
    assert snapshots[-1].outcome is Outcome.COMPLETE
    assert service.polls <= 205


@dataclass
class Stuck:
    """A job that never changes."""

    phase: str

    def look(self) -> Progress:
        return Progress("fold1", "job", self.phase)


@pytest.mark.parametrize("phase", ["", "Warming Up", "unknown", "Running\x1b[2J"])
def test_unknown_state_without_change_ends_the_watch(phase: str) -> None:
    clock, snapshots = Clock(), []
    with pytest.raises(ServiceError, match="unknown status") as caught:
        snapshots += watch(Stuck(phase).look, clock=clock, sleep=clock.sleep)
    assert '"fold1"' in caught.value.message
    assert UNKNOWN_STATUS_PATIENCE <= clock.now - 1000 <= UNKNOWN_STATUS_PATIENCE + 15


@pytest.mark.parametrize("phase", sorted({*IN_PROGRESS, "In Queue", "Running"}))
def test_known_state_is_watched_without_limit(phase: str) -> None:
    clock = Clock()
    for snapshot in watch(Stuck(phase).look, clock=clock, sleep=clock.sleep):
        if snapshot.unchanged > 2 * UNKNOWN_STATUS_PATIENCE:
            return
    pytest.fail("the watch ended")


def test_finished_job_is_polled_once() -> None:
    clock = Clock()
    service = Service(clock, 0)
    assert len(watched(service)) == service.polls == 1
    assert clock.now == 1000


def test_stopped_watch_has_no_outcome() -> None:
    clock, stop = Clock(), threading.Event()
    service = Service(clock, 3600)
    received = []
    for progress in watch(service.look, stop=stop, clock=clock, sleep=clock.sleep):
        received.append(progress)
        if progress.elapsed >= 10:
            stop.set()
    assert received[-1].outcome is None
    assert received[-1].elapsed <= 10 + TICK


def test_done_counts_complete_jobs() -> None:
    assert Progress("folds", "batch", "Running", {"Complete": 3, "Running": 1}, 4).done == 3
    assert Progress("fold1", "job", "Running").done == 0


def counted(states: dict[str, int], kind: str = "batch") -> Progress:
    return Progress("folds", kind, "Running", states, 100)


def snapshots_of(polls: list[Progress]) -> list[Progress]:
    clock = Clock()
    ended = Progress("folds", polls[-1].kind, "Complete", outcome=Outcome.COMPLETE)
    rows = iter([*polls, ended])
    now_utc = lambda: clock.now  # noqa: E731
    return list(watch(lambda: next(rows), clock=clock, sleep=clock.sleep, now_utc=now_utc))


def test_batch_reports_rate_and_remaining_time() -> None:
    snapshots = snapshots_of(
        [counted({"Complete": 2 * n, "Stopped": n, "Running": 8}) for n in range(6)]
    )
    assert {snapshot.rate for snapshot in snapshots if snapshot.elapsed < 3} == {None}
    at_five = [snapshot for snapshot in snapshots if snapshot.elapsed == 5][-1]
    assert at_five.rate == pytest.approx(3)
    assert at_five.remaining == pytest.approx(85 / 3)
    between = next(snapshot for snapshot in snapshots if snapshot.elapsed == 5.5)
    assert between.remaining == pytest.approx(85 / 3 - 0.5), "it decreases between two polls"
    assert snapshots[-1].rate is None


def test_rate_is_of_recent_jobs() -> None:
    fast = [counted({"Complete": n}) for n in range(50)]
    slow = [counted({"Complete": 50})] * 20
    last = snapshots_of([*fast, *slow])[-2]
    assert last.rate < 0.6


@pytest.mark.parametrize(
    "polls",
    [
        [counted({"Complete": 3 * n}, "pipeline") for n in range(9)],
        [counted({"Running": 8})] * 9,
        [counted({"Complete": 40 + n // 8}) for n in range(9)],
        [counted({"Complete": 100})] * 9,
        [Progress("f1", "job", "Running")] * 9,
    ],
    ids=["jobs are still added", "none ended", "one ended", "all ended", "one job"],
)
def test_unknown_rate_is_not_reported(polls: list[Progress]) -> None:
    assert {(snapshot.rate, snapshot.remaining) for snapshot in snapshots_of(polls)} == {
        (None, None)
    }


def test_job_reports_its_running_time() -> None:
    queued, running = Progress("f1", "job", "In Queue"), Progress("f1", "job", "Running")
    snapshots = snapshots_of([queued, queued, running, running, running])
    assert {snapshot.running for snapshot in snapshots if snapshot.phase != "Running"} == {None}
    running_times = [snapshot.running for snapshot in snapshots if snapshot.phase == "Running"]
    assert running_times[0] == 0
    assert running_times[-1] == 3


def test_running_time_counts_from_the_start() -> None:
    running = Progress("f1", "job", "Running", started=1000.0 - 75)
    assert snapshots_of([running])[0].running == 75
    ahead = Progress("f1", "job", "Running", started=1000.0 + 75)
    assert snapshots_of([ahead])[1].running == TICK, (
        "if the clock is ahead, the running time starts at 0"
    )
    assert snapshots_of([Progress("f1", "job", "Running")])[1].running is None


def test_outage_is_counted_from_the_first_failure_after_a_response() -> None:
    clock = Clock()
    outage, gone = Outage(clock), UnreachableError("No service answers.", "Start it.")
    outage.record_failure(gone)
    clock.now += MAX_OUTAGE_SECONDS - 1
    outage.record_success()
    assert not outage.message
    for seconds in (2, MAX_OUTAGE_SECONDS - 1):
        clock.now += seconds
        outage.record_failure(gone)
        assert "No service answers." in outage.message
    clock.now += 1
    with pytest.raises(UnreachableError):
        outage.record_failure(gone)

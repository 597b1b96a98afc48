"""Progress snapshots of watched jobs and tasks, independent of their display."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from numbers import Real

from labext import messages
from labext.errors import InputError, LabextError, ServiceError

__all__ = ["Outcome", "Part", "Progress"]

TICK = 0.25
"""Seconds between two snapshots while the service is not polled."""


ENDED_STATES = frozenset({"Complete", "Failed", "Stopped", "Deleted"})
"""The final states of a part."""

IN_PROGRESS = frozenset(
    {"new", "queued", "submitted", "pending", "in queue", "running", "processing", "aggregating"}
)
"""The known statuses, in lower case, of jobs and tasks that have not ended."""

UNKNOWN_STATUS_PATIENCE = 600.0
"""Seconds without a change after which a watch with an unknown status ends.

A service may introduce a new status for running work, so an unknown status is not an error at once.
"""

_MAX_SAMPLES = 40
"""Number of samples for the estimated rate: the last minute at first, later the last ten."""

_MIN_SECONDS = 3.0
_MIN_ENDED = 2
"""Minimum time and number of ended parts for an estimated rate."""


class Outcome(Enum):
    """The outcome of a watched job or task."""

    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Part:
    """One of several jobs that are watched together.

    Attributes:
        name: the displayed name.
        state: one of the states in `Progress.states`.
        stage: the service's description of the current step of a running part.
        reason: the service's message, such as the reason of a failure.
        unchanged: seconds since the last change.
    """

    name: str
    state: str
    stage: str = ""
    reason: str = ""
    unchanged: float = 0.0


@dataclass(frozen=True)
class Progress:
    """A snapshot of a running job.

    Attributes:
        subject: the displayed name.
        kind: `job`, `batch`, `pipeline`, `podcast` or another single word.
        phase: the service's status, which may be unknown to labext.
        states: number of parts by the service's state.
        total: number of parts; None if the job has no parts.
        outcome: None until the job has ended.
        reason: the service's reason for a failure or stop.
        elapsed: seconds since the watch started.
        unchanged: seconds since the last change of the job.
        transferred: bytes transferred so far; None unless this is a transfer.
        size: total bytes of a transfer; None if unknown.
        stage: the service's description of the current stage, such as `2 of 3: Scoring PDB`.
        parts: the individual parts; empty if there are too many to list.
        started: start of the run in seconds since the Unix epoch; None if unknown.
        running: run time in seconds; None if unknown.
        rate: recently ended parts per second; None if unknown.
        remaining: estimated seconds until all parts have ended; None if unknown.
    """

    subject: str
    kind: str
    phase: str
    states: Mapping[str, int] = field(default_factory=dict)
    total: int | None = None
    outcome: Outcome | None = None
    reason: str = ""
    elapsed: float = 0.0
    unchanged: float = 0.0
    transferred: int | None = None
    size: int | None = None
    stage: str = ""
    parts: Sequence[Part] = ()
    started: float | None = None
    running: float | None = None
    rate: float | None = None
    remaining: float | None = None

    @property
    def ended(self) -> int:
        """Number of parts that have ended, successfully or not."""
        return sum(count for state, count in self.states.items() if state in ENDED_STATES)

    @property
    def done(self) -> int:
        """Number of complete parts."""
        return self.states.get("Complete", 0)


def interval(waited: float) -> float:
    """Return the seconds until the next request: 1/60 of the time waited, at least 1, at most 15.

    A watch of one hour sends about 400 requests.
    """
    return min(max(waited / 60, 1.0), 15.0)


MAX_OUTAGE_SECONDS = 600.0
"""Seconds without a response after which a watch gives up.

Long enough for a restart of the service or an interrupted connection. Counted from the first failed
request, so that a suspended machine does not exceed it.
"""


_OUTAGE = "No response, trying again."


def outage_at_timeout(reason: str) -> str:
    """Return the sentence that a timeout error adds if the last polls failed, else nothing."""
    if not reason.startswith(_OUTAGE):
        return ""
    return f" The service has not responded since.{reason.removeprefix(_OUTAGE)}"


class Outage:
    """Tolerate failed polls for up to `MAX_OUTAGE_SECONDS`.

    Attributes:
        message: describes the current outage; empty while the service responds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.message = ""
        self._clock = clock
        self._since: float | None = None

    def record_failure(self, error: LabextError) -> None:
        """Record a failed poll; raise its error if the outage has lasted `MAX_OUTAGE_SECONDS`."""
        now = self._clock()
        since = now if self._since is None else self._since
        if now - since >= MAX_OUTAGE_SECONDS:
            raise error
        self._since = since
        self.message = f"{_OUTAGE} {error.message}"

    def record_success(self) -> None:
        """Record a successful poll."""
        self._since, self.message = None, ""


def check_timeout(timeout: float | None) -> None:
    """Check that the timeout of a wait is None or a number of seconds, else raise InputError."""
    if timeout is not None and not (isinstance(timeout, Real) and timeout >= 0):
        raise InputError(
            f"The timeout {timeout!r} is not a number of seconds.",
            "Give seconds, such as `timeout=300`, or None to wait without a limit.",
        )


def ticks_until(
    due: float,
    stop: threading.Event | None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Wait, yielding after every `TICK`, until the time is `due` or `stop` is set."""
    while (left := due - clock()) > 0 and not (stop is not None and stop.is_set()):
        sleep(min(TICK, left))
        yield


def check_status(subject: str, status: str, unchanged: float) -> None:
    """Check that a status is known, or has changed recently.

    Args:
        subject: the displayed name.
        status: the service's status.
        unchanged: seconds since the last change.

    Raises:
        ServiceError: the status is unknown and has not changed for `UNKNOWN_STATUS_PATIENCE`.
    """
    if status.casefold() in IN_PROGRESS or unchanged < UNKNOWN_STATUS_PATIENCE:
        return
    raise ServiceError(
        f"{messages.quote_value(subject)} has had the unknown status "
        f"{messages.quote_value(status)} for {unchanged / 60:.0f} minutes without a change.",
        "Check it on the service; run this again to continue waiting.",
    )


def watch(
    poll: Callable[[], Progress],
    *,
    stop: threading.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    now_utc: Callable[[], float] = time.time,
) -> Iterator[Progress]:
    """Poll a job and yield its snapshots until it has ended or `stop` is set.

    Between two requests, the last snapshot is repeated with updated times every `TICK` seconds.

    Args:
        poll: queries the service once and returns a snapshot without times.
        stop: ends the watch when set.
        clock: monotonic clock in seconds.
        sleep: waits for a number of seconds.
        now_utc: clock in seconds since the Unix epoch.

    Raises:
        ServiceError: the phase is unknown and has not changed for `UNKNOWN_STATUS_PATIENCE`.
    """
    started = changed = clock()
    last: Progress | None = None
    rate_estimator, run_time = _RateEstimator(), _RunTime(now_utc)
    while True:
        current = poll()
        now = clock()
        rate_estimator.add(now, current)
        run_time.add(now, current)
        if current != last:
            last, changed = current, now

        def snapshot(now: float, progress: Progress = last, changed: float = changed) -> Progress:
            rate, remaining = rate_estimator.estimate(now)
            return replace(
                progress,
                elapsed=now - started,
                unchanged=now - changed,
                running=run_time.seconds(now),
                rate=rate,
                remaining=remaining,
            )

        yield snapshot(now)
        if last.outcome is not None:
            return
        check_status(last.subject, last.phase, now - changed)
        for _ in ticks_until(now + interval(now - started), stop, clock, sleep):
            yield snapshot(clock())
        if stop is not None and stop.is_set():
            return


class _RateEstimator:
    """Estimate of the rate at which the parts of a batch end, and of the remaining time."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque(maxlen=_MAX_SAMPLES)
        self._unfinished = 0

    def add(self, now: float, progress: Progress) -> None:
        """Add a sample. There is no estimate for pipelines, which create their jobs gradually."""
        is_running = (
            progress.kind == "batch" and progress.outcome is None and progress.total is not None
        )
        self._unfinished = (progress.total or 0) - progress.ended if is_running else 0
        self._samples.append((now, progress.ended))

    def estimate(self, now: float) -> tuple[float | None, float | None]:
        """Return the parts per second and the remaining seconds; None for both if unknown."""
        (first, ended_first), (last, ended_last) = self._samples[0], self._samples[-1]
        seconds, ended = last - first, ended_last - ended_first
        if self._unfinished <= 0 or seconds < _MIN_SECONDS or ended < _MIN_ENDED:
            return None, None
        rate = ended / seconds
        return rate, max(self._unfinished / rate - (now - last), 0.0)


class _RunTime:
    """Run time of a job, from the service's start time or from the observed start."""

    def __init__(self, now_utc: Callable[[], float]) -> None:
        self._now_utc = now_utc
        self._started: float | None = None
        self._was_waiting = False

    def add(self, now: float, progress: Progress) -> None:
        """Update the start of the run from a snapshot."""
        if progress.outcome is not None or progress.phase != "Running":
            self._started, self._was_waiting = None, True
        elif self._started is None:
            if progress.started is not None:
                # The server's clock may be ahead, so the difference may be negative.
                self._started = now - max(self._now_utc() - progress.started, 0.0)
            elif self._was_waiting:
                self._started = now

    def seconds(self, now: float) -> float | None:
        """Return the run time in seconds; None if the job is not running, or if unknown."""
        return None if self._started is None else now - self._started

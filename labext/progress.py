"""Progress events of watched jobs and tasks, free of any display."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from labext import messages
from labext.errors import ServiceError

TICK = 0.25
"""Seconds between two snapshots while nothing is asked."""


ENDED_STATES = frozenset({"Complete", "Failed", "Stopped", "Deleted"})
"""The states of a part that nothing more happens to."""

IN_PROGRESS = frozenset(
    {"new", "queued", "submitted", "pending", "in queue", "running", "processing", "aggregating"}
)
"""The statuses, in lower case, of something that has not ended."""

UNKNOWN_STATUS_PATIENCE = 600.0
"""Seconds without a change after which a watch of something with an unknown status ends.

A service may have a new status for work that goes on, so it is not an error at once.
"""

_MAX_SAMPLES = 40
"""Looks at most from which the rate is estimated: the last minute, later the last ten."""

_MIN_SECONDS = 3.0
_MIN_ENDED = 2
"""A rate out of less than these would be a guess."""


class Outcome(Enum):
    """How something that was watched ended."""

    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Part:
    """One of several jobs that are watched together.

    Attributes:
        name: as the user knows it.
        state: one of the states in `Progress.states`.
        stage: the current step as the service returns it, while it runs.
        reason: why it failed, or another message, as the service returns it.
        unchanged: seconds since its last change.
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
        subject: its name, as the user knows it.
        kind: its kind, in one word: `job`, `batch`, `pipeline`, `podcast`.
        phase: the service's name of its state, known to labext or not.
        states: number of parts by state, as the service returns it.
        total: number of parts, if it has parts.
        outcome: None while it runs.
        reason: why it failed or stopped, as the service returns it.
        elapsed: seconds since the watch began.
        unchanged: seconds since anything but the clock changed.
        moved: bytes received or sent, for a transfer.
        size: total bytes, if known.
        stage: the current stage as the service returns it, if it has stages: `2 of 3: Scoring
            PDB`.
        parts: the parts one by one, if they are few enough to be listed by name.
        started: when it began to run, in seconds since the epoch, if the service tells.
        running: seconds for which it has been running, if known.
        rate: recent number of parts that end per second; None if unknown or unsteady.
        remaining: seconds until all parts have ended, at this rate.
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
    moved: int | None = None
    size: int | None = None
    stage: str = ""
    parts: Sequence[Part] = ()
    started: float | None = None
    running: float | None = None
    rate: float | None = None
    remaining: float | None = None

    @property
    def ended(self) -> int:
        """How many parts have ended, however."""
        return sum(count for state, count in self.states.items() if state in ENDED_STATES)

    @property
    def done(self) -> int:
        """How many parts are complete."""
        return self.states.get("Complete", 0)


def interval(waited: float) -> float:
    """Seconds to the next request after `waited` seconds: a sixtieth of them, from 1 to 15.

    An hour's watch costs about 400 requests.
    """
    return min(max(waited / 60, 1.0), 15.0)


def check_status(subject: str, status: str, unchanged: float) -> None:
    """Refuse to wait any longer for something whose status is unknown and does not change.

    Raises:
        ServiceError: after `UNKNOWN_STATUS_PATIENCE`.
    """
    if status.casefold() in IN_PROGRESS or unchanged < UNKNOWN_STATUS_PATIENCE:
        return
    raise ServiceError(
        f"The service gives {messages.quote_value(subject)} the status "
        f"{messages.quote_value(status)}, which "
        f"labext does not know, and nothing has changed for {unchanged / 60:.0f} minutes.",
        "Look at it on the service; run the line again to go on waiting.",
    )


def watch(
    look: Callable[[], Progress],
    *,
    stop: threading.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    now_utc: Callable[[], float] = time.time,
) -> Iterator[Progress]:
    """Poll until there is an outcome, or `stop` is set; yield the snapshots, and ticks between.

    `look` queries the service once and returns the snapshot without its times. An unknown phase is
    passed on unchanged; it ends the watch once nothing has changed for `UNKNOWN_STATUS_PATIENCE`.

    Raises:
        ServiceError: the phase is unknown and does not change.
    """
    began = changed = clock()
    last_seen: Progress | None = None
    pace, ran_since = _RateEstimator(), _RunningTime(now_utc)
    while True:
        now_seen = look()
        now = clock()
        pace.add(now, now_seen)
        ran_since.add(now, now_seen)
        if now_seen != last_seen:
            last_seen, changed = now_seen, now

        def at(now: float, observed: Progress = last_seen, changed: float = changed) -> Progress:
            rate, remaining = pace.at(now)
            return replace(
                observed,
                elapsed=now - began,
                unchanged=now - changed,
                running=ran_since.at(now),
                rate=rate,
                remaining=remaining,
            )

        yield at(now)
        if last_seen.outcome is not None:
            return
        check_status(last_seen.subject, last_seen.phase, now - changed)
        due = now + interval(now - began)
        while (now := clock()) < due:
            if stop is not None and stop.is_set():
                return
            sleep(min(TICK, due - now))
            yield at(clock())
        if stop is not None and stop.is_set():
            return


class _RateEstimator:
    """How fast the parts of a batch end, and when the last one will have."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, int]] = deque(maxlen=_MAX_SAMPLES)
        self._left = 0

    def add(self, now: float, observed: Progress) -> None:
        """Take a look into account; only of a batch is the number of parts known from the start."""
        goes_on = (
            observed.kind == "batch" and observed.outcome is None and observed.total is not None
        )
        self._left = (observed.total or 0) - observed.ended if goes_on else 0
        self._looks.append((now, observed.ended))

    def at(self, now: float) -> tuple[float | None, float | None]:
        """Return the rate and the remaining seconds; None for both where they aren't known."""
        (first, before), (last, ended) = self._looks[0], self._looks[-1]
        if self._left <= 0 or last - first < _MIN_SECONDS or ended - before < _MIN_ENDED:
            return None, None
        rate = (ended - before) / (last - first)
        return rate, max(self._left / rate - (now - last), 0.0)


class _RunningTime:
    """For how long something has been running: as the service tells, or as was seen."""

    def __init__(self, now_utc: Callable[[], float]) -> None:
        self._now_utc = now_utc
        self._since: float | None = None
        self._waited = False

    def add(self, now: float, observed: Progress) -> None:
        """Take a look into account."""
        if observed.outcome is not None or observed.phase != "Running":
            self._since, self._waited = None, True
        elif self._since is None:
            if observed.started is not None:
                # The clocks may differ: it has not begun in the future.
                self._since = now - max(self._now_utc() - observed.started, 0.0)
            elif self._waited:
                self._since = now

    def at(self, now: float) -> float | None:
        """Return the seconds; None if it does not run, or since when isn't known."""
        return None if self._since is None else now - self._since

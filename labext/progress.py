"""What a watcher reports, free of any display, and how often a service is asked.

A watcher is an iterator of `Progress`. It asks the service at the pace of `interval` and yields a
few times a second in between, so that whoever draws can move a clock and whoever interrupts is
heard at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

TICK = 0.25
"""Seconds between two snapshots while nothing is asked."""


class Outcome(Enum):
    """How something that was watched ended."""

    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Part:
    """One of several things that are watched together.

    Attributes:
        name: as the user knows it.
        state: where it is, in the words of `Progress.states`.
        stage: what is being done with it, in the service's own words, while it runs.
        reason: why it failed, or what there is to say, in the service's own words.
        unchanged: seconds since anything of it changed.
    """

    name: str
    state: str
    stage: str = ""
    reason: str = ""
    unchanged: float = 0.0


@dataclass(frozen=True)
class Progress:
    """One look at something that runs.

    Attributes:
        subject: its name, as the user knows it.
        kind: what it is, in one word: `job`, `batch`, `pipeline`, `podcast`.
        phase: the service's own word for where it is, also a word nobody foresaw.
        states: how many parts are in which state, in the service's own words.
        total: how many parts there are, if it has parts.
        outcome: None while it goes on.
        reason: why it failed or stopped, in the service's own words.
        elapsed: seconds since the watch began.
        unchanged: seconds since anything but the clock changed.
        moved: bytes that have come or gone, where it is bytes that move.
        size: bytes of the whole, if known.
        stage: which of its stages it is in, in the service's own words, where it has some:
            `2 of 3: Scoring PDB`.
        parts: the parts one by one, where they are few enough to be told of by name.
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

    @property
    def done(self) -> int:
        """How many parts are complete."""
        return self.states.get("Complete", 0)


def interval(waited: float) -> float:
    """Seconds to the next request after `waited` seconds: a sixtieth of them, from 1 to 15.

    An hour's watch costs about 400 requests.
    """
    return min(max(waited / 60, 1.0), 15.0)


def watch(
    look: Callable[[], Progress],
    *,
    stop: threading.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Progress]:
    """Look until there is an outcome, or `stop` is set; yield what is seen, and ticks between.

    `look` asks the service once and gives the snapshot without its times. An unknown phase is
    passed on as it is: it neither ends the watch nor makes it ask more often.
    """
    began = changed = clock()
    seen: Progress | None = None
    while True:
        now_seen = look()
        now = clock()
        if now_seen != seen:
            seen, changed = now_seen, now
        yield _at(seen, began, changed, now)
        if seen.outcome is not None:
            return
        due = now + interval(now - began)
        while (now := clock()) < due:
            if stop is not None and stop.is_set():
                return
            sleep(min(TICK, due - now))
            yield _at(seen, began, changed, clock())
        if stop is not None and stop.is_set():
            return


def _at(seen: Progress, began: float, changed: float, now: float) -> Progress:
    return replace(seen, elapsed=now - began, unchanged=now - changed)

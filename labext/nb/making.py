"""Looking at an episode while it is made, one snapshot a look.

What is seen in one is `labext.nb.snapshots`; a service that does not answer for a while ends no
watch (`labext.nb.silence`).
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from labext import progress, wording
from labext.errors import JobFailedError, NotFoundError, NotReadyError
from labext.nb import episodes, stillness
from labext.nb.dialects.contract import Contract
from labext.nb.records import Record
from labext.nb.silence import FAILURES, Silence
from labext.nb.snapshots import phase, snapshot
from labext.nb.wire import Wire
from labext.progress import Outcome, Progress

_DELETED = "It was deleted."
_OVER = "The service knows its job no longer: the episode was deleted, or is made by another job."


class Making:
    """One episode that is looked at again and again, by itself or by its job.

    Attributes:
        episode: its record, with its transcript, as the last look saw it; None until it is known.
    """

    def __init__(
        self,
        wire: Wire,
        dialect: Contract,
        what: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wire = wire
        self._dialect = dialect
        self._what = what
        self._is_job = job_id(what) is not None
        self._silence = Silence(clock)
        self._last: Progress | None = None
        self.episode: Record | None = None

    def look(self) -> Progress:
        """Ask the service once; return the snapshot, without its times.

        Raises:
            NotFoundError: it is not there at the first look. One that was there is deleted, which
                is an end of its own.
            ServiceError, BusyError: there is no answer at the first look, or for as long as
                `labext.nb.silence.PATIENCE`.
        """
        try:
            self._last = self._by_job() if self._is_job else self._by_itself()
        except NotFoundError:
            if self._last is None:
                raise
            self._last = replace(
                self._last,
                phase="Deleted",
                stage="",
                reason=_OVER if self._is_job else _DELETED,
                outcome=Outcome.STOPPED,
            )
        except FAILURES as error:
            if self._last is None:
                raise
            self._silence.bear(error)
            return replace(self._last, reason=self._silence.words)
        self._silence.end()
        return self._last

    def _by_itself(self) -> Progress:
        self.episode = record = self._wire.run(self._dialect.episode(self._what))
        return snapshot(record["name"] or self._what, record["job_status"], record, record)

    def _by_job(self) -> Progress:
        job = self._wire.run(self._dialect.podcast_job(self._what))
        status = job["status"]
        if self._last is None or phase(status) == "Complete":
            self.episode = self._made_by(job)
        name = self._what if self.episode is None else self.episode["name"]
        return snapshot(name, job["status"], job, self.episode)

    def _made_by(self, job: Record) -> Record | None:
        """Return the episode that a job makes or has made, if the service knows one."""
        made = (job["result"] or {}).get("episode_id")
        if not made:
            listed = self._wire.run(self._dialect.episodes())
            of_it = [each["id"] for each in listed if each["job_id"] == self._what]
            if not of_it:
                return None
            made = of_it[0]
        try:
            return self._wire.run(self._dialect.episode(str(made)))
        except NotFoundError:
            return None


def watch(
    wire: Wire,
    dialect: Contract,
    what: str,
    *,
    stop: threading.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Progress]:
    """Look at an episode (or the job that makes it), by identifier, until it has ended.

    Of one that stands still, `reason` says what that usually means.
    """
    making = Making(wire, dialect, what, clock)
    for seen in progress.watch(making.look, stop=stop, clock=clock, sleep=sleep):
        yield seen if seen.outcome else replace(seen, reason=seen.reason or _remark(seen))


def wait(
    wire: Wire,
    dialect: Contract,
    what: str,
    timeout: float | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Record:
    """Look at an episode until it is there; return its record.

    Raises:
        JobFailedError: it failed, or was deleted.
        NotReadyError: it is not there in time.
    """
    making = Making(wire, dialect, what, clock)
    for seen in progress.watch(making.look, clock=clock, sleep=sleep):
        if seen.outcome is Outcome.COMPLETE and making.episode is not None:
            return making.episode
        if seen.outcome is Outcome.STOPPED:
            raise _stopped(seen)
        if seen.outcome is not None:
            raise episodes.failed(seen.subject, seen.reason)
        if timeout is not None and seen.elapsed >= timeout:
            raise _late(seen, timeout)
    raise AssertionError("a watch without a stop ends with an outcome")


def job_id(given: str) -> str | None:
    """Return what was given if it is the identifier of a job; None for an episode."""
    name = given.strip() if isinstance(given, str) else ""
    return name if re.fullmatch(r"command:[^\s/]+", name) else None


def _remark(seen: Progress) -> str:
    return stillness.of_episode(seen.phase, seen.unchanged)


def _stopped(seen: Progress) -> JobFailedError:
    return JobFailedError(
        f"{seen.subject} will not be there. {seen.reason or 'It was stopped.'}",
        f"Have it made anew: `%nb podcast --name {wording.quoted(seen.subject)} --profile …`.",
    )


def _late(seen: Progress, timeout: float) -> NotReadyError:
    stage = f" ({seen.stage})" if seen.stage else ""
    return NotReadyError(
        f"Not there after {timeout:g} seconds: {seen.subject} is {seen.phase.lower()}{stage}, "
        f"unchanged for {seen.unchanged:.0f} seconds.",
        "It goes on; wait again.",
    )

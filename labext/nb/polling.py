"""Poll sources until they are processed; outage tolerance and hints for stalls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from labext import messages
from labext.errors import (
    BusyError,
    JobFailedError,
    LabextError,
    NotFoundError,
    NotReadyError,
    ServiceError,
)
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.records import Record
from labext.nb.resource import iter_sources
from labext.progress import IN_PROGRESS, TICK, Outcome, check_status, interval

MAX_OUTAGE_SECONDS = 600.0
"""Seconds without an answer after which a watch of what was seen before is given up."""

TRANSIENT_ERRORS = (ServiceError, BusyError)
"""What a look fails by that the next one may not."""


class Outage:
    """How long there has been no answer.

    Attributes:
        words: what there is to say of it; empty while there are answers.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.message = ""
        self._clock = clock
        self._since: float | None = None

    def record_failure(self, error: LabextError) -> None:
        """Take a look that failed, by one of `FAILURES`, for one that is made again.

        Raises:
            LabextError: that failure, where patience has run out.
        """
        now = self._clock()
        since = now if self._since is None else self._since
        if now - since >= MAX_OUTAGE_SECONDS:
            raise error
        self._since = since
        self.message = f"No answer now, trying again. {error.what}"

    def record_success(self) -> None:
        """Note that there is an answer."""
        self._since, self.message = None, ""


QUEUED_STATUSES = frozenset({"new", "queued", "submitted", "pending", "in queue"})
"""The words for what has not been begun."""


class _StallHint(NamedTuple):
    """When something stands still, and what is said of it then."""

    seconds: float
    message: str


_INTERRUPT_NOTE = "Interrupting ends the watching only"
_QUEUED_HINT = _StallHint(
    60.0,
    "It waits to be begun: usually no worker is running on the server, or it is busy with other "
    f"things. {_INTERRUPT_NOTE}; whoever runs the server can see whether its worker is up.",
)
_SOURCE_HINT = _StallHint(
    60.0,
    "A long file may take this long; if its worker was killed or is stuck, it stays like this. "
    f"{_INTERRUPT_NOTE}; `%nb sources retry` has it processed again, `%nb sources delete` takes "
    "it away.",
)
_EPISODE_HINT = _StallHint(
    900.0,
    "An episode takes its time, and not every server tells how far it is; if its worker was "
    f"killed, it stays like this. {_INTERRUPT_NOTE}; `%nb episodes` shows later what has become "
    "of it.",
)


def source_hint(status: str, unchanged: float) -> str:
    """Return what it means that a source has been as it is for so many seconds; else nothing."""
    return _hint_after(
        _QUEUED_HINT if status.casefold() in QUEUED_STATUSES else _SOURCE_HINT, unchanged
    )


def episode_hint(status: str, unchanged: float) -> str:
    """Return what it means that an episode has been as it is for so many seconds; else nothing."""
    return _hint_after(
        _QUEUED_HINT if status.casefold() in QUEUED_STATUSES else _EPISODE_HINT, unchanged
    )


def _hint_after(hint: _StallHint, unchanged: float) -> str:
    return hint.message if unchanged >= hint.seconds else ""


MAX_SINGLE_REQUESTS = 10
"""Sources that are asked for one by one; of more the list is read, in which they all stand."""

_DELETED_STATUS = "deleted"
"""Of a source that was there at an earlier look; no service says so."""

SOURCE_OUTCOMES = {
    "completed": Outcome.COMPLETE,
    "failed": Outcome.FAILED,
    "canceled": Outcome.STOPPED,
    _DELETED_STATUS: Outcome.STOPPED,
}


def is_in_progress(status: object) -> bool:
    """Return True if a source with this status is still to be processed, or is being processed."""
    return str(status or "").casefold() in IN_PROGRESS


@dataclass(frozen=True)
class SourceRow:
    """One source as it is processed.

    Attributes:
        id, title: which one.
        status: the service's own word, also one nobody foresaw: `new`, `running`, `completed`,
            `failed`.
        stage: what is being done with it, in the service's own words, while it runs.
        reason: why it failed, in the service's own words; or that there is no answer now, or what
            it usually means that nothing has moved for long.
        unchanged: seconds since anything of it changed, as far as this watch saw.
    """

    id: str
    title: str
    status: str
    stage: str = ""
    reason: str = ""
    unchanged: float = 0.0

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it goes on."""
        return SOURCE_OUTCOMES.get(self.status)


@dataclass(frozen=True)
class Ingestion:
    """One look at sources that are processed.

    Attributes:
        rows: one a source, in the order in which they were named.
        elapsed: seconds since the watch began.
        outcome: None while any goes on; complete if every one is, else failed.
    """

    rows: tuple[SourceRow, ...]
    elapsed: float = 0.0
    outcome: Outcome | None = None


class SourceWatch:
    """Sources that are looked at again and again."""

    def __init__(
        self,
        executor: RequestExecutor,
        backend: ContractBackend,
        sources: Sequence[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._executor = executor
        self._backend = backend
        self._sources = list(dict.fromkeys(sources))
        self._clock = clock
        self._rows: dict[str, SourceRow] = {}
        self._changed: dict[str, float] = {}
        self._outage = Outage(clock)

    @property
    def has_ended(self) -> bool:
        """Whether every source has."""
        return len(self._rows) == len(self._sources) and all(
            row.outcome is not None for row in self._rows.values()
        )

    def poll(self) -> None:
        """Ask the service once for what goes on.

        Raises:
            NotFoundError: one is not there at the first look. One that was there is deleted, which
                is an end of its own.
            ServiceError, BusyError: there is no answer at the first look, or for as long
                as `labext.nb.polling.MAX_OUTAGE_SECONDS`.
        """
        active = [source for source in self._sources if not self._has_ended(source)]
        try:
            rows = self._with_vectors(self._poll_rows(active))
        except TRANSIENT_ERRORS as error:
            if len(self._rows) < len(self._sources):
                raise
            self._outage.record_failure(error)
            return
        self._outage.record_success()
        for row in rows:
            if self._rows.get(row.id) != row:
                self._rows[row.id], self._changed[row.id] = row, self._clock()

    def snapshot(self, began: float) -> Ingestion:
        """Return what the last look saw, as it stands now."""
        now = self._clock()
        still = now - max(self._changed.values())
        rows = tuple(
            replace(
                self._rows[source],
                unchanged=now - self._changed[source],
                reason=self._rows[source].reason or self._notice(source, still),
            )
            for source in self._sources
        )
        ends = {row.outcome for row in rows}
        outcome = None
        if None not in ends:
            outcome = Outcome.COMPLETE if ends <= {Outcome.COMPLETE} else Outcome.FAILED
        return Ingestion(rows, now - began, outcome)

    def check_statuses(self) -> None:
        """Refuse to wait for sources all of whose statuses are unknown and do not change.

        Raises:
            ServiceError: after `labext.progress.UNKNOWN_STATUS_PATIENCE`.
        """
        active = [row for row in self._rows.values() if row.outcome is None]
        if active and not any(is_in_progress(row.status) for row in active):
            unchanged = self._clock() - max(self._changed.values())
            check_status(active[0].title, active[0].status, unchanged)

    def _notice(self, source: str, still: float) -> str:
        """Return what there is to say of a source that goes on while nothing of any changes."""
        if self._has_ended(source):
            return ""
        return self._outage.message or source_hint(self._rows[source].status, still)

    def _has_ended(self, source: str) -> bool:
        row = self._rows.get(source)
        return row is not None and row.outcome is not None

    def _poll_rows(self, active: Sequence[str]) -> list[SourceRow]:
        if len(active) <= MAX_SINGLE_REQUESTS:
            return [self._poll_row(source) for source in active]
        remaining = set(active)
        rows = {}
        for record in iter_sources(self._executor, self._backend):
            if record["id"] in remaining:
                rows[record["id"]] = _source_row(record)
            if len(rows) == len(remaining):
                break
        return [rows.get(source) or self._poll_row(source) for source in active]

    def _with_vectors(self, rows: Sequence[SourceRow]) -> list[SourceRow]:
        """Return the rows; a source whose vectors are still being computed goes on."""
        if all(row.outcome is not Outcome.COMPLETE for row in rows):
            return list(rows)
        awaiting = self._executor.run(self._backend.sources_awaiting_vectors())
        pending = {str(record["id"]) for record in awaiting}
        return [
            replace(row, status="running", stage="computing vectors")
            if row.id in pending and row.outcome is Outcome.COMPLETE
            else row
            for row in rows
        ]

    def _poll_row(self, source: str) -> SourceRow:
        previous = self._rows.get(source)
        try:
            if (
                previous is None or previous.title == source
            ):  # some servers tell the title only later
                record = self._executor.run(self._backend.source(source))
                return _source_row({**record, "id": source})  # whatever the server calls it
            status = self._executor.run(self._backend.source_status(source))
        except NotFoundError:
            if previous is None:
                raise
            return replace(previous, status=_DELETED_STATUS, stage="", reason="It was deleted.")
        return _source_row({"id": source, "title": previous.title, **status})


def watch_sources(
    executor: RequestExecutor,
    backend: ContractBackend,
    sources: Sequence[str],
    *,
    stop: threading.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Ingestion]:
    """Look at the pace of `labext.progress.interval` until every source has ended, or `stop`.

    Raises:
        ServiceError: the statuses of those that have not ended are unknown, and do not change.
    """
    watch, began = SourceWatch(executor, backend, sources, clock), clock()
    while True:
        watch.poll()
        yield watch.snapshot(began)
        if watch.has_ended:
            return
        watch.check_statuses()
        due = clock() + interval(clock() - began)
        while (now := clock()) < due:
            if stop is not None and stop.is_set():
                return
            sleep(min(TICK, due - now))
            yield watch.snapshot(began)
        if stop is not None and stop.is_set():
            return


def _source_row(record: Record) -> SourceRow:
    status = str(record["status"] or "unknown")
    over = SOURCE_OUTCOMES.get(status)
    reason = record["error"] or (record.get("message") if over is Outcome.FAILED else "")
    return SourceRow(
        str(record["id"]),
        str(record.get("title") or record["id"]),
        status,
        "" if over else str(record["stage"] or ""),
        "" if over is Outcome.COMPLETE else str(reason or ""),
    )


def wait_for_sources(snapshots: Iterator[Ingestion], timeout: float | None = None) -> None:
    """Follow a watch to its end.

    Raises:
        JobFailedError: a source failed.
        NotReadyError: they are not done in time.
    """
    for snapshot in snapshots:
        if snapshot.outcome is Outcome.COMPLETE:
            return
        if snapshot.outcome is not None:
            raise _failure_error(snapshot)
        if timeout is not None and snapshot.elapsed >= timeout:
            raise _timeout_error(snapshot, timeout)


def fetch_sources(
    executor: RequestExecutor, backend: ContractBackend, sources: Sequence[str]
) -> list[Record]:
    """Return the records of sources, without their texts, in the order in which they are named."""
    names = list(dict.fromkeys(sources))
    if len(names) <= MAX_SINGLE_REQUESTS:
        return [_without_text(executor.run(backend.source(source))) for source in names]
    requested = set(names)
    by_id = {
        record["id"]: record
        for record in iter_sources(executor, backend)
        if record["id"] in requested
    }
    return [by_id[source] for source in names if source in by_id]


def _without_text(record: Record) -> Record:
    return {key: value for key, value in record.items() if key != "full_text"}


def _failure_error(snapshot: Ingestion) -> JobFailedError:
    bad = [row for row in snapshot.rows if row.outcome is not Outcome.COMPLETE]
    reasons = messages.join_words((f"{row.title}: {row.reason or row.status}" for row in bad), 3)
    of = "" if len(snapshot.rows) == 1 else f"{len(bad)} of {len(snapshot.rows)} sources failed. "
    return JobFailedError(
        f"{of}{reasons.rstrip('.')}.",
        f"Mend the cause, then `%nb sources retry {messages.quote_token(bad[0].title)}`; a file "
        "that you "
        "have mended is added anew.",
    )


def _timeout_error(snapshot: Ingestion, timeout: float) -> NotReadyError:
    active = [row for row in snapshot.rows if row.outcome is None]
    statuses = messages.join_words((_row_status(row) for row in active), 3)
    return NotReadyError(
        f"Not processed after {timeout:g} seconds: {statuses}.", "It goes on; wait again."
    )


def _row_status(row: SourceRow) -> str:
    stage = f" ({row.stage})" if row.stage else ""
    return f"{row.title} is {row.status}{stage}, unchanged for {row.unchanged:.0f} seconds"

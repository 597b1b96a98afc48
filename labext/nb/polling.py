"""Poll background work until it ends, with hints for stalls."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from labext import messages, progress
from labext.actions import Action
from labext.config import is_sandbox
from labext.errors import BusyError, JobFailedError, NotFoundError, NotReadyError, ServiceError
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.records import Record
from labext.nb.resource import iter_sources
from labext.progress import (
    IN_PROGRESS,
    Outage,
    Outcome,
    Progress,
    check_status,
    check_timeout,
    interval,
    outage_at_timeout,
    ticks_until,
)

TRANSIENT_ERRORS = (ServiceError, BusyError)
"""Errors of a poll after which the next poll may succeed."""

QUEUED_STATUSES = frozenset({"new", "queued", "submitted", "pending", "in queue"})
"""Statuses of work that has not started."""


_STALL_SECONDS, _EPISODE_STALL_SECONDS = 60.0, 900.0
"""Seconds without progress after which a hint is shown."""

_VECTOR_STAGE = "computing vectors"

_INTERRUPT_NOTE = "Interrupting stops only the watch"


def source_hint(status: str, unchanged: float, base_url: str) -> str:
    """Return the likely cause if a source has not changed for a while, else an empty string."""
    if unchanged < _STALL_SECONDS:
        return ""
    if status.casefold() in QUEUED_STATUSES:
        return _queued_hint(base_url)
    return (
        "No progress. A long file may take this long; if its worker has stopped, it stays like "
        f"this. {_INTERRUPT_NOTE}; {Action.retry_source()} starts again, {Action.delete_source()} "
        "removes it."
    )


def episode_hint(status: str, unchanged: float, base_url: str) -> str:
    """Return the likely cause if an episode has not changed for a while, else an empty string."""
    if status.casefold() in QUEUED_STATUSES:
        return _queued_hint(base_url) if unchanged >= _STALL_SECONDS else ""
    if unchanged < _EPISODE_STALL_SECONDS:
        return ""
    return (
        "No progress. An episode may take this long, and not every server reports its progress; if "
        f"the worker has stopped, it stays like this. {_INTERRUPT_NOTE}; {Action.list_episodes()} "
        "shows the result later."
    )


def _queued_hint(base_url: str) -> str:
    """Return the likely cause if work on the server at this address does not start."""
    if is_sandbox(base_url):
        return (
            "It is waiting to start: usually the sandbox is busy with other tasks. "
            f"{_INTERRUPT_NOTE}; `labext sandbox status` shows whether the sandbox works, and a "
            f"restart continues the task: {Action.stop_sandbox()}, then {Action.start_sandbox()}."
        )
    return (
        "It is waiting to start: usually no worker is running on the server, or it is busy with "
        f"other tasks. {_INTERRUPT_NOTE}; the administrator of the server can check its worker."
    )


MAX_SINGLE_REQUESTS = 10
"""Up to this many sources are requested one by one; for more, the full list is read."""

MAX_REASONS = 3
"""The error of a watch has the reasons of up to this many sources."""

DELETED_STATUS = "deleted"
"""Status of a source that disappeared between two polls; no service reports it."""

SOURCE_OUTCOMES = {
    "completed": Outcome.COMPLETE,
    "failed": Outcome.FAILED,
    "canceled": Outcome.STOPPED,
    DELETED_STATUS: Outcome.STOPPED,
}


def is_in_progress(status: object) -> bool:
    """Return True if this is the status of queued or running work."""
    return str(status or "").casefold() in IN_PROGRESS


@dataclass(frozen=True)
class SourceRow:
    """The processing state of one source.

    Attributes:
        id, title: the source.
        status: the status that the service reports, possibly an unknown one: `new`, `running`,
            `completed`, `failed`.
        stage: the current processing stage that the service reports.
        reason: the service's error message or remark, or a notice about an outage or a stall.
        unchanged: seconds since the last change that this watch observed.
    """

    id: str
    title: str
    status: str
    stage: str = ""
    reason: str = ""
    unchanged: float = 0.0

    @property
    def outcome(self) -> Outcome | None:
        """The outcome; None while the source is being processed."""
        return SOURCE_OUTCOMES.get(self.status)


@dataclass(frozen=True)
class Ingestion:
    """A snapshot of sources that are being processed.

    Attributes:
        rows: one row per source, in the requested order.
        elapsed: seconds since the watch began.
        outcome: None while a source is being processed; complete if all are, else failed.
    """

    rows: tuple[SourceRow, ...]
    elapsed: float = 0.0
    outcome: Outcome | None = None


class SourceWatch:
    """Poll a set of sources."""

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
        """True if the processing of every source has ended."""
        return len(self._rows) == len(self._sources) and all(
            row.outcome is not None for row in self._rows.values()
        )

    def poll(self) -> None:
        """Poll the service once for the sources that have not ended.

        Raises:
            NotFoundError: a source does not exist at the first poll. A source that disappears
                later counts as deleted.
            ServiceError, BusyError: the first poll failed, or an outage lasts too long.
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
        """Return the state of the last poll, with current times."""
        now = self._clock()
        still = now - max(self._changed.values(), default=now)
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
        """Stop waiting if all remaining statuses are unknown and do not change.

        Raises:
            ServiceError: after `labext.progress.UNKNOWN_STATUS_PATIENCE`.
        """
        active = [row for row in self._rows.values() if row.outcome is None]
        if active and not any(is_in_progress(row.status) for row in active):
            unchanged = self._clock() - max(self._changed.values())
            check_status(active[0].title, active[0].status, unchanged)

    def _notice(self, source: str, still: float) -> str:
        """Return a notice about an outage or a stall for a source that has not ended."""
        if self._has_ended(source):
            return ""
        base_url = self._executor.http.base_url
        return self._outage.message or source_hint(self._rows[source].status, still, base_url)

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
        """Mark completed sources as running while their vectors are being computed."""
        if all(row.outcome is not Outcome.COMPLETE for row in rows):
            return list(rows)
        awaiting = self._executor.run(self._backend.sources_awaiting_vectors())
        pending = {str(record["id"]) for record in awaiting}
        return [
            replace(row, status="running", stage=_VECTOR_STAGE)
            if row.id in pending and row.outcome is Outcome.COMPLETE
            else row
            for row in rows
        ]

    def _poll_row(self, source: str) -> SourceRow:
        previous = self._rows.get(source)
        try:
            if previous is None or previous.title == source:
                # Some servers report the title only later, and some use another identifier.
                record = self._executor.run(self._backend.source(source))
                return _source_row({**record, "id": source})
            status = self._executor.run(self._backend.source_status(source))
            row = _source_row({"id": source, "title": previous.title, **status})
            if row.outcome is None or previous.stage == _VECTOR_STAGE:
                return row
            # Processing may have replaced the name of the file by the title of the document.
            record = self._executor.run(self._backend.source(source))
            return replace(row, title=str(record.get("title") or row.title))
        except NotFoundError:
            if previous is None:
                raise
            return replace(previous, status=DELETED_STATUS, stage="", reason="It was deleted.")


def watch_sources(
    executor: RequestExecutor,
    backend: ContractBackend,
    sources: Sequence[str],
    *,
    stop: threading.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Ingestion]:
    """Poll at the intervals of `labext.progress.interval` until all sources end or `stop` is set.

    Raises:
        ServiceError: all remaining statuses are unknown and do not change.
    """
    watch, began = SourceWatch(executor, backend, sources, clock), clock()
    while True:
        watch.poll()
        yield watch.snapshot(began)
        if watch.has_ended:
            return
        watch.check_statuses()
        for _ in ticks_until(clock() + interval(clock() - began), stop, clock, sleep):
            yield watch.snapshot(began)
        if stop is not None and stop.is_set():
            return


def _source_row(record: Record) -> SourceRow:
    status = str(record["status"] or "unknown")
    outcome = SOURCE_OUTCOMES.get(status)
    reason = record["error"] or (record.get("message") if outcome is Outcome.FAILED else "")
    return SourceRow(
        str(record["id"]),
        str(record.get("title") or record["id"]),
        status,
        "" if outcome else str(record["stage"] or ""),
        str((record.get("remark") if outcome is Outcome.COMPLETE else reason) or ""),
    )


def wait_for_sources(snapshots: Iterator[Ingestion], timeout: float | None = None) -> None:
    """Consume the snapshots of a watch until it ends.

    Raises:
        InputError: the timeout is not a number of seconds.
        JobFailedError: a source failed.
        NotReadyError: the sources are not processed in time.
    """
    check_timeout(timeout)
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
    """Return the records of sources in the requested order."""
    names = list(dict.fromkeys(sources))
    if len(names) <= MAX_SINGLE_REQUESTS:
        return [executor.run(backend.source(source)) for source in names]
    requested = set(names)
    by_id = {
        record["id"]: record
        for record in iter_sources(executor, backend)
        if record["id"] in requested
    }
    return [by_id[source] for source in names if source in by_id]


def _failure_error(snapshot: Ingestion) -> JobFailedError:
    bad = [row for row in snapshot.rows if row.outcome is not Outcome.COMPLETE]
    reasons = (f"{row.title}: {(row.reason or row.status).rstrip('.')}" for row in bad)
    of = "" if len(snapshot.rows) == 1 else f"{len(bad)} of {len(snapshot.rows)} sources failed. "
    return JobFailedError(
        f"{of}{messages.join_words(reasons, MAX_REASONS)}.",
        "Fix the cause, then {action}; add a corrected file as a new source.",
        action=Action.retry_source(bad[0].title),
    )


def _timeout_error(snapshot: Ingestion, timeout: float) -> NotReadyError:
    active = [row for row in snapshot.rows if row.outcome is None]
    statuses = messages.join_words((_row_status(row) for row in active), 3)
    return NotReadyError(
        f"Not processed after {messages.format_seconds(timeout)}: {statuses}."
        f"{outage_at_timeout(active[0].reason)}",
        "The processing continues; wait again.",
    )


def _row_status(row: SourceRow) -> str:
    stage = f" ({row.stage})" if row.stage else ""
    unchanged = messages.format_seconds(round(row.unchanged))
    return f"{row.title} is {row.status}{stage}, unchanged for {unchanged}"


class Watch(ABC):
    """Poll one episode or command until it ends.

    Attributes:
        record: the record of the last poll; None until it is known.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._outage = Outage(clock)
        self._last: Progress | None = None
        self.record: Record | None = None

    def poll(self) -> Progress:
        """Poll the service once; return a snapshot without times.

        Raises:
            NotFoundError: the work does not exist at the first poll.
            ServiceError, BusyError: the first poll failed, or an outage lasts too long.
        """
        try:
            self._last = self._request_snapshot()
            self._outage.record_success()
        except (NotFoundError, *TRANSIENT_ERRORS) as error:
            if self._last is None:
                raise
            # With another status than 404, it may also be the lookup that failed.
            if isinstance(error, NotFoundError) and error.status == 404:
                self._last = self._missing_snapshot(error, self._last)
            else:
                self._outage.record_failure(error)
                self._last = replace(self._last, reason=self._outage.message)
        return self._last

    def watch(
        self, stop: threading.Event | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> Iterator[Progress]:
        """Poll until the work ends or `stop` is set; yield a snapshot per poll and tick."""
        return progress.watch(self.poll, stop=stop, clock=self._clock, sleep=sleep)

    def wait(
        self, timeout: float | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> Record:
        """Wait until the work is completed; return its record.

        Raises:
            InputError: the timeout is not a number of seconds.
            JobFailedError: it failed, or was stopped.
            NotReadyError: it is not completed in time.
        """
        check_timeout(timeout)
        for snapshot in self.watch(sleep=sleep):
            if snapshot.outcome is Outcome.COMPLETE:
                break
            if snapshot.outcome is not None:
                raise self._failure_error(snapshot)
            if timeout is not None and snapshot.elapsed >= timeout:
                stage = f" ({snapshot.stage})" if snapshot.stage else ""
                raise NotReadyError(
                    f"{snapshot.subject} is not ready after {messages.format_seconds(timeout)}: it "
                    f"is {snapshot.phase.lower()}{stage}, unchanged for "
                    f"{messages.format_seconds(round(snapshot.unchanged))}."
                    f"{outage_at_timeout(snapshot.reason)}",
                    "It continues; wait again.",
                )
        assert self.record is not None
        return self.record

    @abstractmethod
    def _request_snapshot(self) -> Progress:
        """Request the current state."""

    def _missing_snapshot(self, error: NotFoundError, last: Progress) -> Progress:  # noqa: ARG002
        """Return the snapshot for work that existed at the last poll, or raise the error."""
        raise error

    @abstractmethod
    def _failure_error(self, snapshot: Progress) -> JobFailedError:
        """Return the error for work that failed or was stopped."""

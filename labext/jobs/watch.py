"""Poll a job, batch or pipeline until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from labext import messages
from labext.errors import (
    AccessError,
    BusyError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
)
from labext.jobs import identity, records
from labext.jobs.api import PAGE_SIZE, JobsApi
from labext.jobs.batch.merge_parts import PartFinder, find_rows, merge_found_rows, part_sizes
from labext.jobs.file_versions import parse_time
from labext.jobs.records import JobRecord
from labext.progress import Outage, Outcome, Part, Progress

OUTAGE_ERRORS = (ServiceError, BusyError, AccessError)
"""Errors of an outage. Services temporarily respond with 403 after too many requests."""

REQUEST_CREDIT = 5
"""Maximum number of requests beyond one per poll; above it, polls are skipped.

This bounds the request rate of a watch, independent of the number of parts.
"""

_MAX_SAME_REASON = 3
"""Failed jobs with the same reason are listed separately up to this number."""


class JobWatcher:
    """Polls a job, batch or pipeline.

    Attributes:
        row: the latest row, as returned by `JobsClient.job`.
    """

    def __init__(
        self,
        service: JobsApi,
        parts: PartFinder,
        name: str,
        email: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._parts = parts
        self._name = name
        self._email = email
        self._rows: dict[str, JobRecord | None] = {}
        self._turn = 0
        self._sizes: Mapping[str, int] = {}
        self._total = 0
        self._can_list_jobs = True
        self.row: JobRecord = {}
        self._last: Progress | None = None
        self._last_shown: Progress | None = None
        self._outage = Outage(clock)
        self._extra_requests = 0
        self._skips = False
        self._failures: tuple[Part, ...] = ()
        self._failures_known = 0

    def poll(self) -> Progress:
        """Query the service and return a snapshot.

        After polls that took several requests, such as the first poll at a split batch, every other
        poll returns the previous snapshot without a request.

        Raises:
            NotFoundError: the job does not exist at the first poll. A job that disappears later has
                the outcome of a deleted job.
            ServiceError, BusyError, AccessError: the first poll failed, or an outage lasts too
                long.
        """
        self._skips = not self._skips and self._extra_requests > REQUEST_CREDIT
        if self._skips and self._last_shown is not None:
            self._extra_requests -= 1
            return self._last_shown
        self._extra_requests -= 1
        self._last_shown = self._poll_or_repeat()
        return self._last_shown

    def _poll_or_repeat(self) -> Progress:
        """Return a new snapshot, or the previous one during an outage."""
        try:
            self._last = self._poll()
        except OUTAGE_ERRORS as error:
            if self._last is None:
                raise
            self._outage.record_failure(error)
            return replace(self._last, reason=self._outage.message)
        self._outage.record_success()
        return self._last

    def _poll(self) -> Progress:
        try:
            self._update_rows()
        except NotFoundError:
            if not self.row:
                raise
            self.row = {**self.row, "JobStatus": "Deleted"}
            return self._snapshot({}, "It was deleted.")
        return self._snapshot(self._states(), records.reason(self.row))

    def _snapshot(self, states: dict[str, int], reason: str) -> Progress:
        outcome = records.outcome(self.row)
        self._total = max(self._total, sum(states.values()))
        return Progress(
            self._name,
            records.kind(self.row),
            records.phase(self.row),
            states,
            self._total or None,
            outcome,
            "" if outcome in (None, Outcome.COMPLETE) else reason,
            stage=records.stage(self.row) if outcome is None else "",
            parts=self._failed_jobs(states, outcome),
            started=_started_at(self.row),
        )

    def _failed_jobs(self, states: Mapping[str, int], outcome: Outcome | None) -> tuple[Part, ...]:
        """Return the failed and stopped jobs of a batch or pipeline, with their reasons.

        They are listed again if their number has changed: at the end, and earlier if one request
        suffices and the request credit is not used up.
        """
        count = states.get("Failed", 0) + states.get("Stopped", 0)
        is_deleted = records.phase(self.row) == "Deleted"
        if count == self._failures_known or not self._can_list_jobs or is_deleted:
            return self._failures
        cheap = (
            self._total <= PAGE_SIZE
            and not self._is_split()
            and self._extra_requests <= REQUEST_CREDIT
        )
        if outcome is None and not cheap:
            return self._failures
        try:
            self._failures, self._failures_known = (
                _group_failures(self._read_failed_jobs(count)),
                count,
            )
        except LabextError:  # continue without the reasons
            self._extra_requests += 1
        return self._failures

    def _read_failed_jobs(self, count: int) -> Iterator[tuple[str, JobRecord]]:
        """Yield names and rows of at most `count` failed and stopped jobs."""
        for parent in self._rows:
            for page in self._service.pages(batch=parent, jobEmail=self._email):
                self._extra_requests += 1
                for row in page.rows:
                    if count > 0 and records.outcome(row) in (Outcome.FAILED, Outcome.STOPPED):
                        count -= 1
                        yield identity.strip_batch_name(str(row.get("JobName")), parent), row
                if count <= 0:
                    return

    def _update_rows(self) -> None:
        if not self.row:
            part_names = self._parts.parts_of(self._name, self._email)
            self._rows = find_rows(self._service, self._parts, self._name, self._email)
            # Without a journal, the name itself and the list were requested, too.
            self._extra_requests += len(self._rows) + (
                0 if part_names or not self._is_split() else 2
            )
            if records.is_batch(next(row for row in self._rows.values() if row)):
                self._sizes = {} if self._email else part_sizes(self._parts, self._name)
                self._total = sum(self._sizes.get(part, 0) for part in self._rows)
        elif not self._is_split():
            self._extra_requests += 1
            self._rows = {self._name: self._service.row(self._name, self._email)}
        else:
            self._update_part()
        self.row = merge_found_rows(self._name, self._rows, self._sizes)

    def _is_split(self) -> bool:
        return self._name not in self._rows

    def _update_part(self) -> None:
        """Query active parts until one is still active.

        Alternates between starting with the first active part and with each of the others in turn,
        since a service may run the parts one after the other or in parallel.
        """
        active = [part for part, row in self._rows.items() if not _has_ended(row)]
        self._turn += 1
        first = 0 if self._turn % 2 else (self._turn // 2) % max(len(active), 1)
        for part in active[first:] + active[:first]:
            self._extra_requests += 1
            self._rows[part] = self._service.find(part, self._email)
            if not _has_ended(self._rows[part]):
                return

    def _states(self) -> dict[str, int]:
        """Return the number of jobs by state of a batch or pipeline; empty for a single job."""
        if not records.is_parent(self.row):
            return {}
        states = records.parse_tally(self.row.get("statuses"))
        if states or self._is_split() or not self._can_list_jobs:
            return states
        # The row has no number of jobs by state: count the jobs.
        self._extra_requests += 1
        try:
            page = next(
                self._service.pages(batch=self._name, limit=PAGE_SIZE, jobEmail=self._email)
            )
        except InputError as error:
            if records.is_batch(self.row):
                if isinstance(error, NotFoundError):
                    return {}  # just deleted; the next poll reports it
                raise
            self._can_list_jobs = False  # the service does not list the jobs of pipelines
            return {}
        return page.statuses or records.count_states(page.rows)


def _group_failures(failed: Iterator[tuple[str, JobRecord]]) -> tuple[Part, ...]:
    """Return failed jobs as parts, merging many jobs with the same reason."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for name, row in failed:
        by_reason.setdefault((records.phase(row), records.reason(row)), []).append(name)
    return tuple(
        Part(name, state, reason=reason)
        for (state, reason), names in by_reason.items()
        for name in (
            names
            if len(names) <= _MAX_SAME_REASON
            else [messages.join_words(names, _MAX_SAME_REASON)]
        )
    )


def _started_at(row: JobRecord) -> float | None:
    """Return the start time of a single job in seconds since the epoch; None if unknown."""
    if records.is_parent(row) or not isinstance(row.get("Started"), str):
        return None
    started = parse_time(row["Started"])
    return None if started is None else started.timestamp()


def _has_ended(row: JobRecord | None) -> bool:
    return row is not None and records.outcome(row) is not None

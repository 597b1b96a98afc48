"""Poll a job, batch or pipeline until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

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
from labext.jobs.records import JobRecord
from labext.progress import Outcome, Part, Progress

PATIENCE = 600.0
"""Seconds without a response after which a running watch is given up.

Long enough for a service restart and for an interrupted network connection; the watch shows the
outage, and can be interrupted. The time counts from the first failed request, so that a suspended
machine does not use it up.
"""


REQUEST_CREDIT = 5
"""Requests that a watch may send beyond one per look before further looks are skipped.

So a watch of an hour sends its scheduled 404 looks and these, whatever it watches.
"""


_MAX_SAME_REASON = 3
"""Failed jobs with the same reason that are named one by one; more are one line."""


class JobWatcher:
    """A job, batch or pipeline that is polled.

    Attributes:
        row: the row of the last look, as `JobsClient.job` returns it.
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
        self._found: dict[str, JobRecord | None] = {}
        self._turn = 0
        self._sizes: Mapping[str, int] = {}
        self._total = 0
        self._lists = True
        self.row: JobRecord = {}
        self._clock = clock
        self._last: Progress | None = None
        self._shown: Progress | None = None
        self._silent_since: float | None = None
        self._owed = 0
        self._rests = False
        self._failures: tuple[Part, ...] = ()
        self._failures_known = 0

    def look(self) -> Progress:
        """Query the service once and return the snapshot, without its times.

        A look that took several requests, such as the first one at a split batch, is compensated:
        every other look after it sends no request and returns the previous snapshot.

        Raises:
            NotFoundError: there is no such job. If an earlier look found it, it has been deleted,
                which is an end of its own.
            ServiceError, BusyError: no response to the first look, or for `PATIENCE`.
            AccessError: the service refuses, at the first look or for as long: after too many
                requests, from any client, it answers 403 to all for a while.
        """
        self._rests = not self._rests and self._owed > REQUEST_CREDIT
        if self._rests and self._shown is not None:
            self._owed -= 1
            return self._shown
        self._owed -= 1
        self._shown = self._answered()
        return self._shown

    def _answered(self) -> Progress:
        """Look; while the service does not respond, return the previous snapshot."""
        try:
            self._last = self._look()
        except (ServiceError, BusyError, AccessError) as error:
            now = self._clock()
            since = now if self._silent_since is None else self._silent_since
            if self._last is None or now - since >= PATIENCE:
                raise
            self._silent_since = since
            return replace(self._last, reason=f"No response, trying again. {error.message}")
        self._silent_since = None
        return self._last

    def _look(self) -> Progress:
        try:
            self._ask()
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

        They are listed again when there are more of them: at the end, and before it where that
        takes one request, and the watch has none to make up for.
        """
        count = states.get("Failed", 0) + states.get("Stopped", 0)
        if count == self._failures_known or not self._lists or self._is_gone():
            return self._failures
        short = self._total <= PAGE_SIZE and not self._split() and self._owed <= REQUEST_CREDIT
        if outcome is None and not short:
            return self._failures
        try:
            self._failures, self._failures_known = (
                _group_failures(self._read_failed_jobs(count)),
                count,
            )
        except LabextError:  # continue without the reasons
            self._owed += 1
        return self._failures

    def _read_failed_jobs(self, count: int) -> Iterator[tuple[str, JobRecord]]:
        """Yield the own names and rows of failed and stopped jobs, `count` at most."""
        for parent in self._found:
            for page in self._service.pages(batch=parent, jobEmail=self._email):
                self._owed += 1
                for row in page.rows:
                    if count > 0 and records.outcome(row) in (Outcome.FAILED, Outcome.STOPPED):
                        count -= 1
                        yield identity.strip_batch_name(str(row.get("JobName")), parent), row
                if count <= 0:
                    return

    def _is_gone(self) -> bool:
        return records.phase(self.row) == "Deleted"

    def _ask(self) -> None:
        if not self.row:
            part_names = self._parts.parts_of(self._name, self._email)
            self._found = find_rows(self._service, self._parts, self._name, self._email)
            # Without a journal the name itself was asked for, and the list.
            self._owed += len(self._found) + (0 if part_names or not self._split() else 2)
            if records.is_batch(next(row for row in self._found.values() if row)):
                self._sizes = {} if self._email else part_sizes(self._parts, self._name)
                self._total = sum(self._sizes.get(part, 0) for part in self._found)
        elif not self._split():
            self._owed += 1
            self._found = {self._name: self._service.row(self._name, self._email)}
        else:
            self._ask_a_part()
        self.row = merge_found_rows(self._name, self._found, self._sizes)

    def _split(self) -> bool:
        return self._name not in self._found

    def _ask_a_part(self) -> None:
        """Query one running part, and continue with the next one while the queried part has ended.

        The first running part and one of all running parts alternate: a service may run the parts
        one after the other, or in parallel.
        """
        going = [part for part, row in self._found.items() if not _has_ended(row)]
        self._turn += 1
        first = 0 if self._turn % 2 else (self._turn // 2) % max(len(going), 1)
        for part in going[first:] + going[:first]:
            self._owed += 1
            self._found[part] = self._service.find(part, self._email)
            if not _has_ended(self._found[part]):
                return

    def _states(self) -> dict[str, int]:
        """Return the tally of a batch's jobs, or of those that a pipeline has so far."""
        if not records.is_parent(self.row):
            return {}
        states = records.parse_tally(self.row.get("statuses"))
        if states or self._split() or not self._lists:
            return states
        # A service that sends no tally with the row: count the jobs.
        self._owed += 1
        try:
            page = next(
                self._service.pages(batch=self._name, limit=PAGE_SIZE, jobEmail=self._email)
            )
        except InputError as error:
            if records.is_batch(self.row):
                if isinstance(error, NotFoundError):
                    return {}  # deleted since the last look; the next one reports it
                raise
            self._lists = False  # a service that lists the jobs of batches alone
            return {}
        return page.statuses or records.count_states(page.rows)


def _group_failures(failed: Iterator[tuple[str, JobRecord]]) -> tuple[Part, ...]:
    """Return failed jobs as parts; many with the same reason are one."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for name, row in failed:
        by_reason.setdefault((records.phase(row), records.reason(row)), []).append(name)
    return tuple(
        Part(name, state, reason=reason)
        for (state, reason), named in by_reason.items()
        for name in (
            named
            if len(named) <= _MAX_SAME_REASON
            else [messages.join_words(named, _MAX_SAME_REASON)]
        )
    )


def _started_at(row: JobRecord) -> float | None:
    """Return when a job began to run, in seconds since the epoch."""
    if records.is_parent(row) or not isinstance(row.get("Started"), str):
        return None
    try:
        moment = datetime.fromisoformat(row["Started"])
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _has_ended(row: JobRecord | None) -> bool:
    return row is not None and records.outcome(row) is not None

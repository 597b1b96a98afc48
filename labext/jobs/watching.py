"""Looking at a job or a batch as it runs, one snapshot a look.

A batch is judged by its `batchStatus` alone, a job by `JobStatus`; a state unheard of is shown as
it is and ends nothing. The tally comes with the row that is asked by name, so a look costs one
request, also of a split batch: its parts are asked by turns, those that have ended not again. A
service that does not answer for a while, because it is started again or the network is away, ends
no watch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from labext.errors import BusyError, NotFoundError, ServiceError
from labext.jobs import rows
from labext.jobs.lookup import resolve, seen, sizes
from labext.jobs.parts import Parts
from labext.jobs.rows import Row
from labext.jobs.service import PAGE, Service
from labext.progress import Outcome, Progress

PATIENCE = 60.0
"""Seconds without an answer after which a watch of what was seen before is given up."""


class Watched:
    """One job or batch that is looked at again and again.

    Attributes:
        row: what the last look saw, as `JobsClient.job` gives it.
    """

    def __init__(
        self,
        service: Service,
        parts: Parts,
        name: str,
        email: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._parts = parts
        self._name = name
        self._email = email
        self._found: dict[str, Row | None] = {}
        self._turn = 0
        self._sizes: Mapping[str, int] = {}
        self._total = 0
        self.row: Row = {}
        self._clock = clock
        self._last: Progress | None = None
        self._silent_since: float | None = None

    def look(self) -> Progress:
        """Ask the service once and return the snapshot, without its times.

        Raises:
            NotFoundError: there is no such job. One that was there at an earlier look has been
                deleted, which is an end of its own.
            ServiceError, BusyError: there is no answer at the first look, or for a minute.
        """
        asked = self._clock()
        try:
            self._last = self._look()
        except (ServiceError, BusyError) as error:
            since = asked if self._silent_since is None else self._silent_since
            if self._last is None or self._clock() - since >= PATIENCE:
                raise
            self._silent_since = since
            return replace(self._last, reason=f"No answer now, trying again. {error.what}")
        self._silent_since = None
        return self._last

    def _look(self) -> Progress:
        try:
            self._ask()
        except NotFoundError:
            if not self.row:
                raise
            self.row = {**self.row, "JobStatus": "Deleted"}
            if self._kind() == "batch":
                self.row["batchStatus"] = "Deleted"
            return self._snapshot({}, "It was deleted.")
        return self._snapshot(self._states(), rows.reason(self.row))

    def _snapshot(self, states: dict[str, int], reason: str) -> Progress:
        outcome = rows.outcome(self.row)
        self._total = max(self._total, sum(states.values()))
        return Progress(
            self._name,
            self._kind(),
            rows.phase(self.row),
            states,
            self._total or None,
            outcome,
            "" if outcome in (None, Outcome.COMPLETE) else reason,
        )

    def _ask(self) -> None:
        if not self.row:
            self._found = resolve(self._service, self._parts, self._name, self._email)
            if rows.is_batch(next(row for row in self._found.values() if row)):
                self._sizes = {} if self._email else sizes(self._parts, self._name)
                self._total = sum(self._sizes.get(part, 0) for part in self._found)
        elif not self._split():
            self._found = {self._name: self._service.row(self._name, self._email)}
        else:
            self._ask_a_part()
        self.row = seen(self._name, self._found, self._sizes)

    def _split(self) -> bool:
        return self._name not in self._found

    def _ask_a_part(self) -> None:
        """Ask one part that goes on, and as long as what was asked has ended, the next one.

        In turn it is the first of them, and one of all: a service may run the parts one after the
        other, or side by side. An hour's watch costs one request more for each part.
        """
        going = [part for part, row in self._found.items() if not _ended(row)]
        self._turn += 1
        first = 0 if self._turn % 2 else (self._turn // 2) % max(len(going), 1)
        for part in going[first:] + going[:first]:
            self._found[part] = self._service.find(part, self._email)
            if not _ended(self._found[part]):
                return

    def _states(self) -> dict[str, int]:
        states = rows.tally(self.row.get("statuses"))
        if states or self._split() or not rows.is_batch(self.row):
            return states if rows.is_batch(self.row) else {}
        # A service that gives no tally with the row: the batch's jobs are counted.
        page = next(self._service.pages(batch=self._name, limit=PAGE, jobEmail=self._email))
        return page.statuses or rows.tally_rows(page.rows)

    def _kind(self) -> str:
        return "batch" if rows.is_batch(self.row) else "job"


def _ended(row: Row | None) -> bool:
    return row is not None and rows.outcome(row) is not None

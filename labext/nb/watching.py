"""Looking at sources while they are processed, one snapshot a look.

An unknown status is shown as it is; it ends the watch when nothing has changed for long
(`labext.progress.UNKNOWN_STATUS_PATIENCE`). A service that does not answer for a while
ends no watch (`labext.nb.silence`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from labext.errors import NotFoundError
from labext.nb import stillness
from labext.nb.dialects.contract import Contract
from labext.nb.listing import all_sources
from labext.nb.records import Record
from labext.nb.silence import FAILURES, Silence
from labext.nb.wire import Wire
from labext.progress import IN_PROGRESS, TICK, Outcome, check_status, interval

SINGLY = 10
"""Sources that are asked for one by one; of more the list is read, in which they all stand."""

_DELETED = "deleted"
"""Of a source that was there at an earlier look; no service says so."""

ENDS = {
    "completed": Outcome.COMPLETE,
    "failed": Outcome.FAILED,
    "canceled": Outcome.STOPPED,
    _DELETED: Outcome.STOPPED,
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
        return ENDS.get(self.status)


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


class Watched:
    """Sources that are looked at again and again."""

    def __init__(
        self,
        wire: Wire,
        dialect: Contract,
        sources: Sequence[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wire = wire
        self._dialect = dialect
        self._sources = list(dict.fromkeys(sources))
        self._clock = clock
        self._rows: dict[str, SourceRow] = {}
        self._changed: dict[str, float] = {}
        self._silence = Silence(clock)

    @property
    def has_ended(self) -> bool:
        """Whether every source has."""
        return len(self._rows) == len(self._sources) and all(
            row.outcome is not None for row in self._rows.values()
        )

    def look(self) -> None:
        """Ask the service once for what goes on.

        Raises:
            NotFoundError: one is not there at the first look. One that was there is deleted, which
                is an end of its own.
            ServiceError, BusyError: there is no answer at the first look, or for as long
                as `labext.nb.silence.PATIENCE`.
        """
        going = [each for each in self._sources if not self._is_over(each)]
        try:
            found = self._with_vectors(self._asked(going))
        except FAILURES as error:
            if len(self._rows) < len(self._sources):
                raise
            self._silence.bear(error)
            return
        self._silence.end()
        for row in found:
            if self._rows.get(row.id) != row:
                self._rows[row.id], self._changed[row.id] = row, self._clock()

    def seen(self, began: float) -> Ingestion:
        """Return what the last look saw, as it stands now."""
        now = self._clock()
        still = now - max(self._changed.values())
        rows = tuple(
            replace(
                self._rows[each],
                unchanged=now - self._changed[each],
                reason=self._rows[each].reason or self._remark(each, still),
            )
            for each in self._sources
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
        going = [row for row in self._rows.values() if row.outcome is None]
        if going and not any(is_in_progress(row.status) for row in going):
            unchanged = self._clock() - max(self._changed.values())
            check_status(going[0].title, going[0].status, unchanged)

    def _remark(self, source: str, still: float) -> str:
        """Return what there is to say of a source that goes on while nothing of any changes."""
        if self._is_over(source):
            return ""
        return self._silence.words or stillness.of_source(self._rows[source].status, still)

    def _is_over(self, source: str) -> bool:
        row = self._rows.get(source)
        return row is not None and row.outcome is not None

    def _asked(self, going: Sequence[str]) -> list[SourceRow]:
        if len(going) <= SINGLY:
            return [self._one(each) for each in going]
        wanted = set(going)
        found = {}
        for record in all_sources(self._wire, self._dialect):
            if record["id"] in wanted:
                found[record["id"]] = _row(record)
            if len(found) == len(wanted):
                break
        return [found.get(each) or self._one(each) for each in going]

    def _with_vectors(self, rows: Sequence[SourceRow]) -> list[SourceRow]:
        """Return the rows; a source whose vectors are still being computed goes on."""
        if all(row.outcome is not Outcome.COMPLETE for row in rows):
            return list(rows)
        awaiting = self._wire.run(self._dialect.sources_awaiting_vectors())
        pending = {str(record["id"]) for record in awaiting}
        return [
            replace(row, status="running", stage="computing vectors")
            if row.id in pending and row.outcome is Outcome.COMPLETE
            else row
            for row in rows
        ]

    def _one(self, source: str) -> SourceRow:
        known = self._rows.get(source)
        try:
            if known is None or known.title == source:  # some servers tell the title only later
                record = self._wire.run(self._dialect.source(source))
                return _row({**record, "id": source})  # whatever the server calls it
            status = self._wire.run(self._dialect.source_status(source))
        except NotFoundError:
            if known is None:
                raise
            return replace(known, status=_DELETED, stage="", reason="It was deleted.")
        return _row({"id": source, "title": known.title, **status})


def watch(
    wire: Wire,
    dialect: Contract,
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
    watched, began = Watched(wire, dialect, sources, clock), clock()
    while True:
        watched.look()
        yield watched.seen(began)
        if watched.has_ended:
            return
        watched.check_statuses()
        due = clock() + interval(clock() - began)
        while (now := clock()) < due:
            if stop is not None and stop.is_set():
                return
            sleep(min(TICK, due - now))
            yield watched.seen(began)
        if stop is not None and stop.is_set():
            return


def _row(told: Record) -> SourceRow:
    status = str(told["status"] or "unknown")
    over = ENDS.get(status)
    reason = told["error"] or (told.get("message") if over is Outcome.FAILED else "")
    return SourceRow(
        str(told["id"]),
        str(told.get("title") or told["id"]),
        status,
        "" if over else str(told["stage"] or ""),
        "" if over is Outcome.COMPLETE else str(reason or ""),
    )

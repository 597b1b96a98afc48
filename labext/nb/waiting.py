"""Waiting for sources: what has become of them, or what keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labext import wording
from labext.errors import JobFailedError, NotReadyError
from labext.nb.dialects.contract import Contract
from labext.nb.listing import all_sources
from labext.nb.records import Record
from labext.nb.watching import SINGLY, Ingestion, SourceRow
from labext.nb.wire import Wire
from labext.progress import Outcome


def wait(snapshots: Iterator[Ingestion], timeout: float | None = None) -> None:
    """Follow a watch to its end.

    Raises:
        JobFailedError: a source failed.
        NotReadyError: they are not done in time.
    """
    for seen in snapshots:
        if seen.outcome is Outcome.COMPLETE:
            return
        if seen.outcome is not None:
            raise _failed(seen)
        if timeout is not None and seen.elapsed >= timeout:
            raise _late(seen, timeout)


def looked_up(wire: Wire, dialect: Contract, sources: Sequence[str]) -> list[Record]:
    """Return the records of sources, without their texts, in the order in which they are named."""
    names = list(dict.fromkeys(sources))
    if len(names) <= SINGLY:
        return [_short(wire.run(dialect.source(each))) for each in names]
    wanted = set(names)
    found = {each["id"]: each for each in all_sources(wire, dialect) if each["id"] in wanted}
    return [found[each] for each in names if each in found]


def _short(record: Record) -> Record:
    return {key: value for key, value in record.items() if key != "full_text"}


def _failed(seen: Ingestion) -> JobFailedError:
    bad = [row for row in seen.rows if row.outcome is not Outcome.COMPLETE]
    told = wording.listed((f"{row.title}: {row.reason or row.status}" for row in bad), 3)
    of = "" if len(seen.rows) == 1 else f"{len(bad)} of {len(seen.rows)} sources failed. "
    return JobFailedError(
        f"{of}{told.rstrip('.')}.",
        f"Mend the cause, then `%nb sources retry {wording.quoted(bad[0].title)}`; a file that you "
        "have mended is added anew.",
    )


def _late(seen: Ingestion, timeout: float) -> NotReadyError:
    going = [row for row in seen.rows if row.outcome is None]
    told = wording.listed((_standing(row) for row in going), 3)
    return NotReadyError(
        f"Not processed after {timeout:g} seconds: {told}.", "It goes on; wait again."
    )


def _standing(row: SourceRow) -> str:
    stage = f" ({row.stage})" if row.stage else ""
    return f"{row.title} is {row.status}{stage}, unchanged for {row.unchanged:.0f} seconds"

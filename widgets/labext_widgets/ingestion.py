"""Sources while they are processed: a row a source, and how far all of them are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from labext.progress import Part, Progress
from labext_widgets.watching import watch

if TYPE_CHECKING:
    from labext.nb.watching import Ingestion, SourceRow

_STATES = {
    "completed": "Complete",
    "failed": "Failed",
    "canceled": "Stopped",
    "deleted": "Deleted",
    "running": "Running",
    "new": "In Queue",
    "queued": "In Queue",
}
"""The service's words for a status in those of the house; any other is shown as it is.

Source: notebook service contract, States and transitions (its list of values is not shown).
"""


def follow_ingestion(snapshots: Iterator[Ingestion], *, again: str) -> Ingestion | None:
    """Draw looks at sources until every one has ended, and return the last look.

    Args:
        snapshots: of `labext.nb.watching`; the first is taken before anything is drawn.
        again: the line that takes the watch up again.

    Raises:
        WatchInterrupted: the kernel was interrupted; the service goes on.
    """
    last: Ingestion | None = None

    def seen() -> Iterator[Progress]:
        nonlocal last
        for last in snapshots:
            yield progress(last)

    watch(seen(), again=again)
    return last


def progress(seen: Ingestion) -> Progress:
    """Return a look at sources as it is drawn: one source by itself, several with a row each."""
    parts = tuple(map(_part, seen.rows))
    counted = Counter(each.state for each in parts)
    going = [row.unchanged for row in seen.rows if row.outcome is None]
    common = partial(
        Progress,
        kind="ingestion",
        outcome=seen.outcome,
        elapsed=seen.elapsed,
        unchanged=min(going, default=0.0),
    )
    if len(parts) == 1:
        (one,) = parts
        return common(one.name, phase=one.state, reason=one.reason, stage=one.stage)
    remarks = {row.reason for row in seen.rows if row.outcome is None}
    remark = remarks.pop() if len(remarks) == 1 else ""  # of all that go on: said once
    return common(
        "Sources",
        phase=_phase(seen, counted),
        states=counted,
        total=len(parts),
        reason=remark,
        parts=tuple(replace(each, reason="") if each.reason == remark else each for each in parts),
    )


def _phase(seen: Ingestion, counted: Counter[str]) -> str:
    if seen.outcome is not None:
        return seen.outcome.value.capitalize()
    return "In Queue" if set(counted) <= {"In Queue"} else "Running"


def _part(row: SourceRow) -> Part:
    return Part(
        row.title, _STATES.get(row.status, row.status), row.stage, row.reason, row.unchanged
    )

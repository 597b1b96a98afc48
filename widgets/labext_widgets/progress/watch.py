"""Watch a job or the processing of sources until it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from labext.errors import WatchInterrupted
from labext.progress import Part, Progress
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.progress.live_view import FinalState, LiveView, Surface
from labext_widgets.progress.static_view import resume_hint
from labext_widgets.progress.terminal import Line

if TYPE_CHECKING:
    from labext.nb.polling import Ingestion, SourceRow


def watch(
    snapshots: Iterator[Progress],
    *,
    again: str,
    background: bool = False,
    stop: Callable[[], None] | None = None,
) -> Progress | None:
    """Display snapshots until they end, and return the last one.

    Args:
        snapshots: the watcher's reports; the first is always taken in the foreground, so that a
            wrong name raises an error in the cell.
        again: the line that resumes the watch.
        background: return None immediately and continue in a thread. In a notebook executed by a
            program, which cannot update displays, the watch stays in the foreground.
        stop: stops the job; called by a button, after a confirmation.

    Raises:
        WatchInterrupted: the kernel was interrupted; the job continues.
    """
    front = front_end()
    if background and front is not FrontEnd.EXECUTED:
        from labext_widgets.progress.background import Background

        Background(snapshots, stop, again).start(front)
        return None
    return watch_in_foreground(snapshots, progress_surface(front), again)


def progress_surface(front: FrontEnd) -> Surface:
    """Return the output for a watch in the foreground."""
    if front is FrontEnd.TERMINAL:
        return Line()
    return LiveView() if front is FrontEnd.INTERACTIVE else FinalState()


def watch_in_foreground(
    snapshots: Iterator[Progress], surface: Surface, again: str
) -> Progress | None:
    """Display snapshots until they end, or the kernel is interrupted; return the last one."""
    last: Progress | None = None
    try:
        for snapshot in snapshots:
            last = snapshot
            surface.show(last)
    except KeyboardInterrupt:
        message, next_step = resume_hint(last, again)
        if last is not None:
            surface.finish(last, message)
        raise WatchInterrupted(message, next_step) from None
    except BaseException as error:
        if last is not None:
            # In a terminal, the error is on the next line.
            reason = "." if isinstance(surface, Line) else f": {error}"
            surface.finish(last, f"Watching ended{reason}")
        raise
    if last is not None:
        surface.finish(last, "" if last.outcome else " ".join(resume_hint(last, again)))
    return last


_STATES = {
    "completed": "Complete",
    "failed": "Failed",
    "canceled": "Stopped",
    "deleted": "Deleted",
    "running": "Running",
    "new": "In Queue",
    "queued": "In Queue",
}
"""Labels for the service's status values (NB-88); other values are displayed unchanged."""


def watch_ingestion(snapshots: Iterator[Ingestion], *, again: str) -> Ingestion | None:
    """Display the processing of sources until all have ended, and return the last snapshot.

    Args:
        snapshots: snapshots of `labext.nb.polling`; the first is taken before anything is
            displayed.
        again: the line that resumes the watch.

    Raises:
        WatchInterrupted: the kernel was interrupted; the service continues.
    """
    last: Ingestion | None = None

    def progress() -> Iterator[Progress]:
        nonlocal last
        for last in snapshots:
            yield ingestion_progress(last)

    watch(progress(), again=again)
    return last


def ingestion_progress(ingestion: Ingestion) -> Progress:
    """Convert a snapshot to progress: a single source as such, several with one row per source."""
    parts = tuple(map(_part, ingestion.rows))
    counts = Counter(part.state for part in parts)
    unchanged = [row.unchanged for row in ingestion.rows if row.outcome is None]
    common = partial(
        Progress,
        kind="ingestion",
        outcome=ingestion.outcome,
        elapsed=ingestion.elapsed,
        unchanged=min(unchanged, default=0.0),
    )
    if len(parts) == 1:
        (part,) = parts
        return common(part.name, phase=part.state, reason=part.reason, stage=part.stage)
    reasons = {row.reason for row in ingestion.rows if row.outcome is None}
    common_reason = reasons.pop() if len(reasons) == 1 else ""  # common to all rows: displayed once
    return common(
        "Sources",
        phase=_phase(ingestion, counts),
        states=counts,
        total=len(parts),
        reason=common_reason,
        parts=tuple(
            replace(part, reason="") if part.reason == common_reason else part for part in parts
        ),
    )


def _phase(ingestion: Ingestion, counts: Counter[str]) -> str:
    if ingestion.outcome is not None:
        return ingestion.outcome.value.capitalize()
    return "In Queue" if set(counts) <= {"In Queue"} else "Running"


def _part(row: SourceRow) -> Part:
    return Part(
        row.title, _STATES.get(row.status, row.status), row.stage, row.reason, row.unchanged
    )

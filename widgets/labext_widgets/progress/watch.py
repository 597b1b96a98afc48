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
    """Draw snapshots until they end, and return the last one.

    Args:
        snapshots: what a watcher reports; the first is taken in the foreground always, so that a
            wrong name is an error of the cell.
        again: the line that takes the watch up again.
        background: return None at once and go on from a thread. A notebook that a program executes
            can't show that: there it is watched in the foreground.
        stop: stops what is watched; asked for by a button, which asks back.

    Raises:
        WatchInterrupted: the kernel was interrupted; what was watched goes on.
    """
    front = front_end()
    if background and front is not FrontEnd.EXECUTED:
        from labext_widgets.progress.background import Background

        Background(snapshots, stop, again).start(front)
        return None
    return watch_in_foreground(snapshots, progress_surface(front), again)


def progress_surface(front: FrontEnd) -> Surface:
    """Return what a watch in the foreground is drawn on."""
    if front is FrontEnd.TERMINAL:
        return Line()
    return LiveView() if front is FrontEnd.INTERACTIVE else FinalState()


def watch_in_foreground(
    snapshots: Iterator[Progress], surface: Surface, again: str
) -> Progress | None:
    """Draw snapshots until they end, or the kernel is interrupted; return the last one."""
    last: Progress | None = None
    try:
        for snapshot in snapshots:
            last = snapshot
            surface.show(last)
    except KeyboardInterrupt:
        what, next_step = resume_hint(last, again)
        if last is not None:
            surface.finish(last, what)
        raise WatchInterrupted(what, next_step) from None
    except BaseException as error:
        if last is not None:
            surface.finish(last, f"No longer watched: {error}")
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
"""The service's words for a status in those of the house; any other is shown as it is.

Source: notebook service contract, States and transitions (its list of values is not shown).
"""


def watch_ingestion(snapshots: Iterator[Ingestion], *, again: str) -> Ingestion | None:
    """Draw looks at sources until every one has ended, and return the last look.

    Args:
        snapshots: of `labext.nb.polling`; the first is taken before anything is drawn.
        again: the line that takes the watch up again.

    Raises:
        WatchInterrupted: the kernel was interrupted; the service goes on.
    """
    last: Ingestion | None = None

    def seen() -> Iterator[Progress]:
        nonlocal last
        for last in snapshots:
            yield ingestion_progress(last)

    watch(seen(), again=again)
    return last


def ingestion_progress(seen: Ingestion) -> Progress:
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

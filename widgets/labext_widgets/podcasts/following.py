"""A podcast while it is made: its stages, what it is at, and why it failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from labext.progress import Progress
from labext_widgets.front import FrontEnd, front_end
from labext_widgets.podcasts.retrying import Retried
from labext_widgets.watching import watch

Snapshots = Iterator[Progress]


def follow_podcast(
    snapshots: Snapshots,
    *,
    again: str,
    retry: Callable[[], Snapshots] | None = None,
    background: bool = False,
) -> Progress | None:
    """Draw looks at a podcast's job until it has ended, and return the last one.

    Args:
        snapshots: of kind `podcast`, with a stage as `3 of 4: speech, turn 12 of 40`, or none where
            the service reports nothing; the first is taken before anything is drawn.
        again: the line that takes the watch up again.
        retry: starts a failed podcast anew, and returns the looks at the new run; called in a
            thread when the Retry button is clicked, and again when that run fails too. The new run
            is drawn in the same output.
        background: return None at once and go on from a thread, as `labext_widgets.watch` does.

    Raises:
        WatchInterrupted: the kernel was interrupted; the service goes on.
    """
    seen = _with_stages(snapshots)
    front = front_end()
    if retry is None or front is not FrontEnd.INTERACTIVE:
        return watch(seen, again=again, background=background)
    tried = Retried(seen, again, lambda: _with_stages(retry()))
    if not background:
        return tried.in_foreground()
    tried.start(front)
    return None


def _with_stages(snapshots: Snapshots) -> Snapshots:
    """The looks, the last with the stage it was in: a job that has ended often names none."""
    stage = ""
    for seen in snapshots:
        stage = seen.stage or stage
        yield seen if seen.outcome is None else replace(seen, stage=stage)

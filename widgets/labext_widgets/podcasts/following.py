"""A podcast while it is made: its stages, what it is at, and why it failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from labext.progress import Outcome, Progress
from labext_widgets.front import FrontEnd, front_end
from labext_widgets.podcasts.attempts import Attempts, Made, Run
from labext_widgets.watching import watch


def follow_podcast(
    snapshots: Run,
    *,
    again: str,
    retry: Callable[[], Run] | None = None,
    made: Made | None = None,
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
        made: returns the record of the episode and a function that returns its sound, as `player`
            takes them; called when it is complete, in the cell or in the watch's thread. Then the
            player takes the place of the stages, where it can be used.
        background: return None at once and go on from a thread, as `labext_widgets.watch` does.

    Raises:
        WatchInterrupted: the kernel was interrupted; the service goes on.
    """
    seen, front = _with_stages(snapshots), front_end()
    if front is not FrontEnd.INTERACTIVE:
        return watch(seen, again=again, background=background)
    attempts = Attempts(seen, again, retry and (lambda: _with_stages(retry())), made)
    if not background:
        return attempts.in_foreground()
    attempts.start(front)
    return None


def _with_stages(snapshots: Run) -> Run:
    """The looks; what has failed with the stage it was in, which it rarely tells by itself."""
    stage = ""
    for seen in snapshots:
        stage = seen.stage or stage
        yield replace(seen, stage=stage) if seen.outcome is Outcome.FAILED else seen

"""Watch something that runs: in the foreground until it ends, or in the background."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from labext.errors import WatchInterrupted
from labext.progress import Progress
from labext_widgets.drawing import how_to_go_on
from labext_widgets.front import FrontEnd, front_end
from labext_widgets.picture import FinalState, Picture, Surface
from labext_widgets.terminal import Line


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
        from labext_widgets.background import Background

        Background(snapshots, stop, again).start(front)
        return None
    return foreground(snapshots, surface_for(front), again)


def surface_for(front: FrontEnd) -> Surface:
    """Return what a watch in the foreground is drawn on."""
    if front is FrontEnd.TERMINAL:
        return Line()
    return Picture() if front is FrontEnd.INTERACTIVE else FinalState()


def foreground(snapshots: Iterator[Progress], surface: Surface, again: str) -> Progress | None:
    """Draw snapshots until they end, or the kernel is interrupted; return the last one."""
    last: Progress | None = None
    try:
        for snapshot in snapshots:
            last = snapshot
            surface.show(last)
    except KeyboardInterrupt:
        what, next_step = how_to_go_on(last, again)
        if last is not None:
            surface.finish(last, what)
        raise WatchInterrupted(what, next_step) from None
    except BaseException as error:
        if last is not None:
            surface.finish(last, f"No longer watched: {error}")
        raise
    if last is not None:
        surface.finish(last, "" if last.outcome else " ".join(how_to_go_on(last, again)))
    return last

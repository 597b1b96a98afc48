"""Progress of an upload, a download, a long list or a long submission."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from labext.errors import TransferInterrupted
from labext.progress import TICK, Outcome, Progress
from labext.redaction import get_logger
from labext_widgets.core.display import display_message
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.progress import static_view
from labext_widgets.progress.live_view import LiveView
from labext_widgets.progress.terminal import Line

DISPLAY_AFTER = 1.0
"""Seconds after the first bytes before anything is displayed."""

_MANY_PAGES = 50
"""Number of pages of a list that is displayed at once, since a rate limit may delay it."""

_NEVER = float("inf")
_log = get_logger("labext.widgets")


class Transfer:
    """A context for an upload or a download, which calls `bytes` and `phase`.

    Errors of the display only end the display.

    Args:
        subject: the name of the object transferred, as the user knows it.
        kind: its kind in one word, such as `results`.
        again: the line that resumes the transfer.
        phase: the first phase.

    Raises:
        TransferInterrupted: the kernel was interrupted within the context.
    """

    def __init__(
        self,
        subject: str,
        kind: str,
        again: str,
        phase: str = "Fetching",
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._subject, self._kind, self._again = subject, kind, again
        self._clock = clock
        self._phase = phase
        self._transferred = 0
        self._size: int | None = None
        self._began: float | None = None
        self._surface = _surface()
        self._displayed = False
        self._due = _NEVER
        self._delay = DISPLAY_AFTER

    def bytes(self, transferred: int, size: int | None) -> None:
        """Record the number of bytes transferred, and their total; may be called at any rate."""
        self._transferred, self._size = transferred, size
        now = self._clock()
        if self._began is None:
            self._began = now
            self._due = _NEVER if self._surface is None else now + self._delay
        is_over = size is not None and transferred >= size
        if now >= self._due and (self._displayed or not is_over):
            self._due = now + TICK
            self._draw(lambda surface: surface.show(self._progress()))
            self._displayed = True

    def phase(self, word: str) -> None:
        """Record the current phase; its bytes are counted from zero."""
        self._phase, self._transferred, self._size = word, 0, None

    def end(self, text: str) -> None:
        """Report the result, in place of the progress."""
        if not (self._displayed and self._draw(lambda surface: surface.replace_by_text(text))):
            display_message(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if error is None:
            return
        interrupted = isinstance(error, KeyboardInterrupt)
        outcome = Outcome.STOPPED if interrupted else Outcome.FAILED
        if self._displayed:
            self._draw(lambda surface: surface.finish(self._progress(outcome)))
        if interrupted:
            at = " at ".join(["", *static_view.format_counts(self._progress())])
            message = f"{self._phase} was stopped{at}."
            raise TransferInterrupted(message, f"`{self._again}` continues from there.") from None

    def _progress(self, outcome: Outcome | None = None) -> Progress:
        return Progress(
            self._subject,
            self._kind,
            outcome.value.capitalize() if outcome else self._phase,
            outcome=outcome,
            elapsed=0.0 if self._began is None else self._clock() - self._began,
            transferred=self._transferred,
            size=self._size,
        )

    def _draw(self, draw: Callable[[Any], None]) -> bool:
        """Call `draw` with the output; return whether that succeeded."""
        if self._surface is None:
            return False
        try:
            draw(self._surface)
        except Exception:  # noqa: BLE001 - a display error must not end the transfer
            _log.warning("The progress of %s cannot be displayed", self._subject, exc_info=True)
            self._surface, self._due = None, _NEVER
            return False
        return True


class ListProgress(Transfer):
    """A context for a long list or submission, which calls `items`; an interrupt ends it.

    Args:
        subject: the name of the items, as the user knows it.
        kind: the kind of the work in one word.
        phase: the phase until the last item.
    """

    def __init__(
        self,
        subject: str,
        kind: str = "list",
        phase: str = "Reading",
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(subject, kind, "", phase, clock=clock)

    def items(self, received: int, total: int | None) -> None:
        """Record the number of items received, and their total; may be called at any rate."""
        if self._began is None and (total or 0) >= _MANY_PAGES * received:
            self._delay = 0.0
        self.bytes(received, total)

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        outcome = Outcome.COMPLETE if kind is None else Outcome.FAILED
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            outcome = Outcome.STOPPED
        if self._displayed:
            self._draw(lambda surface: surface.finish(self._progress(outcome)))

    def _progress(self, outcome: Outcome | None = None) -> Progress:
        progress = replace(super()._progress(outcome), transferred=None, size=None)
        received, total = self._transferred, self._size
        if outcome is Outcome.COMPLETE:
            if total is None:  # the last page was not counted
                return progress
            received = total
        if total is None:
            return replace(progress, phase=f"{progress.phase}, {received:,} so far")
        return replace(progress, states={"Complete": received}, total=total)


def _surface() -> LiveView | Line | None:
    """Return an output that can be redrawn, if there is one."""
    front = front_end()
    if front is FrontEnd.INTERACTIVE:
        return LiveView()
    line = Line()
    return line if front is FrontEnd.TERMINAL and line.redraws else None

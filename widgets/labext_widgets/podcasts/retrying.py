"""A watch of something that can be tried again when it has failed, by a button."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from labext.errors import LabextError
from labext.progress import Outcome, Progress
from labext.redaction import logger
from labext_widgets.background import Background, buttons
from labext_widgets.picture import Control, Picture
from labext_widgets.watching import foreground

RETRY = "retry"
_log = logger("labext.widgets")


class Retried(Background):
    """One watch after another in one output: when one has failed, a button starts the next.

    Args:
        snapshots: the first run.
        again: the line that takes the watch up again.
        retry: starts the next run and returns its looks.
    """

    def __init__(
        self,
        snapshots: Iterator[Progress],
        again: str,
        retry: Callable[[], Iterator[Progress]],
    ) -> None:
        super().__init__(snapshots, None, again)
        self._retry = retry
        self._waits = threading.Event()  # for a click; so that two of them start one run

    def in_foreground(self) -> Progress | None:
        """Follow the first run in the cell; those after it go on from a thread."""
        self._surface = Picture(on_message=self._asked, on_close=self._over.set)
        last = foreground(self._snapshots, self._surface, self._again)
        if last is not None:
            self._ended(last)
        return last

    def _ended(self, last: Progress) -> None:
        if last.outcome is Outcome.FAILED and not self._over.is_set():
            assert isinstance(self._surface, Picture)
            self._waits.set()
            self._surface.offer([_button(last)], last)

    def _asked(self, what: Any) -> None:
        if what == RETRY and self._waits.is_set():
            self._waits.clear()
            self._begin("labext-retry", self._try_again)
        else:
            super()._asked(what)

    def _try_again(self) -> None:
        assert isinstance(self._surface, Picture)
        self._surface.say("", asked="Trying again…")
        try:
            snapshots = self._retry()
            first = next(snapshots, None)
        except LabextError as error:
            self._not_tried(str(error))
        except Exception as error:  # noqa: BLE001 - the thread ends here, and the user must see why
            _log.exception("Trying again failed")
            self._not_tried(f"{type(error).__name__}: {error}")
        else:
            if first is None:
                return self._not_tried("nothing was told of a new run.")
            self._snapshots = snapshots
            self._surface.offer(buttons(first, can_stop=False), first)
            self._run(first)

    def _not_tried(self, why: str) -> None:
        assert isinstance(self._surface, Picture)
        self._waits.set()
        self._surface.say(f"Not tried again: {why}")


def _button(last: Progress) -> Control:
    return Control(
        do=RETRY,
        label="Retry",
        description=f"Make the {last.kind} {last.subject} again",
        question="",
    )

"""A podcast's making in one output: one run after another, and in the end the player."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from labext.errors import LabextError
from labext.progress import Outcome, Progress
from labext.redaction import logger
from labext_widgets.background import Background, buttons
from labext_widgets.picture import Control, Picture
from labext_widgets.podcasts.episode import episode
from labext_widgets.podcasts.playing import Player, Sound
from labext_widgets.watching import foreground

RETRY = "retry"

Run = Iterator[Progress]
Made = Callable[[], tuple[Mapping[str, Any], Sound]]
_log = logger("labext.widgets")


class Attempts(Background):
    """One watch after another: when one has failed a button starts the next.

    Args:
        snapshots: the first run.
        again: the line that takes the watch up again.
        retry: starts the next run and returns its looks.
        made: returns the record of the episode that is made, and who fetches its sound: then the
            player takes the place of the last look.
    """

    def __init__(
        self, snapshots: Run, again: str, retry: Callable[[], Run] | None, made: Made | None
    ) -> None:
        super().__init__(snapshots, None, again)
        self._retry = retry
        self._made = made
        self._waits = threading.Event()  # for a click; so that two of them start one run

    def in_foreground(self) -> Progress | None:
        """Follow the first run in the cell; those after it go on from a thread."""
        self._surface = Picture(on_message=self._asked, on_close=self._over.set)
        last = foreground(self._snapshots, self._surface, self._again)
        if last is not None:
            self._ended(last)
        return last

    @property
    def _picture(self) -> Picture:
        assert isinstance(self._surface, Picture)
        return self._surface

    def _ended(self, last: Progress) -> None:
        if self._over.is_set():
            return
        if last.outcome is Outcome.FAILED and self._retry is not None:
            self._waits.set()
            self._picture.offer([_button(last)], last)
        elif last.outcome is Outcome.COMPLETE and self._made is not None:
            self._play(self._made)

    def _play(self, made: Made) -> None:
        try:
            record, sound = made()
            self._picture.give_over(Player(episode(record), sound).take_over)
        except Exception as error:  # noqa: BLE001 - it is made, and that it can't be shown is no failure
            _log.warning("The player can't be shown", exc_info=True)
            why = str(error) if isinstance(error, LabextError) else f"{type(error).__name__}."
            self._picture.say(f"It is made, but can't be shown here: {why}")

    def _asked(self, what: Any) -> None:
        if what != RETRY:
            super()._asked(what)
        elif self._waits.is_set():
            self._waits.clear()
            self._begin("labext-retry", self._try_again)

    def _try_again(self) -> None:
        assert self._retry is not None
        self._picture.say("", asked="Trying again…")
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
            self._picture.offer(buttons(first, can_stop=False), first)
            self._run(first)

    def _not_tried(self, why: str) -> None:
        self._waits.set()
        self._picture.say(f"Not tried again: {why}")


def _button(last: Progress) -> Control:
    return Control(
        do=RETRY,
        label="Retry",
        description=f"Make the {last.kind} {last.subject} again",
        question="",
    )

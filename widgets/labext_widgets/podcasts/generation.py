"""Progress of a podcast's generation, with a Retry button."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from labext.errors import LabextError
from labext.progress import Outcome, Progress
from labext.redaction import get_logger
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.podcasts.player import LoadAudio, Player, parse_episode
from labext_widgets.progress.background import Background, buttons
from labext_widgets.progress.live_view import Control, LiveView
from labext_widgets.progress.watch import watch, watch_in_foreground

RETRY = "retry"

Snapshots = Iterator[Progress]
GenerationResult = Callable[[], tuple[Mapping[str, Any], LoadAudio]]
_log = get_logger("labext.widgets")


class Generation(Background):
    """A watch that offers a Retry button after a failure, which starts the next run.

    Args:
        snapshots: the first run.
        again: the line that resumes the watch.
        retry: starts the next run and returns its snapshots.
        result: returns the record of the finished episode and a function that downloads its audio;
            the player then replaces the progress.
    """

    def __init__(
        self,
        snapshots: Snapshots,
        again: str,
        retry: Callable[[], Snapshots] | None,
        result: GenerationResult | None,
    ) -> None:
        super().__init__(snapshots, None, again)
        self._retry = retry
        self._result = result
        # Cleared by a click, so that two clicks start one run.
        self._retry_ready = threading.Event()

    def in_foreground(self) -> Progress | None:
        """Follow the first run in the cell; later runs continue in a thread."""
        self._surface = LiveView(on_message=self._on_click, on_close=self._closed.set)
        last = watch_in_foreground(self._snapshots, self._surface, self._again)
        if last is not None:
            self._on_end(last)
        return last

    @property
    def _live_view(self) -> LiveView:
        assert isinstance(self._surface, LiveView)
        return self._surface

    def _on_end(self, last: Progress) -> None:
        if self._closed.is_set():
            return
        if last.outcome is Outcome.FAILED and self._retry is not None:
            self._retry_ready.set()
            self._live_view.set_controls([_button(last)], last)
        elif last.outcome is Outcome.COMPLETE and self._result is not None:
            self._play(self._result)

    def _play(self, result: GenerationResult) -> None:
        try:
            record, load_audio = result()
            self._live_view.replace_with(Player(parse_episode(record), load_audio).replace)
        except Exception as error:  # noqa: BLE001 - the episode exists; a display error is not a failure
            _log.warning("The player could not be shown", exc_info=True)
            reason = str(error) if isinstance(error, LabextError) else f"{type(error).__name__}."
            self._live_view.set_note(f"The podcast is complete, but cannot be shown here: {reason}")

    def _on_click(self, action: Any) -> None:
        if action != RETRY:
            super()._on_click(action)
        elif self._retry_ready.is_set():
            self._retry_ready.clear()
            self._start_thread("labext-retry", self._retry_generation)

    def _retry_generation(self) -> None:
        assert self._retry is not None
        self._live_view.set_note("", pending="Retrying…")
        try:
            snapshots = self._retry()
            first = next(snapshots, None)
        except LabextError as error:
            self._report_failed_retry(str(error))
        except Exception as error:  # noqa: BLE001 - the thread ends here, and the user must see why
            _log.exception("The retry failed")
            self._report_failed_retry(f"{type(error).__name__}: {error}")
        else:
            if first is None:
                return self._report_failed_retry("the service reported no new run.")
            self._snapshots = snapshots
            self._live_view.set_controls(buttons(first, can_stop=False), first)
            self._run(first)

    def _report_failed_retry(self, reason: str) -> None:
        self._retry_ready.set()
        self._live_view.set_note(f"Retry failed: {reason}")


def _button(last: Progress) -> Control:
    description = f"Generate the {last.kind} {last.subject} again"
    return Control(do=RETRY, label="Retry", description=description, question="")


def follow_podcast(
    snapshots: Snapshots,
    *,
    again: str,
    retry: Callable[[], Snapshots] | None = None,
    result: GenerationResult | None = None,
    background: bool = False,
) -> Progress | None:
    """Display the progress of a podcast until it ends, and return the last snapshot.

    Args:
        snapshots: snapshots of kind `podcast`, with a stage such as `3 of 4: speech, turn 12 of
            40`, or none if the service reports nothing; the first is taken before anything is
            displayed.
        again: the line that resumes the watch.
        retry: restarts a failed podcast, and returns the snapshots of the new run; called in a
            thread when the Retry button is clicked, and again when that run fails too. The new run
            is displayed in the same output.
        result: returns the record of the episode and a function that returns its audio, as
            `show_player` takes them; called when it is complete, in the cell or in the watch's
            thread. The player then replaces the stages, if it can be used.
        background: return None at once and continue in a thread, as `labext_widgets.watch` does.

    Raises:
        WatchInterrupted: the kernel was interrupted; the service continues.
    """
    progress, front = _with_stages(snapshots), front_end()
    if front is not FrontEnd.INTERACTIVE:
        return watch(progress, again=again, background=background)
    generation = Generation(progress, again, retry and (lambda: _with_stages(retry())), result)
    if not background:
        return generation.in_foreground()
    generation.start(front)
    return None


def _with_stages(snapshots: Snapshots) -> Snapshots:
    """Yield the snapshots, adding to a failure the stage in which it happened."""
    stage = ""
    for snapshot in snapshots:
        stage = snapshot.stage or stage
        yield replace(snapshot, stage=stage) if snapshot.outcome is Outcome.FAILED else snapshot

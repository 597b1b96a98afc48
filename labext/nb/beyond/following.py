"""Looking at a background command until it is over, one snapshot a look.

An unknown status is shown as it is; it ends the watch when nothing has changed for long
(`labext.progress.watch`). A service that does not answer for a while
ends no watch (`labext.nb.silence`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from labext import progress
from labext.errors import JobFailedError, NotFoundError, NotReadyError
from labext.nb.records import Record
from labext.nb.silence import FAILURES, Silence
from labext.nb.snapshots import phase
from labext.progress import Outcome, Progress

ENDS = {"Complete": Outcome.COMPLETE, "Failed": Outcome.FAILED, "Stopped": Outcome.STOPPED}

SETTLING = 60.0
"""Seconds after a command is completed in which what it makes has to be there."""

_NOTHING = "The service says that it is completed, and nothing has come of it."


class Followed:
    """One command that is looked at again and again.

    Attributes:
        record: what the last look saw.
        result: what it has made, if that is looked for.

    Args:
        ask: asks the service how far it is: a record with `status` and `error_message`.
        subject: what the user knows it by.
        made: looks for what it makes, which may come a little after its end; None where nothing
            is to be waited for.
        stage: tells how far it is, by such a record.
        clock: seconds that pass.
    """

    def __init__(
        self,
        ask: Callable[[], Record],
        subject: str,
        *,
        made: Callable[[], Record | None] | None = None,
        stage: Callable[[Record], str] = lambda _: "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._subject = subject
        self._made = made
        self._stage = stage
        self._clock = clock
        self._silence = Silence(clock)
        self._last: Progress | None = None
        self._completed: float | None = None
        self.record: Record | None = None
        self.result: Record | None = None

    def look(self) -> Progress:
        """Ask the service once; return the snapshot, without its times.

        Raises:
            NotFoundError: there is no such command.
            ServiceError, BusyError: there is no answer at the first look, or for as long as
                `labext.nb.silence.PATIENCE`.
        """
        try:
            self._last = self._seen()
        except (*FAILURES, NotFoundError) as error:
            # A service may tell by one status that it can't look, and that there is none.
            if self._last is None or error.status == 404:
                raise
            self._silence.bear(error)
            return replace(self._last, reason=self._silence.words)
        self._silence.end()
        return self._last

    def watch(
        self,
        stop: threading.Event | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Iterator[Progress]:
        """Look until it is over, or `stop` is set."""
        return progress.watch(self.look, stop=stop, clock=self._clock, sleep=sleep)

    def wait(
        self, timeout: float | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Look until it is completed.

        Raises:
            JobFailedError: it failed, or was canceled.
            NotReadyError: it is not completed in time.
        """
        for seen in self.watch(sleep=sleep):
            if seen.outcome is Outcome.COMPLETE:
                return
            if seen.outcome is not None:
                raise failed(seen)
            if timeout is not None and seen.elapsed >= timeout:
                raise NotReadyError(
                    f"Not done after {timeout:g} seconds: {seen.subject} is {seen.phase.lower()}, "
                    f"unchanged for {seen.unchanged:.0f} seconds.",
                    "It goes on; wait again.",
                )

    def _seen(self) -> Progress:
        self.record = told = self._ask()
        at = phase(told["status"])
        reason = str(told["error_message"] or "")
        if at == "Complete" and self._made is not None and self.result is None:
            at, reason = self._settled()
        outcome = ENDS.get(at)
        return Progress(
            self._subject,
            "command",
            at,
            outcome=outcome,
            reason=reason if outcome in (Outcome.FAILED, Outcome.STOPPED) else "",
            stage=self._stage(told) if outcome is None else "",
        )

    def _settled(self) -> tuple[str, str]:
        """Return where a completed command is that has to have made something."""
        assert self._made is not None
        self.result = self._made()
        if self.result is not None:
            return "Complete", ""
        now = self._clock()
        if self._completed is None:
            self._completed = now
        late = now - self._completed >= SETTLING
        return ("Failed", _NOTHING) if late else ("Running", "")


def failed(seen: Progress) -> JobFailedError:
    """Return the error of a command that ended otherwise than it should."""
    word = "was canceled" if seen.outcome is Outcome.STOPPED else "has failed"
    because = f": {seen.reason.rstrip('.')}" if seen.reason else ""
    return JobFailedError(
        f"{seen.subject} {word}{because}.", "Mend the cause, then run the line again."
    )

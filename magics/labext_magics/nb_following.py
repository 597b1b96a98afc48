"""Podcasts as they are made: watched to their end, and what has failed told with the way on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from labext.errors import JobFailedError
from labext.progress import Outcome, Progress
from labext_magics.dispatch import Call
from labext_magics.grammar import Parameter
from labext_magics.line import quote

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def follow(call: Call, what: str, name: str, *, background: bool = False) -> pd.DataFrame | None:
    """Draw an episode until it ends, and return its row; in the background return nothing.

    Args:
        call: what the line has to work with.
        what: its identifier, since two may have one name; or its job's, where that is all that is
            known of it.
        name: what the user calls it.
        background: return at once, and keep the bar moving.

    Raises:
        JobFailedError: it failed.
        WatchInterrupted: the kernel was interrupted; the service goes on.
    """
    import labext_widgets
    from labext.nb.making import job_id

    podcasts = call.nb.podcasts

    def watched() -> Iterator[Progress]:
        for seen in podcasts.watch(what):  # a job knows no name
            yield replace(seen, subject=name)

    def retry() -> Iterator[Progress]:
        nonlocal what
        # Of a job that failed the service may tell no episode; there is one by its name.
        what = begun(podcasts.retry(name if job_id(what) else what))
        return watched()

    last = labext_widgets.follow_podcast(
        watched(),
        again=f"%nb episodes wait {quote(name)}",
        retry=retry,
        made=lambda: (podcasts.episode(what), lambda: podcasts.sound(what)),
        background=background,
    )
    if last is None or last.outcome is None:
        return None
    if last.outcome is Outcome.COMPLETE:
        return row(podcasts.episode(what))
    if name in podcasts.names():
        raise failed(name, last.reason)
    raise _without_a_trace(name, last.reason)


def shown_again(call: Call, record: Record) -> None:
    """Show the player of an episode that is there, where it was shown when the episode was made."""
    import labext_widgets
    from labext_widgets.front import FrontEnd, front_end

    if front_end() is FrontEnd.INTERACTIVE:
        podcasts, what = call.nb.podcasts, str(record["id"])
        labext_widgets.player(podcasts.episode(what), lambda: podcasts.sound(what))


def begun(sent: Record) -> str:
    """Return what is watched of an episode that was asked for: itself, else its job."""
    return str(sent["episode_id"] or sent["job_id"])


def failed(name: str, reason: str | None) -> JobFailedError:
    """Return the error of an episode that failed, with its reason and how it is tried again."""
    return JobFailedError(
        _why(name, reason),
        f"Mend the cause, then `%nb episodes retry {quote(name)}` makes it again.",
    )


def _without_a_trace(name: str, reason: str | None) -> JobFailedError:
    """Return the error of an episode that failed, or was deleted, and can't be tried again."""
    return JobFailedError(
        _why(name, reason),
        "No episode is there to try again: mend the cause, then run `%nb podcast` again.",
    )


def _why(name: str, reason: str | None) -> str:
    because = f": {reason.rstrip('.')}" if reason else ""
    return f"The episode {name} has failed{because}."


def row(record: Record) -> pd.DataFrame:
    """Return one episode as a frame, without what is said in it."""
    from labext.nb.podcastviews import episodes

    short = {key: value for key, value in record.items() if key not in ("outline", "transcript")}
    return episodes([short])


BACKGROUND = Parameter("background", None, "give the prompt back, and keep the bar moving")
WAIT = Parameter("wait", None, "watch until it is made; this is so without it too")

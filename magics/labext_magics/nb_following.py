"""Podcasts as they are made: watched to their end, and what has failed told with the way on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from labext.errors import JobFailedError
from labext.progress import Outcome, Progress
from labext_magics.dispatch import Call
from labext_magics.grammar import Parameter
from labext_magics.line import quote

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record


def follow(call: Call, episode: str, name: str, *, background: bool = False) -> pd.DataFrame | None:
    """Draw an episode until it ends, and return its row; in the background return nothing.

    Args:
        call: what the line has to work with.
        episode: its identifier, since two may have one name.
        name: what the user calls it.
        background: return at once, and keep the bar moving.

    Raises:
        JobFailedError: it failed.
        WatchInterrupted: the kernel was interrupted; the service goes on.
    """
    import labext_widgets

    podcasts = call.nb.podcasts

    def retry() -> Iterator[Progress]:
        return podcasts.watch(str(podcasts.retry(episode)["episode_id"]))

    last = labext_widgets.follow_podcast(
        podcasts.watch(episode),
        again=f"%nb episodes wait {quote(name)}",
        retry=retry,
        made=lambda: (podcasts.episode(episode), lambda: podcasts.sound(episode)),
        background=background,
    )
    if last is None or last.outcome is None:
        return None
    if last.outcome is not Outcome.COMPLETE:
        raise failed(name, last.reason)
    return row(podcasts.episode(episode))


def failed(name: str, reason: str | None) -> JobFailedError:
    """Return the error of an episode that failed, with its reason and how it is tried again."""
    because = f": {reason.rstrip('.')}" if reason else ""
    return JobFailedError(
        f"The episode {name} has failed{because}.",
        f"Mend the cause, then `%nb episodes retry {quote(name)}` makes it again.",
    )


def row(record: Record) -> pd.DataFrame:
    """Return one episode as a frame, without what is said in it."""
    from labext.nb.podcastviews import episodes

    short = {key: value for key, value in record.items() if key not in ("outline", "transcript")}
    return episodes([short])


BACKGROUND = Parameter("background", None, "give the prompt back, and keep the bar moving")
WAIT = Parameter("wait", None, "watch until it is made; this is so without it too")

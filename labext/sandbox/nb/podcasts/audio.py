"""Hands out the sound of an episode."""

from __future__ import annotations

from starlette.responses import Response

from labext.sandbox.nb import faults
from labext.sandbox.nb.downloads import Download
from labext.sandbox.nb.podcasts import files, records
from labext.sandbox.nb.podcasts.store import Episode
from labext.sandbox.nb.store import COMPLETED, FAILED, RUNNING
from labext.sandbox.service import Site


def audio(site: Site, identifier: str) -> Response:
    """The sound of a completed episode, MP3; Range, If-Range and ETag are there.

    Raises:
        HTTPException: 404, there is no such episode, or it has no sound: the sentence says why.
    """
    with site.database.read() as session:
        episode = records.found(session, identifier)
    if episode.status != COMPLETED:
        raise faults.missing(_why(episode))
    gone = faults.missing(f"The sound of the episode {episode.name} is no longer there.")
    return Download(files.sound(site, identifier), "audio/mpeg", gone)


def _why(episode: Episode) -> str:
    if episode.status == FAILED:
        return f"The episode {episode.name} has no sound: it failed. {episode.reason}"
    if episode.status == RUNNING:
        return f"The episode {episode.name} has no sound yet: {records.stage(episode)}."
    return f"The episode {episode.name} has no sound yet: it waits for its turn."

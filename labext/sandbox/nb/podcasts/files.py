"""Where the audio of podcast episodes is kept.

<service>/episodes/<id>.mp3   the sound of a completed episode
<service>/work/<id>/          where the process of one works (`sources.folders.work`)
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.database import after_commit
from labext.sandbox.folder import entries
from labext.sandbox.nb.podcasts.store import Episode
from labext.sandbox.nb.store import COMPLETED, FAILED
from labext.sandbox.service import Site

EPISODES = "episodes"
"""The folder of audio files; every entry belongs to an episode."""


def name(identifier: str) -> str:
    """The sound of an episode as it is told: `episodes/n5skkax1bon24v7t4bg5.mp3`."""
    return f"{EPISODES}/{identifier.rpartition(':')[2]}.mp3"


def sound(site: Site, identifier: str) -> Path:
    """The sound of an episode."""
    return site.folder / name(identifier)


def prepare(site: Site) -> None:
    """Make the folder, and mark completed episodes whose audio is missing as failed."""
    folder = site.folder / EPISODES
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with site.database.read() as session:
        completed = session.scalars(select(Episode.id).where(Episode.status == COMPLETED))
        lost = [identifier for identifier in completed if not sound(site, identifier).exists()]
    if lost:
        _fail(site, lost)


def orphans(site: Site) -> Collection[Path]:
    """Return the audio files that have no episode."""
    with site.database.read() as session:
        kept = {sound(site, identifier) for identifier in session.scalars(select(Episode.id))}
    return entries(site.folder / EPISODES) - kept


def remove_after_commit(session: Session, site: Site, identifier: str) -> None:
    """Remove an episode's sound, once the transaction that deletes the episode stands."""
    after_commit(session, partial(sound(site, identifier).unlink, missing_ok=True))


def _fail(site: Site, identifiers: list[str]) -> None:
    """Have these episodes made again when they are retried; their transcripts stay until then."""
    with site.database.write() as session:
        for identifier in identifiers:
            episode = session.get_one(Episode, identifier)
            episode.status, episode.reason = FAILED, "Its sound is no longer there; retry it."
            episode.duration = episode.size = None

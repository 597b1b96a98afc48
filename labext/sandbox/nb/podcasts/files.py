"""Where an episode's sound is, and how what no episode stands for is cleared away.

<service>/episodes/<id>.mp3   the sound of a completed episode
<service>/work/<id>/          where the process of one works (`sources.folders.work`)
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.database import after_commit
from labext.sandbox.nb.podcasts.store import Episode
from labext.sandbox.nb.store import COMPLETED, FAILED
from labext.sandbox.service import Site

_FOLDER = "episodes"


def name(identifier: str) -> str:
    """The sound of an episode as it is told: `episodes/n5skkax1bon24v7t4bg5.mp3`."""
    return f"{_FOLDER}/{identifier.rpartition(':')[2]}.mp3"


def sound(site: Site, identifier: str) -> Path:
    """The sound of an episode."""
    return site.folder / name(identifier)


def prepare(site: Site) -> None:
    """Make the folder; see that completed episodes have their sounds, and that no others have.

    A kill may have left a sound that was moved, but whose episode was not completed.
    """
    folder = site.folder / _FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    there = {file.name for file in folder.iterdir()}
    with site.database.read() as session:
        completed = select(Episode.id).where(Episode.status == COMPLETED)
        wanted = {sound(site, each).name: each for each in session.scalars(completed)}
    for orphan in there - wanted.keys():
        (folder / orphan).unlink(missing_ok=True)
    if lost := [wanted[each] for each in wanted.keys() - there]:
        _fail(site, lost)


def remove_after_commit(session: Session, site: Site, identifier: str) -> None:
    """Remove an episode's sound, once the transaction that deletes the episode stands."""
    after_commit(session, partial(sound(site, identifier).unlink, missing_ok=True))


def _fail(site: Site, identifiers: list[str]) -> None:
    with site.database.write() as session:
        for identifier in identifiers:
            episode = session.get_one(Episode, identifier)
            episode.status, episode.reason = FAILED, "Its sound is no longer there; retry it."
            episode.outline = episode.transcript = None
            episode.duration = episode.size = None

"""What the two kinds of profile have in common: names of their own, found by name or identifier."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TypeVar

from sqlalchemy import func, inspect, select
from sqlalchemy.orm import Session

from labext.sandbox.nb import faults, identifiers
from labext.sandbox.nb.bodies import LONGEST_LINE
from labext.sandbox.nb.podcasts.store import EpisodeProfile, SpeakerProfile

Profile = TypeVar("Profile", SpeakerProfile, EpisodeProfile)

NOUNS: Mapping[type[SpeakerProfile | EpisodeProfile], str] = {
    SpeakerProfile: "speaker profile",
    EpisodeProfile: "episode profile",
}

_IDENTIFIERS: Mapping[type[SpeakerProfile | EpisodeProfile], str] = {
    SpeakerProfile: "speaker",
    EpisodeProfile: "episode_profile",
}


def found(session: Session, table: type[Profile], named: str) -> Profile:
    """The profile of an identifier, or else of a name.

    Raises:
        HTTPException: 404.
    """
    profile = session.get(table, named) or session.scalar(select(table).where(table.name == named))
    if profile is None:
        raise faults.absent(NOUNS[table], named)
    return profile


def several(session: Session, table: type[Profile]) -> list[Profile]:
    """All of a kind, by their names."""
    return list(session.scalars(select(table).order_by(func.lower(table.name), table.name)))


def check_free(session: Session, table: type[Profile], name: str) -> None:
    """See that no profile of the kind has a name.

    Raises:
        HTTPException: 400.
    """
    if _is_taken(session, table, name):
        raise faults.invalid(f"There is the {NOUNS[table]} {name} already. Choose another name.")


def identifier(table: type[Profile]) -> str:
    """A new identifier of a kind: `speaker:…`, `episode_profile:…`."""
    return identifiers.new(_IDENTIFIERS[table])


def copied(session: Session, table: type[Profile], named: str) -> Profile:
    """A copy of a profile, under a name of its own.

    Raises:
        HTTPException: 404.
    """
    profile = found(session, table, named)
    now = time.time()
    own = {
        "id": identifier(table),
        "name": _copied_name(session, table, profile.name),
        "created": now,
        "updated": now,
    }
    same = {column.key: getattr(profile, column.key) for column in inspect(table).columns}
    made = table(**same | own)
    session.add(made)
    return made


def _copied_name(session: Session, table: type[Profile], name: str) -> str:
    """A free name for a copy: `interview - Copy`, then `interview - Copy 2` and so on."""
    number = 1
    while True:
        ending = " - Copy" if number == 1 else f" - Copy {number}"
        wanted = name[: LONGEST_LINE - len(ending)] + ending
        if not _is_taken(session, table, wanted):
            return wanted
        number += 1


def _is_taken(session: Session, table: type[Profile], name: str) -> bool:
    return session.scalar(select(table.id).where(table.name == name)) is not None

"""Speaker profiles found, made, changed, copied and deleted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.nb import faults, limits
from labext.sandbox.nb.calls import moment
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.podcasts import profiles
from labext.sandbox.nb.podcasts.profile_bodies import (
    ChangedSpeakerProfile,
    NewSpeaker,
    NewSpeakerProfile,
)
from labext.sandbox.nb.podcasts.store import EpisodeProfile, SpeakerProfile
from labext.sandbox.service import Site


def listed(site: Site) -> list[dict[str, Any]]:
    """The records of all, by their names."""
    with site.database.read() as session:
        return [record(each) for each in profiles.several(session, SpeakerProfile)]


def shown(site: Site, named: str) -> dict[str, Any]:
    """The record of a profile, by its name or identifier.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        return record(profiles.found(session, SpeakerProfile, named))


def make(site: Site, wanted: NewSpeakerProfile) -> dict[str, Any]:
    """Make a profile; its record.

    Raises:
        HTTPException: 400, the name is taken, or two speakers have one name; 404, there is no such
            model; 422, it does not speak; 413, a text is too long.
    """
    with site.database.write() as session:
        profiles.check_free(session, SpeakerProfile, wanted.name)
        _check(session, wanted.voice_model, wanted.speakers, wanted.description)
        made = new(wanted)
        session.add(made)
    return record(made)


def new(wanted: NewSpeakerProfile) -> SpeakerProfile:
    """The row of a new profile."""
    now = time.time()
    return SpeakerProfile(
        id=profiles.identifier(SpeakerProfile),
        name=wanted.name,
        description=wanted.description,
        voice_model=wanted.voice_model,
        speakers=_dumped(wanted.speakers),
        created=now,
        updated=now,
    )


def change(site: Site, named: str, wanted: ChangedSpeakerProfile) -> dict[str, Any]:
    """Change what is given of a profile; its record.

    Raises:
        HTTPException: 404; else as `make`.
    """
    with site.database.write() as session:
        profile = profiles.found(session, SpeakerProfile, named)
        if wanted.name is not None and wanted.name != profile.name:
            profiles.check_free(session, SpeakerProfile, wanted.name)
            profile.name = wanted.name
        _check(session, wanted.voice_model, wanted.speakers or (), wanted.description)
        if wanted.description is not None:
            profile.description = wanted.description
        if "voice_model" in wanted.model_fields_set:
            profile.voice_model = wanted.voice_model
        if wanted.speakers is not None:
            profile.speakers = _dumped(wanted.speakers)
        if session.is_modified(profile):
            profile.updated = time.time()
    return record(profile)


def duplicate(site: Site, named: str) -> dict[str, Any]:
    """Make a profile that is as another one, under a name of its own; its record.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        made = profiles.copied(session, SpeakerProfile, named)
    return record(made)


def delete(site: Site, named: str) -> dict[str, str]:
    """Delete a profile; says so.

    Raises:
        HTTPException: 404; 400, an episode profile names it.
    """
    with site.database.write() as session:
        profile = profiles.found(session, SpeakerProfile, named)
        users = [
            each.name
            for each in session.scalars(select(EpisodeProfile).order_by(EpisodeProfile.name))
            if profile.id in each.speaker_profile_ids
        ]
        if users:
            raise faults.invalid(
                f"The speaker profile {profile.name} speaks in the episode profile {users[0]}"
                f"{f' and {len(users) - 1} more' if users[1:] else ''}. Name other speakers there "
                "first, or delete that."
            )
        session.delete(profile)
    return {"message": f"The speaker profile {profile.name} is deleted."}


def record(profile: SpeakerProfile) -> dict[str, Any]:
    """A profile as it is answered, and as an episode keeps it."""
    return {
        "id": profile.id,
        "name": profile.name,
        "description": profile.description,
        "voice_model": profile.voice_model,
        "speakers": profile.speakers,
        "created_at": moment(profile.created),
        "updated_at": moment(profile.updated),
    }


def check_names(names: Sequence[str]) -> None:
    """See that no two who speak have one name: who said what could not be told.

    Raises:
        HTTPException: 400.
    """
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise faults.invalid(f"Two speakers are called {name}. Give one of them another name.")
        seen.add(name.casefold())


def _check(
    session: Session, model: str | None, speakers: Sequence[NewSpeaker], description: str | None
) -> None:
    if model is not None:
        registry.model(session, model, registry.TTS)
    check_names([each.name for each in speakers])
    told = [text for each in speakers for text in (each.backstory, each.personality)]
    limits.check_text(session, description, *told)


def _dumped(speakers: Sequence[NewSpeaker]) -> list[dict[str, Any]]:
    return [each.model_dump() for each in speakers]

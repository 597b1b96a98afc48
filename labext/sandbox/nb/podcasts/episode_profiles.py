"""Episode profiles found, made, changed, copied and deleted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from labext.sandbox.nb import faults, limits
from labext.sandbox.nb.calls import moment
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.podcasts import profiles
from labext.sandbox.nb.podcasts.profile_bodies import ChangedEpisodeProfile, NewEpisodeProfile
from labext.sandbox.nb.podcasts.store import EpisodeProfile, SpeakerProfile
from labext.sandbox.service import Site

_COLUMNS = {"default_briefing": "briefing", "num_segments": "segments"}
"""The columns that are called otherwise than their fields."""

_NULLABLE = {"outline_llm", "transcript_llm", "language", "max_tokens"}
"""The fields of which null takes the value away."""


def listed(site: Site) -> list[dict[str, Any]]:
    """The records of all, by their names."""
    with site.database.read() as session:
        return [record(each) for each in profiles.several(session, EpisodeProfile)]


def shown(site: Site, named: str) -> dict[str, Any]:
    """The record of a profile, by its name or identifier.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        return record(profiles.found(session, EpisodeProfile, named))


def make(site: Site, wanted: NewEpisodeProfile) -> dict[str, Any]:
    """Make a profile; its record.

    Raises:
        HTTPException: 400, the name is taken, or a speaker is named twice; 404, there is no such
            model or speaker profile; 422, the model does not write; 413, a text is too long.
    """
    with site.database.write() as session:
        made = new(session, wanted)
    return record(made)


def new(session: Session, wanted: NewEpisodeProfile) -> EpisodeProfile:
    """A new profile, in this transaction; see `make`."""
    profiles.check_free(session, EpisodeProfile, wanted.name)
    now = time.time()
    made = EpisodeProfile(
        id=profiles.identifier(EpisodeProfile), name=wanted.name, created=now, updated=now
    )
    _take_over(session, made, wanted)
    session.add(made)
    return made


def change(site: Site, named: str, wanted: ChangedEpisodeProfile) -> dict[str, Any]:
    """Change what is given of a profile; its record.

    Raises:
        HTTPException: 404; else as `make`.
    """
    with site.database.write() as session:
        profile = profiles.found(session, EpisodeProfile, named)
        if wanted.name is not None and wanted.name != profile.name:
            profiles.check_free(session, EpisodeProfile, wanted.name)
        _take_over(session, profile, wanted)
        if session.is_modified(profile):
            profile.updated = time.time()
    return record(profile)


def duplicate(site: Site, named: str) -> dict[str, Any]:
    """Make a profile that is as another one, under a name of its own; its record.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        made = profiles.copied(session, EpisodeProfile, named)
    return record(made)


def delete(site: Site, named: str) -> dict[str, str]:
    """Delete a profile; says so. Its episodes stay as they are.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        profile = profiles.found(session, EpisodeProfile, named)
        session.delete(profile)
    return {"message": f"The episode profile {profile.name} is deleted."}


def record(profile: EpisodeProfile) -> dict[str, Any]:
    """A profile as it is answered, and as an episode keeps it."""
    return {
        "id": profile.id,
        "name": profile.name,
        "description": profile.description,
        "speaker_profile_ids": profile.speaker_profile_ids,
        "outline_llm": profile.outline_llm,
        "transcript_llm": profile.transcript_llm,
        "language": profile.language,
        "default_briefing": profile.briefing,
        "num_segments": profile.segments,
        "max_tokens": profile.max_tokens,
        "created_at": moment(profile.created),
        "updated_at": moment(profile.updated),
    }


def _take_over(
    session: Session, profile: EpisodeProfile, wanted: NewEpisodeProfile | ChangedEpisodeProfile
) -> None:
    """Give a profile what is given, after a look at it."""
    for model in (wanted.outline_llm, wanted.transcript_llm):
        if model is not None:
            registry.model(session, model, registry.LLM)
    limits.check_text(session, wanted.description, wanted.default_briefing)
    given = wanted.model_dump()
    if isinstance(wanted, ChangedEpisodeProfile):
        taken = wanted.model_fields_set & _NULLABLE
        given = {name: value for name, value in given.items() if value is not None or name in taken}
    if (speakers := given.get("speaker_profile_ids")) is not None:
        given["speaker_profile_ids"] = _identified(session, speakers)
    if "language" in given:
        given["language"] = given["language"] or None
    for name, value in given.items():
        setattr(profile, _COLUMNS.get(name, name), value)


def _identified(session: Session, named: Sequence[str]) -> list[str]:
    """The identifiers of speaker profiles."""
    found = [profiles.found(session, SpeakerProfile, each) for each in named]
    for profile in found:
        if found.count(profile) > 1:
            raise faults.invalid(
                f"The speaker profile {profile.name} is named twice. Name it once."
            )
    return [profile.id for profile in found]

"""Load, validate, create and update speaker and episode profiles."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeVar

from sqlalchemy import inspect, select
from sqlalchemy.orm import Session

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, limits
from labext.sandbox.nb.podcast_profiles.schemas import (
    EpisodeProfileUpdate,
    NewEpisodeProfile,
    NewSpeakerProfile,
    SpeakerProfileUpdate,
)
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.schemas import MAX_LINE_LENGTH
from labext.sandbox.nb.tables import EpisodeProfile, SpeakerProfile

Profile = TypeVar("Profile", SpeakerProfile, EpisodeProfile)
NewProfile = NewSpeakerProfile | NewEpisodeProfile
ProfileUpdate = SpeakerProfileUpdate | EpisodeProfileUpdate

_MODEL_TYPES = {
    "voice_model": registry.TTS,
    "outline_llm": registry.LLM,
    "transcript_llm": registry.LLM,
}
"""Fields that name a model, with its type."""

_COLUMNS = {"default_briefing": "briefing", "num_segments": "segments"}
"""Columns whose names differ from those of their fields."""

_NULLABLE = {*_MODEL_TYPES, "language", "max_tokens"}
"""Fields whose value is removed by null."""


def load_profile(session: Session, name: str, table: type[Profile]) -> Profile:
    """Return a profile by its identifier, or else by its name.

    Raises:
        HTTPException: 404.
    """
    profile = session.get(table, name) or session.scalar(select(table).where(table.name == name))
    if profile is None:
        raise errors.not_found(table.noun, name)
    return profile


def create_profile(session: Session, table: type[Profile], new: NewProfile) -> Profile:
    """Create a profile.

    Raises:
        HTTPException: 400 if the name is taken or a speaker is given twice; 404 if a model or
            speaker profile does not exist; 422 if a model has the wrong type; 413 if a text is too
            long.
    """
    _check_name_free(session, table, new.name)
    profile = table(**_column_values(session, new.model_dump()))
    session.add(profile)
    return profile


def update_profile(site: Site, table: type[Profile], name: str, update: ProfileUpdate) -> Profile:
    """Change the given fields of a profile.

    Raises:
        HTTPException: 404; else as `create_profile`.
    """
    cleared = update.model_fields_set & _NULLABLE
    fields = {
        field: value
        for field, value in update.model_dump().items()
        if value is not None or field in cleared
    }
    with site.database.write() as session:
        profile = load_profile(session, name, table)
        if fields.get("name", profile.name) != profile.name:
            _check_name_free(session, table, fields["name"])
        for column, value in _column_values(session, fields).items():
            setattr(profile, column, value)
        if session.is_modified(profile):
            profile.updated = time.time()
    return profile


def copy_profile(site: Site, table: type[Profile], name: str) -> Profile:
    """Copy a profile under a free name: `interview - Copy`, then `interview - Copy 2` and so on.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        profile = load_profile(session, name, table)
        values = {column.key: getattr(profile, column.key) for column in inspect(table).columns}
        for own in ("id", "created", "updated"):
            del values[own]
        copy = table(**values | {"name": _name_of_copy(session, table, profile.name)})
        session.add(copy)
    return copy


def check_unused(session: Session, profile: SpeakerProfile) -> None:
    """Check that no episode profile uses a speaker profile.

    Raises:
        HTTPException: 400.
    """
    episode_profiles = session.scalars(select(EpisodeProfile).order_by(EpisodeProfile.name))
    users = [item.name for item in episode_profiles if profile.id in item.speaker_profile_ids]
    if users:
        more = f" and {len(users) - 1} more" if users[1:] else ""
        raise errors.bad_request(
            f"The speaker profile {profile.name} is used by the episode profile {users[0]}{more}. "
            "Choose other speakers there first, or delete it."
        )


def check_speaker_names(names: Sequence[str]) -> None:
    """Check that speaker names are unique.

    Raises:
        HTTPException: 400.
    """
    folded = [name.casefold() for name in names]
    for number, name in enumerate(names):
        if folded.index(name.casefold()) < number:
            raise errors.bad_request(
                f"Two speakers are called {name}. Give one of them another name."
            )


def _column_values(session: Session, fields: dict[str, Any]) -> dict[str, Any]:
    """Validate the given fields of a profile and return the values of its columns."""
    for field, kind in _MODEL_TYPES.items():
        if (model := fields.get(field)) is not None:
            registry.get_model(session, model, kind)
    speakers = fields.get("speakers", ())
    check_speaker_names([speaker["name"] for speaker in speakers])
    texts = [speaker[field] for speaker in speakers for field in ("backstory", "personality")]
    limits.check_text_size(
        session, fields.get("description"), fields.get("default_briefing"), *texts
    )
    values = {_COLUMNS.get(field, field): value for field, value in fields.items()}
    if "speaker_profile_ids" in values:
        values["speaker_profile_ids"] = _speaker_profile_ids(session, values["speaker_profile_ids"])
    if "language" in values:
        values["language"] = values["language"] or None
    return values


def _speaker_profile_ids(session: Session, names: Sequence[str]) -> list[str]:
    """Return the identifiers of speaker profiles given by name or identifier."""
    profiles = [load_profile(session, name, SpeakerProfile) for name in names]
    for profile in profiles:
        if profiles.count(profile) > 1:
            raise errors.bad_request(
                f"The speaker profile {profile.name} is given twice. Give it once."
            )
    return [profile.id for profile in profiles]


def _check_name_free(session: Session, table: type[Profile], name: str) -> None:
    if _is_taken(session, table, name):
        raise errors.bad_request(f"The {table.noun} {name} already exists. Choose another name.")


def _is_taken(session: Session, table: type[Profile], name: str) -> bool:
    return session.scalar(select(table.id).where(table.name == name)) is not None


def _name_of_copy(session: Session, table: type[Profile], name: str) -> str:
    number = 1
    while True:
        ending = " - Copy" if number == 1 else f" - Copy {number}"
        candidate = name[: MAX_LINE_LENGTH - len(ending)] + ending
        if not _is_taken(session, table, candidate):
            return candidate
        number += 1

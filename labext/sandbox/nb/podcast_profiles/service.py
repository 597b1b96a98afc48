"""List, create, update, duplicate and delete speaker and episode profiles."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import func, inspect, select
from sqlalchemy.orm import Session

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, limits, tables
from labext.sandbox.nb.dependencies import format_time
from labext.sandbox.nb.podcast_profiles.schemas import (
    EpisodeProfileUpdate,
    NewEpisodeProfile,
    NewSpeaker,
    NewSpeakerProfile,
    SpeakerProfileUpdate,
)
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.schemas import MAX_LINE_LENGTH
from labext.sandbox.nb.tables import EpisodeProfile, SpeakerProfile

Profile = TypeVar("Profile", SpeakerProfile, EpisodeProfile)

NOUNS: Mapping[type[SpeakerProfile | EpisodeProfile], str] = {
    SpeakerProfile: "speaker profile",
    EpisodeProfile: "episode profile",
}

_IDENTIFIER_PREFIXES: Mapping[type[SpeakerProfile | EpisodeProfile], str] = {
    SpeakerProfile: "speaker",
    EpisodeProfile: "episode_profile",
}


def load_profile(session: Session, table: type[Profile], named: str) -> Profile:
    """Return a profile by its identifier, or else by its name.

    Raises:
        HTTPException: 404.
    """
    profile = session.get(table, named) or session.scalar(select(table).where(table.name == named))
    if profile is None:
        raise errors.not_found(NOUNS[table], named)
    return profile


def load_profiles(session: Session, table: type[Profile]) -> list[Profile]:
    """Return all profiles of a kind, ordered by name."""
    return list(session.scalars(select(table).order_by(func.lower(table.name), table.name)))


def check_name_free(session: Session, table: type[Profile], name: str) -> None:
    """Check that no profile of the kind has a name.

    Raises:
        HTTPException: 400.
    """
    if _is_taken(session, table, name):
        raise errors.bad_request(
            f"There is the {NOUNS[table]} {name} already. Choose another name."
        )


def new_profile_identifier(table: type[Profile]) -> str:
    """Return a new identifier: `speaker:…` or `episode_profile:…`."""
    return tables.new_identifier(_IDENTIFIER_PREFIXES[table])


def copy_profile(session: Session, table: type[Profile], named: str) -> Profile:
    """Return a copy of a profile under a new name.

    Raises:
        HTTPException: 404.
    """
    profile = load_profile(session, table, named)
    now = time.time()
    changes = {
        "id": new_profile_identifier(table),
        "name": _name_of_copy(session, table, profile.name),
        "created": now,
        "updated": now,
    }
    values = {column.key: getattr(profile, column.key) for column in inspect(table).columns}
    copy = table(**values | changes)
    session.add(copy)
    return copy


def _name_of_copy(session: Session, table: type[Profile], name: str) -> str:
    """Return a free name for a copy: `interview - Copy`, then `interview - Copy 2` and so on."""
    number = 1
    while True:
        ending = " - Copy" if number == 1 else f" - Copy {number}"
        candidate = name[: MAX_LINE_LENGTH - len(ending)] + ending
        if not _is_taken(session, table, candidate):
            return candidate
        number += 1


def _is_taken(session: Session, table: type[Profile], name: str) -> bool:
    return session.scalar(select(table.id).where(table.name == name)) is not None


def list_speaker_profiles(site: Site) -> list[dict[str, Any]]:
    """Return the records of all speaker profiles, ordered by name."""
    with site.database.read() as session:
        return [
            speaker_profile_record(profile) for profile in load_profiles(session, SpeakerProfile)
        ]


def get_speaker_profile(site: Site, named: str) -> dict[str, Any]:
    """Return the record of a speaker profile, by its name or identifier.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        return speaker_profile_record(load_profile(session, SpeakerProfile, named))


def create_speaker_profile(site: Site, new: NewSpeakerProfile) -> dict[str, Any]:
    """Create a speaker profile and return its record.

    Raises:
        HTTPException: 400 if the name is taken or two speakers have the same name; 404 if the model
            does not exist; 422 if it is not of type `tts`; 413 if a text is too long.
    """
    with site.database.write() as session:
        check_name_free(session, SpeakerProfile, new.name)
        _check_speaker_profile(session, new.voice_model, new.speakers, new.description)
        profile = new_speaker_profile(new)
        session.add(profile)
    return speaker_profile_record(profile)


def new_speaker_profile(new: NewSpeakerProfile) -> SpeakerProfile:
    """Return the row of a new speaker profile."""
    now = time.time()
    return SpeakerProfile(
        id=new_profile_identifier(SpeakerProfile),
        name=new.name,
        description=new.description,
        voice_model=new.voice_model,
        speakers=_dump_speakers(new.speakers),
        created=now,
        updated=now,
    )


def update_speaker_profile(site: Site, named: str, update: SpeakerProfileUpdate) -> dict[str, Any]:
    """Change the given fields of a speaker profile and return its record.

    Raises:
        HTTPException: 404; else as `create_speaker_profile`.
    """
    with site.database.write() as session:
        profile = load_profile(session, SpeakerProfile, named)
        if update.name is not None and update.name != profile.name:
            check_name_free(session, SpeakerProfile, update.name)
            profile.name = update.name
        _check_speaker_profile(
            session, update.voice_model, update.speakers or (), update.description
        )
        if update.description is not None:
            profile.description = update.description
        if "voice_model" in update.model_fields_set:
            profile.voice_model = update.voice_model
        if update.speakers is not None:
            profile.speakers = _dump_speakers(update.speakers)
        if session.is_modified(profile):
            profile.updated = time.time()
    return speaker_profile_record(profile)


def duplicate_speaker_profile(site: Site, named: str) -> dict[str, Any]:
    """Copy a speaker profile under a new name and return its record.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        copy = copy_profile(session, SpeakerProfile, named)
    return speaker_profile_record(copy)


def delete_speaker_profile(site: Site, named: str) -> dict[str, str]:
    """Delete a speaker profile and return a message.

    Raises:
        HTTPException: 404; 400 if an episode profile uses it.
    """
    with site.database.write() as session:
        profile = load_profile(session, SpeakerProfile, named)
        users = [
            episode_profile.name
            for episode_profile in session.scalars(
                select(EpisodeProfile).order_by(EpisodeProfile.name)
            )
            if profile.id in episode_profile.speaker_profile_ids
        ]
        if users:
            raise errors.bad_request(
                f"The speaker profile {profile.name} speaks in the episode profile {users[0]}"
                f"{f' and {len(users) - 1} more' if users[1:] else ''}. Name other speakers there "
                "first, or delete that."
            )
        session.delete(profile)
    return {"message": f"The speaker profile {profile.name} is deleted."}


def speaker_profile_record(profile: SpeakerProfile) -> dict[str, Any]:
    """Return a profile's record, as used in responses and stored with episodes."""
    return {
        "id": profile.id,
        "name": profile.name,
        "description": profile.description,
        "voice_model": profile.voice_model,
        "speakers": profile.speakers,
        "created_at": format_time(profile.created),
        "updated_at": format_time(profile.updated),
    }


def check_speaker_names(names: Sequence[str]) -> None:
    """Check that speaker names are unique.

    Raises:
        HTTPException: 400.
    """
    names_so_far: set[str] = set()
    for name in names:
        if name.casefold() in names_so_far:
            raise errors.bad_request(
                f"Two speakers are called {name}. Give one of them another name."
            )
        names_so_far.add(name.casefold())


def _check_speaker_profile(
    session: Session, model: str | None, speakers: Sequence[NewSpeaker], description: str | None
) -> None:
    if model is not None:
        registry.get_model(session, model, registry.TTS)
    check_speaker_names([speaker.name for speaker in speakers])
    texts = [text for speaker in speakers for text in (speaker.backstory, speaker.personality)]
    limits.check_text_size(session, description, *texts)


def _dump_speakers(speakers: Sequence[NewSpeaker]) -> list[dict[str, Any]]:
    return [speaker.model_dump() for speaker in speakers]


_COLUMNS = {"default_briefing": "briefing", "num_segments": "segments"}
"""Columns whose names differ from those of their fields."""

_NULLABLE = {"outline_llm", "transcript_llm", "language", "max_tokens"}
"""Fields whose value is removed by null."""


def list_episode_profiles(site: Site) -> list[dict[str, Any]]:
    """Return the records of all episode profiles, ordered by name."""
    with site.database.read() as session:
        return [
            episode_profile_record(profile) for profile in load_profiles(session, EpisodeProfile)
        ]


def get_episode_profile(site: Site, named: str) -> dict[str, Any]:
    """Return the record of an episode profile, by its name or identifier.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        return episode_profile_record(load_profile(session, EpisodeProfile, named))


def create_episode_profile(site: Site, new: NewEpisodeProfile) -> dict[str, Any]:
    """Create an episode profile and return its record.

    Raises:
        HTTPException: 400 if the name is taken or a speaker profile is named twice; 404 if a model
            or speaker profile does not exist; 422 if a model is not of type `llm`; 413 if a text
            is too long.
    """
    with site.database.write() as session:
        profile = new_episode_profile(session, new)
    return episode_profile_record(profile)


def new_episode_profile(session: Session, new: NewEpisodeProfile) -> EpisodeProfile:
    """Create an episode profile in this transaction; see `create_episode_profile`."""
    check_name_free(session, EpisodeProfile, new.name)
    now = time.time()
    profile = EpisodeProfile(
        id=new_profile_identifier(EpisodeProfile), name=new.name, created=now, updated=now
    )
    _apply_episode_profile(session, profile, new)
    session.add(profile)
    return profile


def update_episode_profile(site: Site, named: str, update: EpisodeProfileUpdate) -> dict[str, Any]:
    """Change the given fields of an episode profile and return its record.

    Raises:
        HTTPException: 404; else as `create_episode_profile`.
    """
    with site.database.write() as session:
        profile = load_profile(session, EpisodeProfile, named)
        if update.name is not None and update.name != profile.name:
            check_name_free(session, EpisodeProfile, update.name)
        _apply_episode_profile(session, profile, update)
        if session.is_modified(profile):
            profile.updated = time.time()
    return episode_profile_record(profile)


def duplicate_episode_profile(site: Site, named: str) -> dict[str, Any]:
    """Copy an episode profile under a new name and return its record.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        copy = copy_profile(session, EpisodeProfile, named)
    return episode_profile_record(copy)


def delete_episode_profile(site: Site, named: str) -> dict[str, str]:
    """Delete an episode profile, keeping its episodes, and return a message.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        profile = load_profile(session, EpisodeProfile, named)
        session.delete(profile)
    return {"message": f"The episode profile {profile.name} is deleted."}


def episode_profile_record(profile: EpisodeProfile) -> dict[str, Any]:
    """Return a profile's record, as used in responses and stored with episodes."""
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
        "created_at": format_time(profile.created),
        "updated_at": format_time(profile.updated),
    }


def _apply_episode_profile(
    session: Session, profile: EpisodeProfile, fields: NewEpisodeProfile | EpisodeProfileUpdate
) -> None:
    """Validate the given fields and set them on a profile."""
    for model in (fields.outline_llm, fields.transcript_llm):
        if model is not None:
            registry.get_model(session, model, registry.LLM)
    limits.check_text_size(session, fields.description, fields.default_briefing)
    values = fields.model_dump()
    if isinstance(fields, EpisodeProfileUpdate):
        cleared = fields.model_fields_set & _NULLABLE
        values = {
            name: value for name, value in values.items() if value is not None or name in cleared
        }
    if (speakers := values.get("speaker_profile_ids")) is not None:
        values["speaker_profile_ids"] = _speaker_profile_identifiers(session, speakers)
    if "language" in values:
        values["language"] = values["language"] or None
    for name, value in values.items():
        setattr(profile, _COLUMNS.get(name, name), value)


def _speaker_profile_identifiers(session: Session, named: Sequence[str]) -> list[str]:
    """Return the identifiers of speaker profiles given by name or identifier."""
    profiles = [load_profile(session, SpeakerProfile, name) for name in named]
    for profile in profiles:
        if profiles.count(profile) > 1:
            raise errors.bad_request(
                f"The speaker profile {profile.name} is named twice. Name it once."
            )
    return [profile.id for profile in profiles]

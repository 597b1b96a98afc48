"""List, create, update, duplicate and delete speaker and episode profiles."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import func, inspect, select
from sqlalchemy.orm import Session

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, settings, tables
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
    """The profile of an identifier, or else of a name.

    Raises:
        HTTPException: 404.
    """
    profile = session.get(table, named) or session.scalar(select(table).where(table.name == named))
    if profile is None:
        raise errors.not_found(NOUNS[table], named)
    return profile


def load_profiles(session: Session, table: type[Profile]) -> list[Profile]:
    """All of a kind, by their names."""
    return list(session.scalars(select(table).order_by(func.lower(table.name), table.name)))


def check_name_free(session: Session, table: type[Profile], name: str) -> None:
    """See that no profile of the kind has a name.

    Raises:
        HTTPException: 400.
    """
    if _is_taken(session, table, name):
        raise errors.bad_request(
            f"There is the {NOUNS[table]} {name} already. Choose another name."
        )


def new_profile_identifier(table: type[Profile]) -> str:
    """A new identifier of a kind: `speaker:…`, `episode_profile:…`."""
    return tables.new_identifier(_IDENTIFIER_PREFIXES[table])


def copy_profile(session: Session, table: type[Profile], named: str) -> Profile:
    """A copy of a profile, under a name of its own.

    Raises:
        HTTPException: 404.
    """
    profile = load_profile(session, table, named)
    now = time.time()
    own = {
        "id": new_profile_identifier(table),
        "name": _name_of_copy(session, table, profile.name),
        "created": now,
        "updated": now,
    }
    same = {column.key: getattr(profile, column.key) for column in inspect(table).columns}
    made = table(**same | own)
    session.add(made)
    return made


def _name_of_copy(session: Session, table: type[Profile], name: str) -> str:
    """A free name for a copy: `interview - Copy`, then `interview - Copy 2` and so on."""
    number = 1
    while True:
        ending = " - Copy" if number == 1 else f" - Copy {number}"
        wanted = name[: MAX_LINE_LENGTH - len(ending)] + ending
        if not _is_taken(session, table, wanted):
            return wanted
        number += 1


def _is_taken(session: Session, table: type[Profile], name: str) -> bool:
    return session.scalar(select(table.id).where(table.name == name)) is not None


def list_speaker_profiles(site: Site) -> list[dict[str, Any]]:
    """The records of all, by their names."""
    with site.database.read() as session:
        return [speaker_profile_record(each) for each in load_profiles(session, SpeakerProfile)]


def get_speaker_profile(site: Site, named: str) -> dict[str, Any]:
    """The record of a profile, by its name or identifier.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        return speaker_profile_record(load_profile(session, SpeakerProfile, named))


def create_speaker_profile(site: Site, wanted: NewSpeakerProfile) -> dict[str, Any]:
    """Make a profile; its record.

    Raises:
        HTTPException: 400, the name is taken, or two speakers have one name; 404, there is no such
            model; 422, it does not speak; 413, a text is too long.
    """
    with site.database.write() as session:
        check_name_free(session, SpeakerProfile, wanted.name)
        _check_speaker_profile(session, wanted.voice_model, wanted.speakers, wanted.description)
        made = new_speaker_profile(wanted)
        session.add(made)
    return speaker_profile_record(made)


def new_speaker_profile(wanted: NewSpeakerProfile) -> SpeakerProfile:
    """The row of a new profile."""
    now = time.time()
    return SpeakerProfile(
        id=new_profile_identifier(SpeakerProfile),
        name=wanted.name,
        description=wanted.description,
        voice_model=wanted.voice_model,
        speakers=_dump_speakers(wanted.speakers),
        created=now,
        updated=now,
    )


def update_speaker_profile(site: Site, named: str, wanted: SpeakerProfileUpdate) -> dict[str, Any]:
    """Change what is given of a profile; its record.

    Raises:
        HTTPException: 404; else as `make`.
    """
    with site.database.write() as session:
        profile = load_profile(session, SpeakerProfile, named)
        if wanted.name is not None and wanted.name != profile.name:
            check_name_free(session, SpeakerProfile, wanted.name)
            profile.name = wanted.name
        _check_speaker_profile(
            session, wanted.voice_model, wanted.speakers or (), wanted.description
        )
        if wanted.description is not None:
            profile.description = wanted.description
        if "voice_model" in wanted.model_fields_set:
            profile.voice_model = wanted.voice_model
        if wanted.speakers is not None:
            profile.speakers = _dump_speakers(wanted.speakers)
        if session.is_modified(profile):
            profile.updated = time.time()
    return speaker_profile_record(profile)


def duplicate_speaker_profile(site: Site, named: str) -> dict[str, Any]:
    """Make a profile that is as another one, under a name of its own; its record.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        made = copy_profile(session, SpeakerProfile, named)
    return speaker_profile_record(made)


def delete_speaker_profile(site: Site, named: str) -> dict[str, str]:
    """Delete a profile; says so.

    Raises:
        HTTPException: 404; 400, an episode profile names it.
    """
    with site.database.write() as session:
        profile = load_profile(session, SpeakerProfile, named)
        users = [
            each.name
            for each in session.scalars(select(EpisodeProfile).order_by(EpisodeProfile.name))
            if profile.id in each.speaker_profile_ids
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
    """A profile as it is answered, and as an episode keeps it."""
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
    """See that no two who speak have one name: who said what could not be told.

    Raises:
        HTTPException: 400.
    """
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise errors.bad_request(
                f"Two speakers are called {name}. Give one of them another name."
            )
        seen.add(name.casefold())


def _check_speaker_profile(
    session: Session, model: str | None, speakers: Sequence[NewSpeaker], description: str | None
) -> None:
    if model is not None:
        registry.get_model(session, model, registry.TTS)
    check_speaker_names([each.name for each in speakers])
    told = [text for each in speakers for text in (each.backstory, each.personality)]
    settings.check_text_size(session, description, *told)


def _dump_speakers(speakers: Sequence[NewSpeaker]) -> list[dict[str, Any]]:
    return [each.model_dump() for each in speakers]


_COLUMNS = {"default_briefing": "briefing", "num_segments": "segments"}
"""The columns that are called otherwise than their fields."""

_NULLABLE = {"outline_llm", "transcript_llm", "language", "max_tokens"}
"""The fields of which null takes the value away."""


def list_episode_profiles(site: Site) -> list[dict[str, Any]]:
    """The records of all, by their names."""
    with site.database.read() as session:
        return [episode_profile_record(each) for each in load_profiles(session, EpisodeProfile)]


def get_episode_profile(site: Site, named: str) -> dict[str, Any]:
    """The record of a profile, by its name or identifier.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        return episode_profile_record(load_profile(session, EpisodeProfile, named))


def create_episode_profile(site: Site, wanted: NewEpisodeProfile) -> dict[str, Any]:
    """Make a profile; its record.

    Raises:
        HTTPException: 400, the name is taken, or a speaker is named twice; 404, there is no such
            model or speaker profile; 422, the model does not write; 413, a text is too long.
    """
    with site.database.write() as session:
        made = new_episode_profile(session, wanted)
    return episode_profile_record(made)


def new_episode_profile(session: Session, wanted: NewEpisodeProfile) -> EpisodeProfile:
    """A new profile, in this transaction; see `make`."""
    check_name_free(session, EpisodeProfile, wanted.name)
    now = time.time()
    made = EpisodeProfile(
        id=new_profile_identifier(EpisodeProfile), name=wanted.name, created=now, updated=now
    )
    _apply_episode_profile(session, made, wanted)
    session.add(made)
    return made


def update_episode_profile(site: Site, named: str, wanted: EpisodeProfileUpdate) -> dict[str, Any]:
    """Change what is given of a profile; its record.

    Raises:
        HTTPException: 404; else as `make`.
    """
    with site.database.write() as session:
        profile = load_profile(session, EpisodeProfile, named)
        if wanted.name is not None and wanted.name != profile.name:
            check_name_free(session, EpisodeProfile, wanted.name)
        _apply_episode_profile(session, profile, wanted)
        if session.is_modified(profile):
            profile.updated = time.time()
    return episode_profile_record(profile)


def duplicate_episode_profile(site: Site, named: str) -> dict[str, Any]:
    """Make a profile that is as another one, under a name of its own; its record.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        made = copy_profile(session, EpisodeProfile, named)
    return episode_profile_record(made)


def delete_episode_profile(site: Site, named: str) -> dict[str, str]:
    """Delete a profile; says so. Its episodes stay as they are.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        profile = load_profile(session, EpisodeProfile, named)
        session.delete(profile)
    return {"message": f"The episode profile {profile.name} is deleted."}


def episode_profile_record(profile: EpisodeProfile) -> dict[str, Any]:
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
        "created_at": format_time(profile.created),
        "updated_at": format_time(profile.updated),
    }


def _apply_episode_profile(
    session: Session, profile: EpisodeProfile, wanted: NewEpisodeProfile | EpisodeProfileUpdate
) -> None:
    """Give a profile what is given, after a look at it."""
    for model in (wanted.outline_llm, wanted.transcript_llm):
        if model is not None:
            registry.get_model(session, model, registry.LLM)
    settings.check_text_size(session, wanted.description, wanted.default_briefing)
    given = wanted.model_dump()
    if isinstance(wanted, EpisodeProfileUpdate):
        taken = wanted.model_fields_set & _NULLABLE
        given = {name: value for name, value in given.items() if value is not None or name in taken}
    if (speakers := given.get("speaker_profile_ids")) is not None:
        given["speaker_profile_ids"] = _speaker_profile_identifiers(session, speakers)
    if "language" in given:
        given["language"] = given["language"] or None
    for name, value in given.items():
        setattr(profile, _COLUMNS.get(name, name), value)


def _speaker_profile_identifiers(session: Session, named: Sequence[str]) -> list[str]:
    """The identifiers of speaker profiles."""
    found = [load_profile(session, SpeakerProfile, each) for each in named]
    for profile in found:
        if found.count(profile) > 1:
            raise errors.bad_request(
                f"The speaker profile {profile.name} is named twice. Name it once."
            )
    return [profile.id for profile in found]

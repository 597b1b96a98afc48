"""Speaker profiles and episode profiles of podcasts."""

# No postponed annotations: FastAPI could not resolve those of endpoints defined in a function.

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, count
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from sqlalchemy import func, inspect, select
from sqlalchemy.orm import Session

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.nb import errors, limits
from labext.sandbox.nb.crud import add_crud_routes
from labext.sandbox.nb.podcasts.inputs import MAX_SPEAKERS, check_speaker_names
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.schemas import (
    MAX_LINE_LENGTH,
    FreeText,
    Identifier,
    Name,
    Record,
    RequestBody,
    SingleLine,
    Timestamp,
)
from labext.sandbox.nb.tables import EpisodeProfile, SpeakerProfile

MAX_SEGMENTS = 20
_MAX_PROFILES = 100
_MAX_TOKENS = 1_000_000


def _validate_path_segment(name: str) -> str:
    if "/" in name or name in (".", ".."):
        # The message is a format template: it must not have braces.
        raise PydanticCustomError("labext", "must have no /: a profile's name is in its address")
    return name


ProfileName = Annotated[
    Name, AfterValidator(_validate_path_segment), Field(min_length=1, max_length=MAX_LINE_LENGTH)
]
"""A single line that is valid as a path segment."""

ProfileNames = Annotated[list[Name], Field(max_length=_MAX_PROFILES)]
"""Profiles, by their names or identifiers."""


class NewSpeaker(RequestBody):
    """A speaker."""

    name: Name = Field(examples=["Alex"])
    voice_id: Name | None = Field(
        default=None, description="A voice of the voice model; null selects an unused one."
    )
    backstory: FreeText = ""
    personality: FreeText = ""


SpeakerList = Annotated[list[NewSpeaker], Field(min_length=1, max_length=MAX_SPEAKERS)]
"""The speakers of a profile; names are unique."""


class NewSpeakerProfile(RequestBody):
    """A new speaker profile; names are unique."""

    name: ProfileName = Field(examples=["host"])
    description: FreeText = ""
    voice_model: Identifier | None = Field(
        default=None,
        description="A model of type `tts`; null selects that of the slot `text_to_speech`.",
    )
    speakers: SpeakerList


class SpeakerProfileUpdate(RequestBody):
    """Fields to change; omitted ones are unchanged, and `"voice_model": null` removes the model."""

    name: ProfileName | None = None
    description: FreeText | None = None
    voice_model: Identifier | None = None
    speakers: SpeakerList | None = None


SegmentCount = Annotated[int, Field(ge=1, le=MAX_SEGMENTS)]
TokenLimit = Annotated[int, Field(ge=1, le=_MAX_TOKENS)]


class NewEpisodeProfile(RequestBody):
    """A new episode profile; names are unique."""

    name: ProfileName = Field(examples=["interview"])
    description: FreeText = ""
    speaker_profile_ids: ProfileNames = Field(
        default_factory=list,
        description="Names or identifiers of the speaker profiles of orders that name none.",
    )
    outline_llm: Identifier | None = Field(
        default=None, description="A model of type `llm`; null selects that of the slot `podcast`."
    )
    transcript_llm: Identifier | None = Field(default=None, description="As `outline_llm`.")
    language: SingleLine | None = Field(
        default=None, description="Null selects the language of the sources."
    )
    default_briefing: FreeText = ""
    num_segments: SegmentCount = 5
    max_tokens: TokenLimit | None = Field(
        default=None, description="The limit of one reply of the model."
    )


class EpisodeProfileUpdate(RequestBody):
    """Fields to change; omitted ones are unchanged.

    Null removes a model, the language or the token limit.
    """

    name: ProfileName | None = None
    description: FreeText | None = None
    speaker_profile_ids: ProfileNames | None = None
    outline_llm: Identifier | None = None
    transcript_llm: Identifier | None = None
    language: SingleLine | None = None
    default_briefing: FreeText | None = None
    num_segments: SegmentCount | None = None
    max_tokens: TokenLimit | None = None


class SpeakerRecord(Record):
    """A speaker."""

    name: str
    voice_id: str | None
    backstory: str
    personality: str


class SpeakerProfileRecord(Record):
    """A speaker profile."""

    id: str = Field(examples=["speaker:2v1h6nnjbp70uur02d4q"])
    name: str
    description: str
    voice_model: str | None
    speakers: list[SpeakerRecord]
    created_at: Timestamp
    updated_at: Timestamp


class EpisodeProfileRecord(Record):
    """An episode profile."""

    id: str = Field(examples=["episode_profile:xqw43ktrgx2xufas0bfh"])
    name: str
    description: str
    speaker_profile_ids: list[str]
    outline_llm: str | None
    transcript_llm: str | None
    language: str | None
    default_briefing: str = Field(validation_alias="briefing")
    num_segments: int = Field(validation_alias="segments")
    max_tokens: int | None
    created_at: Timestamp
    updated_at: Timestamp


Profile = TypeVar("Profile", SpeakerProfile, EpisodeProfile)

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
    """Return a profile by its identifier, else by its name, else raise a 404."""
    profile = session.get(table, name) or session.scalar(select(table).where(table.name == name))
    if profile is None:
        raise errors.not_found(table.noun, name)
    return profile


def create_profile(
    session: Session, table: type[Profile], new: NewSpeakerProfile | NewEpisodeProfile
) -> Profile:
    """Create a profile."""
    _check_name_free(session, table, new.name)
    profile = table(**_column_values(session, new.model_dump()))
    session.add(profile)
    return profile


def check_unused(session: Session, profile: SpeakerProfile) -> None:
    """Check that no episode profile uses a speaker profile, else raise a 400."""
    episode_profiles = session.scalars(select(EpisodeProfile).order_by(EpisodeProfile.name))
    users = [item.name for item in episode_profiles if profile.id in item.speaker_profile_ids]
    if users:
        more = f" and {len(users) - 1} more" if users[1:] else ""
        raise errors.bad_request(
            f"The speaker profile {profile.name} is used by the episode profile {users[0]}{more}. "
            "Choose other speakers there first, or delete it."
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
    """Return a free name: `interview - Copy`, then `interview - Copy 2` and so on."""
    endings = chain([" - Copy"], (f" - Copy {number}" for number in count(2)))
    names = (name[: MAX_LINE_LENGTH - len(ending)] + ending for ending in endings)
    return next(name for name in names if not _is_taken(session, table, name))


router = APIRouter()


def _add_profile_routes(
    kind: str,
    table: type[Profile],
    record: type[Record],
    new: Any,
    update: Any,
    before_delete: Callable[[Session, Profile], None] | None = None,
) -> None:
    """Add the endpoints of one kind of profile, which is named by its name or identifier."""
    collection = f"/{kind}-profiles"
    path = f"{collection}/{{profile}}"
    add_crud_routes(
        router,
        path,
        table,
        record,
        (func.lower(table.name), table.name),
        identifier_type=Name,
        load_row=partial(load_profile, table=table),
        before_delete=before_delete,
    )

    @router.post(
        collection,
        response_model=record,
        name=f"post_{kind}_profile",
        description=f"Create the {kind} profile. Its name must be unique.",
    )
    def post_profile(site: SiteDep, body: new) -> Any:
        with site.database.write() as session:
            return create_profile(session, table, body)

    @router.put(
        path,
        response_model=record,
        name=f"put_{kind}_profile",
        description=f"Update the {kind} profile. Existing episodes stay as they are.",
    )
    def put_profile(site: SiteDep, profile: Name, body: update) -> Any:
        cleared = body.model_fields_set & _NULLABLE
        values = body.model_dump().items()
        fields = {name: value for name, value in values if value is not None or name in cleared}
        with site.database.write() as session:
            row = load_profile(session, profile, table)
            if fields.get("name", row.name) != row.name:
                _check_name_free(session, table, fields["name"])
            for column, value in _column_values(session, fields).items():
                setattr(row, column, value)
            if session.is_modified(row):
                row.updated = time.time()
        return row

    @router.post(
        f"{path}/duplicate",
        response_model=record,
        name=f"post_{kind}_copy",
        description=f"Copy the {kind} profile under a free name.",
    )
    def post_copy(site: SiteDep, profile: Name) -> Any:
        with site.database.write() as session:
            row = load_profile(session, profile, table)
            values = {column.key: getattr(row, column.key) for column in inspect(table).columns}
            for own in ("id", "created", "updated"):
                del values[own]
            copy = table(**values | {"name": _name_of_copy(session, table, row.name)})
            session.add(copy)
        return copy


_add_profile_routes(
    "speaker",
    SpeakerProfile,
    SpeakerProfileRecord,
    NewSpeakerProfile,
    SpeakerProfileUpdate,
    check_unused,
)
_add_profile_routes(
    "episode", EpisodeProfile, EpisodeProfileRecord, NewEpisodeProfile, EpisodeProfileUpdate
)

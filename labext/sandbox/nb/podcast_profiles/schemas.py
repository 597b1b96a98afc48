"""Request and response schemas of speaker profiles and episode profiles."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

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

MAX_SPEAKERS = 4
"""Maximum number of speakers of an episode."""

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
    """Fields to change; omitted ones stay, and `"voice_model": null` removes the model."""

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
    """Fields to change; omitted ones stay.

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

"""What is sent and answered about profiles (real services, section nb; the contract names them)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from labext.sandbox.nb.bodies import LONGEST_LINE, Body, Identifier, Line, Name, Prose, Record

MOST_SPEAKERS = 4
"""Of an episode."""

MOST_SEGMENTS = 20
_MOST_PROFILES = 100
_MOST_TOKENS = 1_000_000


def _one_part(name: str) -> str:
    if "/" in name or name in (".", ".."):
        # The sentence is a template's: it has no braces.
        raise PydanticCustomError("labext", "must have no /: a profile's name is in its address")
    return name


ProfileName = Annotated[
    Name, AfterValidator(_one_part), Field(min_length=1, max_length=LONGEST_LINE)
]
"""One line that an address can hold."""

ProfileNames = Annotated[list[Name], Field(max_length=_MOST_PROFILES)]
"""Profiles, by their names or identifiers."""


class NewSpeaker(Body):
    """Somebody who speaks."""

    name: Name = Field(examples=["Alex"])
    voice_id: Name | None = Field(
        default=None, description="One of the voice model's voices; null: one that nobody else has."
    )
    backstory: Prose = ""
    personality: Prose = ""


Speakers = Annotated[list[NewSpeaker], Field(min_length=1, max_length=MOST_SPEAKERS)]
"""Those of one profile; no two have one name."""


class NewSpeakerProfile(Body):
    """Who speaks, and by which model; its name is its own."""

    name: ProfileName = Field(examples=["host"])
    description: Prose = ""
    voice_model: Identifier | None = Field(
        default=None, description="A model of type `tts`; null: the slot `text_to_speech`'s."
    )
    speakers: Speakers


class ChangedSpeakerProfile(Body):
    """What is to change; what is left out stays, and `"voice_model": null` takes it away."""

    name: ProfileName | None = None
    description: Prose | None = None
    voice_model: Identifier | None = None
    speakers: Speakers | None = None


Segments = Annotated[int, Field(ge=1, le=MOST_SEGMENTS)]
Tokens = Annotated[int, Field(ge=1, le=_MOST_TOKENS)]


class NewEpisodeProfile(Body):
    """How an episode is made; its name is its own."""

    name: ProfileName = Field(examples=["interview"])
    description: Prose = ""
    speaker_profile_ids: ProfileNames = Field(
        default_factory=list,
        description="Who speaks where an order names nobody; names or identifiers.",
    )
    outline_llm: Identifier | None = Field(
        default=None, description="A model of type `llm`; null: the slot `podcast`'s."
    )
    transcript_llm: Identifier | None = Field(default=None, description="As `outline_llm`.")
    language: Line | None = Field(default=None, description="Null: the sources' own.")
    default_briefing: Prose = ""
    num_segments: Segments = 5
    max_tokens: Tokens | None = Field(default=None, description="Of one answer of the model.")


class ChangedEpisodeProfile(Body):
    """What is to change; what is left out stays.

    Null takes a model, the language and the bound on tokens away.
    """

    name: ProfileName | None = None
    description: Prose | None = None
    speaker_profile_ids: ProfileNames | None = None
    outline_llm: Identifier | None = None
    transcript_llm: Identifier | None = None
    language: Line | None = None
    default_briefing: Prose | None = None
    num_segments: Segments | None = None
    max_tokens: Tokens | None = None


class SpeakerRecord(Record):
    """Somebody who speaks."""

    name: str
    voice_id: str | None
    backstory: str
    personality: str


class SpeakerProfileRecord(Record):
    """Who speaks."""

    id: str = Field(examples=["speaker:2v1h6nnjbp70uur02d4q"])
    name: str
    description: str
    voice_model: str | None
    speakers: list[SpeakerRecord]
    created_at: str
    updated_at: str


class EpisodeProfileRecord(Record):
    """How an episode is made."""

    id: str = Field(examples=["episode_profile:xqw43ktrgx2xufas0bfh"])
    name: str
    description: str
    speaker_profile_ids: list[str]
    outline_llm: str | None
    transcript_llm: str | None
    language: str | None
    default_briefing: str
    num_segments: int
    max_tokens: int | None
    created_at: str
    updated_at: str

"""Request and response schemas of podcast episodes."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from labext.sandbox.nb.podcasts.profiles import ProfileNames
from labext.sandbox.nb.schemas import (
    FreeText,
    Identifier,
    MessageResponse,
    Name,
    Record,
    RequestBody,
    Timestamp,
)


class EpisodeOrder(RequestBody):
    """A request for an episode: its notebook, profiles and name."""

    notebook_id: Identifier
    episode_profile_id: Name = Field(
        description="An episode profile, by its identifier or name.", examples=["interview"]
    )
    speaker_profile_ids: ProfileNames = Field(
        default_factory=list,
        description="Speaker profiles, by identifier or name, of one to four speakers in all; "
        "by default those of the episode profile.",
        examples=[["host", "guest"]],
    )
    episode_name: Name | None = Field(None, examples=["Episode 1"])
    briefing_suffix: FreeText | None = Field(
        None, description="Appended to the profile's briefing."
    )


class OrderRecord(MessageResponse):
    """An accepted request with its job."""

    job_id: str = Field(examples=["command:ogiwb3haf5iktdhipcsa"])
    status: str = Field(description="`submitted`.")
    episode_id: str
    episode_name: str


class RetryRecord(MessageResponse):
    """An accepted retry with its job."""

    job_id: str
    episode_id: str


class DeletedEpisode(MessageResponse):
    """The result of deleting an episode."""

    episode_id: str


class ProgressRecord(Record):
    """The progress of a running job: `done` of `total` in a stage; a total of 0 is unknown."""

    stage: str
    done: int
    total: int
    stages: list[str]


class SegmentRecord(Record):
    """A segment of an episode."""

    name: str
    description: str
    size: str = Field(description="`short`, `medium` or `long`.")


class OutlineRecord(Record):
    """The outline of an episode."""

    segments: list[SegmentRecord]


class TurnRecord(Record):
    """A turn from `start` to `end`, in seconds."""

    speaker: str
    dialogue: str
    start: float
    end: float
    sources: list[str] = Field(
        default_factory=list, description="The titles of the sources that state its facts."
    )


class TranscriptRecord(Record):
    """The transcript of an episode."""

    transcript: list[TurnRecord]


class ResultRecord(Record):
    """The result of a job."""

    episode_id: str
    audio_file_path: str
    transcript: TranscriptRecord
    outline: OutlineRecord
    processing_time: float = Field(description="Seconds.")


class JobRecord(Record):
    """The state of a podcast job."""

    job_id: str
    status: str = Field(description="`new`, `running`, `completed` or `failed`.")
    stage: str = Field(description="The current stage while it runs, in words.")
    progress: ProgressRecord | None
    result: ResultRecord | None
    error_message: str | None
    created_at: Timestamp
    updated_at: Timestamp


class EpisodeRecord(Record):
    """An episode in a list."""

    id: str = Field(examples=["episode:n5skkax1bon24v7t4bg5"])
    name: str
    notebook_id: str | None = Field(description="Null after the notebook was deleted.")
    job_id: str
    job_status: str
    stage: str
    progress: ProgressRecord | None
    error_message: str | None
    episode_profile: dict[str, Any] = Field(description="A copy made when the job was requested.")
    speaker_profiles: list[dict[str, Any]]
    briefing: str
    duration: float | None = Field(description="Seconds.")
    audio_file: str | None
    audio_url: str | None
    audio_bytes: int | None
    created_at: Timestamp
    updated_at: Timestamp = Field(description="The time of the last change, including progress.")


class EpisodeWithTranscript(EpisodeRecord):
    """An episode with its transcript."""

    outline: OutlineRecord | None
    transcript: TranscriptRecord | None

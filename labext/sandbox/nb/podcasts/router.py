"""Endpoints of podcast episodes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session, undefer
from starlette.responses import Response

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, files, limits, tables
from labext.sandbox.nb.dependencies import ThreadsDep
from labext.sandbox.nb.files import StoredFileResponse
from labext.sandbox.nb.podcasts import inputs, tasks, writer
from labext.sandbox.nb.podcasts.profiles import (
    EpisodeProfileRecord,
    Profile,
    ProfileNames,
    SpeakerProfileRecord,
    load_profile,
)
from labext.sandbox.nb.podcasts.script import STAGES
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.queries import load, numbered_name
from labext.sandbox.nb.schemas import (
    ErrorResponse,
    FreeText,
    Identifier,
    MessageResponse,
    Name,
    Record,
    RequestBody,
    Timestamp,
)
from labext.sandbox.nb.speech.voices import assign_voices
from labext.sandbox.nb.tables import (
    COMPLETED,
    FAILED,
    RUNNING,
    Episode,
    EpisodeProfile,
    Notebook,
    SpeakerProfile,
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


router = APIRouter()


_AUDIO_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"audio/mpeg": {}}, "description": "The audio file."},
    206: {"content": {"audio/mpeg": {}}, "description": "A part of the audio file."},
    416: {"model": ErrorResponse, "description": "The requested range is outside the file."},
}
_WITH_TRANSCRIPT = (undefer(Episode.outline), undefer(Episode.transcript))


@router.get("/podcasts/episodes/{episode_id}", response_model=EpisodeWithTranscript)
def get_episode(site: SiteDep, episode_id: Identifier) -> dict[str, Any]:
    """Get an episode with its transcript."""
    with site.database.read() as session:
        episode = load(session, Episode, episode_id, *_WITH_TRANSCRIPT)
    return _episode_record(episode) | _transcript_record(episode)


@router.get("/podcasts/episodes", response_model=list[EpisodeRecord])
def get_episodes(site: SiteDep) -> list[dict[str, Any]]:
    """List the episodes, the newest first."""
    newest = select(Episode).order_by(Episode.created.desc(), Episode.id)
    with site.database.read() as session:
        return [_episode_record(episode) for episode in session.scalars(newest)]


@router.get("/podcasts/jobs/{job_id}", response_model=JobRecord)
def get_job(site: SiteDep, job_id: Identifier) -> dict[str, Any]:
    """Get the progress of a podcast job. A retry has another job."""
    query = select(Episode).where(Episode.job_id == job_id).options(*_WITH_TRANSCRIPT)
    with site.database.read() as session:
        episode = session.scalar(query)
    if episode is None:
        raise errors.not_found("podcast job", job_id)
    return {
        "job_id": episode.job_id,
        "status": episode.status,
        "stage": stage_text(episode),
        "progress": _progress_record(episode),
        "result": _result_record(episode),
        "error_message": episode.reason,
        "created_at": episode.requested,
        "updated_at": episode.changed,
    }


def stage_text(episode: Episode) -> str:
    """Return the current stage in words, such as `speech, 12 of 40`; empty unless running."""
    if episode.status != RUNNING:
        return ""
    counted = f", {episode.done:,} of {episode.total:,}" if episode.total else ""
    return f"{episode.stage}{counted}"


def _episode_record(episode: Episode) -> dict[str, Any]:
    has_audio = episode.status == COMPLETED
    return {
        "id": episode.id,
        "name": episode.name,
        "notebook_id": episode.notebook_id,
        "job_id": episode.job_id,
        "job_status": episode.status,
        "stage": stage_text(episode),
        "progress": _progress_record(episode),
        "error_message": episode.reason,
        "episode_profile": episode.profile,
        "speaker_profiles": episode.speakers,
        "briefing": episode.briefing,
        "duration": episode.duration,
        "audio_file": files.audio_name(episode.id) if has_audio else None,
        "audio_url": f"/api/podcasts/episodes/{episode.id}/audio" if has_audio else None,
        "audio_bytes": episode.size,
        "created_at": episode.created,
        "updated_at": episode.changed,
    }


def _transcript_record(episode: Episode) -> dict[str, Any]:
    outline, turns = episode.outline, episode.transcript
    return {
        "outline": None if outline is None else {"segments": outline},
        "transcript": None if turns is None else {"transcript": turns},
    }


def _progress_record(episode: Episode) -> dict[str, Any] | None:
    if episode.status != RUNNING:
        return None
    return {
        "stage": episode.stage,
        "done": episode.done,
        "total": episode.total,
        "stages": [*STAGES],
    }


def _result_record(episode: Episode) -> dict[str, Any] | None:
    if episode.status != COMPLETED:
        return None
    return {
        "episode_id": episode.id,
        "audio_file_path": files.audio_name(episode.id),
        "processing_time": (episode.ended or 0.0) - (episode.started or 0.0),
        **_transcript_record(episode),
    }


@router.delete("/podcasts/episodes/{episode_id}", response_model=DeletedEpisode)
def delete_episode(site: SiteDep, episode_id: Identifier) -> dict[str, Any]:
    """Delete an episode with its audio, also while it is being generated."""
    with site.database.write() as session:
        episode = load(session, Episode, episode_id)
        session.delete(episode)
        session.flush()
        files.remove_audio_after_commit(session, site, episode_id)
        stopped = site.queue.cancel_all(session, [tasks.PODCAST.key(episode_id)], "Deleted.")
    site.queue.wait(site.database, stopped)
    return {"message": f"The episode {episode.name} is deleted.", "episode_id": episode_id}


@router.get(
    "/podcasts/episodes/{episode_id}/audio", response_class=Response, responses=_AUDIO_RESPONSES
)
def get_audio(site: SiteDep, episode_id: Identifier) -> Response:
    """Download the audio of an episode. Range, If-Range and ETag are supported."""
    with site.database.read() as session:
        episode = load(session, Episode, episode_id)
    if episode.status == FAILED:
        reason = f"The episode {episode.name} has no audio: it failed. {episode.reason}"
        raise errors.ServiceError(404, reason)
    if episode.status != COMPLETED:
        stage = stage_text(episode) or "it is queued"
        raise errors.ServiceError(404, f"The episode {episode.name} has no audio yet: {stage}.")
    missing = errors.ServiceError(404, f"The audio of the episode {episode.name} no longer exists.")
    return StoredFileResponse(files.audio_path(site, episode_id), missing, "audio/mpeg")


@router.head("/podcasts/episodes/{episode_id}/audio", response_class=Response)
def head_audio(site: SiteDep, episode_id: Identifier) -> Response:
    """Check that an episode has audio."""
    return get_audio(site, episode_id)


@router.post("/podcasts/generate", response_model=OrderRecord)
async def post_order(site: SiteDep, body: EpisodeOrder, threads: ThreadsDep) -> dict[str, Any]:
    """Generate an episode about a notebook. Each request creates a new one."""
    return await threads.run(lambda: order_episode(site, body))


def order_episode(site: Site, body: EpisodeOrder) -> dict[str, Any]:
    """Store an episode and queue its job; may ask a model's server for its voices."""
    with site.database.read() as session:
        episode_profile = load_profile(session, body.episode_profile_id, EpisodeProfile)
        names = body.speaker_profile_ids or episode_profile.speaker_profile_ids
        profile = _profile_record(episode_profile)
        speakers = [_profile_record(load_profile(session, name, SpeakerProfile)) for name in names]
        briefing = "\n\n".join(filter(None, (profile["default_briefing"], body.briefing_suffix)))
        limits.check_text_size(session, briefing)
    _check_order(site, body.notebook_id, profile, speakers)
    with site.database.write() as session:
        load(session, Notebook, body.notebook_id)
        name = body.episode_name or numbered_name(
            session, Episode.name, body.notebook_id, "Episode"
        )
        episode = Episode(
            name=name,
            notebook_id=body.notebook_id,
            job_id=tables.new_identifier("command"),
            profile=profile,
            speakers=speakers,
            briefing=briefing,
        )
        session.add(episode)
        session.flush()
        tasks.PODCAST.queue(session, site, episode)
    return {
        "job_id": episode.job_id,
        "status": "submitted",
        "message": f"The episode {episode.name} is being generated.",
        "episode_id": episode.id,
        "episode_name": episode.name,
    }


@router.post("/podcasts/episodes/{episode_id}/retry", response_model=RetryRecord)
async def post_episode_retry(
    site: SiteDep, episode_id: Identifier, threads: ThreadsDep
) -> dict[str, Any]:
    """Retry a failed episode with a new job (NB-233).

    Uses the current profiles if they still exist, since the cause of the failure may have been
    corrected in them. The briefing is unchanged.
    """
    return await threads.run(lambda: retry_episode(site, episode_id))


def retry_episode(site: Site, episode_id: str) -> dict[str, Any]:
    """Queue a new job of a failed episode, as `order_episode`."""
    with site.database.read() as session:
        episode = _load_failed(session, episode_id)
        notebook_id = episode.notebook_id
        if notebook_id is None:
            raise errors.bad_request(
                f"The notebook of the episode {episode.name} is deleted. Generate another episode."
            )
        profile, speakers = _current_profiles(session, episode)
    _check_order(site, notebook_id, profile, speakers)
    with site.database.write() as session:
        episode = _load_failed(session, episode_id)
        episode.job_id = tables.new_identifier("command")
        episode.profile, episode.speakers = profile, speakers
        episode.outline = episode.transcript = None
        episode.duration = episode.size = None
        episode.requested = episode.updated = time.time()
        tasks.PODCAST.queue(session, site, episode)
    return {
        "job_id": episode.job_id,
        "message": f"The episode {episode.name} is being generated again.",
        "episode_id": episode.id,
    }


def _current_profiles(
    session: Session, episode: Episode
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return an episode's profiles as they are now, or as stored if they were deleted."""

    def current(table: type[Profile], stored: dict[str, Any]) -> dict[str, Any]:
        profile = session.get(table, stored["id"])
        return stored if profile is None else _profile_record(profile)

    speakers = [current(SpeakerProfile, stored) for stored in episode.speakers]
    return current(EpisodeProfile, episode.profile), speakers


def _profile_record(profile: EpisodeProfile | SpeakerProfile) -> dict[str, Any]:
    schema = EpisodeProfileRecord if isinstance(profile, EpisodeProfile) else SpeakerProfileRecord
    return schema.model_validate(profile).model_dump()


def _load_failed(session: Session, identifier: str) -> Episode:
    episode = load(session, Episode, identifier)
    if episode.status != FAILED:
        raise errors.bad_request(f"Only a failed episode is retried; this one is {episode.status}.")
    return episode


def _check_order(
    site: Site, notebook_id: str, profile: Mapping[str, Any], speakers: Sequence[Mapping[str, Any]]
) -> None:
    """Check that an episode can be made, as far as this can be known in advance."""
    with site.database.read() as session:
        inputs.check_material(session, notebook_id)
        inputs.episode_speakers(speakers)
        for model in (profile["outline_llm"], profile["transcript_llm"]):
            writer.check_language(
                registry.select_model(session, "podcast", model), profile["language"]
            )
        voices = inputs.requested_voices(session, speakers)
    assign_voices(site, voices, profile["language"])

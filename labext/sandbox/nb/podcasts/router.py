"""Endpoints of podcast episodes."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from labext.sandbox.nb.dependencies import SiteDep
from labext.sandbox.nb.podcasts import service
from labext.sandbox.nb.podcasts.schemas import (
    DeletedEpisode,
    EpisodeOrder,
    EpisodeRecord,
    EpisodeWithTranscript,
    JobRecord,
    OrderRecord,
    RetryRecord,
)
from labext.sandbox.nb.schemas import ErrorResponse, Identifier

router = APIRouter()

_AUDIO_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"audio/mpeg": {}}, "description": "The audio file."},
    206: {"content": {"audio/mpeg": {}}, "description": "A part of the audio file."},
    416: {"model": ErrorResponse, "description": "The requested range is outside the file."},
}


@router.post("/podcasts/generate", response_model=OrderRecord)
def post_order(site: SiteDep, body: EpisodeOrder) -> dict[str, Any]:
    """Order an episode about a notebook."""
    return service.order_episode(site, body)


@router.get("/podcasts/jobs/{job_id}", response_model=JobRecord)
def get_job(site: SiteDep, job_id: Identifier) -> dict[str, Any]:
    """Get the progress of a podcast job."""
    return service.get_job(site, job_id)


@router.get("/podcasts/episodes", response_model=list[EpisodeRecord])
def get_episodes(site: SiteDep) -> list[dict[str, Any]]:
    """List the episodes, the newest first."""
    return service.list_episodes(site)


@router.get("/podcasts/episodes/{episode_id}", response_model=EpisodeWithTranscript)
def get_episode(site: SiteDep, episode_id: Identifier) -> dict[str, Any]:
    """Get an episode with its transcript."""
    return service.get_episode(site, episode_id)


@router.get(
    "/podcasts/episodes/{episode_id}/audio", response_class=Response, responses=_AUDIO_RESPONSES
)
def get_audio(site: SiteDep, episode_id: Identifier) -> Response:
    """Download the audio of an episode."""
    return service.episode_audio(site, episode_id)


@router.head("/podcasts/episodes/{episode_id}/audio", response_class=Response)
def head_audio(site: SiteDep, episode_id: Identifier) -> Response:
    """Check that an episode has audio."""
    return service.episode_audio(site, episode_id)


@router.post("/podcasts/episodes/{episode_id}/retry", response_model=RetryRecord)
def post_episode_retry(site: SiteDep, episode_id: Identifier) -> dict[str, Any]:
    """Retry a failed episode."""
    return service.retry_episode(site, episode_id)


@router.delete("/podcasts/episodes/{episode_id}", response_model=DeletedEpisode)
def delete_episode(site: SiteDep, episode_id: Identifier) -> dict[str, str]:
    """Delete an episode with its audio, also while it is being made."""
    return service.delete_episode(site, episode_id)

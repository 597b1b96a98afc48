"""The routes of the group Podcasts (contract, Endpoints); each calls a function of the package."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from labext.sandbox.nb.bodies import Identifier, Refusal
from labext.sandbox.nb.calls import SiteOf, json_answer
from labext.sandbox.nb.podcasts import audio, generating, records, removing
from labext.sandbox.nb.podcasts.bodies import (
    Again,
    EpisodeRecord,
    JobRecord,
    Order,
    Ordered,
    Removed,
    WholeEpisodeRecord,
)

api = APIRouter()

_SOUND: dict[int | str, dict[str, Any]] = {
    200: {"content": {"audio/mpeg": {}}, "description": "The sound."},
    206: {"content": {"audio/mpeg": {}}, "description": "A part of the sound."},
    416: {"model": Refusal, "description": "There is no such part."},
}


@api.post("/podcasts/generate", response_model=Ordered)
def post_order(site: SiteOf, body: Order) -> Response:
    """Have an episode made of a notebook's material."""
    return json_answer(generating.generate(site, body))


@api.get("/podcasts/jobs/{job_id}", response_model=JobRecord)
def get_job(site: SiteOf, job_id: Identifier) -> Response:
    """See how far the making of an episode is."""
    return json_answer(records.job(site, job_id))


@api.get("/podcasts/episodes", response_model=list[EpisodeRecord])
def get_episodes(site: SiteOf) -> Response:
    """List the episodes, the newest first."""
    return json_answer(records.several(site))


@api.get("/podcasts/episodes/{episode_id}", response_model=WholeEpisodeRecord)
def get_episode(site: SiteOf, episode_id: Identifier) -> Response:
    """Show an episode with its transcript."""
    return json_answer(records.one(site, episode_id))


@api.get("/podcasts/episodes/{episode_id}/audio", response_class=Response, responses=_SOUND)
def get_audio(site: SiteOf, episode_id: Identifier) -> Response:
    """Hear an episode."""
    return audio.audio(site, episode_id)


@api.head("/podcasts/episodes/{episode_id}/audio", response_class=Response)
def head_audio(site: SiteOf, episode_id: Identifier) -> Response:
    """Check that an episode can be heard."""
    return audio.audio(site, episode_id)


@api.post("/podcasts/episodes/{episode_id}/retry", response_model=Again)
def post_episode_retry(site: SiteOf, episode_id: Identifier) -> Response:
    """Make a failed episode again."""
    return json_answer(generating.retry(site, episode_id))


@api.delete("/podcasts/episodes/{episode_id}", response_model=Removed)
def delete_episode(site: SiteOf, episode_id: Identifier) -> Response:
    """Delete an episode with its sound, also while it is being made."""
    return json_answer(removing.remove(site, episode_id))

"""Endpoints of speaker profiles and episode profiles."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from labext.sandbox.nb.dependencies import SiteDep, json_response
from labext.sandbox.nb.podcast_profiles import service
from labext.sandbox.nb.podcast_profiles.schemas import (
    EpisodeProfileRecord,
    EpisodeProfileUpdate,
    NewEpisodeProfile,
    NewSpeakerProfile,
    SpeakerProfileRecord,
    SpeakerProfileUpdate,
)
from labext.sandbox.nb.schemas import MessageResponse, Name

router = APIRouter()


@router.get("/speaker-profiles", response_model=list[SpeakerProfileRecord])
def get_speaker_profiles(site: SiteDep) -> Response:
    """List the speaker profiles."""
    return json_response(service.list_speaker_profiles(site))


@router.post("/speaker-profiles", response_model=SpeakerProfileRecord)
def post_speaker_profile(site: SiteDep, body: NewSpeakerProfile) -> Response:
    """Make a speaker profile. No other one has its name."""
    return json_response(service.create_speaker_profile(site, body))


@router.get("/speaker-profiles/{profile}", response_model=SpeakerProfileRecord)
def get_speaker_profile(site: SiteDep, profile: Name) -> Response:
    """Show a speaker profile, by its name or identifier."""
    return json_response(service.get_speaker_profile(site, profile))


@router.put("/speaker-profiles/{profile}", response_model=SpeakerProfileRecord)
def put_speaker_profile(site: SiteDep, profile: Name, body: SpeakerProfileUpdate) -> Response:
    """Change a speaker profile. Episodes that are made already stay as they are."""
    return json_response(service.update_speaker_profile(site, profile, body))


@router.delete("/speaker-profiles/{profile}", response_model=MessageResponse)
def delete_speaker_profile(site: SiteDep, profile: Name) -> Response:
    """Delete a speaker profile that no episode profile names."""
    return json_response(service.delete_speaker_profile(site, profile))


@router.post("/speaker-profiles/{profile}/duplicate", response_model=SpeakerProfileRecord)
def post_speaker_copy(site: SiteDep, profile: Name) -> Response:
    """Copy a speaker profile, under a name of its own."""
    return json_response(service.duplicate_speaker_profile(site, profile))


@router.get("/episode-profiles", response_model=list[EpisodeProfileRecord])
def get_episode_profiles(site: SiteDep) -> Response:
    """List the episode profiles."""
    return json_response(service.list_episode_profiles(site))


@router.post("/episode-profiles", response_model=EpisodeProfileRecord)
def post_episode_profile(site: SiteDep, body: NewEpisodeProfile) -> Response:
    """Make an episode profile. No other one has its name."""
    return json_response(service.create_episode_profile(site, body))


@router.get("/episode-profiles/{profile}", response_model=EpisodeProfileRecord)
def get_episode_profile(site: SiteDep, profile: Name) -> Response:
    """Show an episode profile, by its name or identifier."""
    return json_response(service.get_episode_profile(site, profile))


@router.put("/episode-profiles/{profile}", response_model=EpisodeProfileRecord)
def put_episode_profile(site: SiteDep, profile: Name, body: EpisodeProfileUpdate) -> Response:
    """Change an episode profile. Episodes that are made already stay as they are."""
    return json_response(service.update_episode_profile(site, profile, body))


@router.delete("/episode-profiles/{profile}", response_model=MessageResponse)
def delete_episode_profile(site: SiteDep, profile: Name) -> Response:
    """Delete an episode profile. Its episodes stay."""
    return json_response(service.delete_episode_profile(site, profile))


@router.post("/episode-profiles/{profile}/duplicate", response_model=EpisodeProfileRecord)
def post_episode_copy(site: SiteDep, profile: Name) -> Response:
    """Copy an episode profile, under a name of its own."""
    return json_response(service.duplicate_episode_profile(site, profile))

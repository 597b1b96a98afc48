"""The routes of profiles, of speakers and of episodes (real services, section nb)."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from labext.sandbox.nb.bodies import Done, Name
from labext.sandbox.nb.calls import SiteOf, json_answer
from labext.sandbox.nb.podcasts import episode_profiles, speaker_profiles
from labext.sandbox.nb.podcasts.profile_bodies import (
    ChangedEpisodeProfile,
    ChangedSpeakerProfile,
    EpisodeProfileRecord,
    NewEpisodeProfile,
    NewSpeakerProfile,
    SpeakerProfileRecord,
)

api = APIRouter()


@api.get("/speaker-profiles", response_model=list[SpeakerProfileRecord])
def get_speaker_profiles(site: SiteOf) -> Response:
    """List the speaker profiles."""
    return json_answer(speaker_profiles.listed(site))


@api.post("/speaker-profiles", response_model=SpeakerProfileRecord)
def post_speaker_profile(site: SiteOf, body: NewSpeakerProfile) -> Response:
    """Make a speaker profile. No other one has its name."""
    return json_answer(speaker_profiles.make(site, body))


@api.get("/speaker-profiles/{profile}", response_model=SpeakerProfileRecord)
def get_speaker_profile(site: SiteOf, profile: Name) -> Response:
    """Show a speaker profile, by its name or identifier."""
    return json_answer(speaker_profiles.shown(site, profile))


@api.put("/speaker-profiles/{profile}", response_model=SpeakerProfileRecord)
def put_speaker_profile(site: SiteOf, profile: Name, body: ChangedSpeakerProfile) -> Response:
    """Change a speaker profile. Episodes that are made already stay as they are."""
    return json_answer(speaker_profiles.change(site, profile, body))


@api.delete("/speaker-profiles/{profile}", response_model=Done)
def delete_speaker_profile(site: SiteOf, profile: Name) -> Response:
    """Delete a speaker profile that no episode profile names."""
    return json_answer(speaker_profiles.delete(site, profile))


@api.post("/speaker-profiles/{profile}/duplicate", response_model=SpeakerProfileRecord)
def post_speaker_copy(site: SiteOf, profile: Name) -> Response:
    """Copy a speaker profile, under a name of its own."""
    return json_answer(speaker_profiles.duplicate(site, profile))


@api.get("/episode-profiles", response_model=list[EpisodeProfileRecord])
def get_episode_profiles(site: SiteOf) -> Response:
    """List the episode profiles."""
    return json_answer(episode_profiles.listed(site))


@api.post("/episode-profiles", response_model=EpisodeProfileRecord)
def post_episode_profile(site: SiteOf, body: NewEpisodeProfile) -> Response:
    """Make an episode profile. No other one has its name."""
    return json_answer(episode_profiles.make(site, body))


@api.get("/episode-profiles/{profile}", response_model=EpisodeProfileRecord)
def get_episode_profile(site: SiteOf, profile: Name) -> Response:
    """Show an episode profile, by its name or identifier."""
    return json_answer(episode_profiles.shown(site, profile))


@api.put("/episode-profiles/{profile}", response_model=EpisodeProfileRecord)
def put_episode_profile(site: SiteOf, profile: Name, body: ChangedEpisodeProfile) -> Response:
    """Change an episode profile. Episodes that are made already stay as they are."""
    return json_answer(episode_profiles.change(site, profile, body))


@api.delete("/episode-profiles/{profile}", response_model=Done)
def delete_episode_profile(site: SiteOf, profile: Name) -> Response:
    """Delete an episode profile. Its episodes stay."""
    return json_answer(episode_profiles.delete(site, profile))


@api.post("/episode-profiles/{profile}/duplicate", response_model=EpisodeProfileRecord)
def post_episode_copy(site: SiteOf, profile: Name) -> Response:
    """Copy an episode profile, under a name of its own."""
    return json_answer(episode_profiles.duplicate(site, profile))

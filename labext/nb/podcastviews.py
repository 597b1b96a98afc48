"""Frames of episodes and profiles, and their views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from labext.nb import records
from labext.nb.records import Record
from labext.rowviews import RowView
from labext.views import words


def _called(profiles: Any) -> str:
    """Return what the profiles of an episode are called; the whole of them fills a screen."""
    if not isinstance(profiles, Sequence) or not all(isinstance(p, Mapping) for p in profiles):
        return words(profiles)
    return ", ".join(words(each.get("name") or each.get("id")) for each in profiles)


EPISODES = RowView(
    name="episodes",
    empty="There are no episodes.",
    first=("name", "job_status", "stage", "error_message", "duration", "created_at"),
    last=(
        "id",
        "job_id",
        "notebook_id",
        "progress",
        "audio_bytes",
        "audio_file",
        "audio_url",
        "briefing",
        "episode_profile",
        "speaker_profiles",
        "updated_at",
    ),
    whole=("error_message",),
    formats={
        "episode_profile": lambda profile: _called([profile]),
        "speaker_profiles": _called,
    },
)

EPISODE_PROFILES = RowView(
    name="episode profiles",
    empty="There are no episode profiles.",
    first=(
        "name",
        "description",
        "num_segments",
        "speaker_profile_ids",
        "outline_llm",
        "transcript_llm",
        "default_briefing",
    ),
    last=("id", "created_at", "updated_at"),
)

SPEAKER_PROFILES = RowView(
    name="speaker profiles",
    empty="There are no speaker profiles.",
    first=("name", "description", "speakers", "voice_model"),
    last=("id", "created_at", "updated_at"),
)


def episodes(found: Iterable[Record]) -> pd.DataFrame:
    """Return episodes' records as a frame, without what is said in them."""
    return EPISODES.show(records.frame(records.EPISODE, found))


def episode_profiles(found: Iterable[Record]) -> pd.DataFrame:
    """Return episode profiles' records as a frame."""
    return EPISODE_PROFILES.show(records.frame(records.EPISODE_PROFILE, found))


def speaker_profiles(found: Iterable[Record]) -> pd.DataFrame:
    """Return speaker profiles' records as a frame."""
    return SPEAKER_PROFILES.show(records.frame(records.SPEAKER_PROFILE, found))

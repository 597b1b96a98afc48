"""How episodes and profiles are shown, and the frames of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import pandas as pd

from labext.nb import records
from labext.nb.records import Record
from labext.rowviews import Rows
from labext.views import words

_TIMES = ("created_at", "updated_at")


class EpisodeRows(Rows):
    """A DataFrame with a row an episode."""

    _none = "There are no episodes."
    _always = ("id", "name", "job_status")
    _whole = ("error_message",)
    _told: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "episode_profile": lambda profile: _called([profile]),
        "speaker_profiles": lambda profiles: _called(profiles),
    }

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("name", "job_status", "stage", "error_message", "duration", "created_at"), (
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
        )


class EpisodeProfileRows(Rows):
    """A DataFrame with a row an episode profile."""

    _none = "There are no episode profiles."
    _always = ("id", "name")

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return (
            "name",
            "description",
            "num_segments",
            "speaker_profile_ids",
            "outline_llm",
            "transcript_llm",
            "default_briefing",
        ), ("id", *_TIMES)


class SpeakerProfileRows(Rows):
    """A DataFrame with a row a speaker profile."""

    _none = "There are no speaker profiles."
    _always = ("id", "name")

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("name", "description", "speakers", "voice_model"), ("id", *_TIMES)


def _called(profiles: Any) -> str:
    """Return what the profiles of an episode are called; the whole of them fills a screen."""
    if not isinstance(profiles, Sequence) or not all(isinstance(p, Mapping) for p in profiles):
        return words(profiles)
    return ", ".join(words(each.get("name") or each.get("id")) for each in profiles)


def episodes(found: Iterable[Record]) -> pd.DataFrame:
    """Return episodes' records as a frame, without what is said in them."""
    return EpisodeRows(records.frame(records.EPISODE, found))


def episode_profiles(found: Iterable[Record]) -> pd.DataFrame:
    """Return episode profiles' records as a frame."""
    return EpisodeProfileRows(records.frame(records.EPISODE_PROFILE, found))


def speaker_profiles(found: Iterable[Record]) -> pd.DataFrame:
    """Return speaker profiles' records as a frame."""
    return SpeakerProfileRows(records.frame(records.SPEAKER_PROFILE, found))

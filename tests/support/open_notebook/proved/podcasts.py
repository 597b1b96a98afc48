"""Proofs: podcasts and their profiles."""

from __future__ import annotations

from typing import Any
from unittest.mock import call

from labext.nb.backends.contract.podcasts import EPISODE_PROFILES, SPEAKER_PROFILES
from open_notebook.facts import recordings
from open_notebook.proof import derived, proof
from open_notebook.proved.ids import (
    BUSINESS,
    EPISODE_ID,
    FAILED_EPISODE,
    JOB_ID,
    MODEL_ID,
    NOTEBOOK_ID,
    SOLO,
    SOLO_SPEAKER,
    TECH_SPEAKERS,
    TTS,
)

_UNTIMED = "created_at updated_at"


def _with_models() -> tuple[Any, Any]:
    """Return the profiles with models."""
    solo = recordings()["episode_profiles.put.solo_expert"].answer
    speaker = recordings()["speaker_profiles.put.solo_expert"].answer
    return (
        derived("episode_profiles.list", answer=[solo]),
        derived("speaker_profiles.list", answer=[speaker]),
    )


_EPISODE = "notebook_id job_id stage progress duration audio_bytes updated_at"

PROOFS = (
    proof(
        call.profiles(EPISODE_PROFILES),
        "episode_profiles.list",
        missing=f"outline_llm transcript_llm language max_tokens {_UNTIMED}",
        values={"speaker_profile_ids": ["speaker_profile:i9k4208ntfbf6c0k4f1a"]},
    ),
    proof(
        call.profile(EPISODE_PROFILES, SOLO),
        "episode_profiles.list",
        missing=f"outline_llm transcript_llm language max_tokens {_UNTIMED}",
        values={"name": "solo_expert", "num_segments": 4},
    ),
    proof(
        call.new_profile(
            EPISODE_PROFILES,
            {
                "name": "short",
                "description": "",
                "speaker_profile_ids": [SOLO_SPEAKER],
                "outline_llm": MODEL_ID,
                "transcript_llm": MODEL_ID,
                "default_briefing": "Be brief",
                "num_segments": 3,
            },
        ),
        "speaker_profiles.list",
        "episode_profiles.create",
        missing=f"language max_tokens {_UNTIMED}",
        values={"speaker_profile_ids": [SOLO_SPEAKER], "num_segments": 3},
    ),
    # Omitted fields would be lost, so the others are sent unchanged.
    proof(
        call.change_profile(
            EPISODE_PROFILES,
            SOLO,
            {"outline_llm": MODEL_ID, "transcript_llm": MODEL_ID, "num_segments": 3},
        ),
        "episode_profiles.list",
        "speaker_profiles.list",
        "episode_profiles.put.solo_expert",
        missing=f"language max_tokens {_UNTIMED}",
        values={"num_segments": 3, "outline_llm": MODEL_ID},
        unrecorded="max_tokens",
        differing="speaker_config",
    ),
    proof(
        call.delete_profile(EPISODE_PROFILES, "episode_profile:ab9pn8ezevq039edo40u"),
        "episode_profiles.delete",
        result=None,
    ),
    proof(
        call.copy_profile(EPISODE_PROFILES, BUSINESS),
        "episode_profiles.duplicate",
        missing=f"language max_tokens {_UNTIMED}",
        values={"name": "business_analysis - Copy"},
    ),
    proof(
        call.profiles(SPEAKER_PROFILES), "speaker_profiles.list", missing=f"voice_model {_UNTIMED}"
    ),
    proof(
        call.profile(SPEAKER_PROFILES, SOLO_SPEAKER),
        "speaker_profiles.list",
        missing=f"voice_model {_UNTIMED}",
        values={"name": "solo_expert"},
    ),
    proof(
        call.change_profile(SPEAKER_PROFILES, TECH_SPEAKERS, {"voice_model": TTS}),
        "speaker_profiles.list",
        "speaker_profiles.put.tech_experts",
        missing=_UNTIMED,
        values={"voice_model": TTS},
    ),
    proof(
        call.generate(NOTEBOOK_ID, SOLO, [SOLO_SPEAKER], "Ep one", None),
        *_with_models(),
        "podcasts.generate",
        missing="episode_id",
        values={"job_id": JOB_ID, "status": "submitted"},
    ),
    proof(
        call.generate(NOTEBOOK_ID, SOLO, None, "Ep one", "Mention yields."),
        *_with_models(),
        "podcasts.generate",
        missing="episode_id",
        unrecorded="briefing_suffix",
    ),
    *(
        proof(
            call.podcast_job(job),
            name,
            missing=f"stage progress created_at updated_at {untold}",
            values={"status": status},
        )
        for name, job, status, untold in (
            ("podcasts.job_running", JOB_ID, "running", "result error_message"),
            ("podcasts.job_completed", JOB_ID, "completed", "error_message"),
            ("podcasts.job_failed", "command:l7h1f4al8d4t6lonwqli", "failed", "result"),
        )
    ),
    proof(
        call.episodes(),
        "podcasts.episodes",
        missing=f"{_EPISODE} error_message",
        values={"name": "Ep one", "job_status": "completed"},
    ),
    proof(
        call.episodes(),
        "podcasts.episodes_while_running",
        missing=f"{_EPISODE} error_message audio_file audio_url",
        values={"job_status": "running"},
    ),
    proof(
        call.episodes(),
        "podcasts.episodes_with_failed",
        missing=f"{_EPISODE} audio_file audio_url",
        values={
            "job_status": "failed",
            "error_message": "Failed to generate speech: OpenAI-compatible TTS endpoint error: "
            "fake internal server error",
        },
    ),
    proof(
        call.episode(EPISODE_ID),
        "podcasts.episode",
        missing=f"{_EPISODE} error_message",
        values={"created_at": "2026-11-20T13:30:46.021Z"},
    ),
    proof(
        call.episode(FAILED_EPISODE),
        "podcasts.episode_failed",
        missing=f"{_EPISODE} audio_file audio_url outline transcript",
    ),
    proof(call.audio(EPISODE_ID), "podcasts.audio", result=91785),
    # No recording has the response to a retry: taken from the schema and the state after it.
    proof(
        call.retry_episode(FAILED_EPISODE),
        derived(
            "podcasts.retry_completed",
            request_line=f"POST /api/podcasts/episodes/{FAILED_EPISODE}/retry",
            status=200,
            answer={"job_id": "command:1jxn441figqricvenm62", "message": "Retry submitted"},
        ),
        missing="episode_id",
        values={"job_id": "command:1jxn441figqricvenm62"},
    ),
    proof(call.delete_episode("episode:s360ttk9acyoxnrxoq4l"), "podcasts.delete", result=None),
)

"""Proofs: podcasts."""

from __future__ import annotations

from typing import Any

from labext.nb.records import EPISODE, EPISODE_DETAIL, EPISODE_RETRY, EPISODE_SUBMISSION, JOB
from open_notebook.facts import recordings
from open_notebook.proof import derived, proof
from open_notebook.proved.ids import (
    EPISODE_ID,
    FAILED_EPISODE,
    JOB_ID,
    NOTEBOOK_ID,
    SOLO,
    SOLO_SPEAKER,
)


def _with_models() -> tuple[Any, Any]:
    """Return the profiles with models."""
    solo = recordings()["episode_profiles.put.solo_expert"].answer
    speaker = recordings()["speaker_profiles.put.solo_expert"].answer
    return (
        derived("episode_profiles.list", answer=[solo]),
        derived("speaker_profiles.list", answer=[speaker]),
    )


_EPISODE = "notebook_id job_id stage progress duration audio_bytes updated_at"

PODCASTS = (
    proof(
        "generate",
        lambda d: d.generate(NOTEBOOK_ID, SOLO, [SOLO_SPEAKER], "Ep one", None),
        *_with_models(),
        "podcasts.generate",
        fields=EPISODE_SUBMISSION,
        missing="episode_id",
        values={"job_id": JOB_ID, "status": "submitted"},
    ),
    proof(
        "generate",
        lambda d: d.generate(NOTEBOOK_ID, SOLO, None, "Ep one", "Mention yields."),
        *_with_models(),
        "podcasts.generate",
        fields=EPISODE_SUBMISSION,
        missing="episode_id",
        unrecorded="briefing_suffix",
    ),
    *(
        proof(
            "podcast_job",
            lambda d, job=job: d.podcast_job(job),
            name,
            fields=JOB,
            missing=f"stage progress created_at updated_at {untold}",
            values={"status": status},
        )
        for name, job, status, untold in (
            ("podcasts.job_running", JOB_ID, "running", "result error_message"),
            ("podcasts.job_completed", JOB_ID, "completed", "error_message"),
            ("podcasts.job_failed", "command:l7h1f4al8d4t6lonwqli", "failed", "result"),
            (
                "podcasts.job_after_retry",
                "command:1jxn441figqricvenm62",
                "completed",
                "error_message",
            ),
        )
    ),
    proof(
        "episodes",
        lambda d: d.episodes(),
        "podcasts.episodes",
        fields=EPISODE,
        missing=f"{_EPISODE} error_message",
        values={"name": "Ep one", "job_status": "completed"},
    ),
    proof(
        "episodes",
        lambda d: d.episodes(),
        "podcasts.episodes_while_running",
        fields=EPISODE,
        missing=f"{_EPISODE} error_message audio_file audio_url",
        values={"job_status": "running"},
    ),
    proof(
        "episodes",
        lambda d: d.episodes(),
        "podcasts.episodes_with_failed",
        fields=EPISODE,
        missing=f"{_EPISODE} audio_file audio_url",
        values={
            "job_status": "failed",
            "error_message": "Failed to generate speech: OpenAI-compatible TTS endpoint error: "
            "fake internal server error",
        },
    ),
    proof("episodes", lambda d: d.episodes(), "podcasts.episodes_after_no_model", result=[]),
    proof(
        "episode",
        lambda d: d.episode(EPISODE_ID),
        "podcasts.episode",
        fields=EPISODE_DETAIL,
        missing=f"{_EPISODE} error_message",
        values={"created_at": "2026-11-20T13:30:46.021Z"},
    ),
    proof(
        "episode",
        lambda d: d.episode(FAILED_EPISODE),
        "podcasts.episode_failed",
        fields=EPISODE_DETAIL,
        missing=f"{_EPISODE} audio_file audio_url outline transcript",
    ),
    proof("audio", lambda d: d.audio(EPISODE_ID), "podcasts.audio", result=91785),
    # No recording has the response to a retry: taken from the schema and the state after it.
    proof(
        "retry_episode",
        lambda d: d.retry_episode(FAILED_EPISODE),
        derived(
            "podcasts.retry_completed",
            request_line=f"POST /api/podcasts/episodes/{FAILED_EPISODE}/retry",
            status=200,
            answer={"job_id": "command:1jxn441figqricvenm62", "message": "Retry submitted"},
        ),
        fields=EPISODE_RETRY,
        missing="episode_id",
        values={"job_id": "command:1jxn441figqricvenm62"},
    ),
    proof(
        "delete_episode",
        lambda d: d.delete_episode("episode:s360ttk9acyoxnrxoq4l"),
        "podcasts.delete",
        result=None,
    ),
)

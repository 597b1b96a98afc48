"""Generate one episode in a separate process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files
from labext.sandbox.nb.background_tasks import ProgressWriter, open_site
from labext.sandbox.nb.podcasts import inputs, recording, tasks, writer
from labext.sandbox.nb.podcasts.draft import Draft
from labext.sandbox.nb.podcasts.script import DIALOGUE, OUTLINE, EpisodePlan, Segment, Turn
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.speech.voices import VoiceRequests
from labext.sandbox.nb.tables import Episode, Model


@dataclass(frozen=True)
class _Job:
    """The plan of an episode, with the models that write it and the voices that speak it."""

    plan: EpisodePlan
    outliner: Model
    writer: Model
    voices: VoiceRequests


def run(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Make an episode and write its audio, outline and transcript to the folder `work`.

    Raises:
        TaskError: with the reason, if the episode can't be made or a model's server failed.
    """
    with open_site(work) as site:
        try:
            return _make_episode(site, work, payload["episode"])
        except HTTPException as error:
            raise TaskError(error.detail) from None


def _load_job(site: Site, identifier: str) -> _Job:
    with site.database.read() as session:
        episode = session.get(Episode, identifier)
        if episode is None:
            raise TaskError("The episode was deleted.")
        if episode.notebook_id is None:
            raise TaskError("Its notebook was deleted meanwhile; generate another episode.")
        profile = episode.profile
        plan = EpisodePlan(
            inputs.gather_material(session, episode.notebook_id),
            inputs.episode_speakers(episode.speakers),
            episode.briefing,
            profile["num_segments"],
            profile["language"],
            profile["max_tokens"],
        )
        return _Job(
            plan,
            registry.select_model(session, "podcast", profile["outline_llm"]),
            registry.select_model(session, "podcast", profile["transcript_llm"]),
            inputs.requested_voices(session, episode.speakers),
        )


def _make_episode(site: Site, work: Path, identifier: str) -> dict[str, Any]:
    job = _load_job(site, identifier)
    progress = ProgressWriter(work)
    request = (job.plan, job.outliner.id, job.writer.id)
    draft = Draft(files.draft_folder(site, identifier), request)
    segments, turns = draft.load_script() or _write_script(site, job, progress, draft)
    spoken_turns = recording.record_dialogue(
        site,
        turns,
        job.voices,
        tasks.result_audio(work),
        progress.set_progress,
        language=job.plan.language,
        draft=draft,
    )
    tasks.write_result(work, segments, spoken_turns)
    return {"turns": len(spoken_turns)}


def _write_script(
    site: Site, job: _Job, progress: ProgressWriter, draft: Draft
) -> tuple[list[Segment], list[Turn]]:
    progress.set_progress(OUTLINE, 0, 1)
    segments = writer.write_outline(site, job.outliner, job.plan)
    progress.set_progress(DIALOGUE, 0, len(segments))
    turns = writer.write_dialogue(
        site, job.writer, job.plan, segments, partial(progress.set_progress, DIALOGUE)
    )
    draft.save_script(segments, turns)
    return segments, turns

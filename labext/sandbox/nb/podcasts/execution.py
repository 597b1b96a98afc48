"""Make one episode, in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from labext.sandbox.core.executors.task_process import TaskError
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.podcasts import inputs, recording, tasks, writer
from labext.sandbox.nb.podcasts.script import DIALOGUE, OUTLINE, Material, Speaker
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.speech.voices import VoiceRequests
from labext.sandbox.nb.tables import Episode, Model
from labext.sandbox.nb.task_process import ProgressWriter, open_site


@dataclass(frozen=True)
class _Plan:
    """The inputs of an episode: material, models, speakers and voices."""

    material: Material
    briefing: str
    count: int
    outliner: Model
    writer: Model
    language: str | None
    max_tokens: int | None
    speakers: list[Speaker]
    voices: VoiceRequests


def run(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Make an episode and write its audio, outline and transcript to the folder `work`.

    Args:
        work: the working folder, which receives the result.
        payload: `episode`, its identifier.

    Raises:
        TaskError: with the reason, if the episode can't be made or a model's server failed.
    """
    with open_site(work) as site:
        try:
            return _make_episode(site, work, _load_plan(site, payload["episode"]))
        except HTTPException as error:
            raise TaskError(error.detail) from None


def _load_plan(site: Site, identifier: str) -> _Plan:
    with site.database.read() as session:
        episode = session.get(Episode, identifier)
        if episode is None:
            raise TaskError("The episode was deleted.")
        if episode.notebook_id is None:
            raise TaskError("Its notebook was deleted before it was made; order another episode.")
        profile = episode.profile
        return _Plan(
            material=inputs.gather_material(session, episode.notebook_id),
            briefing=episode.briefing,
            count=profile["num_segments"],
            outliner=registry.select_model(session, "podcast", profile["outline_llm"]),
            writer=registry.select_model(session, "podcast", profile["transcript_llm"]),
            language=profile["language"],
            max_tokens=profile["max_tokens"],
            speakers=inputs.episode_speakers(episode.speakers),
            voices=inputs.requested_voices(session, episode.speakers),
        )


def _make_episode(site: Site, work: Path, plan: _Plan) -> dict[str, Any]:
    progress = ProgressWriter(work)
    progress.set_progress(OUTLINE, 0, 1)
    segments = writer.write_outline(
        site,
        plan.outliner,
        plan.material,
        plan.briefing,
        plan.count,
        plan.speakers,
        language=plan.language,
        max_tokens=plan.max_tokens,
    )
    progress.set_progress(DIALOGUE, 0, len(segments))
    turns = writer.write_dialogue(
        site,
        plan.writer,
        plan.material,
        plan.briefing,
        segments,
        plan.speakers,
        partial(progress.set_progress, DIALOGUE),
        language=plan.language,
        max_tokens=plan.max_tokens,
    )
    sound = tasks.result_audio(work)
    spoken_turns = recording.record_dialogue(
        site, turns, plan.voices, sound, progress.set_progress, language=plan.language
    )
    tasks.write_result(work, segments, spoken_turns)
    return {"turns": len(spoken_turns)}

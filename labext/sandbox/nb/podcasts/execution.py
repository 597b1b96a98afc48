"""Generate one episode in a separate process."""

from __future__ import annotations

from collections.abc import Mapping
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
from labext.sandbox.nb.podcasts.script import DIALOGUE, OUTLINE, EpisodePlan
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.tables import Episode


def run(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Make an episode and write its audio, outline and transcript to the folder `work`."""
    with open_site(work) as site:
        try:
            return _make_episode(site, work, payload["episode"])
        except HTTPException as error:
            raise TaskError(error.detail) from None


def _make_episode(site: Site, work: Path, identifier: str) -> dict[str, Any]:
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
        outliner = registry.select_model(session, "podcast", profile["outline_llm"])
        scriptwriter = registry.select_model(session, "podcast", profile["transcript_llm"])
        voices = inputs.requested_voices(session, episode.speakers)
    on_progress = ProgressWriter(work).set_progress
    draft = Draft(files.draft_folder(site, identifier), (plan, outliner.id, scriptwriter.id))
    script = draft.load_script()
    if script is None:
        on_progress(OUTLINE, 0, 1)
        segments = writer.write_outline(site, outliner, plan)
        on_progress(DIALOGUE, 0, len(segments))
        turns = writer.write_dialogue(
            site, scriptwriter, plan, segments, partial(on_progress, DIALOGUE)
        )
        draft.save_script(segments, turns)
    else:
        segments, turns = script
    spoken_turns = recording.record_dialogue(
        site,
        turns,
        voices,
        tasks.result_audio(work),
        on_progress,
        language=plan.language,
        draft=draft,
    )
    tasks.write_result(work, segments, spoken_turns)
    return {"turns": len(spoken_turns)}

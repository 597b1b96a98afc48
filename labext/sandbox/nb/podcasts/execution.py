"""Makes one episode, in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from labext.sandbox.nb.models import registry
from labext.sandbox.nb.podcasts import cast, material, results, writing
from labext.sandbox.nb.podcasts.script import DIALOGUE, OUTLINE, Material, Speaker
from labext.sandbox.nb.podcasts.store import Episode
from labext.sandbox.nb.processes import opened
from labext.sandbox.nb.speech import recording
from labext.sandbox.nb.speech.casting import Wanted
from labext.sandbox.nb.stages import Stages
from labext.sandbox.nb.store import Model
from labext.sandbox.runner import TaskError
from labext.sandbox.service import Site


@dataclass(frozen=True)
class _Plan:
    """What is to be made: of what, by whom, and how."""

    material: Material
    briefing: str
    count: int
    outliner: Model
    writer: Model
    language: str | None
    max_tokens: int | None
    speakers: list[Speaker]
    voices: Wanted


def run(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Make an episode: leaves its sound, outline and transcript in the folder `work`.

    Args:
        work: the working folder; what is made is put there.
        payload: `episode`, its identifier.

    Raises:
        TaskError: it can't be made, or a model's server failed; with the reason.
    """
    with opened(work) as site:
        try:
            return _make(site, work, _plan(site, payload["episode"]))
        except HTTPException as error:
            raise TaskError(error.detail) from None


def _plan(site: Site, identifier: str) -> _Plan:
    with site.database.read() as session:
        episode = session.get(Episode, identifier)
        if episode is None:
            raise TaskError("The episode was deleted.")
        if episode.notebook_id is None:
            raise TaskError("Its notebook was deleted before it was made; order another episode.")
        profile = episode.profile
        return _Plan(
            material=material.gather(session, episode.notebook_id),
            briefing=episode.briefing,
            count=profile["num_segments"],
            outliner=registry.chosen(session, "podcast", profile["outline_llm"]),
            writer=registry.chosen(session, "podcast", profile["transcript_llm"]),
            language=profile["language"],
            max_tokens=profile["max_tokens"],
            speakers=cast.speakers(episode.speakers),
            voices=cast.voices(session, episode.speakers),
        )


def _make(site: Site, work: Path, plan: _Plan) -> dict[str, Any]:
    stages = Stages(work)
    stages.count(OUTLINE, 0, 1)
    segments = writing.outline(
        site,
        plan.outliner,
        plan.material,
        plan.briefing,
        plan.count,
        plan.speakers,
        language=plan.language,
        max_tokens=plan.max_tokens,
    )
    stages.count(DIALOGUE, 0, len(segments))
    turns = writing.dialogue(
        site,
        plan.writer,
        plan.material,
        plan.briefing,
        segments,
        plan.speakers,
        partial(stages.count, DIALOGUE),
        language=plan.language,
        max_tokens=plan.max_tokens,
    )
    sound = results.sound(work)
    spoken = recording.record(site, turns, plan.voices, sound, stages.count, language=plan.language)
    results.write(work, segments, spoken)
    return {"turns": len(spoken)}

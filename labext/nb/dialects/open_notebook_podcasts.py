"""Podcasts, as Open Notebook is asked for them (real services, section nb)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext import wording
from labext.errors import (
    InputError,
    NotFoundError,
    OutcomeUnknownError,
    ServiceError,
    SetupError,
)
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects import contract_podcasts as contract
from labext.nb.dialects.contract_notebooks import ONE as NOTEBOOK
from labext.nb.dialects.open_notebook_alive import alive
from labext.nb.dialects.open_notebook_profiles import ProfileCalls
from labext.nb.dialects.open_notebook_told import dated
from labext.nb.records import RETRIED, SUBMITTED, Record, made

UNKNOWN_JOB = 500
"""What it answers of a job that it does not know (real services, Traps)."""


class PodcastCalls(contract.PodcastCalls, ProfileCalls):
    """The operations on podcasts, where that server's differ."""

    def generate(
        self,
        notebook: str,
        episode_profile: str,
        speaker_profiles: Sequence[str] | None,
        name: str | None,
        briefing: str | None,
    ) -> Steps[Record]:
        """Have an episode made of a notebook.

        It accepts also what can only fail, and then no episode appears: so the profiles are looked
        at first.
        """
        profile = yield from self.episode_profile(episode_profile)
        chosen = list(speaker_profiles or profile["speaker_profile_ids"])
        if len(chosen) != 1:
            raise InputError(
                "An episode of Open Notebook has one speaker profile, with one to four speakers.",
                "Name one: `--speakers PROFILE`; see `%nb profiles`.",
            )
        speakers = yield from self.speaker_profile(chosen[0])
        _check_models(profile, speakers)
        body = {
            "episode_profile": profile["name"],
            "speaker_profile": speakers["name"],
            "episode_name": name or (yield from _name_for(notebook)),
            "notebook_id": notebook,
        }
        if briefing is not None:
            body["briefing_suffix"] = briefing
        answer = yield Request(contract.GENERATE, json=body)
        told = records.mapping(answer, "the episode")
        return made(SUBMITTED, {**told, "episode_id": None})

    def podcast_job(self, job: str) -> Steps[Record]:
        """Look at the job that makes an episode; a result or a reason that is empty is none.

        Of a job that it does not know that server answers as of one that it can't look up.
        """
        try:
            record = yield from contract.PodcastCalls.podcast_job(self, job)
        except ServiceError as error:
            if error.status != UNKNOWN_JOB:
                raise
            yield from alive()
            raise NotFoundError(
                f"There is no podcast job {wording.shown(job)}, or it can't be looked up.",
                "See `%nb episodes`.",
                status=error.status,
                server=error.server,
            ) from None
        empty = {name: record[name] or None for name in ("result", "error_message")}
        return {**record, **empty}

    def episodes(self) -> Steps[list[Record]]:
        """List them all, without what is said in them."""
        answer = yield Request(contract.LIST)
        listed = records.several(answer, "episodes")
        return [contract.an_episode(_theirs(each)) for each in listed]

    def episode(self, episode: str) -> Steps[Record]:
        """Look at one, with its outline and its transcript."""
        answer = yield Request(contract.ONE, {"episode": episode})
        return contract.whole(_theirs(records.mapping(answer, "the episode")))

    def retry_episode(self, episode: str) -> Steps[Record]:
        """Make a failed one again: another one comes in its place, of which only the job is known.

        A lost answer can't be settled where the failed one is gone.
        """
        try:
            answer = yield Request(contract.RETRY, {"episode": episode})
        except OutcomeUnknownError as unknown:
            try:
                yield Request(contract.ONE, {"episode": episode})
            except NotFoundError:
                raise OutcomeUnknownError(
                    "The answer was lost, and the failed episode is gone: it is made again.",
                    "Look for it in a while: `%nb episodes`.",
                ) from None
            raise unknown from None
        told = answer if isinstance(answer, Mapping) else {}
        return made(RETRIED, {**told, "episode_id": told.get("episode_id")})


def _check_models(profile: Record, speakers: Record) -> None:
    """See that the profiles have models; those that come with that server have none.

    Raises:
        SetupError: one has none.
    """
    lacking = [
        *(["the outline"] if not profile["outline_llm"] else []),
        *(["what is said"] if not profile["transcript_llm"] else []),
    ]
    if lacking:
        raise SetupError(
            f"The episode profile {profile['name']} has no model for {' and '.join(lacking)}.",
            f"Give it one: `%nb profiles edit {profile['name']} --outline-model NAME "
            "--transcript-model NAME`.",
        )
    if not speakers["voice_model"]:
        raise SetupError(
            f"The speaker profile {speakers['name']} has no model that speaks.",
            f"Give it one: `%nb profiles edit {speakers['name']} --voice-model NAME`.",
        )


def _name_for(notebook: str) -> Steps[str]:
    """Return a name for an episode that was given none, which that server wants."""
    told = records.mapping((yield Request(NOTEBOOK, {"notebook": notebook})), "the notebook")
    return str(told.get("name") or "Episode")


def _theirs(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return an episode by the names of the records."""
    speakers = told.get("speaker_profile")
    return {
        **dated(told),
        "speaker_profiles": [speakers] if speakers else [],
        "error_message": told.get("error_message") or None,
    }

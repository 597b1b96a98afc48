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
from labext.nb.dialects import Request, Steps, contract_models
from labext.nb.dialects import contract_podcasts as contract
from labext.nb.dialects.contract_notebooks import ONE as NOTEBOOK
from labext.nb.dialects.open_notebook_alive import alive
from labext.nb.dialects.open_notebook_models import SLOT_NAMES
from labext.nb.dialects.open_notebook_profiles import ProfileCalls, by_identifier
from labext.nb.dialects.open_notebook_sayings import reason
from labext.nb.dialects.open_notebook_told import dated, type_here
from labext.nb.records import RETRIED, SUBMITTED, Record, made

UNKNOWN_JOB = 500
"""What it answers of a job that it does not know (real services, Traps)."""


DEFAULT_BRIEFING = "Discuss the main points of the content."
"""Sent for a profile with neither briefing nor description: that server requires a briefing."""


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
        at first, all speaker profiles among them.
        """
        profile = yield from self.episode_profile(episode_profile)
        chosen = list(speaker_profiles or profile["speaker_profile_ids"])
        if len(chosen) != 1:
            raise InputError(
                "An episode of Open Notebook has one speaker profile, with one to four speakers.",
                "Name one: `--speakers PROFILE`; see `%nb profiles`.",
            )
        every = yield from self.speaker_profiles()
        yield from _check_models(profile, every)
        speakers = by_identifier(every, chosen[0], "speaker profile")
        body = {
            "episode_profile": profile["name"],
            "speaker_profile": speakers["name"],
            "episode_name": name or (yield from _name_for(notebook)),
            "notebook_id": notebook,
        }
        if not briefing and not (profile["default_briefing"] or "").strip():
            briefing = (profile["description"] or "").strip() or DEFAULT_BRIEFING
        if briefing:
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
        return {
            **record,
            "result": record["result"] or None,
            "error_message": reason(record["error_message"]),
        }

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


def _check_models(profile: Record, speakers: Sequence[Record]) -> Steps[None]:
    """See that the profiles have models; those that come with that server have none.

    It refuses an episode also for speaker profiles that the episode does not use.

    Raises:
        SetupError: models are missing; the next step has a line for each profile.
    """
    fields = {"outline_llm": "--outline-model", "transcript_llm": "--transcript-model"}
    lacking = [option for field, option in fields.items() if not profile[field]]
    silent = [str(each["name"]) for each in speakers if not each["voice_model"]]
    if not lacking and not silent:
        return
    missing, lines = [], []
    if lacking:
        name = yield from _default("chat")
        if name is None:
            raise _no_model("writes an episode's outline and dialogue", "chat")
        given = " ".join(f"{option} {wording.quoted(name)}" for option in lacking)
        missing.append(f"the episode profile {profile['name']} has no model that writes")
        lines.append(f"`%nb profiles edit {wording.quoted(profile['name'])} {given}`")
    if silent:
        voice = yield from _default("text_to_speech")
        if voice is None:
            raise _no_model("speaks", "text_to_speech")
        have = "profile {} has" if len(silent) == 1 else "profiles {} have"
        missing.append(
            f"the speaker {have.format(wording.listed(silent, len(silent)))} no voice model, "
            "which Open Notebook requires of all of them"
        )
        model = wording.quoted(voice)
        lines += [
            f"`%nb profiles edit {wording.quoted(each)} --voice-model {model}`" for each in silent
        ]
    raise SetupError(f"{wording.sentence('; '.join(missing))}.", f"Run {', '.join(lines)}.")


def _no_model(does: str, slot: str) -> SetupError:
    return SetupError(
        f"There is no model that {does}.", f"Set one: `%nb models defaults --set {slot}=NAME`."
    )


def _default(slot: str) -> Steps[str | None]:
    """Return the name of a slot's model, else of the first one of its type."""
    listed = records.several((yield Request(contract_models.LIST)), "models")
    slots = records.mapping((yield Request(contract_models.DEFAULTS)), "the default models")
    chosen = slots.get(SLOT_NAMES[slot])
    fitting = [each for each in listed if type_here(each.get("type")) == records.SLOTS[slot]]
    fitting.sort(key=lambda each: each.get("id") != chosen)
    return str(fitting[0]["name"]) if fitting else None


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
        "error_message": reason(told.get("error_message")),
    }

"""Episode and speaker profiles, as Open Notebook is asked for them (real services, section nb).

It finds one by its name alone, and takes one whole: whatever is not said would be lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labext.errors import InputError, NotFoundError
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects import contract_profiles as contract
from labext.nb.dialects.contract_models import DEFAULTS, LIST
from labext.nb.dialects.open_notebook_models import SLOT_NAMES
from labext.nb.records import Record

_ONE_PROFILE = (
    "An episode of Open Notebook has one speaker profile, with one to four speakers in it."
)

VOICES = ("nova", "onyx", "shimmer", "echo", "alloy", "fable")
"""Names of voices that OpenAI's speech models have, and most servers that follow its API."""

OPENAI = frozenset({"openai", "openai_compatible"})
"""Providers whose models have these voices."""

SEGMENTS = range(3, 21)
"""How many parts an episode may have; for fewer it answers with a 500 and no reason."""


class ProfileCalls(contract.ProfileCalls):
    """The operations on profiles, where that server's differ."""

    def episode_profiles(self) -> Steps[list[Record]]:
        """List them all."""
        answer = yield Request(contract.EPISODES.listed)
        return [_episode(each) for each in records.several(answer, "episode profiles")]

    def episode_profile(self, profile: str) -> Steps[Record]:
        """Look at one."""
        return by_identifier((yield from self.episode_profiles()), profile, "episode profile")

    def new_episode_profile(self, given: Mapping[str, Any]) -> Steps[Record]:
        """Make one; a model that is not named is that of the slot for chats."""
        unnamed = [field for field in ("outline_llm", "transcript_llm") if not given.get(field)]
        if unnamed and (model := (yield from _default("chat"))) is not None:
            given = {**given, **dict.fromkeys(unnamed, model)}
        body = yield from self._episode_body(given)
        return _episode((yield Request(contract.EPISODES.new, json=body)))

    def change_episode_profile(self, profile: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change fields of the record; the others are sent as they are."""
        now = yield from self.episode_profile(profile)
        kept = {key: now[key] for key in _EPISODE_FIELDS}
        body = yield from self._episode_body({**kept, **changes})
        return _episode((yield Request(contract.EPISODES.change, {"profile": profile}, json=body)))

    def copy_episode_profile(self, profile: str) -> Steps[Record]:
        """Make another one like it."""
        return _episode((yield Request(contract.EPISODES.copy, {"profile": profile})))

    def speaker_profile(self, profile: str) -> Steps[Record]:
        """Look at one."""
        return by_identifier((yield from self.speaker_profiles()), profile, "speaker profile")

    def new_speaker_profile(self, given: Mapping[str, Any]) -> Steps[Record]:
        """Make one; a voice model that is not named is that of the slot."""
        model = given.get("voice_model") or (yield from _default("text_to_speech"))
        speakers = yield from _with_voices(given["speakers"], model)
        body = {**given, "speakers": [_speaker(each) for each in speakers]}
        if model is not None:
            body["voice_model"] = model
        return contract.SPEAKERS.record((yield Request(contract.SPEAKERS.new, json=body)))

    def change_speaker_profile(self, profile: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change fields of the record; the others are sent as they are."""
        now = yield from self.speaker_profile(profile)
        kept = {key: now[key] for key in ("name", "description", "voice_model", "speakers")}
        body = {**kept, **changes}
        body["speakers"] = [_speaker(each) for each in body["speakers"]]
        path = {"profile": profile}
        return contract.SPEAKERS.record((yield Request(contract.SPEAKERS.change, path, json=body)))

    def _episode_body(self, given: Mapping[str, Any]) -> Steps[dict[str, Any]]:
        """Return the fields of an episode profile by that server's names."""
        body = dict(given)
        segments = body.get("num_segments")
        if segments is not None and segments not in SEGMENTS:
            raise InputError(
                f"An episode of Open Notebook has {SEGMENTS[0]} to {SEGMENTS[-1]} segments, not "
                f"{segments}.",
                "Give a number between them: `%nb profiles edit PROFILE --segments 5`.",
            )
        speakers = body.pop("speaker_profile_ids", None) or []
        if len(speakers) != 1:
            raise InputError(_ONE_PROFILE, "Name one: `--speakers PROFILE`; see `%nb profiles`.")
        who = yield from self.speaker_profile(speakers[0])
        return {"default_briefing": "", **body, "speaker_config": who["name"]}


_EPISODE_FIELDS = (
    "name",
    "description",
    "speaker_profile_ids",
    "outline_llm",
    "transcript_llm",
    "language",
    "default_briefing",
    "num_segments",
    "max_tokens",
)


def _episode(answer: Any) -> Record:
    there = records.mapping(answer, "the episode profile")
    speakers = there.get("speaker_config")
    return contract.EPISODES.record(
        {**there, "speaker_profile_ids": [speakers] if speakers else []}
    )


def by_identifier(profiles: list[Record], identifier: str, noun: str) -> Record:
    """Return the profile of an identifier, by which that server finds none."""
    for each in profiles:
        if each["id"] == identifier:
            return each
    raise NotFoundError(f"There is no {noun} {identifier}.", "See `%nb profiles`.")


def _default(slot: str) -> Steps[str | None]:
    """Return the identifier of the model in a default slot."""
    slots = records.mapping((yield Request(DEFAULTS)), "the default models")
    return slots.get(SLOT_NAMES[slot]) or None


def _with_voices(
    speakers: Sequence[Mapping[str, Any]], model: str | None
) -> Steps[list[Mapping[str, Any]]]:
    """Return speakers with a voice for each, where the names of the model's voices are known."""
    taken = {each.get("voice_id") for each in speakers}
    free = [voice for voice in VOICES if voice not in taken]
    if all(taken) or model is None:
        return [*speakers]
    listed = records.several((yield Request(LIST)), "models")
    if not any(each.get("id") == model and each.get("provider") in OPENAI for each in listed):
        return [*speakers]
    return [
        each if each.get("voice_id") or not free else {**each, "voice_id": free.pop(0)}
        for each in speakers
    ]


def _speaker(speaker: Mapping[str, Any]) -> Record:
    """Return a speaker with all that the server wants of one.

    Raises:
        InputError: it has no voice, and none could be chosen.
    """
    if not speaker.get("voice_id"):
        raise InputError(
            f"{speaker['name']} has no voice, which Open Notebook gives to nobody by itself.",
            "Give each speaker a `voice_id` of the voice model, such as `nova`.",
        )
    texts = {key: speaker.get(key) or "" for key in ("backstory", "personality")}
    return {"name": speaker["name"], "voice_id": speaker["voice_id"], **texts}

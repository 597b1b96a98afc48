"""Episode and speaker profiles, as Open Notebook is asked for them (real services, section nb).

It finds one by its name alone, and takes one whole: whatever is not said would be lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.errors import InputError, NotFoundError
from labext.nb import records
from labext.nb.dialects import Request, Steps
from labext.nb.dialects import contract_profiles as contract
from labext.nb.records import Record

_ONE_PROFILE = (
    "An episode of Open Notebook has one speaker profile, with one to four speakers in it."
)

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
        """Make one."""
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
        """Make one; each speaker needs a voice."""
        body = {**given, "speakers": [_speaker(each) for each in given["speakers"]]}
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


def _speaker(speaker: Mapping[str, Any]) -> Record:
    """Return a speaker with all that the server wants of one.

    Raises:
        InputError: it has no voice.
    """
    if not speaker.get("voice_id"):
        raise InputError(
            f"{speaker['name']} has no voice, which Open Notebook gives to nobody by itself.",
            "Give each speaker a `voice_id` of the voice model, such as `nova`.",
        )
    texts = {key: speaker.get(key) or "" for key in ("backstory", "personality")}
    return {"name": speaker["name"], "voice_id": speaker["voice_id"], **texts}

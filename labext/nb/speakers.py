"""The client's methods for the profiles of speakers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import InputError
from labext.nb.group import Group, changes, given, names_of
from labext.nb.records import SPEAKER, Record

if TYPE_CHECKING:
    import pandas as pd


class SpeakerProfiles(Group):
    """`nb.speaker_profiles`: who speaks in an episode, one to four people in each profile."""

    def list(self) -> pd.DataFrame:
        """Return the profiles, a row each; columns as `records.SPEAKER_PROFILE`."""
        from labext.nb.podcastviews import speaker_profiles

        return speaker_profiles(self.iter())

    def iter(self) -> Iterator[Record]:
        """Yield the records of all speaker profiles."""
        yield from self._wire.run(self._dialect.speaker_profiles())

    def names(self) -> Sequence[str]:
        """Return the names of all speaker profiles, each once."""
        return names_of(self.iter())

    def find(self, profile: str) -> str:
        """Return a speaker profile's identifier."""
        return self._titles.find("speaker profile", profile)

    def get(self, profile: str) -> Record:
        """Return one speaker profile's record; each of its `speakers` is as `records.SPEAKER`."""
        return self._wire.run(self._dialect.speaker_profile(self.find(profile)))

    def create(
        self,
        name: str,
        speakers: Iterable[Mapping[str, Any]] | Mapping[str, Any],
        description: str | None = None,
        voice_model: str | None = None,
    ) -> Record:
        """Make a speaker profile; return its record.

        Args:
            name: what it is called; no other one may be.
            speakers: one to four, each with a `name` and, if wished, a `voice_id`, a `backstory`
                and a `personality`.
            description: what it is for.
            voice_model: the model that speaks; else the one in the slot `text_to_speech`.

        Raises:
            InputError: the name is taken, or a speaker is none that the service takes.
            OutcomeUnknownError: the answer was lost, and it is not there.
        """
        body = {"name": name, "speakers": checked_speakers(speakers)}
        body |= given({"description": description, "voice_model": self._voice(voice_model)})
        return self._wire.run(self._dialect.new_speaker_profile(body))

    def update(
        self,
        profile: str,
        name: str | None = None,
        speakers: Iterable[Mapping[str, Any]] | Mapping[str, Any] | None = None,
        description: str | None = None,
        voice_model: str | None = None,
    ) -> Record:
        """Change a speaker profile; what is None stays. Return its record.

        An empty `voice_model` is the one in the slot `text_to_speech` again.

        Raises:
            InputError: nothing is to be changed.
        """
        wanted = {
            "name": name,
            "speakers": None if speakers is None else checked_speakers(speakers),
            "description": description,
            "voice_model": self._voice(voice_model),
        }
        changed = changes("speaker profile", wanted, {"voice_model"})
        return self._wire.run(self._dialect.change_speaker_profile(self.find(profile), changed))

    def delete(self, profile: str) -> None:
        """Delete a speaker profile; the episodes made with it keep what it was."""
        self._wire.run(self._dialect.delete_speaker_profile(self.find(profile)))

    def duplicate(self, profile: str) -> Record:
        """Make another one like it, under a name that the service gives; return its record."""
        return self._wire.run(self._dialect.copy_speaker_profile(self.find(profile)))

    def _voice(self, model: str | None) -> str | None:
        return model and self._titles.find("model", model, "tts")


def checked_speakers(speakers: Iterable[Mapping[str, Any]] | Mapping[str, Any]) -> list[Record]:
    """Return speakers that can be sent.

    Raises:
        InputError: there is none, or one has no name, or a field that nobody knows.
    """
    given_ones = [speakers] if isinstance(speakers, Mapping) else [*speakers]
    if not given_ones:
        raise InputError("There is no speaker.", "Give one to four.")
    for each in given_ones:
        for key in each if isinstance(each, Mapping) else ():
            if key not in SPEAKER:
                near = wording.did_you_mean(str(key), SPEAKER)
                raise InputError(
                    f"A speaker has no {wording.shown(key)}{near}.",
                    f"A speaker may have {', '.join(SPEAKER)}.",
                )
        if not isinstance(each, Mapping) or not str(each.get("name") or "").strip():
            raise InputError("A speaker has no name.", 'Give each one a name: {"name": "Ada"}.')
    return [dict(each) for each in given_ones]

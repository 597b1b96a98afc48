"""The client's methods for the profiles of episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labext.nb.group import Group, changes, given, names_of
from labext.nb.records import Record

if TYPE_CHECKING:
    import pandas as pd


class EpisodeProfiles(Group):
    """`nb.episode_profiles`: what kind of episode is made, and by which models."""

    def list(self) -> pd.DataFrame:
        """Return the profiles, a row each; columns as `records.EPISODE_PROFILE`."""
        from labext.nb.podcastviews import episode_profiles

        return episode_profiles(self.iter())

    def iter(self) -> Iterator[Record]:
        """Yield the records of all episode profiles."""
        yield from self._wire.run(self._dialect.episode_profiles())

    def names(self) -> Sequence[str]:
        """Return the names of all episode profiles, each once."""
        return names_of(self.iter())

    def find(self, profile: str) -> str:
        """Return an episode profile's identifier."""
        return self._titles.find("episode profile", profile)

    def get(self, profile: str) -> Record:
        """Return one episode profile's record."""
        return self._wire.run(self._dialect.episode_profile(self.find(profile)))

    def create(
        self,
        name: str,
        speakers: Iterable[str] | str | None = None,
        description: str | None = None,
        outline_llm: str | None = None,
        transcript_llm: str | None = None,
        language: str | None = None,
        default_briefing: str | None = None,
        num_segments: int | None = None,
        max_tokens: int | None = None,
    ) -> Record:
        """Make an episode profile; return its record.

        Args:
            name: what it is called; no other one may be.
            speakers: the speaker profiles, by name or identifier, of an episode that names none.
            description: what it is for.
            outline_llm: the model that makes the outline; else the one in the slot `podcast`.
            transcript_llm: the model that writes what is said; else the one in that slot.
            language: what is spoken.
            default_briefing: what the models are told about every episode.
            num_segments: parts of an episode, 1 to 20.
            max_tokens: the most that a model may write at once.

        Raises:
            InputError: the name is taken, or a value is none that the service takes.
            OutcomeUnknownError: the answer was lost, and it is not there.
        """
        wanted = self._wanted(
            speakers=speakers,
            description=description,
            outline_llm=outline_llm,
            transcript_llm=transcript_llm,
            language=language,
            default_briefing=default_briefing,
            num_segments=num_segments,
            max_tokens=max_tokens,
        )
        return self._wire.run(self._dialect.new_episode_profile({"name": name, **given(wanted)}))

    def update(
        self,
        profile: str,
        name: str | None = None,
        speakers: Iterable[str] | str | None = None,
        description: str | None = None,
        outline_llm: str | None = None,
        transcript_llm: str | None = None,
        language: str | None = None,
        default_briefing: str | None = None,
        num_segments: int | None = None,
        max_tokens: int | None = None,
    ) -> Record:
        """Change an episode profile; what is None stays. Return its record.

        An empty model or language, and 0 for `max_tokens`, is none again.

        Raises:
            InputError: nothing is to be changed.
        """
        wanted = self._wanted(
            speakers=speakers,
            description=description,
            outline_llm=outline_llm,
            transcript_llm=transcript_llm,
            language=language,
            default_briefing=default_briefing,
            num_segments=num_segments,
            max_tokens=max_tokens,
        )
        clearable = {"outline_llm", "transcript_llm", "language", "max_tokens"}
        changed = changes("episode profile", {"name": name, **wanted}, clearable)
        return self._wire.run(self._dialect.change_episode_profile(self.find(profile), changed))

    def delete(self, profile: str) -> None:
        """Delete an episode profile; the episodes made by it keep what it was."""
        self._wire.run(self._dialect.delete_episode_profile(self.find(profile)))

    def duplicate(self, profile: str) -> Record:
        """Make another one like it, under a name that the service gives; return its record."""
        return self._wire.run(self._dialect.copy_episode_profile(self.find(profile)))

    def _wanted(self, *, speakers: Iterable[str] | str | None, **fields: Any) -> dict[str, Any]:
        """Return the fields as the record has them: models and speakers by their identifiers."""
        for key in ("outline_llm", "transcript_llm"):
            if fields[key]:
                fields[key] = self._titles.find("model", fields[key], "llm")
        if speakers is not None:
            fields["speaker_profile_ids"] = self._titles.several("speaker profile", speakers)
        return fields

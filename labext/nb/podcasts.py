"""Client methods for podcast episodes, episode profiles and speaker profiles."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError
from labext.nb import episode_generation
from labext.nb.backends import OnBytes
from labext.nb.records import SPEAKER, Record
from labext.nb.resource import Resource, build_changes, drop_none, unique_names
from labext.progress import Progress

if TYPE_CHECKING:
    import pandas as pd


class Podcasts(Resource):
    """`nb.podcasts`: episodes made of notebooks (contract, Endpoints: Podcasts)."""

    def generate(
        self,
        notebook: str,
        episode_profile: str,
        speakers: Iterable[str] | str | None = None,
        name: str | None = None,
        briefing: str | None = None,
    ) -> Record:
        """Have an episode made of a notebook; return its `records.SUBMITTED`, not its end.

        Where the answer was lost, the one episode that has come since is taken for it.

        Args:
            notebook: what it is about.
            episode_profile: what kind it is, by name or identifier.
            speakers: the speaker profiles, one to four speakers in all; else the profile's own.
            name: what it is called; else the service names it.
            briefing: what the models are told beyond what the profile tells them.

        Raises:
            InputError: the notebook is empty, or there are more speakers than can speak.
            SetupError: a model is missing, or nothing that can speak is installed.
            OutcomeUnknownError: the answer was lost, and no such episode has come.
        """
        within = self._titles.find("notebook", notebook)
        profile = self._titles.find("episode profile", episode_profile)
        who = None if speakers is None else self._titles.find_all("speaker profile", speakers)
        return self._executor.run(
            self._backend.generate(within, profile, who or None, name, briefing)
        )

    def job(self, job: str) -> Record:
        """Return how far a job is, by the identifier that `generate` told: `records.JOB`.

        Its `progress` is as `records.PROGRESS`, or None where the service tells none.
        """
        return self._executor.run(self._backend.podcast_job(job))

    def watch(self, what: str, stop: threading.Event | None = None) -> Iterator[Progress]:
        """Look at an episode until it is there or has failed; yield what is seen, and ticks.

        An unknown status is shown as it is; `unchanged` tells for how long
        nothing has changed, also where the service tells of no progress at all. One that is said
        to be completed and has no sound has failed.

        Args:
            what: the episode, or the identifier of a job.
            stop: ends the watching, not the making.

        Raises:
            NotFoundError: it is not there at the first look.
        """
        return episode_generation.watch_episode(
            self._executor, self._backend, self._job_or_episode_id(what), stop=stop
        )

    def wait(self, what: str, timeout: float | None = None) -> Record:
        """Wait until an episode is there; return its record, with its transcript.

        Args:
            what: the episode, or the identifier of a job.
            timeout: seconds to wait at most.

        Raises:
            JobFailedError: it has failed; the reason is told.
            NotReadyError: it is not there in time; what it is at is told. The making goes on.
        """
        return episode_generation.wait_for_episode(
            self._executor, self._backend, self._job_or_episode_id(what), timeout
        )

    def episodes(self) -> pd.DataFrame:
        """Return the episodes, a row each; columns as `records.EPISODE`."""
        from labext.nb.views import episode_frame as shown

        return shown(self.iter())

    def iter(self) -> Iterator[Record]:
        """Yield the records of all episodes, without what is said in them."""
        yield from self._executor.run(self._backend.episodes())

    def names(self) -> Sequence[str]:
        """Return the names of all episodes, each once."""
        return unique_names(self.iter())

    def find(self, episode: str) -> str:
        """Return an episode's identifier, for its name or for the job that has made it."""
        job = episode_generation.parse_command_id(episode)
        episode_id = job and (self.job(job)["result"] or {}).get("episode_id")
        return str(episode_id or self._titles.find("episode", episode))

    def episode(self, episode: str) -> Record:
        """Return one episode's record, with its outline and transcript: `records.WHOLE_EPISODE`."""
        return self._executor.run(self._backend.episode(self.find(episode)))

    def audio(
        self, episode: str, to: Path | str | None = None, on_bytes: OnBytes | None = None
    ) -> Path:
        """Download an episode's sound, streamed; return where it is.

        It is written beside its place and appears under its name when it is whole; after a cut it
        goes on where it was.

        Args:
            episode: which one.
            to: a file, or a folder that is there; by default the working folder. In a folder it is
                named after the episode.
            on_bytes: is told the bytes that have come, and the whole's if known.

        Raises:
            NotReadyError: it is still being made.
            JobFailedError: it has failed.
            NotFoundError: there is no such episode.
            ServiceError: it did not come, or not the whole of it.
            StorageError: the disk is full, or the folder can't be written.
        """
        record = self._executor.run(self._backend.episode(self.find(episode)))
        episode_generation.check_audio(record)
        target = Path(to or ".").expanduser()
        if target.is_dir():
            target /= episode_generation.audio_file_name(record)
        written = self._executor.download(self._backend.audio(record["id"]), target, on_bytes)
        episode_generation.verify_download(record, written)
        return written

    def sound(self, episode: str) -> bytes:
        """Return an episode's sound, whole, as it would stand in its file.

        Raises:
            LabextError: as for `audio`.
        """
        with tempfile.TemporaryDirectory(prefix="labext-") as folder:
            return self.audio(episode, folder).read_bytes()

    def retry(self, episode: str) -> Record:
        """Make a failed episode again; return its `records.RETRIED`.

        Raises:
            InputError: it has not failed.
        """
        return self._executor.run(self._backend.retry_episode(self.find(episode)))

    def delete(self, episode: str) -> None:
        """Delete an episode with its sound; one that is being made is stopped."""
        self._executor.run(self._backend.delete_episode(self.find(episode)))

    def _job_or_episode_id(self, what: str) -> str:
        return episode_generation.parse_command_id(what) or self.find(what)


class EpisodeProfiles(Resource):
    """`nb.episode_profiles`: what kind of episode is made, and by which models."""

    def list(self) -> pd.DataFrame:
        """Return the profiles, a row each; columns as `records.EPISODE_PROFILE`."""
        from labext.nb.views import episode_profile_frame

        return episode_profile_frame(self.iter())

    def iter(self) -> Iterator[Record]:
        """Yield the records of all episode profiles."""
        yield from self._executor.run(self._backend.episode_profiles())

    def names(self) -> Sequence[str]:
        """Return the names of all episode profiles, each once."""
        return unique_names(self.iter())

    def find(self, profile: str) -> str:
        """Return an episode profile's identifier."""
        return self._titles.find("episode profile", profile)

    def get(self, profile: str) -> Record:
        """Return one episode profile's record."""
        return self._executor.run(self._backend.episode_profile(self.find(profile)))

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
        values = self._resolve_fields(
            speakers=speakers,
            description=description,
            outline_llm=outline_llm,
            transcript_llm=transcript_llm,
            language=language,
            default_briefing=default_briefing,
            num_segments=num_segments,
            max_tokens=max_tokens,
        )
        return self._executor.run(
            self._backend.new_episode_profile({"name": name, **drop_none(values)})
        )

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
        values = self._resolve_fields(
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
        changed = build_changes("episode profile", {"name": name, **values}, clearable)
        return self._executor.run(self._backend.change_episode_profile(self.find(profile), changed))

    def delete(self, profile: str) -> None:
        """Delete an episode profile; the episodes made by it keep what it was."""
        self._executor.run(self._backend.delete_episode_profile(self.find(profile)))

    def duplicate(self, profile: str) -> Record:
        """Make another one like it, under a name that the service gives; return its record."""
        return self._executor.run(self._backend.copy_episode_profile(self.find(profile)))

    def _resolve_fields(
        self, *, speakers: Iterable[str] | str | None, **fields: Any
    ) -> dict[str, Any]:
        """Return the fields as the record has them: models and speakers by their identifiers."""
        for key in ("outline_llm", "transcript_llm"):
            if fields[key]:
                fields[key] = self._titles.find("model", fields[key], "llm")
        if speakers is not None:
            fields["speaker_profile_ids"] = self._titles.find_all("speaker profile", speakers)
        return fields


class SpeakerProfiles(Resource):
    """`nb.speaker_profiles`: who speaks in an episode, one to four people in each profile."""

    def list(self) -> pd.DataFrame:
        """Return the profiles, a row each; columns as `records.SPEAKER_PROFILE`."""
        from labext.nb.views import speaker_profile_frame

        return speaker_profile_frame(self.iter())

    def iter(self) -> Iterator[Record]:
        """Yield the records of all speaker profiles."""
        yield from self._executor.run(self._backend.speaker_profiles())

    def names(self) -> Sequence[str]:
        """Return the names of all speaker profiles, each once."""
        return unique_names(self.iter())

    def find(self, profile: str) -> str:
        """Return a speaker profile's identifier."""
        return self._titles.find("speaker profile", profile)

    def get(self, profile: str) -> Record:
        """Return one speaker profile's record; each of its `speakers` is as `records.SPEAKER`."""
        return self._executor.run(self._backend.speaker_profile(self.find(profile)))

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
        body = {"name": name, "speakers": validate_speakers(speakers)}
        body |= drop_none({"description": description, "voice_model": self._voice(voice_model)})
        return self._executor.run(self._backend.new_speaker_profile(body))

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
        values = {
            "name": name,
            "speakers": None if speakers is None else validate_speakers(speakers),
            "description": description,
            "voice_model": self._voice(voice_model),
        }
        changed = build_changes("speaker profile", values, {"voice_model"})
        return self._executor.run(self._backend.change_speaker_profile(self.find(profile), changed))

    def delete(self, profile: str) -> None:
        """Delete a speaker profile; the episodes made with it keep what it was."""
        self._executor.run(self._backend.delete_speaker_profile(self.find(profile)))

    def duplicate(self, profile: str) -> Record:
        """Make another one like it, under a name that the service gives; return its record."""
        return self._executor.run(self._backend.copy_speaker_profile(self.find(profile)))

    def _voice(self, model: str | None) -> str | None:
        return model and self._titles.find("model", model, "tts")


def validate_speakers(speakers: Iterable[Mapping[str, Any]] | Mapping[str, Any]) -> list[Record]:
    """Return speakers that can be sent.

    Raises:
        InputError: there is none, or one has no name, or a field that nobody knows.
    """
    items = [speakers] if isinstance(speakers, Mapping) else [*speakers]
    if not items:
        raise InputError("There is no speaker.", "Give one to four.")
    for speaker in items:
        for key in speaker if isinstance(speaker, Mapping) else ():
            if key not in SPEAKER:
                near = messages.did_you_mean(str(key), SPEAKER)
                raise InputError(
                    f"A speaker has no {messages.quote_value(key)}{near}.",
                    f"A speaker may have {', '.join(SPEAKER)}.",
                )
        if not isinstance(speaker, Mapping) or not str(speaker.get("name") or "").strip():
            raise InputError("A speaker has no name.", 'Give each one a name: {"name": "Ada"}.')
    return [dict(speaker) for speaker in items]

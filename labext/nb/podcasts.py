"""Client methods for podcast episodes, episode profiles and speaker profiles."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from labext import messages
from labext.errors import InputError
from labext.http.download import OnBytes
from labext.nb import episode_generation, views
from labext.nb.backends.contract.podcasts import EPISODE_PROFILES, SPEAKER_PROFILES, ProfileKind
from labext.nb.episode_generation import EpisodeWatch
from labext.nb.records import SPEAKER, Record, drop_none
from labext.nb.resource import Names, Resource, build_changes, check_keywords, unique_names
from labext.progress import Progress
from labext.storage import is_folder_name, user_path

if TYPE_CHECKING:
    import pandas as pd


class Podcasts(Resource):
    """`nb.podcasts`: audio episodes about notebooks."""

    def generate(
        self,
        notebook: str,
        episode_profile: str,
        speakers: Iterable[str] | str | None = None,
        name: str | None = None,
        briefing: str | None = None,
    ) -> Record:
        """Start generating an episode about a notebook.

        The result is a `labext.nb.records.EPISODE_SUBMISSION`.
        If the response is lost, a single new episode is assumed to be the requested one.

        Args:
            notebook: the notebook.
            episode_profile: the episode profile, by name or identifier.
            speakers: speaker profiles with one to four speakers in total; default: the profile's.
            name: the name; chosen by the service if omitted.
            briefing: instructions for the models in addition to the profile's.

        Raises:
            InputError: the notebook is empty, or there are too many speakers.
            SetupError: a model is missing, or no speech synthesis is installed.
            OutcomeUnknownError: the response was lost, and no new episode was found.
        """
        notebook_id = self._titles.find("notebook", notebook)
        profile_id = self._titles.find("episode profile", episode_profile)
        speaker_ids = (
            None if speakers is None else self._titles.find_all("speaker profile", speakers)
        )
        return self._run(
            self._backend.generate(notebook_id, profile_id, speaker_ids or None, name, briefing)
        )

    def job(self, job: str) -> Record:
        """Return the record of a job by the `job_id` that `generate` returned.

        It is a `labext.nb.records.JOB`, and its `progress` a `labext.nb.records.PROGRESS`, or None
        if the service does not report it.
        """
        return self._run(self._backend.podcast_job(job))

    def watch(self, episode: str, stop: threading.Event | None = None) -> Iterator[Progress]:
        """Poll an episode until it is generated or failed; yield a snapshot per poll and tick.

        An unknown status is passed on unchanged; `unchanged` is the time since the last change. An
        episode that is completed without audio counts as failed.

        Args:
            episode: the episode, or the identifier of a job.
            stop: stops watching; the generation continues.

        Raises:
            NotFoundError: the episode or job does not exist at the first poll.
        """
        return self._watcher(episode).watch(stop)

    def wait(self, episode: str, timeout: float | None = None) -> Record:
        """Wait until an episode is generated; return its record, with its transcript.

        Args:
            episode: the episode, or the identifier of a job.
            timeout: the maximum number of seconds to wait.

        Raises:
            JobFailedError: the generation failed; the message contains the reason.
            NotReadyError: the generation did not finish in time; it continues.
        """
        return self._watcher(episode).wait(timeout)

    def episodes(self) -> pd.DataFrame:
        """Return the episodes; columns as `labext.nb.records.EPISODE`."""
        return views.episode_frame(self.iter())

    def iter(self, notebook: str | None = None) -> Iterator[Record]:
        """Yield the records of the episodes about a notebook, or of all, without transcripts.

        Open Notebook does not report the notebooks of episodes, so all are yielded.
        """
        within = self._notebook(notebook)
        episodes = self._run(self._backend.episodes())
        if within is not None and self._backend.REPORTS_EPISODE_NOTEBOOKS:
            episodes = [episode for episode in episodes if episode["notebook_id"] == within]
        yield from episodes

    def names(self) -> Names:
        """Return the distinct names of all episodes."""
        return unique_names(self.iter())

    def find(self, episode: str) -> str:
        """Return an episode's identifier for its name or the identifier of its job.

        Raises:
            NotReadyError: the service does not report the episode before the job ends.
        """
        job = episode_generation.parse_command_id(episode)
        if job is None:
            return self._titles.find("episode", episode)
        return episode_generation.find_episode_of_job(self._executor, self._backend, job)

    def episode(self, episode: str) -> Record:
        """Return one episode with outline and transcript, a `labext.nb.records.EPISODE_DETAIL`."""
        return self._run(self._backend.episode(self.find(episode)))

    def audio(
        self,
        episode: str,
        to: Path | str | None = None,
        on_bytes: OnBytes | None = None,
        *,
        overwrite: bool = False,
    ) -> Path:
        """Download an episode's audio; return the path of the file.

        The file appears under its name only when it is complete; an interrupted download resumes.

        Args:
            episode: the episode.
            to: a file name or a folder, which exists or is a text that ends with a slash; by
                default the working folder. In a folder, the file is named after the episode.
            on_bytes: called with the bytes received so far and the total, if it is known.
            overwrite: replace a file with other content.

        Raises:
            NotReadyError: the episode is still being generated.
            JobFailedError: the generation failed.
            NotFoundError: the episode does not exist.
            ConflictError: there is a file with other content, and `overwrite` is False.
            ServiceError: the download failed or is incomplete.
            StorageError: the disk is full, or the folder is not writable.
        """
        record = self._run(self._backend.episode(self.find(episode)))
        episode_generation.check_audio(record)
        target = user_path(to or ".")
        if is_folder_name(to or "."):
            target /= episode_generation.audio_file_name(record)
        request = self._backend.audio(record["id"])
        written = self._executor.download(request, target, on_bytes, overwrite=overwrite)
        episode_generation.verify_download(record, written)
        return written

    def sound(self, episode: str) -> bytes:
        """Return an episode's audio as bytes.

        Raises:
            LabextError: as for `audio`.
        """
        with tempfile.TemporaryDirectory(prefix="labext-") as folder:
            return self.audio(episode, folder).read_bytes()

    def retry(self, episode: str) -> Record:
        """Retry a failed episode; return its `labext.nb.records.EPISODE_RETRY`.

        Raises:
            InputError: the episode has not failed.
        """
        return self._run(self._backend.retry_episode(self.find(episode)))

    def delete(self, episode: str) -> None:
        """Delete an episode and its audio; a generation in progress is stopped."""
        self._run(self._backend.delete_episode(self.find(episode)))

    def _watcher(self, episode: str) -> EpisodeWatch:
        identifier = episode_generation.parse_command_id(episode) or self.find(episode)
        return EpisodeWatch(self._executor, self._backend, identifier)


class _Profiles(Resource):
    """Methods on profiles of one kind."""

    _kind: ProfileKind

    def list(self) -> pd.DataFrame:
        """Return the profiles; columns as the fields of a profile's record."""
        is_episode = self._kind is EPISODE_PROFILES
        frame = views.episode_profile_frame if is_episode else views.speaker_profile_frame
        return frame(self.iter())

    def iter(self) -> Iterator[Record]:
        """Yield the records of all profiles."""
        yield from self._run(self._backend.profiles(self._kind))

    def names(self) -> Names:
        """Return the distinct names of all profiles."""
        return unique_names(self.iter())

    def find(self, profile: str) -> str:
        """Return a profile's identifier."""
        return self._titles.find(self._kind.noun, profile)

    def get(self, profile: str) -> Record:
        """Return one profile's record."""
        return self._run(self._backend.profile(self._kind, self.find(profile)))

    def delete(self, profile: str) -> None:
        """Delete a profile; existing episodes keep their copy of it."""
        self._run(self._backend.delete_profile(self._kind, self.find(profile)))

    def duplicate(self, profile: str) -> Record:
        """Copy a profile under a name chosen by the service; return the copy's record."""
        return self._run(self._backend.copy_profile(self._kind, self.find(profile)))

    def _create(self, fields: Mapping[str, Any]) -> Record:
        return self._run(self._backend.new_profile(self._kind, drop_none(fields)))

    def _update(
        self, profile: str, fields: Mapping[str, Any], clearable: Collection[str]
    ) -> Record:
        changes = build_changes(self._kind.noun, fields, clearable)
        identifier = self.find(profile)
        return self._run(self._backend.change_profile(self._kind, identifier, changes))


class EpisodeProfileFields(TypedDict, total=False):
    """Fields of an episode profile.

    Attributes:
        description: the purpose.
        outline_llm: the model for the outline; default: the one in the slot `podcast`.
        transcript_llm: the model for the transcript; default: the one in the slot `podcast`.
        language: the spoken language.
        default_briefing: instructions for the models, used for every episode.
        num_segments: the number of segments of an episode, 1 to 20.
        max_tokens: the maximum number of tokens of a model's response.
    """

    description: str | None
    outline_llm: str | None
    transcript_llm: str | None
    language: str | None
    default_briefing: str | None
    num_segments: int | None
    max_tokens: int | None


class EpisodeProfiles(_Profiles):
    """`nb.episode_profiles`: settings and models for the generation of episodes."""

    _kind = EPISODE_PROFILES

    def create(
        self,
        name: str,
        speakers: Iterable[str] | str | None = None,
        **fields: Unpack[EpisodeProfileFields],
    ) -> Record:
        """Create an episode profile; return its record.

        Args:
            name: a unique name.
            speakers: the default speaker profiles, by name or identifier.
            **fields: the other fields, as in `EpisodeProfileFields`.

        Raises:
            InputError: the name is taken, or the service rejects a value.
            OutcomeUnknownError: the response was lost, and the record does not exist.
        """
        return self._create({"name": name, **self._resolve_fields(speakers, fields)})

    def update(
        self,
        profile: str,
        name: str | None = None,
        speakers: Iterable[str] | str | None = None,
        **fields: Unpack[EpisodeProfileFields],
    ) -> Record:
        """Update an episode profile and return its record; None leaves a field unchanged.

        An empty model or language, and 0 for `max_tokens`, clears the field.

        Args:
            profile: the profile.
            name: the new name.
            speakers: the new default speaker profiles.
            **fields: the other fields, as in `EpisodeProfileFields`.

        Raises:
            InputError: there are no changes.
        """
        changes = {"name": name, **self._resolve_fields(speakers, fields)}
        clearable = {"outline_llm", "transcript_llm", "language", "max_tokens"}
        return self._update(profile, changes, clearable)

    def _resolve_fields(
        self, speakers: Iterable[str] | str | None, fields: EpisodeProfileFields
    ) -> dict[str, Any]:
        """Return the fields with identifiers in place of model and speaker profile names."""
        check_keywords(fields, EpisodeProfileFields.__optional_keys__)
        resolved: dict[str, Any] = {**fields}
        for key in ("outline_llm", "transcript_llm"):
            resolved[key] = self._model(resolved.get(key), "llm")
        if speakers is not None:
            resolved["speaker_profile_ids"] = self._titles.find_all("speaker profile", speakers)
        return resolved


class SpeakerProfiles(_Profiles):
    """`nb.speaker_profiles`: the speakers of an episode, one to four per profile.

    Each of the `speakers` in a profile's record is as `labext.nb.records.SPEAKER`.
    """

    _kind = SPEAKER_PROFILES

    def create(
        self,
        name: str,
        speakers: Iterable[Mapping[str, Any]] | Mapping[str, Any],
        description: str | None = None,
        voice_model: str | None = None,
    ) -> Record:
        """Create a speaker profile; return its record.

        Args:
            name: a unique name.
            speakers: one to four speakers, each with a `name` and optionally a `voice_id`, a
                `backstory` and a `personality`.
            description: the purpose.
            voice_model: the speech model; default: the one in the slot `text_to_speech`.

        Raises:
            InputError: the name is taken, or the service rejects a speaker.
            OutcomeUnknownError: the response was lost, and the record does not exist.
        """
        fields = {"name": name, "speakers": validate_speakers(speakers)}
        voice = self._model(voice_model, "tts")
        return self._create({**fields, "description": description, "voice_model": voice})

    def update(
        self,
        profile: str,
        name: str | None = None,
        speakers: Iterable[Mapping[str, Any]] | Mapping[str, Any] | None = None,
        description: str | None = None,
        voice_model: str | None = None,
    ) -> Record:
        """Update a speaker profile and return its record; None leaves a field unchanged.

        An empty `voice_model` restores the model in the slot `text_to_speech`.

        Raises:
            InputError: there are no changes.
        """
        changes = {
            "name": name,
            "speakers": None if speakers is None else validate_speakers(speakers),
            "description": description,
            "voice_model": self._model(voice_model, "tts"),
        }
        return self._update(profile, changes, {"voice_model"})


def validate_speakers(speakers: Iterable[Mapping[str, Any]] | Mapping[str, Any]) -> list[Record]:
    """Return the speakers as a list of records.

    Raises:
        InputError: there are no speakers, or a speaker has no name or an unknown field.
    """
    items = [speakers] if isinstance(speakers, Mapping) else [*speakers]
    if not items:
        raise InputError("No speakers were given.", "Give one to four speakers.")
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

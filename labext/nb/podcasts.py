"""The client's methods for podcasts."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from labext.nb import episodes, making
from labext.nb.group import Group, names_of
from labext.nb.records import Record
from labext.nb.wire import OnBytes
from labext.progress import Progress

if TYPE_CHECKING:
    import pandas as pd


class Podcasts(Group):
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
        who = None if speakers is None else self._titles.several("speaker profile", speakers)
        return self._wire.run(self._dialect.generate(within, profile, who or None, name, briefing))

    def job(self, job: str) -> Record:
        """Return how far a job is, by the identifier that `generate` told: `records.JOB`.

        Its `progress` is as `records.PROGRESS`, or None where the service tells none.
        """
        return self._wire.run(self._dialect.podcast_job(job))

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
        return making.watch(self._wire, self._dialect, self._watched(what), stop=stop)

    def wait(self, what: str, timeout: float | None = None) -> Record:
        """Wait until an episode is there; return its record, with its transcript.

        Args:
            what: the episode, or the identifier of a job.
            timeout: seconds to wait at most.

        Raises:
            JobFailedError: it has failed; the reason is told.
            NotReadyError: it is not there in time; what it is at is told. The making goes on.
        """
        return making.wait(self._wire, self._dialect, self._watched(what), timeout)

    def episodes(self) -> pd.DataFrame:
        """Return the episodes, a row each; columns as `records.EPISODE`."""
        from labext.nb.podcastviews import episodes as shown

        return shown(self.iter())

    def iter(self) -> Iterator[Record]:
        """Yield the records of all episodes, without what is said in them."""
        yield from self._wire.run(self._dialect.episodes())

    def names(self) -> Sequence[str]:
        """Return the names of all episodes, each once."""
        return names_of(self.iter())

    def find(self, episode: str) -> str:
        """Return an episode's identifier, for its name or for the job that has made it."""
        job = making.job_id(episode)
        made = job and (self.job(job)["result"] or {}).get("episode_id")
        return str(made or self._titles.find("episode", episode))

    def episode(self, episode: str) -> Record:
        """Return one episode's record, with its outline and transcript: `records.WHOLE_EPISODE`."""
        return self._wire.run(self._dialect.episode(self.find(episode)))

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
        record = self._wire.run(self._dialect.episode(self.find(episode)))
        episodes.check_sound(record)
        target = Path(to or ".").expanduser()
        if target.is_dir():
            target /= episodes.file_name(record)
        written = self._wire.download(self._dialect.audio(record["id"]), target, on_bytes)
        episodes.check_whole(record, written)
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
        return self._wire.run(self._dialect.retry_episode(self.find(episode)))

    def delete(self, episode: str) -> None:
        """Delete an episode with its sound; one that is being made is stopped."""
        self._wire.run(self._dialect.delete_episode(self.find(episode)))

    def _watched(self, what: str) -> str:
        return making.job_id(what) or self.find(what)

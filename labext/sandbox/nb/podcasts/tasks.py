"""The background task that makes an episode, and its results."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy.orm import Session

from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.core.file_storage.service_files import StoredFiles
from labext.sandbox.core.file_storage.tables import StagedFile
from labext.sandbox.core.queue import Task, TaskOutcome
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files
from labext.sandbox.nb.background_tasks import RowTask
from labext.sandbox.nb.podcasts.script import OUTLINE, Segment, SpokenTurn
from labext.sandbox.nb.tables import Episode
from labext.storage import sync_folder

_RESULT_FILE = "result.json"


@dataclass(frozen=True)
class EpisodeResult:
    """The result of the task: segment and turn records, duration in seconds, and audio bytes."""

    outline: list[dict[str, Any]]
    transcript: list[dict[str, Any]]
    duration: float
    size: int


def result_audio(work: Path) -> Path:
    """Return the path to which the task process writes the audio."""
    return work / "sound.mp3"


def write_result(work: Path, segments: Sequence[Segment], spoken: Sequence[SpokenTurn]) -> None:
    """Write the result beside its audio, after syncing the audio to disk."""
    from labext.sandbox.nb.podcasts.recording import (
        SILENCE_AFTER,  # imported here: the service itself records nothing
    )

    with result_audio(work).open("rb") as file:
        os.fsync(file.fileno())
        size = os.fstat(file.fileno()).st_size
    duration = round(spoken[-1].end + SILENCE_AFTER, 3)
    result = {"outline": segments, "transcript": spoken, "duration": duration, "size": size}
    (work / _RESULT_FILE).write_bytes(orjson.dumps(result))


def take_result(work: Path, target: Path | None) -> EpisodeResult:
    """Move the audio to its final path, if not yet done, and return the result.

    Without a target it is not moved, since it is in an object store.

    Raises:
        OSError, ValueError, TypeError: if the result is missing or incomplete.
    """
    result = EpisodeResult(**orjson.loads((work / _RESULT_FILE).read_bytes()))
    # The enclosing transaction may have failed after the move and be repeated.
    if target is not None and result_audio(work).exists():
        result_audio(work).replace(target)
        sync_folder(target.parent)
    if not result.size or (target or result_audio(work)).stat().st_size != result.size:
        raise ValueError("The audio file is incomplete.")
    return result


class PodcastTask(RowTask[Episode, EpisodeResult]):
    """The task that makes an episode.

    Tasks of sources have priority, because users wait for them.
    """

    name = "nb.podcast"
    entry = "labext.sandbox.nb.podcasts.execution:run"
    table = Episode
    limit = "podcast"
    first_stage = f"{OUTLINE} 0 0"

    def _set_stage(self, row: Episode, stage: str) -> bool:
        progress = ("", 0, 0)
        match stage.split():
            case [kind, done, total] if done.isdecimal() and total.isdecimal():
                progress = kind, int(done), int(total)
        changed = progress != (row.stage, row.done, row.total)
        row.stage, row.done, row.total = progress
        return changed

    def _load_result(self, site: Site, row: Episode, work: Path) -> EpisodeResult:
        target = None if site.files.is_remote else files.audio_path(site, row.id)
        return take_result(work, target)

    def _save(self, site: Site, payload: Mapping[str, Any]) -> Sequence[StagedFile]:
        assert isinstance(site.files, StoredFiles)
        audio = result_audio(files.work_folder(site, payload["episode"]))
        if not audio.exists():
            return []
        return [site.files.stage_result(audio, files.audio_name(payload["episode"]))]

    def _drop_files(self, session: Session, site: Site, task: Task) -> None:
        site.files.forget(session, [files.audio_name(task.payload["episode"])])

    def _apply_result(
        self,
        session: Session,
        site: Site,
        row: Episode,
        result: EpisodeResult,
        task: Task,  # noqa: ARG002
    ) -> None:
        row.outline, row.transcript = result.outline, result.transcript
        row.duration, row.size = result.duration, result.size
        files.remove_draft_after_commit(session, site, row.id)

    def _failure_reason(self, outcome: TaskOutcome) -> str:
        if outcome.outcome == "stopped":
            name = "podcast_memory" if outcome.over == "memory" else "podcast_seconds"
            return (
                f"{outcome.reason} Retry it with fewer segments, or allow more: "
                f"{admin_command(f'nb limits set {name} VALUE')}."
            )
        if outcome.reason.startswith("The tool's process"):
            return "The process that made it ended unexpectedly; retry it."
        return outcome.reason


PODCAST = PodcastTask()

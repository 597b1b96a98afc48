"""The background task that makes an episode, and its results."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy.orm import Session

from labext.sandbox.core.database import after_commit
from labext.sandbox.core.queue import Task, TaskKind, TaskOutcome
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files, limits, task_process
from labext.sandbox.nb.podcasts.script import OUTLINE, Segment, SpokenTurn
from labext.sandbox.nb.tables import COMPLETED, FAILED, NEW, RUNNING, Episode

_RESULT_FILE = "result.json"
_AUDIO_FILE = "sound.mp3"


@dataclass(frozen=True)
class EpisodeResult:
    """The result of the task: segment and turn records, duration in seconds, and audio bytes."""

    outline: list[dict[str, Any]]
    transcript: list[dict[str, Any]]
    duration: float
    size: int


def result_audio(work: Path) -> Path:
    """Return the path to which the task process writes the audio."""
    return work / _AUDIO_FILE


def write_result(work: Path, segments: Sequence[Segment], spoken: Sequence[SpokenTurn]) -> None:
    """Write the result beside its audio, after syncing the audio to disk."""
    from labext.sandbox.nb.podcasts.recording import (
        SILENCE_AFTER,  # imported here: the service itself records nothing
    )

    with result_audio(work).open("rb") as file:
        os.fsync(file.fileno())
        size = os.fstat(file.fileno()).st_size
    result = EpisodeResult(
        [asdict(segment) for segment in segments],
        [asdict(turn) for turn in spoken],
        round(spoken[-1].end + SILENCE_AFTER, 3),
        size,
    )
    (work / _RESULT_FILE).write_bytes(orjson.dumps(asdict(result)))


def take_result(work: Path, target: Path) -> EpisodeResult:
    """Move the audio to its final path, if not yet done, and return the result.

    Raises:
        OSError, ValueError, KeyError, TypeError: if the result is missing or incomplete.
    """
    result = EpisodeResult(**orjson.loads((work / _RESULT_FILE).read_bytes()))
    # The enclosing transaction may have failed after the move and be repeated.
    if result_audio(work).exists():
        result_audio(work).replace(target)
    if not result.size or target.stat().st_size != result.size:
        raise ValueError("The sound is not whole.")
    return result


PODCAST_TASK = "nb.podcast"


def podcast_task_kind(site: Site) -> TaskKind:
    """Return the task kind that makes an episode."""
    return TaskKind(
        name=PODCAST_TASK,
        entry="labext.sandbox.nb.podcasts.execution:run",
        on_start=_on_start,
        on_end=partial(_on_end, site),
        on_requeue=_on_requeue,
        on_tick=partial(_on_tick, site),
        work=partial(_task_work_folder, site),
        memory=partial(limits.get_limit, name="podcast_memory"),
    )


def task_key(identifier: str) -> str:
    """Return the key of an episode's task in the queue."""
    return f"{PODCAST_TASK} {identifier}"


def queue_episode(session: Session, site: Site, episode: Episode) -> None:
    """Queue an episode's task in the current transaction.

    Source tasks have priority, because users wait for them.
    """
    site.queue.put(
        session,
        PODCAST_TASK,
        task_key(episode.id),
        {"episode": episode.id},
        max_seconds=limits.get_limit(session, "podcast_seconds"),
    )


def _task_work_folder(site: Site, task: Task) -> Path:
    return files.work_folder(site, task.payload["episode"])


def _load_task_episode(session: Session, task: Task) -> Episode | None:
    return session.get(Episode, task.payload["episode"])


def _on_start(session: Session, task: Task) -> None:
    episode = _load_task_episode(session, task)
    if episode is not None:
        _set_progress(episode, OUTLINE, 0, 0)
        episode.status, episode.reason = RUNNING, None
        episode.started = episode.changed


def _on_requeue(session: Session, task: Task) -> None:
    episode = _load_task_episode(session, task)
    if episode is not None:
        _set_progress(episode, "", 0, 0)
        episode.status, episode.started = NEW, None


def _on_tick(site: Site, session: Session, tasks: Sequence[Task]) -> None:
    """Store the progress of each episode."""
    for task in tasks:
        counted = task_process.read_count(_task_work_folder(site, task))
        episode = _load_task_episode(session, task) if counted is not None else None
        if episode is None or counted is None or episode.status != RUNNING:
            continue
        if counted != (episode.stage, episode.done, episode.total):
            _set_progress(episode, *counted)


def _set_progress(episode: Episode, stage: str, done: int, total: int) -> None:
    episode.stage, episode.done, episode.total = stage, done, total
    episode.changed = time.time()


def _on_end(site: Site, session: Session, task: Task, ending: TaskOutcome) -> None:
    work = _task_work_folder(site, task)
    after_commit(session, partial(shutil.rmtree, work, ignore_errors=True))
    episode = _load_task_episode(session, task)
    if episode is None:  # deleted while it was made
        return
    _set_progress(episode, "", 0, 0)
    episode.ended = episode.updated = episode.changed
    result = _load_result(site, episode, work) if ending.outcome == "done" else None
    if result is None:
        episode.status, episode.reason = FAILED, _failure_reason(ending)
        return
    episode.status, episode.reason = COMPLETED, None
    episode.outline, episode.transcript = result.outline, result.transcript
    episode.duration, episode.size = result.duration, result.size


def _load_result(site: Site, episode: Episode, work: Path) -> EpisodeResult | None:
    try:
        return take_result(work, files.audio_path(site, episode.id))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _failure_reason(ending: TaskOutcome) -> str:
    """Return the reason why an episode failed, for the user."""
    if ending.outcome == "done":
        return "What was made of it is lost; retry it."
    if ending.outcome == "stopped":
        name = "podcast_memory" if ending.over == "memory" else "podcast_seconds"
        return (
            f"{ending.reason} Retry it with fewer segments, or allow more: `labext sandbox nb "
            f"limits set {name}`."
        )
    if ending.reason.startswith("The tool's process"):
        return "The process that made it was ended from outside, or broke; retry it."
    return ending.reason

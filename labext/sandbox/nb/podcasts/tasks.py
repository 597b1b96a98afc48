"""What the service puts into the queue, and what the tasks' starts and ends do to their episodes.

Each hook runs in the transaction that changes the task. An episode is completed with its sound, its
outline and its transcript at once, or it is failed and has a reason.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sqlalchemy.orm import Session

from labext.sandbox.database import after_commit
from labext.sandbox.nb import limits, stages
from labext.sandbox.nb.podcasts import files, results
from labext.sandbox.nb.podcasts.results import Result
from labext.sandbox.nb.podcasts.script import OUTLINE
from labext.sandbox.nb.podcasts.store import Episode
from labext.sandbox.nb.sources import folders
from labext.sandbox.nb.store import COMPLETED, FAILED, NEW, RUNNING
from labext.sandbox.queue import Ending, Kind, Task
from labext.sandbox.service import Site

PODCAST = "nb.podcast"


def kind(site: Site) -> Kind:
    """Making an episode."""
    return Kind(
        name=PODCAST,
        entry="labext.sandbox.nb.podcasts.execution:run",
        on_start=_started,
        on_end=partial(_ended, site),
        on_requeue=_requeued,
        on_tick=partial(_looked, site),
        work=partial(_work, site),
        memory=partial(limits.limit, name="podcast_memory"),
    )


def key(identifier: str) -> str:
    """The name of an episode's task in the queue."""
    return f"{PODCAST} {identifier}"


def put(session: Session, site: Site, episode: Episode) -> None:
    """Have an episode made, in the transaction that makes it new.

    Sources go first: somebody waits for them.
    """
    site.queue.put(
        session,
        PODCAST,
        key(episode.id),
        {"episode": episode.id},
        max_seconds=limits.limit(session, "podcast_seconds"),
    )


def _work(site: Site, task: Task) -> Path:
    return folders.work(site, task.payload["episode"])


def _of(session: Session, task: Task) -> Episode | None:
    return session.get(Episode, task.payload["episode"])


def _started(session: Session, task: Task) -> None:
    episode = _of(session, task)
    if episode is not None:
        _count(episode, OUTLINE, 0, 0)
        episode.status, episode.reason = RUNNING, None
        episode.started = episode.changed


def _requeued(session: Session, task: Task) -> None:
    episode = _of(session, task)
    if episode is not None:
        _count(episode, "", 0, 0)
        episode.status, episode.started = NEW, None


def _looked(site: Site, session: Session, tasks: Sequence[Task]) -> None:
    """Store how far each episode is."""
    for task in tasks:
        counted = stages.counted(_work(site, task))
        episode = _of(session, task) if counted is not None else None
        if episode is None or counted is None or episode.status != RUNNING:
            continue
        if counted != (episode.stage, episode.done, episode.total):
            _count(episode, *counted)


def _count(episode: Episode, stage: str, done: int, total: int) -> None:
    episode.stage, episode.done, episode.total = stage, done, total
    episode.changed = time.time()


def _ended(site: Site, session: Session, task: Task, ending: Ending) -> None:
    work = _work(site, task)
    after_commit(session, partial(shutil.rmtree, work, ignore_errors=True))
    episode = _of(session, task)
    if episode is None:  # deleted while it was made
        return
    _count(episode, "", 0, 0)
    episode.ended = episode.updated = episode.changed
    result = _result(site, episode, work) if ending.outcome == "done" else None
    if result is None:
        episode.status, episode.reason = FAILED, _reason(ending)
        return
    episode.status, episode.reason = COMPLETED, None
    episode.outline, episode.transcript = result.outline, result.transcript
    episode.duration, episode.size = result.duration, result.size


def _result(site: Site, episode: Episode, work: Path) -> Result | None:
    try:
        return results.take(work, files.sound(site, episode.id))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _reason(ending: Ending) -> str:
    """Why an episode failed, in words for whoever ordered it."""
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

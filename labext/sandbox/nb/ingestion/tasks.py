"""What the service puts into the queue, and what the tasks' starts and ends do to their sources.

Each hook runs in the transaction that changes the task. A source is completed with its text, its
passages and its insights at once, or it is failed and has a reason.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sqlalchemy import delete
from sqlalchemy.orm import Session

from labext.sandbox.database import after_commit
from labext.sandbox.nb import identifiers, limits, stages
from labext.sandbox.nb.ingestion import results
from labext.sandbox.nb.ingestion.results import Result
from labext.sandbox.nb.search import index, renewal
from labext.sandbox.nb.sources import folders, titles
from labext.sandbox.nb.store import COMPLETED, FAILED, NEW, RUNNING, Insight, Source
from labext.sandbox.queue import Ending, Kind, Task
from labext.sandbox.service import Site

PROCESS = "nb.process"
_SOURCE, _SHORT_SOURCE, _AWAITED_SOURCE = 1, 2, 3
"""Priorities. A batch of jobs can wait for a source, a long source for short ones, and all for one
whose upload is answered only once it is processed."""

SHORT_BYTES = 100_000
"""A text of at most so many bytes is processed at once and by a process that has done others."""


def kind(site: Site) -> Kind:
    """Processing a source."""
    return Kind(
        name=PROCESS,
        entry="labext.sandbox.nb.ingestion.execution:run",
        on_start=_started,
        on_end=partial(_ended, site),
        on_requeue=_requeued,
        on_tick=partial(_looked, site),
        work=partial(_work, site),
        warm=lambda task: bool(task.payload.get("short")),
        memory=partial(limits.limit, name="source_memory"),
    )


def key(identifier: str) -> str:
    """The name of a source's task in the queue."""
    return f"{PROCESS} {identifier}"


def put(
    session: Session, site: Site, source: Source, *, titled: bool, awaited: bool = False
) -> None:
    """Have a source processed, in the transaction that makes it new.

    Args:
        session: a writing one.
        site: the service's.
        source: it.
        titled: whether its title was given, and stays whatever the source calls itself.
        awaited: whether a request waits until it is processed.
    """
    short = source.kind == "text" and (source.size or 0) <= SHORT_BYTES
    site.queue.put(
        session,
        PROCESS,
        key(source.id),
        {"source": source.id, "titled": titled, "short": short},
        max_seconds=limits.limit(session, "source_seconds"),
        priority=_AWAITED_SOURCE if awaited else _SHORT_SOURCE if short else _SOURCE,
    )


def _work(site: Site, task: Task) -> Path:
    return folders.work(site, task.payload["source"])


def _of(session: Session, task: Task) -> Source | None:
    return session.get(Source, task.payload["source"])


def _started(session: Session, task: Task) -> None:
    source = _of(session, task)
    if source is not None:
        source.status, source.stage = RUNNING, "starting"
        source.reason = source.remark = None
        source.started = source.changed = time.time()


def _requeued(session: Session, task: Task) -> None:
    source = _of(session, task)
    if source is not None:
        source.status, source.stage, source.started = NEW, "", None
        source.changed = time.time()


def _looked(site: Site, session: Session, tasks: Sequence[Task]) -> None:
    """Store how far each source is."""
    for task in tasks:
        stage = stages.told(_work(site, task))
        source = _of(session, task) if stage is not None else None
        if source is not None and stage and source.status == RUNNING and source.stage != stage:
            source.stage, source.changed = stage, time.time()


def _ended(site: Site, session: Session, task: Task, ending: Ending) -> None:
    work = _work(site, task)
    after_commit(session, partial(shutil.rmtree, work, ignore_errors=True))
    source = _of(session, task)
    if source is None:  # deleted while it was processed
        return
    source.stage = ""
    source.ended = source.changed = source.updated = time.time()
    result = _result(work) if ending.outcome == "done" else None
    if result is None:
        source.status, source.reason = FAILED, _reason(ending)
        return
    source.status, source.reason = COMPLETED, None
    _take_over(session, site, source, result, titled=bool(task.payload.get("titled")))


def _result(work: Path) -> Result | None:
    try:
        return results.read(work)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _reason(ending: Ending) -> str:
    """Why a source failed, in words for whoever added it."""
    if ending.outcome == "done":
        return "What was made of it is lost; retry it."
    if ending.over == "memory":
        return (
            f"{ending.reason} Add it in parts, or allow more: `labext sandbox nb limits set "
            "source_memory`."
        )
    if ending.outcome == "stopped":
        return f"{ending.reason} Retry it, or add it in parts."
    if ending.reason.startswith("The tool's process"):
        return "Reading it ended the process that did: it is broken, or far too big."
    return ending.reason


def _take_over(
    session: Session, site: Site, source: Source, result: Result, *, titled: bool
) -> None:
    source.full_text, source.remark = result.text, result.remark
    if result.title and not titled and titles.is_provisional(source):
        source.title = result.title
    index.put(session, source.id, source.title, result.pieces, result.vectors, result.space)
    renewal.renew(session, site)
    session.execute(delete(Insight).where(Insight.source_id == source.id))
    session.add_all(
        Insight(
            id=identifiers.new("source_insight"), source_id=source.id, kind=kind, content=content
        )
        for kind, content in result.insights
    )

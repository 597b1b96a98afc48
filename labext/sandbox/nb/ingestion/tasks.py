"""The background task that processes a source, and its results."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import orjson
from sqlalchemy import delete
from sqlalchemy.orm import Session

from labext.sandbox.core.database import after_commit
from labext.sandbox.core.queue import Task, TaskKind, TaskOutcome
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files, limits, tables, task_process
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.ingestion import readers, reading
from labext.sandbox.nb.providers import chat
from labext.sandbox.nb.search import index
from labext.sandbox.nb.tables import COMPLETED, FAILED, NEW, RUNNING, Insight, Source
from labext.sandbox.nb.text.segmentation import PassageText

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TITLE_SEARCH_LENGTH = 10_000
"""Characters at the beginning of a text that are searched for a title."""


def title_of_text(site: Site, text: str) -> str:
    """Return a title for a text: its heading, or a generated one."""
    beginning = text[:_TITLE_SEARCH_LENGTH]
    return reading.clean_title(readers.find_heading(beginning)) or chat.generate_title(
        site, beginning
    )


def provisional_title(source: Source) -> str:
    """Return the title of an upload or a link while the source's own title is unknown."""
    if source.kind == "upload":
        return source.file_name or "file"
    parts = urlsplit(source.url or "")
    path = unquote(parts.path, errors="replace").rstrip("/")
    return reading.clean_title(f"{parts.hostname}{path}") or "page"


def has_provisional_title(source: Source) -> bool:
    """Return whether a source's title may still be replaced by its own."""
    return source.kind != "text" and source.title == provisional_title(source)


_RESULT_FILE = "result.json"
_VECTORS_FILE = "vectors.npy"


@dataclass(frozen=True)
class IngestionResult:
    """The result of processing a source.

    Attributes:
        text: the extracted text.
        title: the title stated in the source.
        pieces: its passages.
        insights: pairs of a transformation's title and its output.
        remark: insights that could not be created, as a message to the user.
        vectors, space: the passages' vectors and their embedding space, or None.
    """

    text: str
    title: str | None
    pieces: Sequence[PassageText]
    insights: Sequence[tuple[str, str]] = ()
    remark: str | None = None
    vectors: NDArray[np.float32] | None = None
    space: str | None = None


def write_result(work: Path, result: IngestionResult) -> None:
    """Write a result to the folder `work`."""
    if result.vectors is not None:
        import numpy as np

        np.save(work / _VECTORS_FILE, result.vectors, allow_pickle=False)
    content = {
        "text": result.text,
        "title": result.title,
        "pieces": [[piece.text, piece.page] for piece in result.pieces],
        "insights": result.insights,
        "remark": result.remark,
        "space": result.space,
    }
    (work / _RESULT_FILE).write_bytes(orjson.dumps(content))


def read_result(work: Path) -> IngestionResult:
    """Read the result in the folder `work`.

    Raises:
        OSError, ValueError: if it is missing or incomplete.
    """
    content = orjson.loads((work / _RESULT_FILE).read_bytes())
    vectors = None
    if content["space"] is not None:
        import numpy as np

        vectors = np.load(work / _VECTORS_FILE, allow_pickle=False)
    return IngestionResult(
        content["text"],
        content["title"],
        [PassageText(text, page) for text, page in content["pieces"]],
        [(kind, output) for kind, output in content["insights"]],
        content["remark"],
        vectors,
        content["space"],
    )


PROCESS_TASK = "nb.process"
_LONG_PRIORITY, _SHORT_PRIORITY, _AWAITED_PRIORITY = 1, 2, 3
"""Priorities: higher ones run first. Jobs have lower ones; short sources precede long ones, and a
source that a request waits for precedes all."""

SHORT_BYTES = 100_000
"""Texts of at most this size are processed with priority, in a warm process."""


def process_task_kind(site: Site) -> TaskKind:
    """Return the task kind that processes a source."""
    return TaskKind(
        name=PROCESS_TASK,
        entry="labext.sandbox.nb.ingestion.execution:run",
        on_start=_on_start,
        on_end=partial(_on_end, site),
        on_requeue=_on_requeue,
        on_tick=partial(_on_tick, site),
        work=partial(_task_work_folder, site),
        warm=lambda task: bool(task.payload.get("short")),
        memory=partial(limits.get_limit, name="source_memory"),
    )


def task_key(identifier: str) -> str:
    """Return the key of a source's task in the queue."""
    return f"{PROCESS_TASK} {identifier}"


def queue_source(
    session: Session, site: Site, source: Source, *, titled: bool, awaited: bool = False
) -> None:
    """Queue the processing of a source in the current transaction.

    Args:
        session: a session for writing.
        site: the service's site.
        source: the source.
        titled: whether the user gave a title, which the source's own does not replace.
        awaited: whether a request waits for the result.
    """
    short = source.kind == "text" and (source.size or 0) <= SHORT_BYTES
    site.queue.put(
        session,
        PROCESS_TASK,
        task_key(source.id),
        {"source": source.id, "titled": titled, "short": short},
        max_seconds=limits.get_limit(session, "source_seconds"),
        priority=_AWAITED_PRIORITY if awaited else _SHORT_PRIORITY if short else _LONG_PRIORITY,
    )


def _task_work_folder(site: Site, task: Task) -> Path:
    return files.work_folder(site, task.payload["source"])


def _load_task_source(session: Session, task: Task) -> Source | None:
    return session.get(Source, task.payload["source"])


def _on_start(session: Session, task: Task) -> None:
    source = _load_task_source(session, task)
    if source is not None:
        source.status, source.stage = RUNNING, "starting"
        source.reason = source.remark = None
        source.started = source.changed = time.time()


def _on_requeue(session: Session, task: Task) -> None:
    source = _load_task_source(session, task)
    if source is not None:
        source.status, source.stage, source.started = NEW, "", None
        source.changed = time.time()


def _on_tick(site: Site, session: Session, tasks: Sequence[Task]) -> None:
    """Store the current stage of each source."""
    for task in tasks:
        stage = task_process.read_stage(_task_work_folder(site, task))
        source = _load_task_source(session, task) if stage is not None else None
        if source is not None and stage and source.status == RUNNING and source.stage != stage:
            source.stage, source.changed = stage, time.time()


def _on_end(site: Site, session: Session, task: Task, ending: TaskOutcome) -> None:
    work = _task_work_folder(site, task)
    after_commit(session, partial(shutil.rmtree, work, ignore_errors=True))
    source = _load_task_source(session, task)
    if source is None:  # deleted while it was processed
        return
    source.stage = ""
    source.ended = source.changed = source.updated = time.time()
    result = _load_result(work) if ending.outcome == "done" else None
    if result is None:
        source.status, source.reason = FAILED, _failure_reason(ending)
        return
    source.status, source.reason = COMPLETED, None
    _apply_result(session, site, source, result, titled=bool(task.payload.get("titled")))


def _load_result(work: Path) -> IngestionResult | None:
    try:
        return read_result(work)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _failure_reason(ending: TaskOutcome) -> str:
    """Return the reason why a source failed, for the user."""
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


def _apply_result(
    session: Session, site: Site, source: Source, result: IngestionResult, *, titled: bool
) -> None:
    source.full_text, source.remark = result.text, result.remark
    if result.title and not titled and has_provisional_title(source):
        source.title = result.title
    index.index_passages(
        session, source.id, source.title, result.pieces, result.vectors, result.space
    )
    passage_vectors.queue_if_due(session, site)
    session.execute(delete(Insight).where(Insight.source_id == source.id))
    session.add_all(
        Insight(
            id=tables.new_identifier("source_insight"),
            source_id=source.id,
            kind=kind,
            content=content,
        )
        for kind, content in result.insights
    )

"""The background task that processes a source, and its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson
from sqlalchemy import delete
from sqlalchemy.orm import Session

from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.core.database import after_commit
from labext.sandbox.core.file_storage.service_files import StoredFiles
from labext.sandbox.core.queue import Task, TaskOutcome
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files
from labext.sandbox.nb.background_tasks import RowTask
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.embedding.embedder import PassageEmbeddings
from labext.sandbox.nb.ingestion import readers, reading
from labext.sandbox.nb.providers import chat
from labext.sandbox.nb.search import index
from labext.sandbox.nb.tables import Insight, Source
from labext.sandbox.nb.text.passages import PassageText

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
_EMBEDDINGS_FILE = "embeddings.npz"


@dataclass(frozen=True)
class IngestionResult:
    """The result of processing a source.

    Attributes:
        text: the extracted text.
        title: the title stated in the source.
        pieces: its passages.
        insights: pairs of a transformation's title and its output.
        remark: text that may be wrong or is missing, and insights that could not be created, as a
            message to the user.
        embeddings: those of the passages, or None.
        transcribed_by: the name of the model that recognized the text in speech, or None.
    """

    text: str
    title: str | None
    pieces: Sequence[PassageText]
    insights: Sequence[tuple[str, str]] = ()
    remark: str | None = None
    embeddings: PassageEmbeddings | None = None
    transcribed_by: str | None = None


def write_result(work: Path, result: IngestionResult) -> None:
    """Write a result to the folder `work`."""
    if result.embeddings is not None:
        import numpy as np

        space, vectors = np.array(result.embeddings.space), result.embeddings.vectors
        signs = [np.frombuffer(item, np.uint8) for item in result.embeddings.token_signs]
        np.savez(work / _EMBEDDINGS_FILE, space, vectors, *signs)
    content = vars(result) | {"embeddings": result.embeddings is not None}
    (work / _RESULT_FILE).write_bytes(orjson.dumps(content))


def read_result(work: Path) -> IngestionResult:
    """Read the result in the folder `work`; raise OSError or ValueError if it is incomplete."""
    content = orjson.loads((work / _RESULT_FILE).read_bytes())
    content["pieces"] = [PassageText(**piece) for piece in content["pieces"]]
    content["embeddings"] = _read_embeddings(work) if content["embeddings"] else None
    return IngestionResult(**content)


def _read_embeddings(work: Path) -> PassageEmbeddings:
    import numpy as np

    with np.load(work / _EMBEDDINGS_FILE, allow_pickle=False) as arrays:
        space, vectors, *signs = (arrays[name] for name in arrays)
    return PassageEmbeddings(str(space), vectors, [item.tobytes() for item in signs])


_LONG_PRIORITY, _SHORT_PRIORITY, _AWAITED_PRIORITY = 1, 2, 3
"""Priorities: higher ones run first. Jobs have lower ones; short sources precede long ones, and a
source that a request waits for precedes all."""

SHORT_BYTES = 100_000
"""Texts of at most this size are processed with priority, in a warm process."""


class ProcessTask(RowTask[Source, IngestionResult]):
    """The task that processes a source."""

    name = "nb.process"
    entry = "labext.sandbox.nb.ingestion.execution:run"
    table = Source
    limit = "source"
    first_stage = "starting"

    def queue_source(
        self, session: Session, site: Site, source: Source, *, titled: bool, awaited: bool = False
    ) -> None:
        """Queue the processing of a source in the current transaction.

        It keeps the title of a `titled` source. A request waits for an `awaited` one.
        """
        short = source.kind == "text" and (source.size or 0) <= SHORT_BYTES
        priority = _AWAITED_PRIORITY if awaited else _SHORT_PRIORITY if short else _LONG_PRIORITY
        self.queue(session, site, source, {"titled": titled, "short": short}, priority)

    def _prepare(self, site: Site, payload: Mapping[str, Any]) -> None:
        assert isinstance(site.files, StoredFiles)
        name = files.original_name(payload["source"])
        with suppress(FileNotFoundError):  # a source may have no file; else the task reports it
            site.files.materialize(name, site.folder / name)

    def _on_end(self, site: Site, session: Session, task: Task, outcome: TaskOutcome) -> None:
        super()._on_end(site, session, task, outcome)
        if site.files.is_remote:
            fetched = site.folder / files.original_name(task.payload["source"])
            after_commit(session, partial(fetched.unlink, missing_ok=True))

    def _is_short(self, task: Task) -> bool:
        return bool(task.payload.get("short"))

    def _set_stage(self, row: Source, stage: str) -> bool:
        changed, row.stage = row.stage != stage, stage
        return changed

    def _load_result(self, site: Site, row: Source, work: Path) -> IngestionResult:  # noqa: ARG002
        return read_result(work)

    def _apply_result(
        self, session: Session, site: Site, row: Source, result: IngestionResult, task: Task
    ) -> None:
        row.full_text, row.remark = result.text, result.remark
        row.transcribed_by = result.transcribed_by
        if result.title and not task.payload.get("titled") and has_provisional_title(row):
            row.title = result.title
        index.index_passages(session, row.id, row.title, result.pieces, result.embeddings)
        passage_vectors.queue_if_due(session, site)
        session.execute(delete(Insight).where(Insight.source_id == row.id))
        session.add_all(
            Insight(source_id=row.id, kind=kind, content=content)
            for kind, content in result.insights
        )

    def _failure_reason(self, outcome: TaskOutcome) -> str:
        if outcome.over == "memory":
            return (
                f"{outcome.reason} Add it in parts, or allow more: "
                f"{admin_command('nb limits set source_memory VALUE')}."
            )
        if outcome.outcome == "stopped":
            return f"{outcome.reason} Retry it, or add it in parts."
        if outcome.reason.startswith("The tool's process"):
            return "The process that read it ended unexpectedly: the file is broken, or too large."
        return outcome.reason


PROCESS = ProcessTask()

"""Background tasks that update the status of a row, and the service in their processes."""

from __future__ import annotations

import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy.orm import Session

from labext.sandbox.core.data_folder import DataFolder, ensure_secret
from labext.sandbox.core.database import Database, after_commit
from labext.sandbox.core.executors import task_process
from labext.sandbox.core.file_storage.tables import StagedFile
from labext.sandbox.core.queue import Queue, Task, TaskKind, TaskOutcome
from labext.sandbox.core.service_protocol import Options, Site
from labext.sandbox.core.signing import Signer
from labext.sandbox.nb import files, limits
from labext.sandbox.nb.tables import COMPLETED, FAILED, NEW, RUNNING, Episode, Source

_STAGE_FILE = "stage"
_MIN_INTERVAL = 0.1
"""Minimum seconds between two stages of one kind, such as `page 12 of 300`."""

_MAX_STAGE_LENGTH = 100


class ProgressWriter:
    """Report the stage of a task, in a file in the folder `work`."""

    def __init__(self, work: Path) -> None:
        self._path = work / _STAGE_FILE
        self._last_time = 0.0
        self._kind = ""

    def set_stage(self, stage: str) -> None:
        """Report the current stage; stages with the same first word are rate-limited."""
        now, kind = time.monotonic(), stage.partition(" ")[0]
        if kind == self._kind and now < self._last_time + _MIN_INTERVAL:
            return
        self._last_time, self._kind = now, kind
        part = self._path.with_suffix(".part")
        part.write_text(stage[:_MAX_STAGE_LENGTH], encoding="utf-8")
        part.replace(self._path)

    def set_progress(self, kind: str, done: int, total: int) -> None:
        """Report the progress of a stage: `speech 12 40`."""
        self.set_stage(f"{kind} {done} {total}")


def read_stage(work: Path) -> str | None:
    """Return the last reported stage of a task; None if there is none."""
    try:
        return (work / _STAGE_FILE).read_text(encoding="utf-8")
    except OSError:
        return None


@contextmanager
def open_site(work: Path) -> Iterator[Site]:
    """Open the service's folders and database, found from a task's folder (`files.work_folder`).

    Queued tasks must survive a move of the data folder.
    """
    service = work.parents[1]
    folder = DataFolder(service.parent)
    database = (
        _cached_database(folder.database_url)
        if task_process.is_warm
        else Database(folder.database_url)
    )
    try:
        yield Site(
            folder=service,
            secrets=folder.secrets,
            database=database,
            queue=Queue(),
            signer=Signer(ensure_secret(folder.secrets / "signing")),
            origins={},
            options=Options(),
            in_task=True,
        )
    finally:
        if not task_process.is_warm:
            database.close()


_cached_database = cache(Database)
"""Returns the database of a warm process, with its connection and compiled statements."""


Row = TypeVar("Row", Source, Episode)
Result = TypeVar("Result")


class RowTask(ABC, Generic[Row, Result]):
    """A kind of background task that works on one row of a table.

    Attributes:
        entry: `package.module:function`, which runs in the task's process.
        limit: the prefix of the names of the limits of time and memory.
        first_stage: the stage when the process starts.
    """

    name: ClassVar[str]
    entry: ClassVar[str]
    table: type[Row]
    limit: ClassVar[str]
    first_stage: ClassVar[str]

    @abstractmethod
    def _set_stage(self, row: Row, stage: str) -> bool:
        """Store a reported stage, or an empty one; return False if nothing changed."""

    @abstractmethod
    def _load_result(self, site: Site, row: Row, work: Path) -> Result:
        """Return the result of a task.

        Raises:
            OSError, ValueError, KeyError, TypeError: if it is missing or incomplete.
        """

    @abstractmethod
    def _apply_result(
        self, session: Session, site: Site, row: Row, result: Result, task: Task
    ) -> None:
        """Store a result in the transaction that ends the task."""

    @abstractmethod
    def _failure_reason(self, outcome: TaskOutcome) -> str:
        """Return the reason of a failure, for the user."""

    def _is_short(self, task: Task) -> bool:  # noqa: ARG002 - of subclasses
        """Return whether a task may run in a warm process."""
        return False

    def _prepare(self, site: Site, payload: Mapping[str, Any]) -> None:
        """Fetch the files of a task from an object store."""

    def _save(self, site: Site, payload: Mapping[str, Any]) -> Sequence[StagedFile]:  # noqa: ARG002
        """Put the files in a result into an object store."""
        return []

    def _drop_files(self, session: Session, site: Site, task: Task) -> None:
        """Remove the files of a task without a result."""

    def kind(self, site: Site) -> TaskKind:
        """Return the kind of task with its hooks."""
        return TaskKind(
            name=self.name,
            entry=self.entry,
            on_start=self._on_start,
            on_end=partial(self._on_end, site),
            on_requeue=self._on_requeue,
            on_tick=partial(self._on_tick, site),
            work=partial(self._work_folder, site),
            warm=self._is_short,
            memory=partial(limits.get_limit, name=f"{self.limit}_memory"),
            prepare=partial(self._prepare, site) if site.files.is_remote else None,
            save=partial(self._save, site) if site.files.is_remote else None,
        )

    def key(self, identifier: str) -> str:
        """Return the key of a row's task in the queue."""
        return f"{self.name} {identifier}"

    def queue(
        self,
        session: Session,
        site: Site,
        row: Row,
        payload: Mapping[str, Any] | None = None,
        priority: int = 0,
    ) -> None:
        """Queue the task of a row, also one that has failed, in the current transaction."""
        self._set_stage(row, "")
        row.status, row.reason = NEW, None
        row.started = row.ended = None
        row.changed = time.time()
        site.queue.put(
            session,
            self.name,
            self.key(row.id),
            {self.table.noun: row.id, **(payload or {})},
            max_seconds=limits.get_limit(session, f"{self.limit}_seconds"),
            priority=priority,
        )

    def _work_folder(self, site: Site, task: Task) -> Path:
        return files.work_folder(site, task.payload[self.table.noun])

    def _load(self, session: Session, task: Task) -> Row | None:
        return session.get(self.table, task.payload[self.table.noun])

    def _on_start(self, session: Session, task: Task) -> None:
        if (row := self._load(session, task)) is not None:
            self._set_stage(row, self.first_stage)
            row.status, row.reason = RUNNING, None
            row.started = row.changed = time.time()

    def _on_requeue(self, session: Session, task: Task) -> None:
        if (row := self._load(session, task)) is not None:
            self._set_stage(row, "")
            row.status, row.started, row.changed = NEW, None, time.time()

    def _on_tick(self, site: Site, session: Session, tasks: Iterable[Task]) -> None:
        """Store the current stage of each row."""
        for task in tasks:
            stage = read_stage(self._work_folder(site, task))
            row = self._load(session, task) if stage else None
            if stage and row is not None and row.status == RUNNING and self._set_stage(row, stage):
                row.changed = time.time()

    def _on_end(self, site: Site, session: Session, task: Task, outcome: TaskOutcome) -> None:
        work = self._work_folder(site, task)
        after_commit(session, partial(shutil.rmtree, work, ignore_errors=True))
        row = self._load(session, task)
        if row is None:  # deleted while the task was running
            self._drop_files(session, site, task)
            return
        self._set_stage(row, "")
        row.ended = row.changed = row.updated = time.time()
        result = None
        reason = "The result was lost; retry it."
        if outcome.outcome != "done":
            reason = self._failure_reason(outcome)
        else:
            with suppress(OSError, ValueError, KeyError, TypeError):
                result = self._load_result(site, row, work)
        if result is None:
            self._drop_files(session, site, task)
            row.status, row.reason = FAILED, reason
            return
        row.status, row.reason = COMPLETED, None
        self._apply_result(session, site, row, result, task)

"""Background tasks that process one source or make one episode, and keep its status."""

from __future__ import annotations

import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy.orm import Session

from labext.sandbox.core.database import after_commit
from labext.sandbox.core.file_storage.tables import StagedFile
from labext.sandbox.core.queue import Task, TaskKind, TaskOutcome
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import files, limits, task_process
from labext.sandbox.nb.tables import COMPLETED, FAILED, NEW, RUNNING, Episode, Source

Row = TypeVar("Row", Source, Episode)
Result = TypeVar("Result")

_LOST = "The result was lost; retry it."


class RowTask(ABC, Generic[Row, Result]):
    """A kind of background task that works on one row of a table.

    Attributes:
        name: the name of the kind in the queue.
        entry: `package.module:function`, which runs in the task's process.
        table: the table of the rows.
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
        """Queue the task of a row in the current transaction."""
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

    def _on_tick(self, site: Site, session: Session, tasks: Sequence[Task]) -> None:
        """Store the current stage of each row."""
        for task in tasks:
            stage = task_process.read_stage(self._work_folder(site, task))
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
        result = self._try_load_result(site, row, work) if outcome.outcome == "done" else None
        if result is None:
            self._drop_files(session, site, task)
            lost = outcome.outcome == "done"
            row.status = FAILED
            row.reason = _LOST if lost else self._failure_reason(outcome)
            return
        row.status, row.reason = COMPLETED, None
        self._apply_result(session, site, row, result, task)

    def _try_load_result(self, site: Site, row: Row, work: Path) -> Result | None:
        try:
            return self._load_result(site, row, work)
        except (OSError, ValueError, KeyError, TypeError):
            return None

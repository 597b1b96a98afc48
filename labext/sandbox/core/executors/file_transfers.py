"""Fetch the files of tasks from an object store before they start, and store their results.

Without an object store only the files of failed tasks need storing, by syncing them to the disk.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from labext.sandbox.core.database import is_disk_full, is_unavailable
from labext.sandbox.core.executors.task_run import TaskRun
from labext.sandbox.core.file_storage.objects import StoreError
from labext.sandbox.core.file_storage.service_files import NotCachedError
from labext.sandbox.core.file_storage.tables import StagedFile
from labext.sandbox.core.queue import TaskOutcome
from labext.storage import sync_tree

THREADS = 8

MAX_BEHIND = 8
"""The number of ended tasks with unstored results per slot at which no more tasks start."""

FINISH_SECONDS = 5.0
"""Time that a stopping service leaves to running transfers."""

log = logging.getLogger(__name__)


class FileTransfers:
    """The transfers of the tasks of a supervisor, which calls it from one thread.

    Complete tasks whose kind has neither `prepare` nor `save` cost nothing.
    """

    def __init__(self, on_done: Callable[[], None]) -> None:
        self._on_done = on_done
        self._pool: ThreadPoolExecutor | None = None

    def prepare(self, run: TaskRun) -> bool:
        """Fetch the files of a task; return whether they are present.

        The task fails if one is lost.
        """
        if run.task.kind.prepare is None:
            return True
        if run.prepared is None:
            run.prepared = self._submit(run.task.kind.prepare, run.task.payload)
        if not run.prepared.done():
            return False
        done, run.prepared = run.prepared, None
        try:
            done.result()
        except FileNotFoundError:
            run.outcome = TaskOutcome("failed", "The storage has lost a file that it needs.")
        except Exception as error:  # a fault of a service fails only the task
            if _is_temporary(error):
                log.warning("%s waits for its files: %s", run.task.key, error)
                run.later()
                return False
            log.exception("The files of %s could not be fetched.", run.task.key)
            run.outcome = TaskOutcome("failed", f"Its files could not be fetched: {error}")
        return run.outcome is None

    def fetch(self, run: TaskRun, error: NotCachedError) -> None:
        """Fetch a file that is needed to record the end of a task, which is then retried."""
        log.info("%s waits for a file: %s", run.task.key, error)
        self._submit(lambda _: error.fetch(), {})
        run.later()

    def save(self, run: TaskRun) -> bool:
        """Store the results of a task that has ended; return whether they are stored."""
        save = run.task.kind.save
        if save is None and run.outcome is not None and run.outcome.outcome != "done":
            save = partial(_sync_work_folder, run.task.work)
        elif run.refusal is not None:
            save = None
        if run.is_saved or save is None or not run.launched:
            run.is_saved = True
            return True
        if run.saved is None:
            run.saved = self._submit(save, run.task.payload)
        if not run.saved.done():
            return False
        done, run.saved = run.saved, None
        try:
            stored = tuple(done.result())
        except Exception as error:  # a fault of a service fails only the task
            if _is_temporary(error):
                log.warning("The results of %s are not stored yet: %s", run.task.key, error)
                run.later()
                return False
            log.exception("The results of %s could not be stored.", run.task.key)
            reason = f"Its results could not be stored: {error}"
            seconds = 0.0 if run.outcome is None else run.outcome.seconds
            run.outcome = TaskOutcome("failed", reason, seconds=seconds)
        else:
            assert run.outcome is not None
            run.outcome = replace(run.outcome, stored=stored)
        run.is_saved = True
        return True

    def skip(self, run: TaskRun) -> None:
        """Do not store the results of a task that was cancelled after its process had ended."""
        # Results being stored are deleted as soon as its end is recorded. Syncing does not wait.
        if run.saved is None and run.task.kind.save is not None:
            run.is_saved, run.next_try = True, 0.0

    def are_behind(self, runs: Iterable[TaskRun], slots: int) -> bool:
        """Return whether too many results wait for storage to start more tasks."""
        return self._pool is not None and (
            sum(run.is_saving for run in runs) >= MAX_BEHIND * max(1, slots)
        )

    def finish(self, runs: Iterable[TaskRun]) -> None:
        """Wait briefly for running transfers; unfinished ones are repeated at the next start."""
        if self._pool is None:
            return
        for run in runs:
            if run.is_saving:
                self.save(run)
        wait([run.saved for run in runs if run.saved is not None], FINISH_SECONDS)
        for run in runs:
            if run.is_saving:
                run.next_try = 0.0 if self.save(run) else time.monotonic() + 3600
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(
        self, call: Callable[[dict[str, Any]], Any], payload: dict[str, Any]
    ) -> Future[Any]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(THREADS, "labext-transfers")
        future = self._pool.submit(call, payload)
        future.add_done_callback(lambda _: self._on_done())
        return future


def _sync_work_folder(work: Path | None, _payload: Mapping[str, Any]) -> list[StagedFile]:
    """Sync the log and the files of a failed task to the disk; a complete one has synced them."""
    if work is not None:
        with contextlib.suppress(OSError):  # its row and files were deleted
            sync_tree(work, parents=2)
    return []


def _is_temporary(error: Exception) -> bool:
    """Return whether a repeated transfer may succeed."""
    return isinstance(error, StoreError) or is_disk_full(error) or is_unavailable(error)

"""Open the service in a task process, and report the progress of the task."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labext.sandbox.core.data_folder import DataFolder, ensure_secret
from labext.sandbox.core.database import Database
from labext.sandbox.core.executors import task_process
from labext.sandbox.core.queue import Queue
from labext.sandbox.core.service_protocol import Options, Site
from labext.sandbox.core.signing import Signer

_STAGE_FILE = "stage"
_MIN_INTERVAL = 0.1
"""Minimum seconds between two stages of one kind, such as `page 12 of 300`."""

_MAX_LENGTH = 100


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
        part.write_text(stage[:_MAX_LENGTH], encoding="utf-8")
        part.replace(self._path)

    def set_progress(self, kind: str, done: int, total: int) -> None:
        """Report the progress of a stage, for `parse_progress`: `speech 12 40`."""
        self.set_stage(f"{kind} {done} {total}")


def read_stage(work: Path) -> str | None:
    """Return the last reported stage of a task; None if there is none."""
    try:
        return (work / _STAGE_FILE).read_text(encoding="utf-8")
    except OSError:
        return None


def parse_progress(text: str) -> tuple[str, int, int] | None:
    """Return the stage, `done` and `total` of a reported progress; None if it has another form."""
    match text.split():
        case [kind, done, total] if done.isdecimal() and total.isdecimal():
            return kind, int(done), int(total)
    return None


@contextmanager
def open_site(work: Path) -> Iterator[Site]:
    """Open the service's folders and database.

    Args:
        work: the task's folder (`files.work_folder`), from which the service's folder is derived:
            queued tasks must survive a move of the data folder.
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
        )
    finally:
        if not task_process.is_warm:
            database.close()


@functools.cache
def _cached_database(url: str) -> Database:
    """Return the database of a warm process, with its connection and compiled statements."""
    return Database(url)

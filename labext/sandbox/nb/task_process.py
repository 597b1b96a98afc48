"""Open the service in the process of a task, and report the progress of the task."""

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
"""How often a stage of one kind, such as `page 12 of 300`, is written at most."""

_MAX_LENGTH = 100


class ProgressWriter:
    """Tells the stage, from the process that works in the folder `work`."""

    def __init__(self, work: Path) -> None:
        self._path = work / _STAGE_FILE
        self._told = 0.0
        self._kind = ""

    def tell(self, stage: str) -> None:
        """Say what is done now; of the same kind of stage, its first word, now and then one."""
        now, kind = time.monotonic(), stage.partition(" ")[0]
        if kind == self._kind and now < self._told + _MIN_INTERVAL:
            return
        self._told, self._kind = now, kind
        part = self._path.with_suffix(".part")
        part.write_text(stage[:_MAX_LENGTH], encoding="utf-8")
        part.replace(self._path)

    def count(self, kind: str, done: int, total: int) -> None:
        """Say how much of a kind of stage is done: `told` has `speech 12 40` of it."""
        self.tell(f"{kind} {done} {total}")


def read_stage(work: Path) -> str | None:
    """What was told last by the process that works there; None where nothing was."""
    try:
        return (work / _STAGE_FILE).read_text(encoding="utf-8")
    except OSError:
        return None


def read_count(work: Path) -> tuple[str, int, int] | None:
    """What was counted last by the process that works there: the kind, `done` and `total`."""
    match (read_stage(work) or "").split():
        case [kind, done, total] if done.isdecimal() and total.isdecimal():
            return kind, int(done), int(total)
    return None


@contextmanager
def open_site(work: Path) -> Iterator[Site]:
    """The service's folders and its database.

    Args:
        work: the task's folder (`sources.folders.work`). It says where the service is: what is
            queued must not break when the data folder is moved.
    """
    service = work.parents[1]
    folder = DataFolder(service.parent)
    database = (
        _cached_database(folder.database) if task_process.is_warm else Database.at(folder.database)
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
def _cached_database(path: Path) -> Database:
    """The database in a warm process: it keeps its connection and its compiled statements."""
    return Database.at(path)

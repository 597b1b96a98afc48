"""The service as the process of a task needs it, which knows its working folder alone."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labext.sandbox import runner
from labext.sandbox.database import Database
from labext.sandbox.folder import Folder, secret
from labext.sandbox.queue import Queue
from labext.sandbox.service import Options, Site
from labext.sandbox.signing import Signer


@contextmanager
def opened(work: Path) -> Iterator[Site]:
    """The service's folders and its database.

    Args:
        work: the task's folder (`sources.folders.work`). It says where the service is: what is
            queued must not break when the data folder is moved.
    """
    service = work.parents[1]
    folder = Folder(service.parent)
    database = _kept(folder.database) if runner.is_warm else Database.at(folder.database)
    try:
        yield Site(
            folder=service,
            secrets=folder.secrets,
            database=database,
            queue=Queue(),
            signer=Signer(secret(folder.secrets / "signing")),
            origins={},
            options=Options(),
        )
    finally:
        if not runner.is_warm:
            database.close()


@functools.cache
def _kept(path: Path) -> Database:
    """The database in a warm process: it keeps its connection and its compiled statements."""
    return Database.at(path)

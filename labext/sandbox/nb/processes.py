"""The service as the process of a task needs it, which knows its working folder alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    database = Database.at(folder.database)
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
        database.close()

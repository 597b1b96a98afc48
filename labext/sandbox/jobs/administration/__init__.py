"""What the job service's web interface is elsewhere: accounts and what they may, for its runner.

It works on the sandbox's own database, whether the sandbox runs or not. While it runs its host sees
every change with its next look: at the next request, and within a second for what is to be stopped.
`opened` gives an `Administration`, which every function of this package takes first; they return
records, plain dicts of what JSON knows.

`people` makes organizations and accounts, `keys` their keys, `allowances` says what they may use
and set, `pipelines` are those they have saved, `removal` takes accounts away; `finding` looks up
what is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.exc import DBAPIError

from labext.errors import SetupError, StorageError
from labext.sandbox.control import Sandbox
from labext.sandbox.database import Database
from labext.sandbox.folder import Folder, secret
from labext.sandbox.jobs import tasks
from labext.sandbox.jobs.earlier import TABLES
from labext.sandbox.queue import Base as QueueBase
from labext.sandbox.queue import Queue
from labext.sandbox.service import Site
from labext.sandbox.signing import Signer

Record = dict[str, Any]


@dataclass(frozen=True)
class Administration:
    """A sandbox's job service, as the one who runs it has it before him.

    Attributes:
        site: its folders, its database, and a queue that changes tasks and runs none.
        running: whether a host runs it now.
    """

    site: Site
    running: bool

    @property
    def database(self) -> Database:
        """The sandbox's database."""
        return self.site.database


@contextmanager
def opened(data_dir: Path) -> Iterator[Administration]:
    """The job service of the sandbox in a folder.

    Raises:
        SetupError: no sandbox was ever started there, or one of an earlier version runs.
        StorageError: the database can't be read or written.
    """
    folder = Folder(data_dir)
    if not folder.is_ours() or not folder.database.is_file():
        raise SetupError(
            f"There is no sandbox in {folder.path}: it was never started.",
            f"Start it once: `labext sandbox start --data-dir {folder.path}`.",
        )
    database = Database.at(folder.database)
    try:
        running = Sandbox(folder.path).status().state != "stopped"
        _bring_up_to_date(database, folder, running)
        yield Administration(_site(folder, database), running)
    except DBAPIError as error:
        raise StorageError(
            f"The sandbox's database {folder.database} can't be used: {error.orig}.",
            "See that there is room on the disk and that the file is yours, then try again.",
        ) from error
    finally:
        database.close()


def _bring_up_to_date(database: Database, folder: Folder, running: bool) -> None:
    if not running:
        database.create(QueueBase.metadata, TABLES)
    elif database.is_outdated(TABLES):
        raise SetupError(
            f"The sandbox in {folder.path} runs with an earlier version of labext.",
            "Stop it with `labext sandbox stop` and start it again.",
        )


def _site(folder: Folder, database: Database) -> Site:
    site = Site(
        folder=folder.service("jobs"),
        secrets=folder.secrets,
        database=database,
        queue=Queue(),
        signer=Signer(secret(folder.secrets / "signing")),
        origin="",
        rate="off",
    )
    for kind in tasks.kinds(site):
        site.queue.add(kind)
    return site

"""Administer a service of a sandbox through the sandbox's own database, whether it runs or not.

The host of a running sandbox sees every change at the next request, and within a second if a task
is to be stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy.exc import DBAPIError

from labext.sandbox.backup import check_started
from labext.sandbox.control import Sandbox
from labext.sandbox.database import Database
from labext.sandbox.folder import Folder, read_json, secret
from labext.sandbox.queue import Base as QueueBase
from labext.sandbox.queue import Queue
from labext.sandbox.service import Options, Service, Site, origin
from labext.sandbox.signing import Signer
from labext.sandbox.startup import check_database, explain

Record = dict[str, Any]
"""The result of an administrative call; JSON can hold it."""


@dataclass(frozen=True)
class Administration:
    """A service of a sandbox; each service has a subclass with its calls.

    The calls raise NotFoundError for a name that does not exist, ConflictError for one that exists
    already or is ambiguous, and InputError for an invalid value. A call that removes data raises
    InputError with what would be lost, unless `yes` is given.

    Attributes:
        site: its folders, its database, and a queue that changes tasks and runs none. Its origins
            are those of the last start, and empty for an endpoint that was never open.
        running: whether a host runs it now.
    """

    site: Site
    running: bool

    @property
    def database(self) -> Database:
        """The sandbox's database."""
        return self.site.database


A = TypeVar("A", bound=Administration)


@contextmanager
def opened(data_dir: Path, service: Service, administration: type[A]) -> Iterator[A]:
    """Open a service of the sandbox in a folder.

    Raises:
        SetupError: no sandbox was ever started there, or by another version of labext.
        StorageError: the database is empty or damaged, or can't be read or written.
    """
    folder = Folder(data_dir)
    check_started(folder)
    database = Database.at(folder.database)
    try:
        running = Sandbox(folder.path).status().state != "stopped"
        if running:
            database.check_version()
        else:
            check_database(database, folder, [service])
            database.create(QueueBase.metadata, service.metadata)
        yield administration(_site(folder, database, service), running)
    except DBAPIError as error:
        raise explain(error, folder) from error
    finally:
        database.close()


def _site(folder: Folder, database: Database, service: Service) -> Site:
    certificate = service.certificate(folder.service(service.name), folder.secrets)
    ports = read_json(folder.ports)
    site = Site(
        folder=folder.service(service.name),
        secrets=folder.secrets,
        database=database,
        queue=Queue(),
        signer=Signer(secret(folder.secrets / "signing")),
        origins={
            door: origin(ports[door], certificate) if door in ports else ""
            for door in service.doors
        },
        options=Options(rate="off"),
    )
    for kind in service.kinds(site):
        site.queue.add(kind)
    return site

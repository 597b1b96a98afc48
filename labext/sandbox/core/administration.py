"""Base class for administering a service through the sandbox's database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from labext.sandbox.core.backup import check_started
from labext.sandbox.core.data_folder import DataFolder, FileLock, read_json
from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.file_storage.setup import FileStorageSetup
from labext.sandbox.core.queue import Queue
from labext.sandbox.core.service_protocol import Options, Service, Site, create_site
from labext.sandbox.core.startup_checks import check_database, open_database

Record = dict[str, Any]
"""The result of an administrative call; JSON can hold it."""


@dataclass(frozen=True)
class Administration:
    """Base class for administering a service; each service has a subclass with its operations.

    The methods raise NotFoundError for a name that does not exist, ConflictError for a name that
    already exists or is ambiguous, and InputError for an invalid value. A call that removes data
    raises InputError, which lists the data that would be lost, unless `yes` is given.

    Attributes:
        site: its folders and database, with a queue that changes tasks but does not run them. The
            origins are those of the last start; empty for an endpoint that was never started.
        running: whether the host is running.
    """

    site: Site
    running: bool

    @property
    def database(self) -> Database:
        """The sandbox's database."""
        return self.site.database


A = TypeVar("A", bound=Administration)


@contextmanager
def open_administration(data_dir: Path, service: Service, administration: type[A]) -> Iterator[A]:
    """Open a service of the sandbox in a folder.

    Raises:
        SetupError: no sandbox was ever started there, or by another user or version of labext.
        StorageError: the database is empty or damaged, or can't be read or written.
    """
    folder = DataFolder(data_dir)
    folder.check_user()
    check_started(folder)
    with open_database(folder) as database:
        running = FileLock(folder.lock_file).is_held()
        if running:
            database.check_version()
        else:
            check_database(database, folder, [service])
            database.create(CoreBase.metadata, service.metadata)
        queue, storage = Queue(), FileStorageSetup(folder, database)
        options, ports = Options(rate="off"), read_json(folder.ports)
        site = create_site(service, folder, database, queue, storage, options, ports)
        for kind in service.kinds(site):
            queue.add(kind)
        yield administration(site, running)

"""Check at start-up that the database and the files of a sandbox match."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import inspect, select
from sqlalchemy.exc import DBAPIError

from labext import messages
from labext.actions import parameter
from labext.errors import LabextError, SetupError, StorageError
from labext.sandbox.core import postgresql
from labext.sandbox.core.data_folder import DataFolder, has_content, list_entries, remove_path
from labext.sandbox.core.database import Database, is_database_corrupt, is_disk_full
from labext.sandbox.core.service_protocol import Service, Site

log = logging.getLogger("labext.sandbox")


class Quarantine:
    """The folder to which one start of a sandbox moves files without a database row.

    Attributes:
        path: the folder, created with the first move.
        moved: the number of moved files and folders.
    """

    def __init__(self, folder: DataFolder) -> None:
        self._root = folder.path
        self.path = folder.quarantine / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S-%f}"
        self.moved = 0

    def move(self, path: Path) -> None:
        """Move a file or folder here, under its path in the data folder.

        Raises:
            OSError: it cannot be moved and is unchanged.
        """
        target = self.path / path.relative_to(self._root)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.move(path, target)
        self.moved += 1

    @property
    def notice(self) -> str | None:
        """Message for the person who starts the sandbox; None if nothing was moved."""
        if not self.moved:
            return None
        return (
            f"Moved {messages.pluralize(self.moved, 'item')} without a database record to "
            f"{self.path}. Delete that folder if you do not need them."
        )


def check_database(
    database: Database,
    folder: DataFolder,
    services: Sequence[Service],
    *,
    adopt_into: Quarantine | None = None,
) -> None:
    """Check that the database has rows for every service that has files.

    `adopt_into` accepts an empty database, and receives a damaged one; None refuses both.

    Raises:
        StorageError: the database is empty or damaged; the next step names the ways out.
        DBAPIError: it cannot be read.
    """
    is_file = not database.is_postgresql
    lost = is_file and not has_content(folder.database)
    # SQLite would delete the log beside an empty file, with the rows that only the log has.
    only_log = lost and has_content(Path(f"{folder.database}-wal"))
    if adopt_into is None:
        if only_log:
            raise empty_database_error(folder)
    elif only_log or (is_file and not lost and is_database_damaged(folder.database)):
        for suffix in ("-wal", "-shm", "-journal", ""):
            path = Path(f"{folder.database}{suffix}")
            if path.exists():
                adopt_into.move(path)
    for service in services:
        service_folder = folder.path / service.name
        files = [
            path for name in service.data_folders for path in list_entries(service_folder / name)
        ]
        if not files or not (lost or _has_no_rows(database, service)):
            continue
        if adopt_into is None:
            raise (
                damaged_database_error(folder)
                if is_file and is_database_damaged(folder.database)
                else empty_database_error(folder)
            )
        # Ids are reused: a signature for an old one must not be valid for a new one.
        (folder.secrets / "signing").unlink(missing_ok=True)


def check_no_sample_accounts(
    services: Sequence[Service], sites: Mapping[str, Site], folder: DataFolder
) -> None:
    """Check that no service of a server has the accounts of a sandbox.

    Raises:
        SetupError: one has, since a sandbox's backup was restored or its database is used.
    """
    for service in services:
        if service.has_sample_accounts(sites[service.name]):
            raise SetupError(
                f"The data in {folder.database_name} are of a sandbox: {service.name} has its "
                "sample accounts, which a server must not have.",
                "Start the server with a new folder and database, or run `labext sandbox start` "
                "to use these data on this machine only.",
            )


def check_files(services: Sequence[Service], sites: Mapping[str, Site], folder: DataFolder) -> None:
    """Check that a new data folder has files if a PostgreSQL database has records of files.

    It would get the files of the next users. A folder that has the address of the database is not
    new: the services have started with it.

    Raises:
        StorageError: it has none.
    """
    if not folder.uses_postgresql or folder.database_url_file.exists():
        return
    if any(
        list_entries(sites[service.name].folder / name)
        for service in services
        for name in service.data_folders
    ):
        return
    for service in services:
        site = sites[service.name]
        if not site.files.is_remote and service.records_files(site):
            raise StorageError(
                f"The files of the database {folder.database_name} are not in {folder.path}.",
                f"Start the {folder.kind} with the data folder that has them, or restore a backup. "
                f"{parameter('adopt_empty')} starts it without the files.",
            )


def recovery_advice(folder: DataFolder) -> str:
    """Return the recovery instructions for an unusable database."""
    return (
        f"Restore a backup with `{folder.command('restore', 'FILE', '--yes')}`, or start with an "
        f"empty database with `{folder.command('start', '--adopt-empty')}`, which moves the old "
        f"files to {folder.quarantine}."
    )


def damaged_database_error(folder: DataFolder) -> StorageError:
    """Return the refusal of a damaged database."""
    return StorageError(f"The database {folder.database} is damaged.", recovery_advice(folder))


def empty_database_error(folder: DataFolder) -> StorageError:
    """Return the refusal of a database without rows, or without the rows of files."""
    return StorageError(
        f"The database {folder.database_name} is empty, but the data folder is not.",
        recovery_advice(folder),
    )


def is_database_damaged(path: Path) -> bool:
    """Return whether a file is not a whole SQLite database; a missing or empty file is one."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(path)) as connection:
            return bool(connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",))
    except sqlite3.Error as error:
        if is_database_corrupt(error):
            return True
        raise


def quarantine_orphans(
    service: Service, site: Site, folder: DataFolder, quarantine: Quarantine
) -> None:
    """Move a service's files without a row to the quarantine folder.

    Raises:
        StorageError: the database is damaged, so that rows may only seem to be missing.
    """
    orphans = sorted(service.orphans(site))
    if orphans and not site.database.is_postgresql and is_database_damaged(folder.database):
        raise damaged_database_error(folder)
    for path in orphans:
        try:
            if has_content(path) or path.is_file():
                quarantine.move(path)
            else:
                remove_path(path)
        except OSError as error:
            log.warning("%s has no row and could not be moved: %s", path, error)


@contextmanager
def open_database(folder: DataFolder) -> Iterator[Database]:
    """Open the database of a data folder, and explain its errors."""
    with closing(Database(folder.database_url)) as database:
        try:
            yield database
        except DBAPIError as error:
            raise explain_failure(error, folder) from error


@contextmanager
def exclusive_database(folder: DataFolder) -> Iterator[postgresql.DatabaseLock | None]:
    """Keep other services off a PostgreSQL database; a SQLite file needs no lock.

    Raises:
        ConflictError: one is using it.
        StorageError: it cannot be reached.
    """
    if not folder.uses_postgresql:
        yield None
        return
    with open_database(folder) as database:
        postgresql.check_encoding(database.engine)  # explains why it cannot be reached
    lock = postgresql.DatabaseLock(folder.database_url, folder.path)
    lock.acquire()
    try:
        yield lock
    finally:
        lock.release()


def explain_failure(error: Exception, folder: DataFolder) -> LabextError:
    """Return the cause of a start-up failure, with its remedy."""
    if isinstance(error, LabextError):
        return error
    if isinstance(error, DBAPIError) and folder.uses_postgresql:
        return postgresql.explain(error, folder.database_url)
    if is_disk_full(error):
        return StorageError(
            f"The disk is full: {folder.path} cannot be written.", "Make room, then try again."
        )
    if is_database_corrupt(error):
        return damaged_database_error(folder)
    if isinstance(error, (DBAPIError, sqlite3.Error)):
        cause = error.orig if isinstance(error, DBAPIError) else error
        return StorageError(
            f"The database {folder.database} cannot be used: {cause}.",
            "Check that the file is yours and can be written.",
        )
    if isinstance(error, OSError) and error.filename is not None:
        return StorageError(
            f"{error.filename} cannot be used: {error.strerror}.", f"Look at {folder.log}."
        )
    return LabextError(f"{type(error).__name__}: {error}", f"Look at {folder.log}.")


def _has_no_rows(database: Database, service: Service) -> bool:
    existing_tables = set(inspect(database.engine).get_table_names())
    tables = [table for table in service.metadata.sorted_tables if table.name in existing_tables]
    with database.read() as session:
        return not any(session.execute(select(1).select_from(t).limit(1)).first() for t in tables)

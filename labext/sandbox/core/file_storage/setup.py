"""Open the file storage of a data folder, check it at a start, and clean it up."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import delete, exists, select, update
from sqlalchemy.exc import SQLAlchemyError

from labext import messages
from labext.actions import parameter
from labext.errors import ConflictError, LabextError, SetupError
from labext.sandbox.core.data_folder import DataFolder, FileLock, has_content, read_json, write_json
from labext.sandbox.core.database import Database, error_line
from labext.sandbox.core.file_storage.cache import DEFAULT_BYTES, FileCache
from labext.sandbox.core.file_storage.objects import ObjectStore, StorageSettings, StoreError
from labext.sandbox.core.file_storage.service_files import ServiceFiles, StoredFiles
from labext.sandbox.core.file_storage.tables import FileStorage, StoredFile, UnusedObject

MARKER = "labext-storage"
"""The object with the identifier of the storage."""

QUARANTINE = "quarantine"
"""Prefix of the keys of objects that were found without a record."""

CLEAN_UP_SECONDS = 60.0
"""Interval of deleting unused objects and old copies; a commit that leaves some starts it early."""

_PING_SECONDS = 5.0
"""Time during which the last state of the store is reported again."""

_BATCH = 500

log = logging.getLogger("labext.sandbox")


def stored_settings(folder: DataFolder) -> StorageSettings | None:
    """Return the object store of the last start; None if the files are in the data folder."""
    settings = read_json(folder.storage)
    return StorageSettings(**settings) if settings else None


class FileStorageSetup:
    """The file storage of a host.

    Args:
        folder: the data folder, which has the copies.
        database: the records.
        settings: the object store; by default that of the last start.
    """

    def __init__(
        self, folder: DataFolder, database: Database, settings: StorageSettings | None = None
    ) -> None:
        self._folder = folder
        self._database = database
        self.settings = settings or stored_settings(folder)
        self._store = None if self.settings is None else self.settings.open()
        size = None if self.settings is None else self.settings.cache_bytes
        self.copies = FileCache(folder.path / "cache", size or DEFAULT_BYTES)
        self._wakeup = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._problem = ("", 0.0)

    def files(self, service: str, root: Path) -> ServiceFiles:
        """Return the files of a service with this folder."""
        if self._store is None:
            return ServiceFiles(root)
        return StoredFiles(service, root, self._database, self._store, self.copies, self._wakeup)

    def check(self, data_folders: Mapping[str, list[str]]) -> str | None:
        """Check at a start that the store is the one of the database, and can be written.

        The store is remembered, and objects without a record are moved to `quarantine/`.

        Args:
            data_folders: the names of the folders with users' files, by service.

        Returns:
            A message for the operator if objects were moved.

        Raises:
            SetupError, ConflictError: it belongs to another database, or cannot be used.
        """
        with self._database.read() as session:
            record = session.scalars(select(FileStorage)).first()
            has_files = bool(session.scalar(select(exists().where(StoredFile.path.is_not(None)))))
        if self.settings is None or self._store is None:
            if record is not None and has_files:
                raise SetupError(
                    f"The files of this database are in {record.url}, not in the data folder.",
                    f"Start it with {parameter('storage', record.url)}.",
                )
            return None
        if record is None:
            self._check_folder(data_folders)
        try:
            notice = self._check_store(record, has_files)
        except StoreError as error:
            raise explain(error, self.settings) from error
        self.copies.clear_partial()
        write_json(self._folder.storage, asdict(self.settings))
        return notice

    def close_connections(self) -> None:
        """Close the connections to the store; the next request opens new ones."""
        if self._store is not None:
            self._store.close()

    def start(self) -> None:
        """Delete unused objects and old copies in a thread."""
        if self._store is not None:
            self._thread = threading.Thread(
                target=self._clean_up, name="labext-clean-up", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self._wakeup.set()
        if self._thread is not None:
            self._thread.join(10)

    def problem(self) -> str:
        """Return why the store cannot be used, as a sentence; empty if it can."""
        if self._store is None:
            return ""
        problem, until = self._problem
        if time.monotonic() > until:
            try:
                self._store.ping()
                problem = ""
            except StoreError as error:
                problem = error.reason
            self._problem = (problem, time.monotonic() + _PING_SECONDS)
        return problem

    def delete_unused(self) -> int:
        """Delete the objects that no record refers to any more; return the number.

        Nothing is deleted while a backup is running, since it needs the objects that existed at its
        start.

        Raises:
            StoreError: the store cannot be used; the objects stay in the list.
        """
        deleted = 0
        while self._store is not None and not self._stopping.is_set():
            with self._database.read() as session:
                query = select(UnusedObject.key).order_by(UnusedObject.since).limit(_BATCH)
                keys = session.scalars(query).all()
            if not keys or FileLock(self._folder.path / "backup.lock").is_held():
                break
            for key in keys:
                self._store.delete(key)
                self.copies.remove(key)
            with self._database.write(durable=False) as session:
                session.execute(delete(UnusedObject).where(UnusedObject.key.in_(keys)))
            deleted += len(keys)
        return deleted

    def _check_folder(self, data_folders: Mapping[str, list[str]]) -> None:
        """Refuse a store for a database whose files are in the data folder."""
        for service, names in data_folders.items():
            for name in names:
                if has_content(self._folder.path / service / name):
                    raise SetupError(
                        f"The files of this database are in {self._folder.path}.",
                        f"Start it without {parameter('storage')}, or choose a new data folder and "
                        "an empty database for the storage.",
                    )

    def _check_store(self, record: FileStorage | None, has_files: bool) -> str | None:
        """Compare the identifiers of the store and of the database, and write to the store."""
        assert self.settings is not None
        assert self._store is not None
        found = read_marker(self._store, self._folder.path)
        if record is None:
            if found is not None:
                raise self._other_database()
            if self._store.sizes():
                raise SetupError(
                    f"The storage {self.settings.url} is not empty.",
                    f"Choose an empty prefix of the bucket with {parameter('storage')}.",
                )
            record = FileStorage(storage=uuid4().hex, url=self.settings.url)
            with self._database.write() as session:
                session.add(record)
        elif found is None and has_files and record.url == self.settings.url:
            raise SetupError(
                f"The storage {record.url} is empty; it had the files of this database.",
                "Check that it is mounted, or restore a backup with "
                f"`{self._folder.command('restore', 'FILE', '--yes')}`.",
            )
        elif found is None and has_files:
            raise SetupError(
                f"The storage {self.settings.url} is empty, but the files of this database are in "
                f"{record.url}.",
                f"Start it with {parameter('storage', record.url)}.",
            )
        elif found not in (None, record.storage):
            raise self._other_database()
        elif record.url != self.settings.url:  # the bucket was copied or renamed
            with self._database.write() as session:
                session.execute(update(FileStorage).values(url=self.settings.url))
        write_marker(self._store, self._folder.path, record.storage)
        return self._quarantine_orphans()

    def _other_database(self) -> ConflictError:
        assert self.settings is not None
        return ConflictError(
            f"The storage {self.settings.url} has the files of another database.",
            f"Choose an empty prefix of the bucket with {parameter('storage')}.",
        )

    def _quarantine_orphans(self) -> str | None:
        """Move objects without a record, which interrupted tasks and older backups leave."""
        assert self._store is not None
        with self._database.read() as session:
            known = {*session.scalars(select(StoredFile.key).distinct())}
            known |= {*session.scalars(select(UnusedObject.key)), MARKER}
        start = f"{QUARANTINE}/{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}"
        orphans = [
            key
            for key in self._store.sizes()
            if key not in known and not key.startswith(f"{QUARANTINE}/")
        ]
        for key in orphans:
            self._store.move(key, f"{start}/{key}")
        if not orphans:
            return None
        assert self.settings is not None
        return (
            f"Moved {messages.pluralize(len(orphans), 'object')} without a database record to "
            f"{self.settings.url}/{start}. Delete them if you do not need them."
        )

    def _clean_up(self) -> None:
        while not self._stopping.is_set():
            self._wakeup.clear()
            try:
                self.delete_unused()
                self.copies.evict()
            except (StoreError, SQLAlchemyError) as error:
                log.warning("Unused objects are deleted later: %s", error_line(error))
                self._stopping.wait(_PING_SECONDS)
            except OSError:
                log.exception("The copies of files could not be cleaned up.")
            self._wakeup.wait(CLEAN_UP_SECONDS)
        if self._store is not None:
            with contextlib.suppress(Exception):
                self._store.close()


def read_marker(store: ObjectStore, folder: Path) -> str | None:
    """Return the identifier of a store, by a temporary file; None if it has none.

    Raises:
        StoreError: it cannot be read.
    """
    target = folder / f".{uuid4().hex}"
    try:
        store.get(MARKER, target)
        return target.read_text()
    except FileNotFoundError:
        store.ping()  # the bucket may be missing instead
        return None
    finally:
        target.unlink(missing_ok=True)


def write_marker(store: ObjectStore, folder: Path, storage: str) -> None:
    """Write the identifier of a store, by a temporary file. At each start this shows that it works.

    Raises:
        StoreError: it cannot be written.
    """
    source = folder / f".{uuid4().hex}"
    try:
        source.write_text(storage)
        store.put(source, MARKER)
    finally:
        source.unlink(missing_ok=True)


def explain(error: StoreError, settings: StorageSettings) -> LabextError:
    """Return why a store cannot be used at a start, with the next step."""
    steps: dict[str, Any] = {
        "unavailable": (
            "Check that it runs and can be reached from here, and the address that is given with "
            f"{parameter('storage_endpoint', 'https://…')}."
            if settings.is_s3
            else "Check that it is mounted."
        ),
        "no bucket": (
            "Create the bucket, or correct its name."
            if settings.is_s3
            else "Create the directory, or correct its name."
        ),
        "denied": (
            "Allow these credentials to list, read, write and delete objects there."
            if settings.is_s3
            else "Let the user of the server write to it."
        ),
        "no credentials": (
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment of the server, or "
            "use the files of AWS."
        ),
    }
    return SetupError(error.reason, steps.get(error.kind, "Check its address and its state."))

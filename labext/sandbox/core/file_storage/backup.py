"""The objects of users' files in backups: each is read from the store, and stored again."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from sqlalchemy import inspect, select
from sqlalchemy.orm import Session

from labext.actions import parameter
from labext.errors import ConflictError, SetupError
from labext.sandbox.core.data_folder import DataFolder
from labext.sandbox.core.file_storage.objects import ObjectStore, StorageSettings, StoreError
from labext.sandbox.core.file_storage.setup import (
    explain,
    read_marker,
    stored_settings,
    write_marker,
)
from labext.sandbox.core.file_storage.tables import FileStorage, StoredFile

FOLDER = "objects"
"""The folder of the objects in a backup."""

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class StoredRecords:
    """The objects at the moment of a backup: key, size, SHA-256 and the path of a file.

    Attributes:
        storage: the identifier of the store.
    """

    storage: str
    objects: Sequence[tuple[str, int, str, str]]


def read_records(session: Session) -> StoredRecords | None:
    """Return the objects in the state that a session sees; None without an object store."""
    if not inspect(session.connection()).has_table(FileStorage.__tablename__):  # an older version
        return None
    storage = session.scalar(select(FileStorage.storage))
    if storage is None:
        return None
    query = select(StoredFile.key, StoredFile.bytes, StoredFile.sha256, StoredFile.path)
    objects = {
        row.key: (row.key, row.bytes, row.sha256, row.path) for row in session.execute(query)
    }
    return StoredRecords(storage, sorted(objects.values()))


@dataclass(frozen=True)
class StoredObjects:
    """The objects of a backup, read one by one; none is deleted while its lock is held.

    Attributes:
        storage: the identifier of the store.
    """

    storage: str
    _records: StoredRecords
    _store: ObjectStore
    _settings: StorageSettings
    _staging: Path

    @classmethod
    def open(cls, folder: DataFolder, records: StoredRecords | None, staging: Path) -> Self | None:
        """Return the objects; None without an object store.

        Raises:
            SetupError: it does not respond.
        """
        settings = stored_settings(folder)
        if records is None or settings is None:
            return None
        store = settings.open()
        try:
            store.ping()
        except StoreError as error:
            store.close()
            raise explain(error, settings) from error
        return cls(records.storage, records, store, settings, staging)

    def write(self, archive: zipfile.ZipFile, skipped: list[str]) -> list[dict[str, Any]]:
        """Write the objects to an archive; return their entries of the manifest.

        The path of a file that the store has lost is added to `skipped`.

        Raises:
            SetupError: the store cannot be read.
        """
        entries = []
        part = self._staging / "object"
        try:
            for key, size, sha256, path in self._records.objects:
                try:
                    self._store.get(key, part)
                except FileNotFoundError:
                    skipped.append(path)
                    continue
                name = f"{FOLDER}/{key}"
                with part.open("rb") as content, archive.open(name, "w", force_zip64=True) as out:
                    written = copy_file(content, out)
                part.unlink()
                if written != (size, sha256):
                    skipped.append(path)
                entries.append(
                    {"path": name, "member": name, "bytes": written[0], "sha256": written[1]}
                )
        except StoreError as error:
            raise explain(error, self._settings) from error
        finally:
            self._store.close()
        return entries


def check_storage(
    folder: DataFolder, manifest: dict[str, Any], settings: StorageSettings | None
) -> None:
    """Check that a backup of an object store is restored to one, and others are not.

    Raises:
        SetupError: only one of the two has an object store.
    """
    if "storage" in manifest and settings is None:
        raise SetupError(
            "The files of the backup were in an object store.",
            f"Name an empty one with {parameter('storage', 's3://BUCKET/PREFIX')}; or that one, if "
            "no server uses it any more.",
        )
    if settings is not None and "storage" not in manifest:
        raise SetupError(
            f"The files of the backup were in its data folder, but those of {folder.path} are in "
            f"{settings.url}.",
            "Restore it into a new folder without such a storage.",
        )


def store_objects(settings: StorageSettings, unpacked: Path, storage: str) -> None:
    """Put the objects of a backup into the store, unless it has them, and remove the folder.

    Other objects in the store are kept; the next start moves them to its quarantine.

    Raises:
        ConflictError: the store has the files of another database, or other objects.
        SetupError: it cannot be written.
    """
    store = settings.open()
    try:
        marker = read_marker(store, unpacked.parent)
        existing = store.sizes()
        if marker not in (None, storage) or (marker is None and existing):
            raise ConflictError(
                f"The storage {settings.url} has other files.",
                f"Choose an empty prefix of the bucket with {parameter('storage')}.",
            )
        write_marker(store, unpacked.parent, storage)
        for file in sorted(path for path in unpacked.rglob("*") if path.is_file()):
            key = file.relative_to(unpacked).as_posix()
            if existing.get(key) != file.stat().st_size:
                store.put(file, key)
    except StoreError as error:
        raise explain(error, settings) from error
    finally:
        store.close()


def copy_file(
    source: IO[bytes], target: IO[bytes], max_bytes: int | None = None
) -> tuple[int, str]:
    """Copy at most `max_bytes` of a file; return the size and SHA-256."""
    size, digest = 0, hashlib.sha256()
    while (max_bytes is None or size <= max_bytes) and (chunk := source.read(_CHUNK_BYTES)):
        size += len(chunk)
        digest.update(chunk)
        target.write(chunk)
    return size, digest.hexdigest()

"""Back up a sandbox or server to a single archive, also while it runs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import stat
import zipfile
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from sqlalchemy import create_engine, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from labext.errors import ConflictError, InputError, NotFoundError, SetupError
from labext.sandbox.core.data_folder import (
    DATABASE_FILE,
    DATABASE_URL_FILE,
    STORAGE_FILE,
    DataFolder,
    FileLock,
    has_content,
    list_entries,
    remove_path,
)
from labext.sandbox.core.database import BUSY_SECONDS, Database
from labext.sandbox.core.file_storage.backup import (
    StoredObjects,
    StoredRecords,
    copy_file,
    read_records,
)
from labext.sandbox.core.file_storage.cache import link_or_copy
from labext.sandbox.core.postgresql_backup import DUMP_FILE, dump_tables
from labext.sandbox.core.startup_checks import (
    damaged_database_error,
    empty_database_error,
    explain_failure,
    is_database_damaged,
)
from labext.storage import storage_errors, write_atomic

FORMAT = "labext-sandbox-backup"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"

RUNTIME_FILES = {
    *("host.lock", "host.json", "host.log", "host.log.1", "connection.json"),
    *("backup.lock", "tasks", "quarantine", "metrics", DATABASE_URL_FILE),
    *("cache", STORAGE_FILE),
}
"""Files of a running host. Backups exclude them and names that start with a dot."""

SCRATCH_FOLDERS = {"drafts", "incoming", "work"}
"""A service's folders for uploads and tasks that are not finished."""

REGENERATED_SECRETS = {"secrets/signing", "secrets/nb_providers"}
"""Secrets regenerated at start, because a restore may reassign ids that were signed before."""


@dataclass(frozen=True)
class BackupResult:
    """Result of a backup.

    Attributes:
        file: the archive.
        files: the number of files.
        bytes: their size before compression.
        skipped: files that could not be read.
    """

    file: Path
    files: int
    bytes: int
    skipped: tuple[str, ...]


def back_up(folder: DataFolder, target: Path) -> BackupResult:
    """Back up the sandbox in `folder` into the new file `target`, which only its owner can read.

    Raises:
        SetupError: there is no sandbox.
        NotFoundError: the folder of `target` does not exist.
        InputError: `target` is in the sandbox's folder.
        ConflictError: `target` exists, or another backup is running.
        SetupError, StorageError: the database is empty or damaged, the disk is full, or the object
            store of the files cannot be read.
    """
    check_started(folder)
    target = target.expanduser().absolute()
    if target.exists():
        raise ConflictError(f"{target} exists.", "Give the backup another name.")
    if not target.parent.is_dir():
        raise NotFoundError(f"There is no folder {target.parent}.", "Create it, or name another.")
    if target.is_relative_to(folder.path):
        raise InputError(
            f"{target} is in the sandbox's own folder.", "Put the backup somewhere else."
        )
    lock = FileLock(folder.path / "backup.lock")
    with storage_errors(lock.path):
        if not lock.acquire(seconds=1.0):  # a service that checks for a running host holds it
            raise ConflictError(
                "Another backup of this sandbox is running.", "Wait until it is done."
            )
    staging = folder.path / ".backup"
    try:
        with storage_errors(staging):
            remove_path(staging)
            staging.mkdir(mode=0o700)
            if folder.uses_postgresql:
                pinned = _pin_postgresql(folder, staging)
            elif not has_content(folder.database):  # opening it would delete its log
                raise empty_database_error(folder)
            else:
                pinned = _pin_snapshot(folder, staging)
            pinned.objects = StoredObjects.open(folder, pinned.records, staging)
        return _create_archive(pinned, target)
    except (sqlite3.Error, DBAPIError) as error:
        raise explain_failure(error, folder) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        lock.release()


def check_started(folder: DataFolder) -> None:
    """Check that the sandbox exists and that no restore of it was interrupted.

    Raises:
        SetupError: the sandbox does not exist, or a restore was interrupted.
    """
    if restored_folder(folder).exists():
        raise SetupError(
            f"A restore into {folder.path} was interrupted.",
            f"Start the {folder.kind} to finish it: `{folder.command('start')}`.",
        )
    if not folder.is_ours() or not folder.has_database:
        raise SetupError(
            f"There is no {folder.kind} in {folder.path}: it was never started.",
            f"Start it once: `{folder.command('start')}`.",
        )


@dataclass
class _PinnedFiles:
    """Files to back up: copies and hard links by their path in the data folder.

    Attributes:
        revision: the version of the tables in a PostgreSQL database; a SQLite file has its own.
        records: the files in an object store at the moment of the backup.
        objects: that store; None if there is none.
    """

    files: dict[str, Path] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    revision: str | None = None
    records: StoredRecords | None = None
    objects: StoredObjects | None = None


def _pin_snapshot(folder: DataFolder, staging: Path) -> _PinnedFiles:
    """Pin the files while the database is locked, and copy its state."""
    copy = staging / DATABASE_FILE
    with closing(_connect(folder.database)) as source:
        with closing(_connect(folder.database)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            source.execute("BEGIN")
            tables = source.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            pinned = _pin_files(folder, staging)
            writer.execute("ROLLBACK")
        with closing(_connect(copy)) as target:
            source.backup(target)  # of the state in its transaction
            target.execute("PRAGMA journal_mode=DELETE")  # a single file, without a separate log
    if is_database_damaged(copy):
        raise damaged_database_error(folder)
    if not tables:
        raise empty_database_error(folder)
    pinned.files[DATABASE_FILE] = copy
    engine = create_engine(f"sqlite:///{copy}")  # `Database` would create a separate log
    with Session(engine) as session:
        pinned.records = read_records(session)
    engine.dispose()
    return pinned


def _pin_postgresql(folder: DataFolder, staging: Path) -> _PinnedFiles:
    """Pin the files while the write lock is held, and dump the state of that moment."""
    with closing(Database(folder.database_url)) as database:
        revision = database.check_version(upgradable=True)
        if revision is None:
            raise empty_database_error(folder)
        with database.read() as reader:
            with database.write() as writer:
                writer.connection()  # waits for the lock
                snapshot = reader.scalar(select(func.pg_export_snapshot()))
                pinned = _pin_files(folder, staging)
            pinned.records = read_records(reader)
            dump_tables(database, staging / DUMP_FILE, snapshot)
    pinned.files[DUMP_FILE] = staging / DUMP_FILE
    pinned.revision = revision
    return pinned


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)


def _pin_files(folder: DataFolder, staging: Path) -> _PinnedFiles:
    """Hard-link every regular file of the backup except the database."""
    pinned = _PinnedFiles()

    def unreadable(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            pinned.skipped.append(str(error.filename))

    def pin(path: Path) -> None:
        name = path.relative_to(folder.path).as_posix()
        target = staging / str(len(pinned.files))
        # A missing file belongs to a running task or to a row that was deleted.
        with contextlib.suppress(FileNotFoundError):
            if name not in REGENERATED_SECRETS and stat.S_ISREG(path.lstat().st_mode):
                link_or_copy(path, target)
                pinned.files[name] = target

    pin(folder.ports)
    pin(folder.server)
    for top in filter(Path.is_dir, data_entries(folder)):
        for parent, folders, names in os.walk(top, onerror=unreadable):
            if Path(parent) == top:
                folders[:] = [name for name in folders if name not in SCRATCH_FOLDERS]
            for name in names:
                pin(Path(parent, name))
    return pinned


def _create_archive(pinned: _PinnedFiles, target: Path) -> BackupResult:
    """Write the pinned files to a ZIP file, atomically renamed once it is complete."""
    files: list[dict[str, Any]] = []
    write_atomic(target, lambda file: files.extend(_write_archive(pinned, file)), private=True)
    size = sum(entry["bytes"] for entry in files)
    return BackupResult(target, len(files), size, tuple(pinned.skipped))


def _write_archive(pinned: _PinnedFiles, file: IO[bytes]) -> list[dict[str, Any]]:
    """Write the archive and return its manifest entries."""
    files: list[dict[str, Any]] = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, path in sorted(pinned.files.items()):
            member = name if _is_text(name) else f"undecodable/{len(files)}"
            try:
                content = path.open("rb")
            except PermissionError:
                pinned.skipped.append(name)
                continue
            with content, archive.open(member, "w", force_zip64=True) as out:
                size, digest = copy_file(content, out)
            files.append({"path": name, "member": member, "bytes": size, "sha256": digest})
        if pinned.objects is not None:
            files += pinned.objects.write(archive, pinned.skipped)
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "labext": version("labext-jupyter"),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "files": files,
        }
        if pinned.revision is not None:
            manifest["revision"] = pinned.revision
        if pinned.objects is not None:
            manifest["storage"] = pinned.objects.storage
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return files


def _is_text(name: str) -> bool:
    """Return whether a file name can be encoded as UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def restored_folder(folder: DataFolder) -> Path:
    """Return the folder of a committed restore, which exists until it is finished."""
    return folder.path / ".restored"


def data_entries(folder: DataFolder) -> list[Path]:
    """Return the top-level entries of the data folder that are backed up and restored."""
    return sorted(
        path
        for path in list_entries(folder.path)
        if path.name not in RUNTIME_FILES and not path.name.startswith(".")
    )

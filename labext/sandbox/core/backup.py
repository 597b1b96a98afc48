"""Back up a sandbox to a single archive, also while it runs, and restore it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from labext.actions import parameter
from labext.errors import ConflictError, InputError, NotFoundError, SetupError, StorageError
from labext.sandbox.core import postgresql
from labext.sandbox.core.data_folder import (
    DATABASE_FILE,
    DATABASE_URL_FILE,
    PORTS_FILE,
    SERVER_FILE,
    DataFolder,
    FileLock,
    has_content,
    list_entries,
    read_json,
    remove_path,
    write_json,
)
from labext.sandbox.core.database import BUSY_SECONDS, Database
from labext.sandbox.core.startup_checks import (
    damaged_database_error,
    empty_database_error,
    explain_failure,
    is_database_damaged,
)
from labext.storage import storage_errors, sync_folder

FORMAT = "labext-sandbox-backup"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"

RUNTIME_FILES = {
    *("host.lock", "host.json", "host.log", "host.log.1", "connection.json"),
    *("backup.lock", "tasks", "quarantine", "metrics", DATABASE_URL_FILE),
}
"""Files of a running host. Backups exclude them and names that start with a dot."""

SCRATCH_FOLDERS = {"incoming", "work"}
"""A service's folders for uploads and tasks that are not finished."""

REGENERATED_SECRETS = {"secrets/signing", "secrets/nb_providers"}
"""Secrets regenerated at start, because a restore may reassign ids that were signed before."""

_CHUNK_BYTES = 1 << 20

_ARCHIVE_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, KeyError, TypeError, ValueError),
    RuntimeError,  # encrypted, or packed by a method that is not there
)
"""Exceptions that a damaged ZIP file or manifest may raise."""


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


@dataclass(frozen=True)
class RestoreResult:
    """Result of a restore.

    Attributes:
        created: the time of the backup, ISO 8601.
        files: the number of restored files.
        previous: the folder of the replaced data; None if there were none.
    """

    created: str
    files: int
    previous: Path | None


# Backup


def back_up(folder: DataFolder, target: Path) -> BackupResult:
    """Back up the sandbox in `folder` into the new file `target`, which only its owner can read.

    Raises:
        SetupError: there is no sandbox.
        InputError: `target` is in the sandbox's folder.
        ConflictError: `target` exists, or another backup is running.
        StorageError: the database is empty or damaged, or the disk is full.
    """
    check_started(folder)
    _check_is_file(folder)
    target = target.expanduser().absolute()
    if target.exists():
        raise ConflictError(f"{target} exists.", "Give the backup another name.")
    if target.is_relative_to(folder.path):
        raise InputError(
            f"{target} is in the sandbox's own folder.", "Put the backup somewhere else."
        )
    lock = FileLock(folder.path / "backup.lock")
    with storage_errors(lock.path):
        if not lock.acquire():
            raise ConflictError(
                "Another backup of this sandbox is running.", "Wait until it is done."
            )
    staging = folder.path / ".backup"
    try:
        with storage_errors(staging):
            remove_path(staging)
            staging.mkdir(mode=0o700)
            if not has_content(folder.database):  # to open it would delete its log
                raise empty_database_error(folder)
            pinned = _pin_snapshot(folder, staging)
        return _create_archive(pinned, target)
    except sqlite3.Error as error:
        raise explain_failure(error, folder) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        lock.release()


def _check_is_file(folder: DataFolder) -> None:
    """Raise SetupError if the data are in PostgreSQL, whose own tools make backups."""
    if folder.database_url_file.exists():
        name = postgresql.display(folder.database_url)
        raise SetupError(
            f"The data are in the database {name}, and not in a file of the folder.",
            f"Stop the services, save the database with pg_dump, and copy {folder.path}.",
        )


def check_started(folder: DataFolder) -> None:
    """Check that the sandbox exists and that no restore of it was interrupted.

    Raises:
        SetupError: there is none, or one was.
    """
    if _restored_folder(folder).exists():
        raise SetupError(
            f"A restore into {folder.path} was interrupted.",
            f"Start the sandbox to finish it: `{folder.command('start')}`.",
        )
    if not folder.is_ours() or not folder.has_database:
        raise SetupError(
            f"There is no sandbox in {folder.path}: it was never started.",
            f"Start it once: `{folder.command('start')}`.",
        )


@dataclass
class _PinnedFiles:
    """Files to back up: copies and hard links by their path in the data folder."""

    files: dict[str, Path] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def _pin_snapshot(folder: DataFolder, staging: Path) -> _PinnedFiles:
    """Pin the files while the database is locked, and copy its state at that moment."""
    copy = staging / DATABASE_FILE
    with closing(_connect(folder.database)) as source:
        with closing(_connect(folder.database)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            source.execute("BEGIN")
            tables = source.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            pinned = _pin_files(folder, staging)
            writer.execute("ROLLBACK")
        with closing(_connect(copy)) as target:
            source.backup(target)  # of the state that its transaction sees
            target.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
    if is_database_damaged(copy):
        raise damaged_database_error(folder)
    if not tables:
        raise empty_database_error(folder)
    pinned.files[DATABASE_FILE] = copy
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
                _link_file(path, target)
                pinned.files[name] = target

    pin(folder.ports)
    pin(folder.server)
    for top in filter(Path.is_dir, _data_entries(folder)):
        for parent, folders, names in os.walk(top, onerror=unreadable):
            if Path(parent) == top:
                folders[:] = [name for name in folders if name not in SCRATCH_FOLDERS]
            for name in names:
                pin(Path(parent, name))
    return pinned


def _link_file(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without hard links
        shutil.copyfile(path, target)


def _create_archive(pinned: _PinnedFiles, target: Path) -> BackupResult:
    """Write the pinned files to a ZIP file, atomically renamed once it is complete."""
    partial = target.with_name(f".{target.name}.{token_hex(4)}")
    with storage_errors(target):
        try:
            with open(partial, "xb", opener=_open_private) as file:
                files = _write_archive(pinned, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
            sync_folder(target.parent)
        finally:
            partial.unlink(missing_ok=True)
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
                size, digest = _copy_file(content, out)
            files.append({"path": name, "member": member, "bytes": size, "sha256": digest})
        manifest = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "labext": version("labext-jupyter"),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "files": files,
        }
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return files


def _is_text(name: str) -> bool:
    """Return whether a file name can be encoded, which those of other encodings cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _copy_file(
    source: IO[bytes], target: IO[bytes], max_bytes: int | None = None
) -> tuple[int, str]:
    """Copy at most `max_bytes` of a file; return the size and SHA-256."""
    size, digest = 0, hashlib.sha256()
    while (max_bytes is None or size <= max_bytes) and (chunk := source.read(_CHUNK_BYTES)):
        size += len(chunk)
        digest.update(chunk)
        target.write(chunk)
    return size, digest.hexdigest()


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


# Restore


def restore(folder: DataFolder, source: Path, *, replace: bool = False) -> RestoreResult:
    """Restore a backup into `folder`, whose sandbox must not be running.

    Args:
        folder: the folder of a sandbox, or an empty or new folder.
        source: the archive.
        replace: replace existing data, which is moved to the quarantine folder.

    Raises:
        NotFoundError: there is no such archive.
        InputError: it is not a backup.
        SetupError: it was made by another version of labext, or the folder holds other things.
        ConflictError: data are there and `replace` is not given, or the sandbox runs.
        StorageError: the archive is damaged, or the disk is full; nothing has changed.
    """
    with _open_archive(source.expanduser()) as archive:
        manifest = _read_manifest(archive)
        _check_is_file(folder)
        folder.prepare()
        lock = FileLock(folder.lock_file)
        if not lock.acquire(seconds=1.0):
            raise ConflictError(
                f"The sandbox in {folder.path} runs.",
                f"Stop it first: `{folder.command('stop')}`.",
            )
        try:
            with storage_errors(folder.path):
                clean_up(folder)
                previous = [path for path in _data_entries(folder) if has_content(path)]
                if previous and not replace:
                    raise ConflictError(
                        f"There are data in {folder.path}, which a restore would replace.",
                        f"Add {parameter('replace')} to replace them; they are moved to its folder "
                        "quarantine.",
                    )
                aside = folder.quarantine / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S-%f}-replaced"
                _unpack(archive, manifest["files"], folder)
                _commit_restore(folder, aside)
                finish_restore(folder)
        finally:
            lock.release()
    return RestoreResult(manifest["created"], len(manifest["files"]), aside if previous else None)


def check_backup(source: Path) -> None:
    """Check that a file is a backup that can be restored, as far as its manifest says.

    Raises:
        NotFoundError, InputError, SetupError: as `restore`.
    """
    with _open_archive(source.expanduser()) as archive:
        _read_manifest(archive)


def clean_up(folder: DataFolder) -> None:
    """Finish an interrupted restore and remove leftovers of interrupted restores and backups.

    The caller must hold the folder's lock.
    """
    finish_restore(folder)
    remove_path(_staging_folder(folder))
    lock = FileLock(folder.path / "backup.lock")
    if lock.path.exists() and lock.acquire():
        remove_path(folder.path / ".backup")
        lock.release()


def finish_restore(folder: DataFolder) -> None:
    """Replace the data by that of a committed restore; every step is idempotent."""
    restored = _restored_folder(folder)
    if not restored.exists():
        return
    journal = read_json(restored / "journal.json")
    aside = Path(journal["aside"])
    for name in journal["previous"]:
        current, moved = folder.path / name, aside / name
        if current.exists() and not moved.exists():
            aside.mkdir(mode=0o700, parents=True, exist_ok=True)
            current.rename(moved)
    for path in list_entries(restored / "data"):
        current = folder.path / path.name
        if current.exists() and not has_content(current):
            remove_path(current)
        path.rename(current)
    sync_folder(folder.path)
    restored.rename(_staging_folder(folder))
    remove_path(_staging_folder(folder))


def _commit_restore(folder: DataFolder, aside: Path) -> None:
    """Commit the unpacked files with a single rename."""
    previous = [path.name for path in _data_entries(folder) if has_content(path)]
    write_json(
        _staging_folder(folder) / "journal.json", {"aside": str(aside), "previous": previous}
    )
    os.sync()
    _staging_folder(folder).rename(_restored_folder(folder))
    sync_folder(folder.path)


def _unpack(archive: zipfile.ZipFile, files: Sequence[dict[str, Any]], folder: DataFolder) -> None:
    """Unpack and verify all files in the staging folder of a restore."""
    if sum(entry["bytes"] for entry in files) > shutil.disk_usage(folder.path).free:
        raise StorageError(
            f"There is no room for the backup in {folder.path}.", "Make room, then try again."
        )
    data = _staging_folder(folder) / "data"
    try:
        for entry in files:
            target = data / entry["path"]
            _make_folders(target.parent, folder.path)
            with (
                archive.open(entry.get("member", entry["path"])) as packed,
                open(target, "xb", opener=_open_private) as out,
            ):
                size_and_hash = _copy_file(packed, out, max_bytes=entry["bytes"])
            if size_and_hash != (entry["bytes"], entry["sha256"]):
                raise _damaged_archive_error(archive, entry["path"])
        _check_restored_database(data / folder.database.name, archive)
    except BaseException as error:
        remove_path(_staging_folder(folder))
        if isinstance(error, _ARCHIVE_ERRORS):
            raise _damaged_archive_error(archive, str(error)) from error
        raise


def _check_restored_database(path: Path, archive: zipfile.ZipFile) -> None:
    if is_database_damaged(path):
        raise _damaged_archive_error(archive, path.name)
    database = Database.at(path)
    try:
        database.check_version(upgradable=True)
    except SetupError:
        raise _other_version_error(archive) from None
    finally:
        database.close()


@contextmanager
def _open_archive(source: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(source)
    except (FileNotFoundError, IsADirectoryError):
        raise NotFoundError(f"There is no file {source}.", "Name a backup.") from None
    except _ARCHIVE_ERRORS:
        raise InputError(
            f"{source} is not a backup of a sandbox, or not all of one.", "Name another backup."
        ) from None
    except OSError as error:
        raise StorageError(
            f"{source} cannot be read: {error.strerror}.", "Name another backup."
        ) from None
    with archive:
        if any(info.flag_bits & 1 for info in archive.infolist()):
            raise InputError(
                f"{source} is encrypted; a backup of a sandbox is not.", "Name another backup."
            )
        yield archive


def _read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the manifest of a backup.

    Raises:
        InputError: the manifest is missing, or names files that a backup cannot contain.
        SetupError: the backup was made by another version.
    """
    try:
        manifest = json.loads(archive.read(MANIFEST))
        if manifest["format"] != FORMAT:
            raise ValueError(manifest["format"])
        if manifest["version"] != FORMAT_VERSION:
            raise _other_version_error(archive)
        str(manifest["created"])
        paths = [str(entry["path"]) for entry in manifest["files"] if entry["bytes"] >= 0]
        if DATABASE_FILE not in paths or not all(map(_is_allowed, paths)):
            raise ValueError(paths)
    except (*_ARCHIVE_ERRORS, OSError):
        raise InputError(
            f"{archive.filename} is not a backup of a sandbox.", "Name another backup."
        ) from None
    return dict(manifest)


def _is_allowed(path: str) -> bool:
    """Return whether a backup may contain a file with this path."""
    first, *rest = parts = path.split("/")
    if not rest:
        return path in (DATABASE_FILE, PORTS_FILE, SERVER_FILE)
    inside = not {"", ".", ".."} & {*parts} and "\0" not in path
    return (
        inside
        and not first.startswith((".", DATABASE_FILE))
        and first not in {*RUNTIME_FILES, PORTS_FILE, SERVER_FILE}
    )


def _damaged_archive_error(archive: zipfile.ZipFile, reason: str) -> StorageError:
    return StorageError(
        f"The backup {archive.filename} is damaged: {reason}. Nothing was changed.",
        "Restore another backup.",
    )


def _other_version_error(archive: zipfile.ZipFile) -> SetupError:
    return SetupError(
        f"The backup {archive.filename} was made by another version of labext.",
        "Restore it with that version, or name another backup.",
    )


def _make_folders(path: Path, root: Path) -> None:
    """Create a folder and its parents up to `root`, readable by their owner only."""
    for folder in reversed([path, *path.parents]):
        if folder.is_relative_to(root):
            folder.mkdir(mode=0o700, exist_ok=True)


def _staging_folder(folder: DataFolder) -> Path:
    return folder.path / ".restoring"


def _restored_folder(folder: DataFolder) -> Path:
    return folder.path / ".restored"


def _data_entries(folder: DataFolder) -> list[Path]:
    """Return the top-level entries of the data folder that are backed up and restored."""
    return sorted(
        path
        for path in list_entries(folder.path)
        if path.name not in RUNTIME_FILES and not path.name.startswith(".")
    )

"""Restore the backup of a sandbox or server."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, MetaData, Table, func, insert, inspect, select
from sqlalchemy.engine import Connection
from sqlalchemy.types import NullType

from labext.actions import parameter
from labext.errors import (
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    SetupError,
    StorageError,
)
from labext.sandbox.core import migrations
from labext.sandbox.core.backup import (
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    RUNTIME_FILES,
    data_entries,
    restored_folder,
)
from labext.sandbox.core.data_folder import (
    DATABASE_FILE,
    PORTS_FILE,
    SERVER_FILE,
    STORAGE_FILE,
    DataFolder,
    FileLock,
    has_content,
    list_entries,
    read_json,
    remove_path,
    write_json,
)
from labext.sandbox.core.database import Database
from labext.sandbox.core.file_storage.backup import FOLDER as OBJECTS
from labext.sandbox.core.file_storage.backup import check_storage, copy_file, store_objects
from labext.sandbox.core.file_storage.objects import StorageSettings
from labext.sandbox.core.file_storage.setup import stored_settings
from labext.sandbox.core.postgresql import UnreachableDatabaseError
from labext.sandbox.core.postgresql_backup import DUMP_FILE, dump_tables, restore_tables
from labext.sandbox.core.startup_checks import (
    exclusive_database,
    is_database_damaged,
    open_database,
)
from labext.storage import storage_errors, sync_folder

_ARCHIVE_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, KeyError, TypeError, ValueError),
    RuntimeError,  # encrypted, or packed by a method that is not there
)
"""Exceptions that a damaged ZIP file or manifest may raise."""


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


def restore(
    folder: DataFolder,
    source: Path,
    storage: StorageSettings | None = None,
    *,
    replace: bool = False,
) -> RestoreResult:
    """Restore a backup into `folder`, whose sandbox must not be running.

    Args:
        folder: the folder of a sandbox, or an empty or new folder. A requested database is kept.
        source: the archive.
        storage: the object store for the files; None for that of the last start, if any.
        replace: replace existing data, which is moved to the quarantine folder.

    Raises:
        NotFoundError: there is no such archive.
        InputError: it is not a backup.
        SetupError: it was made by another version of labext, or the folder holds other things.
        ConflictError: data are there and `replace` is not given, or the sandbox runs.
        StorageError: the archive is damaged, or the disk is full; nothing has changed.
        UnreachableDatabaseError: the connection to the database was lost while its tables were
            replaced; the next start finishes the restore.
    """
    with _open_archive(source.expanduser()) as archive:
        manifest = _read_manifest(archive)
        storage = storage or stored_settings(folder)
        _check_target(folder, manifest, storage)
        folder.prepare()
        lock = FileLock(folder.lock_file)
        if not lock.acquire(seconds=1.0, work="restore"):
            step = f"Stop it first: `{folder.command('stop')}`."
            if not replace:
                step = (
                    f"Add {parameter('replace')} to stop it and to replace its data; they are "
                    "moved to the folder quarantine."
                )
            raise ConflictError(f"The {folder.kind} in {folder.path} is running.", step)
        try:
            with storage_errors(folder.path), contextlib.ExitStack() as stack:
                clean_up(folder)
                stack.enter_context(exclusive_database(folder))
                previous = [path for path in data_entries(folder) if has_content(path)]
                has_tables = _has_tables(folder)
                if (previous or has_tables) and not replace:
                    raise ConflictError(
                        f"There are data in {folder.path if previous else folder.database_name}, "
                        "which a restore would replace.",
                        f"Add {parameter('replace')} to replace them; they are moved to the folder "
                        "quarantine.",
                    )
                aside = folder.quarantine / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S-%f}-replaced"
                _unpack(archive, manifest["files"], folder)
                if storage is not None:
                    data = _staging_folder(folder) / "data"
                    store_objects(storage, data / OBJECTS, manifest["storage"])
                    remove_path(data / OBJECTS)
                    write_json(data / STORAGE_FILE, asdict(storage))
                if has_tables:
                    with open_database(folder) as database:
                        dump_tables(database, _staging_folder(folder) / DUMP_FILE)
                folder.keep_database()
                _commit_restore(folder, aside)
                try:
                    finish_restore(folder)
                except UnreachableDatabaseError as error:  # it may have the new tables
                    step = f"Start the {folder.kind} to finish the restore: "
                    raise error.with_next_step(f"{step}`{folder.command('start')}`.") from None
                except LabextError:
                    if _database_to_load(folder) is not None:  # nothing is moved
                        remove_path(restored_folder(folder))
                    raise
        finally:
            lock.release()
    is_replaced = previous or has_tables
    return RestoreResult(
        manifest["created"], len(manifest["files"]), aside if is_replaced else None
    )


def _check_target(
    folder: DataFolder, manifest: dict[str, Any], storage: StorageSettings | None
) -> None:
    """Check that a backup is restored to a database and storage of the same kind.

    Raises:
        SetupError: it is of a PostgreSQL database, or of an object store, and the target is not; or
            only the target has an object store.
    """
    if "revision" in manifest and not folder.uses_postgresql:
        raise SetupError(
            "The backup is of a PostgreSQL database.",
            f"Restore it into an empty one, {parameter('database_url', 'URL')}.",
        )
    check_storage(folder, manifest, storage)


def _has_tables(folder: DataFolder) -> bool:
    """Return whether a PostgreSQL database has tables, which a restore would replace."""
    if not folder.uses_postgresql:
        return False
    with open_database(folder) as database:
        return bool(database.table_names())


def check_backup(
    folder: DataFolder, source: Path, storage: StorageSettings | None, kind: str
) -> None:
    """Check that a file is a backup that can be restored, as far as its manifest says.

    Raises:
        NotFoundError, InputError, SetupError: as `restore`; or it is a backup of a server and not
            of a sandbox, which has sample accounts, or the reverse.
    """
    with _open_archive(source.expanduser()) as archive:
        manifest = _read_manifest(archive)
    is_server = SERVER_FILE in {entry["path"] for entry in manifest["files"]}
    saved = "server" if is_server else "sandbox"
    if saved != kind:
        raise SetupError(
            f"{source} is a backup of a {saved}, not of a {kind}.",
            f"Name another backup, or restore it with `labext {saved} restore`.",
        )
    _check_target(folder, manifest, storage or stored_settings(folder))


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
    restored = restored_folder(folder)
    if not restored.exists():
        return
    journal = read_json(restored / "journal.json")
    aside = Path(journal["aside"])
    loaded, replaced = _database_to_load(folder), restored / DUMP_FILE
    if loaded is not None:
        with open_database(folder) as database:
            if loaded.name == DUMP_FILE:
                restore_tables(database, loaded, restored)
            else:
                copy_tables(loaded, database)
        loaded.unlink()
    if replaced.exists():
        aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        replaced.rename(aside / DUMP_FILE)
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


def _database_to_load(folder: DataFolder) -> Path | None:
    """Return the file in a committed restore whose tables are to be loaded into PostgreSQL."""
    if not folder.uses_postgresql:
        return None
    data = restored_folder(folder) / "data"
    return next(
        (data / name for name in (DATABASE_FILE, DUMP_FILE) if (data / name).exists()), None
    )


def _commit_restore(folder: DataFolder, aside: Path) -> None:
    """Commit the unpacked files with a single rename."""
    previous = [path.name for path in data_entries(folder) if has_content(path)]
    write_json(
        _staging_folder(folder) / "journal.json", {"aside": str(aside), "previous": previous}
    )
    os.sync()
    _staging_folder(folder).rename(restored_folder(folder))
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
                open(target, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as out,
            ):
                size_and_hash = copy_file(packed, out, max_bytes=entry["bytes"])
            if size_and_hash != (entry["bytes"], entry["sha256"]):
                raise _damaged_archive_error(archive, entry["path"])
        if folder.database.name in {entry["path"] for entry in files}:
            _check_restored_database(data / folder.database.name, archive)
    except BaseException as error:
        remove_path(_staging_folder(folder))
        if isinstance(error, _ARCHIVE_ERRORS):
            raise _damaged_archive_error(archive, str(error)) from error
        raise


def _check_restored_database(path: Path, archive: zipfile.ZipFile) -> None:
    if is_database_damaged(path):
        raise _damaged_archive_error(archive, path.name)
    with closing(Database.at(path)) as database:
        try:
            database.check_version(upgradable=True)
        except SetupError:
            raise _other_version_error(archive) from None


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
        database = DUMP_FILE if "revision" in manifest else DATABASE_FILE
        if not all(map(_is_allowed, paths)) or {DATABASE_FILE, DUMP_FILE} & {*paths} != {database}:
            raise ValueError(paths)
        if manifest.get("revision") not in (None, *migrations.revisions()):
            raise _other_version_error(archive)
    except (*_ARCHIVE_ERRORS, OSError):
        raise InputError(
            f"{archive.filename} is not a backup of a sandbox.", "Name another backup."
        ) from None
    return dict(manifest)


def _is_allowed(path: str) -> bool:
    """Return whether a backup may contain a file with this path."""
    first, *rest = parts = path.split("/")
    if not rest:
        return path in (DATABASE_FILE, DUMP_FILE, PORTS_FILE, SERVER_FILE)
    inside = not {"", ".", ".."} & {*parts} and "\0" not in path
    return (
        inside
        and not first.startswith((".", DATABASE_FILE))
        and first not in {*RUNTIME_FILES, DUMP_FILE, PORTS_FILE, SERVER_FILE}
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


_NOT_COPIED = {"alembic_version", "rate_windows", "nb_words"}
"""Tables that are not copied: the revision, rate limits, and an index that the start builds."""

_ROWS = 500
"""Rows per statement."""


def copy_tables(source: Path, target: Database) -> None:
    """Replace the tables in a PostgreSQL database by those of a SQLite file, in one transaction.

    The tables in the file are upgraded to the newest revision.

    Raises:
        DBAPIError: PostgreSQL refuses a row, or cannot be reached; nothing has changed there.
        StorageError: the numbers of rows differ; nothing has changed there.
    """
    with closing(Database.at(source)) as origin:
        origin.create()
        with origin.engine.connect() as reader, target.write() as session:
            writer = session.connection()
            former = MetaData()
            former.reflect(writer, only=target.table_names())
            former.drop_all(writer)
            migrations.upgrade(writer)
            _copy_all(reader, writer, {*origin.table_names()} - _NOT_COPIED)


def _copy_all(reader: Connection, writer: Connection, names: set[str]) -> None:
    old, new = MetaData(), MetaData()
    old.reflect(reader, only=[*names])
    new.reflect(writer, only=[*names.intersection(inspect(writer).get_table_names())])
    last_ids: dict[str, int] = {}
    if "sqlite_sequence" in inspect(reader).get_table_names(sqlite_include_internal=True):
        rows = reader.exec_driver_sql("SELECT name, seq FROM sqlite_sequence")
        last_ids = {row.name: row.seq for row in rows}
    for table in new.sorted_tables:  # referenced tables come first
        _copy_rows(reader, writer, old.tables[table.name], table)
        _advance_ids(writer, table, last_ids)


def _copy_rows(reader: Connection, writer: Connection, old: Table, new: Table) -> None:
    for table in (old, new):
        for column in table.columns:
            if isinstance(column.type, JSON):
                column.type = NullType()  # the stored text: SQL's NULL differs from JSON's null
    columns = [old.columns[column.name] for column in new.columns if column.name in old.columns]
    statement = insert(new)
    rows = reader.execute(select(*columns).order_by(*old.primary_key))
    for part in rows.mappings().partitions(_ROWS):
        writer.execute(statement, [dict(row) for row in part])
    counts = [
        connection.scalar(select(func.count()).select_from(table))
        for connection, table in ((reader, old), (writer, new))
    ]
    if counts[0] != counts[1]:
        raise StorageError(
            f"{counts[1]} of {counts[0]} rows of {new.name} were copied.", "Restore it again."
        )


def _advance_ids(writer: Connection, table: Table, last_ids: Mapping[str, int]) -> None:
    """Continue a table's sequence of ids after the last one, also that of a deleted row."""
    if "id" not in table.columns:
        return
    sequence = writer.scalar(select(func.pg_get_serial_sequence(table.name, "id")))
    if sequence is None:
        return
    last = max(writer.scalar(select(func.max(table.c.id))) or 0, last_ids.get(table.name, 0))
    if last:
        writer.execute(select(func.setval(sequence, last)))

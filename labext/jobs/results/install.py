"""Move unpacked results into the user's folder without overwriting other files."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path, PurePosixPath

from labext.errors import ArchiveError, ConflictError, StorageError
from labext.http.download import OnBytes
from labext.jobs.results import archives
from labext.jobs.results.archives import ArchiveFile
from labext.jobs.results.manifest import Manifest, file_matches
from labext.storage import folder_lock, make_folder, storage_errors


@contextmanager
def staging_folder(folder: Path, name: str, key: str) -> Iterator[Path]:
    """Create a hidden staging folder for incomplete files, inside their target folder.

    After an error, the staging folder is kept if it has a download that can be resumed. Otherwise
    it is deleted, with the folders that were created for it. `key` identifies the results; staging
    folders of other runs are deleted.
    """
    created = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    make_folder(folder)
    stage = folder / f"{_stage_pattern(name)}{key[:12]}"
    remove_old_stages(folder, name, keep=stage)
    if stage.is_symlink():  # from another user of a shared folder: its files would be deleted
        raise _conflict_error(stage)
    make_folder(stage)
    with folder_lock(stage) as locked:
        if not locked:
            raise StorageError(
                f"Another download is writing to {folder}.",
                "Wait until it is done, or choose another folder.",
            )
        try:
            yield stage
        except BaseException:
            shutil.rmtree(stage / "files", ignore_errors=True)
            _remove_empty(stage, *created)
            raise
        shutil.rmtree(stage, ignore_errors=True)


def remove_old_stages(folder: Path, name: str, keep: Path | None = None) -> None:
    """Delete the staging folders of interrupted downloads, except `keep`."""
    for old in folder.glob(f"{_stage_pattern(name)}*"):
        if old != keep:
            shutil.rmtree(old, ignore_errors=True)


def single_file_stage_name(target: Path) -> str:
    """Return a name for staging a single file, which is not a valid job name."""
    return f"={hashlib.sha256(target.name.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _stage_pattern(name: str) -> str:
    return f".labext-{name}."  # job names contain no dots, so prefixes can't match other jobs


def _remove_empty(*folders: Path) -> None:
    """Delete nested folders, innermost first, up to the first that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def clear_stage(stage: Path) -> None:
    """Delete the contents of a staging folder that can't be resumed."""
    for entry in stage.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def install_archive(
    archive: Path,
    stage: Path,
    folder: Path,
    before: Manifest | None,
    record: str,
    begin: Callable[[list[ArchiveFile], ArchiveFile], None],
    on_bytes: OnBytes | None = None,
    *,
    bounds: archives.ArchiveBounds | None = None,
) -> tuple[list[ArchiveFile], ArchiveFile]:
    """Unpack an archive and move its files and the archive itself into a folder; return them.

    The archive is in the staging folder or already in `folder`. `before` is the manifest of an
    earlier download of the same job. `begin` is called with the files and the archive before the
    first file is moved.

    Raises:
        ArchiveError: the archive is damaged or not safe to unpack; nothing was moved.
        ConflictError: files from elsewhere would be overwritten; nothing was moved.
        StorageError: the disk is too full, or the folder can't be written.
    """
    files = unpack_into_stage(archive, stage, on_bytes, bounds)
    stored_archive = archives.describe_file(archive, archive.name)
    paths = {file.path for file in files}
    if conflicts := paths & {stored_archive.path, record}:
        raise ArchiveError(
            f"A file in the archive has the reserved name {conflicts.pop()}.",
            "Fetch only the archive, to a path that ends in .zip.",
        )
    earlier = () if before is None else (*before.files, *before.earlier)
    known = {file.path for file in earlier} | ({stored_archive.path} if before else set())
    check_targets(folder, [*files, stored_archive], known)
    begin(files, stored_archive)
    move_files(stage, folder, files)
    with storage_errors(folder):
        archive.replace(folder / stored_archive.path)
    return files, stored_archive


def unpack_into_stage(
    archive: Path,
    stage: Path,
    on_bytes: OnBytes | None = None,
    bounds: archives.ArchiveBounds | None = None,
) -> list[ArchiveFile]:
    """Unpack an archive into the folder `files` of a staging folder."""
    size = archives.unpacked_size(archive, bounds)
    with storage_errors(stage):
        free = shutil.disk_usage(stage).free
    if size > free:
        raise StorageError(
            f"The unpacked results need {size:,} bytes, but {stage.parent} has {free:,} free.",
            "Free some space, or choose a folder on another disk.",
        )
    into = stage / "files"
    shutil.rmtree(into, ignore_errors=True)
    return archives.unpack_archive(archive, make_folder(into), bounds, on_bytes)


def check_targets(folder: Path, files: Iterable[ArchiveFile], known: Container[str]) -> None:
    """Check that files can be moved into a folder without overwriting other files.

    `known` are the paths written by an earlier download of the same job.
    """
    for file in files:
        target = folder.joinpath(*PurePosixPath(file.path).parts)
        for parent in [*target.parents][: len(PurePosixPath(file.path).parts) - 1]:
            if parent.is_symlink() or (parent.exists() and not parent.is_dir()):
                raise _conflict_error(parent)
        if not os.path.lexists(target):
            continue
        if target.is_symlink() or target.is_dir():
            raise _conflict_error(target)
        if file.path not in known and not file_matches(folder, file):
            raise _conflict_error(target)


def move_files(stage: Path, folder: Path, files: Iterable[ArchiveFile]) -> None:
    """Move unpacked files from the staging folder to their targets, each atomically."""
    for file in files:
        parts = PurePosixPath(file.path).parts
        target = folder.joinpath(*parts)
        with storage_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace((stage / "files").joinpath(*parts), target)


def keep_changed_files(
    folder: Path, files: Iterable[ArchiveFile], earlier: Iterable[ArchiveFile]
) -> int:
    """Rename the files to be replaced that the user has changed; count them.

    They are called `NAME.changed`, or `NAME.changed2` and so on if the name is in use.
    """
    original = {file.path for file in (*files, *earlier) if file_matches(folder, file)}
    targets = [folder / file.path for file in files if file.path not in original]
    changed = [target for target in targets if target.is_file()]
    for target in changed:
        names = (target.with_name(f"{target.name}.changed{n}") for n in chain([""], count(2)))
        with storage_errors(target):
            target.rename(next(name for name in names if not name.exists()))
    return len(changed)


def remove_stale_files(
    folder: Path, earlier: Iterable[ArchiveFile], current: Collection[str], *, of_jobs: bool
) -> tuple[int, int]:
    """Delete the unchanged earlier files whose paths are not in `current`.

    If each subfolder is `of_jobs`, those without current files are kept: their jobs may have been
    deleted on the service. Return the numbers of deleted and kept files.
    """
    folders = {PurePosixPath(path).parts[0] for path in current}
    removed = kept = 0
    for file in earlier:
        path = folder.joinpath(*PurePosixPath(file.path).parts)
        if file.path in current or path.is_symlink() or not file_matches(folder, file):
            continue
        top, *inner = PurePosixPath(file.path).parts
        if of_jobs and inner and top not in folders:
            kept += 1
            continue
        with storage_errors(path):
            path.unlink()
        removed += 1
        _remove_empty(*[*path.parents][: len(inner)])
    return removed, kept


def _conflict_error(path: Path) -> ConflictError:
    return ConflictError(
        f"{path} already exists and is not from these results.",
        "Choose another folder, or move the file away.",
    )

"""Move unpacked results into the user's folder without overwriting other files."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from labext.errors import ArchiveError, ConflictError, StorageError
from labext.http.download import OnBytes
from labext.jobs.results import archives
from labext.jobs.results.archives import ArchiveFile
from labext.jobs.results.manifest import Manifest, file_matches
from labext.storage import make_folder, storage_errors


@contextmanager
def staging_folder(folder: Path, name: str, key: str) -> Iterator[Path]:
    """Create a hidden folder for incomplete files, inside their target folder.

    After a failure it stays if it holds a download that can be resumed; else it is removed together
    with the folders that were created for it.

    Args:
        folder: created if needed.
        name: the job's name, or an identifier of one file.
        key: identifies the results of one run; stages of other runs are removed.
    """
    created = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    make_folder(folder)
    stage = folder / f"{_stage_pattern(name)}{key[:12]}"
    remove_old_stages(folder, name, but=stage)
    make_folder(stage)
    try:
        yield stage
    except BaseException:
        shutil.rmtree(stage / "files", ignore_errors=True)
        _remove_empty(stage, *created)
        raise
    shutil.rmtree(stage, ignore_errors=True)


def remove_old_stages(folder: Path, name: str, but: Path | None = None) -> None:
    """Remove the stages of interrupted fetches of a name, except `but`."""
    for old in folder.glob(f"{_stage_pattern(name)}*"):
        if old != but:
            shutil.rmtree(old, ignore_errors=True)


def single_file_stage_name(target: Path) -> str:
    """Return the name to stage one file under, which no job has and no pattern is in."""
    return f"={hashlib.sha256(target.name.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _stage_pattern(name: str) -> str:
    return f".labext-{name}."  # a dot parts them: no job's name has one


def _remove_empty(*folders: Path) -> None:
    """Remove nested folders, from the inside, up to the first that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def clear_stage(stage: Path) -> None:
    """Remove the contents of the stage, none of which can be used."""
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
    """Unpack an archive and put its files, and itself, into the folder.

    Args:
        archive: in the stage, or in the folder already.
        stage: where it is unpacked first.
        folder: the results folder.
        before: the manifest of an earlier fetch of the same job's results.
        record: the name of the manifest.
        begin: called with the files and the archive before the first of them is moved.
        on_bytes: called with the number of unpacked bytes, and the total.
        bounds: how much the archive may hold.

    Returns:
        The files, and the archive.

    Raises:
        ArchiveError: it is damaged, or not safe to unpack; nothing was moved.
        ConflictError: other files are in the way; nothing was moved.
        StorageError: the disk is too full, or the folder can't be written.
    """
    files = unpack_into_stage(archive, stage, on_bytes, bounds)
    stored_archive = archives.describe_file(archive, archive.name)
    paths = {file.path for file in files}
    if conflicts := paths & {stored_archive.path, record}:
        raise ArchiveError(
            f"The archive holds a file {conflicts.pop()}, which is what is written here.",
            "Fetch only the archive, to a path that ends in .zip.",
        )
    earlier = () if before is None else (*before.files, *before.earlier)
    ours = {file.path for file in earlier} | ({stored_archive.path} if before else set())
    check_targets(folder, [*files, stored_archive], ours)
    begin(files, stored_archive)
    move_files(stage, folder, files)
    with storage_errors(folder):
        archive.replace(folder / stored_archive.path)
    remove_stale_files(folder, earlier, paths)
    return files, stored_archive


def unpack_into_stage(
    archive: Path,
    stage: Path,
    on_bytes: OnBytes | None = None,
    bounds: archives.ArchiveBounds | None = None,
) -> list[ArchiveFile]:
    """Unpack an archive into the stage's `files`.

    Raises:
        ArchiveError: it is damaged, or not safe to unpack.
        StorageError: the disk is too full.
    """
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


def check_targets(folder: Path, files: Iterable[ArchiveFile], ours: Container[str]) -> None:
    """Check that files can be put into a folder.

    Args:
        folder: the target folder.
        files: the files to put there.
        ours: the paths that an earlier fetch of the same job's results wrote.

    Raises:
        ConflictError: a file that does not belong to these results is in the way.
    """
    for file in files:
        target = folder.joinpath(*PurePosixPath(file.path).parts)
        for above in [*target.parents][: len(PurePosixPath(file.path).parts) - 1]:
            if above.is_symlink() or (above.exists() and not above.is_dir()):
                raise _conflict_error(above)
        if not os.path.lexists(target):
            continue
        if target.is_symlink() or target.is_dir():
            raise _conflict_error(target)
        if file.path not in ours and not file_matches(folder, file):
            raise _conflict_error(target)


def move_files(stage: Path, folder: Path, files: Iterable[ArchiveFile]) -> None:
    """Move unpacked files from the stage to their place, each at once.

    Raises:
        StorageError: the folder can't be written.
    """
    for file in files:
        parts = PurePosixPath(file.path).parts
        target = folder.joinpath(*parts)
        with storage_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace((stage / "files").joinpath(*parts), target)


def remove_stale_files(folder: Path, before: Iterable[ArchiveFile], now: Container[str]) -> None:
    """Remove files of an earlier run's results that are unchanged, and not among the new ones."""
    for file in before:
        path = folder.joinpath(*PurePosixPath(file.path).parts)
        if file.path in now or path.is_symlink() or not file_matches(folder, file):
            continue
        with storage_errors(path):
            path.unlink()
        _remove_empty(*[*path.parents][: len(PurePosixPath(file.path).parts) - 1])


def _conflict_error(path: Path) -> ConflictError:
    return ConflictError(
        f"{path} already exists and is not from these results.",
        "Choose another folder, or move the file away.",
    )

"""Unpacked results put into the user's folder: all of them, over nothing that is not theirs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from labext.errors import BusyError, ConflictError, ServiceError, StorageError
from labext.jobs import archives
from labext.jobs.archives import File
from labext.jobs.manifest import is_same
from labext.jobs.storage import make_folder, storage_errors


@contextmanager
def staging(folder: Path, name: str, key: str) -> Iterator[Path]:
    """Make a hidden folder for what is not whole yet, in the folder where it will go.

    After a failure of the service or an interrupt it stays if it holds a download that can be
    gone on with.

    Args:
        folder: made if need be.
        name: the job's name.
        key: tells one run's results from another's; what was left of others is removed.
    """
    make_folder(folder)
    stage = folder / f".labext-{name}-{key[:12]}"
    for old in folder.glob(f".labext-{name}-*"):
        if old != stage:
            shutil.rmtree(old, ignore_errors=True)
    make_folder(stage)
    try:
        yield stage
    except (ServiceError, BusyError, KeyboardInterrupt):
        shutil.rmtree(stage / "files", ignore_errors=True)
        if not any(stage.iterdir()):
            stage.rmdir()
        raise
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    shutil.rmtree(stage, ignore_errors=True)


def unpack(archive: Path, stage: Path) -> list[File]:
    """Unpack an archive into the stage's `files`.

    Raises:
        ArchiveError: it is damaged, or not safe to unpack; it is removed then.
        StorageError: the disk is too full.
    """
    size = archives.unpacked_size(archive)
    with storage_errors(stage):
        free = shutil.disk_usage(stage).free
    if size > free:
        raise StorageError(
            f"The results unpack to {size:,} bytes, and {free:,} are free at {stage.parent}.",
            "Make room, or choose a folder on another disk.",
        )
    into = stage / "files"
    shutil.rmtree(into, ignore_errors=True)
    return archives.unpack(archive, make_folder(into))


def check_place(folder: Path, files: Iterable[File], ours: Iterable[File], owner: str) -> None:
    """Check that files can be put into a folder.

    Args:
        folder: where to.
        files: what is to be put there.
        ours: what an earlier fetch of the same job's results put there.
        owner: the job, for the message.

    Raises:
        ConflictError: something stands there that is not these results.
    """
    known = {file.path for file in ours}
    for file in files:
        target = folder.joinpath(*PurePosixPath(file.path).parts)
        for above in [*target.parents][: len(PurePosixPath(file.path).parts) - 1]:
            if above.is_symlink() or (above.exists() and not above.is_dir()):
                raise _conflict(above, owner)
        if not os.path.lexists(target):
            continue
        if target.is_symlink() or target.is_dir():
            raise _conflict(target, owner)
        if file.path not in known and not is_same(folder, file):
            raise _conflict(target, owner)


def place(stage: Path, folder: Path, files: Iterable[File]) -> None:
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


def remove_stale(folder: Path, before: Iterable[File], now: Iterable[File]) -> None:
    """Remove files of an earlier run's results that are unchanged, and not among the new ones."""
    current = {file.path for file in now}
    for file in before:
        path = folder.joinpath(*PurePosixPath(file.path).parts)
        if file.path in current or path.is_symlink() or not is_same(folder, file):
            continue
        with storage_errors(path):
            path.unlink()
        for above in [*path.parents][: len(PurePosixPath(file.path).parts) - 1]:
            if any(above.iterdir()):
                break
            above.rmdir()


def _conflict(path: Path, owner: str) -> ConflictError:
    return ConflictError(
        f"{path} is there already, and is not from the results of {owner}.",
        "Choose another folder, or move it away.",
    )

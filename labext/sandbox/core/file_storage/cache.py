"""Local copies of objects: complete or absent, and removed in the order of their last use."""

from __future__ import annotations

import contextlib
import os
import shutil
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from labext.sandbox.core.data_folder import remove_path
from labext.storage import sync_file

ARCHIVE_SUFFIX = ".tar"
"""Suffix of the keys of folders, whose copies are unpacked."""

DEFAULT_BYTES = 10 << 30

MIN_AGE = 600.0
"""Seconds after its last use during which a copy is kept even if the cache is full, since the file
may be about to be opened.
"""

_TOUCH_SECONDS = 30.0
_PARTIAL_FOLDER = ".partial"


@dataclass
class FileCache:
    """Copies of objects in a folder, which several processes may use.

    Attributes:
        folder: the folder, created if missing.
        max_bytes: the size that `evict` keeps; copies in use may exceed it.
    """

    folder: Path
    max_bytes: int = DEFAULT_BYTES
    min_age: float = MIN_AGE

    def path(self, key: str) -> Path:
        """Return the path of the copy of an object, which may not exist."""
        return self.folder / key

    def use(self, key: str) -> bool:
        """Note that a copy is used; return False if there is none."""
        path = self.path(key)
        try:
            if _age(path.stat().st_mtime) > min(_TOUCH_SECONDS, self.min_age):
                os.utime(path)
        except FileNotFoundError:
            return False
        return True

    def partial(self) -> Path:
        """Return the path of a new temporary file or folder."""
        folder = self.folder / _PARTIAL_FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder / uuid4().hex

    def add(self, key: str, partial: Path) -> None:
        """Make a temporary file or folder the copy of an object, unless there is one."""
        path = self.path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.utime(partial)
        try:
            partial.rename(path)
        except OSError:  # another process was faster
            remove_path(partial)
            if not path.exists():
                raise

    def remove(self, key: str) -> None:
        """Remove a copy; readers that have opened its files can finish."""
        doomed = self.partial()
        with contextlib.suppress(FileNotFoundError):
            self.path(key).rename(doomed)
            remove_path(doomed)

    def clear_partial(self) -> None:
        """Remove temporary files of interrupted processes."""
        shutil.rmtree(self.folder / _PARTIAL_FOLDER, ignore_errors=True)

    def evict(self) -> int:
        """Remove the least recently used copies that exceed the size; return the number."""
        copies = []
        for path in self.folder.glob("[!.]*/*/*"):
            with contextlib.suppress(FileNotFoundError):
                copies.append((path.stat().st_mtime, _size(path), path))
        total = sum(size for _, size, _ in copies)
        removed = 0
        for used, size, path in sorted(copies):
            if total <= self.max_bytes:
                break
            if _age(used) < self.min_age:
                continue
            self.remove(path.relative_to(self.folder).as_posix())
            total -= size
            removed += 1
        return removed


def pack(folder: Path, names: Sequence[str], target: Path) -> None:
    """Write the regular files among or below these names in a folder to a tar archive."""
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for path in _files(folder, names):
            with contextlib.suppress(FileNotFoundError):  # a temporary file of a tool
                archive.add(path, path.relative_to(folder).as_posix(), recursive=False)


def unpack(archive: Path, target: Path) -> None:
    """Unpack a tar archive into a new folder, with the times of its files."""
    target.mkdir(mode=0o700)
    with tarfile.open(archive) as packed:
        packed.extractall(target, filter="data")


def link_files(folder: Path, names: Sequence[str], target: Path) -> None:
    """Hard-link the files that `pack` packs into a new folder."""
    target.mkdir(mode=0o700, parents=True)
    for path in _files(folder, names):
        link_or_copy(path, target / path.relative_to(folder))


def link_or_copy(source: Path, target: Path) -> None:
    """Create `target` as a hard link to `source`, or as a copy if links are not supported.

    A copy is synced to the disk, as `source` is.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # the file system does not support links
        shutil.copy2(source, target)
        sync_file(target)


def _files(folder: Path, names: Sequence[str]) -> list[Path]:
    found = []
    for name in names:
        top = folder / name
        candidates = sorted(top.rglob("*")) if top.is_dir() and not top.is_symlink() else [top]
        found += [path for path in candidates if path.is_file() and not path.is_symlink()]
    return found


def _age(used: float) -> float:
    """Return the seconds since a time; one in the future is of a clock that was wrong."""
    return abs(time.time() - used)


def _size(path: Path) -> int:
    if not path.is_dir():
        return path.stat().st_size
    size = 0
    for parent, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                size += os.lstat(os.path.join(parent, name)).st_size
    return size

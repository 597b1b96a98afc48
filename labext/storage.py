"""Atomic writes and locks of local files."""

from __future__ import annotations

import errno
import itertools
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from labext import messages
from labext.errors import InputError, StorageError

_DISK_FULL_ERRNOS = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def is_full(error: OSError) -> bool:
    """Return whether an error means a full disk, quota or maximum file size."""
    return error.errno in _DISK_FULL_ERRNOS


def write_step(error: OSError) -> str:
    """Return the next step for a file that can't be written."""
    if error.errno == errno.ENAMETOOLONG:
        return "Choose a shorter name."
    return "Choose another folder, or make this one writable."


@contextmanager
def storage_errors(place: Path) -> Iterator[None]:
    """Convert an OSError about `place` to a StorageError."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else place
        if is_full(error):
            full = StorageError(
                f"The disk is full: {where} can't be written.", "Make room, then try again."
            )
            full.errno = error.errno  # for `is_full`
            raise full from None
        why = error.strerror or type(error).__name__
        raise StorageError(f"{where} can't be written ({why}).", write_step(error)) from None


_MAX_PATH_LENGTH = 4096
"""Limit of Linux; a longer text is usually the content of a file."""


def user_path(path: str | os.PathLike[str]) -> Path:
    """Return a path given by the user, with `~` expanded; InputError if it can't be a path."""
    try:
        expanded = Path(path).expanduser()
    except (TypeError, RuntimeError):  # it is not text, or begins with ~ and an unknown user
        expanded = None
    if expanded is None or "\0" in str(expanded) or len(str(expanded)) > _MAX_PATH_LENGTH:
        raise InputError(
            f"{messages.quote_value(path)} is not a path.", "Give the path of a file or folder."
        )
    return expanded


def similar_file_hint(path: Path) -> str:
    """Return ` (did you mean "…"?)` with a similar name in the folder of a missing file, if any."""
    try:
        # A broken link has the name itself.
        names = [entry.name for entry in path.parent.iterdir() if entry.name != path.name]
    except OSError:
        return ""
    return messages.did_you_mean(path.name, names)


def is_folder_name(path: Path | str) -> bool:
    """Return True for an existing folder, and for a text that ends with a slash."""
    # Unlike Path.is_dir, os.path.isdir is False for a name that is too long.
    return os.path.isdir(user_path(path)) or str(path).endswith(("/", "\\"))


def make_folder(path: Path, mode: int = 0o777) -> Path:
    """Create a folder and its parents; the folder itself with `mode`.

    Raises:
        StorageError: the folder can't be created, or a file has this path.
    """
    with storage_errors(path):
        path.mkdir(parents=True, exist_ok=True, mode=mode)
    return path


def make_state_folder(path: Path) -> Path:
    """Create a private folder inside that of `config.state_dir`.

    Raises:
        StorageError: the folder can't be created; the next step is to choose another state folder.
    """
    try:
        return make_folder(path, 0o700)
    except StorageError as error:
        step = "Make this folder writable, or set LABEXT_STATE_DIR to another one."
        raise error.with_next_step(step) from None


Content = bytes | Callable[[BinaryIO], object]
"""The content of a file, or a function that writes it."""


def write_atomic(path: Path, content: Content, *, private: bool = False) -> None:
    """Write a file atomically and durably: a reader sees the old content or the new.

    Args:
        path: the file, or a symbolic link to it; its folder must exist.
        content: the new content.
        private: whether only the owner may read the file.

    Raises:
        StorageError: the disk is full, or the folder can't be written.
    """
    target = Path(os.path.realpath(path))
    with _temporary_file(target, content, private=private) as temporary:
        os.replace(temporary, target)


def create_atomic(path: Path, content: bytes) -> None:
    """Create a private file atomically and durably, unless it exists.

    Raises:
        StorageError: the disk is full, or the folder can't be written.
    """
    with _temporary_file(path, content, private=True) as temporary, suppress(FileExistsError):
        path.hardlink_to(temporary)


@contextmanager
def _temporary_file(path: Path, content: Content, *, private: bool) -> Iterator[Path]:
    """Write a temporary file beside `path`; the block moves or links it to `path`."""
    mode = 0o600 if private else 0o666
    temporary = path.with_name(f".{path.name[:80]}.{secrets.token_hex(4)}")
    with storage_errors(path):
        try:
            with open(
                temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)
            ) as out:
                out.write(content) if isinstance(content, bytes) else content(out)
                out.flush()
                os.fsync(out.fileno())
            yield temporary
            sync_folder(path.parent)
        except OSError as error:
            if error.filename == str(temporary):
                error.filename = str(path)  # the file that the caller knows
            raise
        finally:
            with suppress(OSError):  # a read-only file system also refuses to delete
                temporary.unlink()


_UNSUPPORTED_ERRNOS = {errno.EINVAL, errno.EBADF, errno.ENOTSUP}
"""Errors of network file systems that do not support syncing folders."""


def sync_tree(folder: Path, *, parents: int = 0) -> None:
    """Sync a folder with all files and folders below it to disk; links are not followed.

    `parents` is the number of folders above it that are also synced, since they may be new.
    """
    for parent, _, names in os.walk(folder):
        for file in (Path(parent, name) for name in names):
            if file.is_file() and not file.is_symlink():
                sync_file(file)
        sync_folder(Path(parent))
    for above in folder.parents[:parents]:
        sync_folder(above)


def sync_file(path: Path) -> None:
    """Sync the content of a file to disk."""
    with path.open("rb") as content:
        os.fsync(content.fileno())


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk, so that a new file survives a power failure.

    Windows does so implicitly.
    """
    if os.name != "posix":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return  # a folder may be writable but not readable
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED_ERRNOS:
            raise
    finally:
        os.close(descriptor)


def _lock(fileno: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(fileno, 0, os.SEEK_SET)
        msvcrt.locking(fileno, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(fileno, fcntl.LOCK_EX | fcntl.LOCK_NB)


_LOCKED_ERRNOS = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}


def lock_file(fileno: int) -> bool:
    """Lock an open file until it is closed; return False if it is locked already.

    Returns True on a file system without locks, where concurrent use is not detected.
    """
    try:
        _lock(fileno)
    except OSError as failure:
        return failure.errno not in _LOCKED_ERRNOS
    return True


def open_locked(path: Path) -> int | None:
    """Open and lock a file, which is created if necessary; return its descriptor.

    Returns None if another process holds the lock. Closing the descriptor releases it.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        locked = exists = False
        try:
            locked = lock_file(descriptor)
            exists = locked and is_same_file(descriptor, path)  # the last owner may have deleted it
        finally:
            if not exists:
                os.close(descriptor)
        if exists:
            return descriptor
        if not locked:
            return None


@contextmanager
def exclusive(path: Path, on_wait: Callable[[], object]) -> Iterator[None]:
    """Hold the lock of a file during the block, and delete it; wait for other processes' blocks.

    The block runs without a lock if the file can't be created.

    Args:
        path: the file; its folder is created.
        on_wait: called once if another process holds the lock for a second.
    """
    descriptor = None
    with suppress(StorageError, OSError):
        make_state_folder(path.parent)
        for attempt in itertools.count(1):
            descriptor = open_locked(path)
            if descriptor is not None:
                break
            if attempt == 20:
                on_wait()
            time.sleep(0.05)
    try:
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):  # Windows does not delete open files
                path.unlink()
            os.close(descriptor)


@contextmanager
def folder_lock(folder: Path) -> Iterator[bool]:
    """Lock a folder during the block; yield False if it is locked or deleted by another.

    Yields True on Windows and on a file system without locks, where concurrent use is not detected.
    """
    if os.name != "posix":
        yield True
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        yield False
        return
    try:
        yield lock_file(descriptor) and is_same_file(descriptor, folder)
    finally:
        os.close(descriptor)


def is_same_file(fileno: int, path: os.PathLike[str]) -> bool:
    """Return whether an open file is still the file at `path`."""
    try:
        return os.path.samestat(os.fstat(fileno), os.stat(path))
    except FileNotFoundError:
        return False

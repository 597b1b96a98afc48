"""Locks on open files, which the system releases when their process ends."""

from __future__ import annotations

import errno
import os
import sys

if sys.platform == "win32":
    import msvcrt

    def _lock(fileno: int) -> None:
        os.lseek(fileno, 0, os.SEEK_SET)
        msvcrt.locking(fileno, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(fileno: int) -> None:
        fcntl.flock(fileno, fcntl.LOCK_EX | fcntl.LOCK_NB)


_LOCKED_ERRNOS = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}


def lock_file(fileno: int) -> bool:
    """Lock an open file until it is closed; return False if it is locked already.

    On a file system without locks it is True: two at once are rare, and who needs more than
    that has to make sure of it by other means.
    """
    try:
        _lock(fileno)
    except OSError as failure:
        return failure.errno not in _LOCKED_ERRNOS
    return True


def is_same_file(fileno: int, path: os.PathLike[str]) -> bool:
    """Return whether an open file is still the one at `path`, and has not been replaced."""
    try:
        return os.path.samestat(os.fstat(fileno), os.stat(path))
    except FileNotFoundError:
        return False

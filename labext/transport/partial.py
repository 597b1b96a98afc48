"""The file that a download is written to until it is whole: `.<name>.part`, beside its target.

It is locked while it is written, so that two downloads to the same target don't mix, and a note
beside it says what it is the start of, so that a later download can go on where this one was cut.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, TypeVar

from labext import locking
from labext.errors import StorageError
from labext.storage import is_full

_T = TypeVar("_T")


class Partial:
    """A context in which a file is written; it takes its target's place by `finish` alone.

    Attributes:
        size: bytes that are there.
        validator: the ETag or date of what this is the start of; None if it can't be gone on with.
        total: bytes of the whole, if known.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.size = 0
        self.validator: str | None = None
        self.total: int | None = None
        self._path = target.with_name(f".{target.name}.part")
        self._note = target.with_name(f".{target.name}.part.json")

    def __enter__(self) -> Self:
        if self.target.is_dir():
            raise StorageError(f"{self.target} is a folder.", "Choose the name of a file.")
        self._file = self._storing(self._opened)
        try:
            self._take_up()
        except BaseException:  # interrupted: what is not entered is not left either
            self._file.close()
            raise
        return self

    def __exit__(
        self, _: type[BaseException] | None, failure: BaseException | None, __: TracebackType | None
    ) -> None:
        self._file.close()
        if isinstance(failure, StorageError) or not (self.size and self.validator):
            self._remove(self._path)
            self._remove(self._note)

    def restart(self, validator: str | None, total: int | None) -> None:
        """Begin anew, with what the whole is."""
        if self.size:  # ext4 writes a truncated file to disk at once, at half the speed
            self._storing(lambda: self._file.truncate(0))
        self.size, self.validator, self.total = 0, validator, total
        free = shutil.disk_usage(self.target.parent)
        if total is not None and free.total and free.free < total:
            raise self._failed(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        note = json.dumps({"validator": validator, "total": total})
        self._storing(lambda: self._note.write_text(note, "utf-8"))

    def write(self, chunk: bytes) -> None:
        """Append bytes.

        Raises:
            StorageError: the disk is full, or refuses.
        """
        rest = memoryview(chunk)
        while rest:
            written = self._storing(partial(self._file.write, rest))
            self.size += written
            rest = rest[written:]

    def finish(self) -> None:
        """Put the file under its target's name."""

        def replace() -> None:
            self._file.close()
            self._path.replace(self.target)

        self._storing(replace)
        self.validator = None
        self._remove(self._note)

    def _opened(self) -> BinaryIO:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        while True:
            opened = self._path.open("ab", buffering=0)
            try:
                self._locked(opened)
                if locking.is_still(opened.fileno(), self._path):
                    return opened
            except BaseException:
                opened.close()
                raise
            opened.close()

    def _locked(self, opened: BinaryIO) -> None:
        if not locking.take(opened.fileno()):
            raise StorageError(
                f"Another download is writing to {self.target}.",
                "Wait until it is done, or choose another folder.",
            )

    def _take_up(self) -> None:
        """Learn from the note what an earlier download left."""
        self.size = os.fstat(self._file.fileno()).st_size
        try:
            note = json.loads(self._note.read_text("utf-8"))
            validator, total = note["validator"], note["total"]
        except (OSError, ValueError, KeyError, TypeError):
            return
        if isinstance(validator, str) and isinstance(total, int | None):
            self.validator, self.total = validator, total

    def _storing(self, act: Callable[[], _T]) -> _T:
        try:
            return act()
        except StorageError:
            raise
        except OSError as failure:
            error = self._failed(failure)
        raise error

    def _failed(self, failure: OSError) -> StorageError:
        if is_full(failure):
            return StorageError(
                f"The disk is full: {self.target} does not fit.",
                "Make room, or choose a folder on another disk.",
            )
        return StorageError(
            f"{self.target} can't be written ({failure.strerror}).",
            "Make its folder writable, or choose another one.",
        )

    @staticmethod
    def _remove(path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return  # the folder has become unwritable: the file's name says that it is no result

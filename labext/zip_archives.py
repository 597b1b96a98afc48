"""Open zip archives with a bound on the size of their central directory."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ENTRY_BYTES = 256
"""Bytes per entry that the table of contents may have: 46, the name and a few extra fields."""


class TooManyEntriesError(Exception):
    """An archive has more files and folders than allowed."""

    def __init__(self, most: int) -> None:
        super().__init__(f"The archive holds more than {most:,} files and folders.")


@contextmanager
def open_zip(path: Path, most_entries: int) -> Iterator[zipfile.ZipFile]:
    """Open an archive with at most this number of files and folders.

    `zipfile` reads the central directory as a whole and creates an object for every entry, whatever
    number of entries the archive claims. So the size of that one read is limited.

    Raises:
        TooManyEntriesError: the archive has more entries.
        zipfile.BadZipFile, OSError, …: as `zipfile.ZipFile`.
    """
    with _BoundedFile(path, most_entries) as file, zipfile.ZipFile(file) as archive:
        if len(archive.infolist()) > most_entries:
            raise TooManyEntriesError(most_entries)
        file.is_bounded = False
        yield archive


class _BoundedFile(io.FileIO):
    """A file with a limit on the size of one read."""

    def __init__(self, path: Path, most_entries: int) -> None:
        super().__init__(path)
        self.is_bounded = True
        self._most_entries = most_entries

    def read(self, size: int | None = -1, /) -> bytes:
        most = max(1 << 20, self._most_entries * _ENTRY_BYTES)
        if self.is_bounded and size is not None and size > most:
            raise TooManyEntriesError(self._most_entries)
        return super().read(size) or b""

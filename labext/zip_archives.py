"""Open zip archives with a bound on the size of their central directory."""

from __future__ import annotations

import copy
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


_CHUNK_BYTES = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The methods of compression that are unpacked in steps of limited size."""


def unpacked_size(archive: zipfile.ZipFile, most: int) -> int:
    """Return the total bytes that the entries unpack to, in memory of constant size.

    Counting stops above `most`. An entry may declare a smaller size than it has, and `read` of
    `zipfile` unpacks all of it, so each one is unpacked in steps and compared with its declaration.

    Raises:
        zipfile.BadZipFile: if the size of an entry is another one than declared.
        NotImplementedError: if an entry is compressed by another method than deflate.
        zlib.error, OSError, …: if it can't be unpacked.
    """
    total = sum(entry.file_size for entry in archive.infolist())
    if total > most:
        return total
    for entry in archive.infolist():
        if entry.compress_type not in _METHODS:
            raise NotImplementedError("The entry is not compressed by deflate.")
        unlimited = copy.copy(entry)
        unlimited.file_size = entry.file_size + 1
        del unlimited.CRC  # that of its beginning would be compared
        size = 0
        with archive.open(unlimited) as part:
            while chunk := part.read(_CHUNK_BYTES):
                size += len(chunk)
        if size != entry.file_size:
            raise zipfile.BadZipFile(f"{entry.filename} has another size than declared.")
    return total


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

"""Writes archives, and says where they are. Imports little: jobs' own processes use it."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

WORK, OUT = "work", "out"
"""In a job's folder, where its process works; and in that, the outputs (see `folders`)."""

ARCHIVE, PDBS = "archive.zip", "pdbs.zip"
"""The archive of a job's or a batch's results, and that of its structures alone."""

TINY = 512
"""Bytes of a file that is archived as it is: compressing it takes more time than it saves room."""

_PART = ".part"
"""The end of the name of an archive that is not whole yet."""


class TooBig(Exception):
    """An archive would become bigger than it may; `bytes` is how far it had got."""

    def __init__(self, size: int) -> None:
        super().__init__(f"The archive has more than {size} bytes.")
        self.bytes = size


def write_archive(
    target: Path, entries: Iterable[tuple[str, Path]], most: int | None = None
) -> int:
    """Write a zip file that is there whole or not at all; returns its size in bytes.

    Args:
        target: its path.
        entries: each file's name in the archive, and the file.
        most: bytes that it may have.

    Raises:
        TooBig: it would have more than `most`.
        FileNotFoundError: an entry is not there.
    """
    part = target.with_name(target.name + _PART)
    try:
        with part.open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
                for name, source in entries:
                    tiny = source.stat().st_size <= TINY
                    archive.write(source, name, zipfile.ZIP_STORED if tiny else None)
                    if most is not None and file.tell() > most:
                        raise TooBig(most)
            size = file.tell()
            if most is not None and size > most:
                raise TooBig(most)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return size


def files_in(folder: Path) -> list[tuple[str, Path]]:
    """The plain files below a folder by their name relative to it, in the order of the names."""
    found = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return sorted((file.relative_to(folder).as_posix(), file) for file in found)

"""Write result archives, and aggregate those of a batch or pipeline."""

from __future__ import annotations

import csv
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from labext.sandbox.core.executors.task_process import TaskError

WORK_FOLDER, OUTPUT_FOLDER = "work", "out"
"""The working folder of a job's process, and the folder of its outputs in it."""

ARCHIVE_FILE, PDBS_FILE = "archive.zip", "pdbs.zip"
"""The archive of all results of a job or batch, and of its structures only."""

TINY_FILE_BYTES = 512
"""Files up to this size are stored uncompressed, which is faster."""

_PARTIAL_SUFFIX = ".part"
"""Suffix of an incomplete archive."""


class ArchiveTooLargeError(Exception):
    """An archive would exceed its size limit; `bytes` is the size reached."""

    def __init__(self, size: int) -> None:
        super().__init__(f"The archive has more than {size} bytes.")
        self.bytes = size


def write_archive(
    target: Path, entries: Iterable[tuple[str, Path]], max_bytes: int | None = None
) -> int:
    """Write a ZIP file atomically; return its size in bytes.

    Args:
        target: the path of the archive.
        entries: the name in the archive and the path of each file.
        max_bytes: the size limit in bytes.

    Raises:
        ArchiveTooLargeError: it would be larger than `max_bytes`.
        FileNotFoundError: an entry is missing.
    """
    partial = target.with_name(target.name + _PARTIAL_SUFFIX)
    try:
        with partial.open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
                for name, source in entries:
                    tiny = source.stat().st_size <= TINY_FILE_BYTES
                    archive.write(source, name, zipfile.ZIP_STORED if tiny else None)
                    if max_bytes is not None and file.tell() > max_bytes:
                        raise ArchiveTooLargeError(max_bytes)
            size = file.tell()
            if max_bytes is not None and size > max_bytes:
                raise ArchiveTooLargeError(max_bytes)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return size


def walk_files(folder: Path) -> list[tuple[str, Path]]:
    """Return the regular files below a folder with their relative names, sorted by name."""
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return sorted((file.relative_to(folder).as_posix(), file) for file in files)


Part = Mapping[str, Any]
METRICS_FILE = "metrics.csv"


def aggregate(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Write `metrics.csv` and the archive; returns the archive's size as `bytes`.

    The archive has a folder for each complete job, and `metrics.csv` with a row for every job: its
    name, its state and its Score.

    Raises:
        TaskError: a job's outputs are missing, or the archive exceeds the account's storage.
    """
    parts: Sequence[Part] = payload["parts"]
    metrics = work / METRICS_FILE
    write_metrics(metrics, parts)
    jobs = work.parent.parent
    try:
        size = write_archive(
            work / ARCHIVE_FILE,
            [(METRICS_FILE, metrics), *_part_outputs(jobs, parts)],
            max_bytes=max(payload["bytes_left"], 0),
        )
    except ArchiveTooLargeError as error:
        raise TaskError(
            f"The archive is too large for the account's storage, of which {error.bytes:,} "
            "bytes are left."
        ) from None
    except FileNotFoundError as error:
        raise TaskError(f"An output is gone: {Path(error.filename).name}.") from None
    return {"bytes": size}


def write_metrics(target: Path, parts: Sequence[Part]) -> None:
    """Write a row per job: `job`, `status`, and the Score keys in order of first occurrence."""
    keys = list(dict.fromkeys(key for part in parts for key in part["score"]))
    with target.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["job", "status", *keys])
        for part in parts:
            # repr of a float reads back as the same number
            table.writerow(
                [part["name"], part["status"], *(part["score"].get(key, "") for key in keys)]
            )


def _part_outputs(jobs: Path, parts: Sequence[Part]) -> Iterator[tuple[str, Path]]:
    for part in parts:
        if part["status"] != "Complete":
            continue
        folder = jobs / str(part["job"]) / WORK_FOLDER / OUTPUT_FOLDER
        files = walk_files(folder)
        if not files:
            raise TaskError(f"The outputs of job {part['name']} are gone.")
        yield from ((f"{part['name']}/{name}", file) for name, file in files)

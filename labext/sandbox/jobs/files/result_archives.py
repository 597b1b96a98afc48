"""Write the result archives of jobs, batches and pipelines."""

from __future__ import annotations

import csv
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from labext.sandbox.core.executors.task_process import TaskError
from labext.storage import sync_folder, sync_tree

WORK_FOLDER, OUTPUT_FOLDER = "work", "out"
"""The working folder of a job's process, and its subfolder with the outputs."""

ARCHIVE_FILE, PDBS_FILE = "archive.zip", "pdbs.zip"
"""The archive of all outputs of a job or parent, and the archive of its PDB files."""

MAX_UNCOMPRESSED_BYTES = 512
"""Files up to this size are stored without compression, which is faster."""

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
    """Write a ZIP file of entries, given by name and path, atomically; return its size in bytes.

    Raises:
        ArchiveTooLargeError: the archive exceeds `max_bytes`.
        FileNotFoundError: an entry is missing.
    """
    partial = target.with_name(target.name + _PARTIAL_SUFFIX)
    try:
        with partial.open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
                for name, source in entries:
                    is_small = source.stat().st_size <= MAX_UNCOMPRESSED_BYTES
                    archive.write(source, name, zipfile.ZIP_STORED if is_small else None)
                    if max_bytes is not None and file.tell() > max_bytes:
                        raise ArchiveTooLargeError(max_bytes)
            size = file.tell()
            if max_bytes is not None and size > max_bytes:
                raise ArchiveTooLargeError(max_bytes)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
        sync_folder(target.parent)
    finally:
        partial.unlink(missing_ok=True)
    return size


def walk_files(folder: Path) -> list[tuple[str, Path]]:
    """Return the regular files below a folder with their relative names, in `numeric_order`."""
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    named = ((file.relative_to(folder).as_posix(), file) for file in files)
    return sorted(named, key=lambda item: (numeric_order(item[0]), item[0]))


def numeric_order(path: str) -> list[tuple[str, int]]:
    """Return a sort key with which `mode2.pdb` precedes `mode10.pdb`."""
    return [(text, int(n or 0)) for text, n in re.findall(r"([^0-9]*)([0-9]{0,18})", path)]


Part = Mapping[str, Any]
METRICS_FILE = "metrics.csv"

RESULT_NAMES = ("log.txt", OUTPUT_FOLDER, ARCHIVE_FILE, METRICS_FILE)
"""The results in a working folder; tools may leave other files there."""


def aggregate(work: Path, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Write `metrics.csv` and the archive of a parent; return the archive's size as `bytes`.

    The archive has one folder per complete job, and `metrics.csv` with one row per job: name, state
    and Score.
    """
    parts: Sequence[Part] = payload["parts"]
    metrics = work / METRICS_FILE
    write_metrics(metrics, parts)
    sync_tree(work, parents=2)
    jobs = work.parent.parent
    try:
        files = [(METRICS_FILE, metrics), *_part_outputs(jobs, parts)]
        size = write_archive(work / ARCHIVE_FILE, files, max_bytes=max(payload["bytes_left"], 0))
    except ArchiveTooLargeError as error:
        raise TaskError(
            f"The archive is too large: {error.bytes:,} bytes of the account's storage are left."
        ) from None
    except FileNotFoundError as error:
        raise TaskError(f"An output was deleted: {Path(error.filename).name}.") from None
    return {"bytes": size}


def write_metrics(target: Path, parts: Sequence[Part]) -> None:
    """Write one row per job: `job`, `status`, and the Score keys in order of first occurrence."""
    keys = list(dict.fromkeys(key for part in parts for key in part["score"]))
    with target.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["job", "status", *keys])
        for part in parts:
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
            raise TaskError(f"The outputs of job {part['name']} were deleted.")
        yield from ((f"{part['name']}/{name}", file) for name, file in files)

"""Manifest of downloaded results: their job, files and checksums."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from labext import extras
from labext.jobs import identity, records
from labext.jobs.records import JobRecord
from labext.jobs.results.archives import ArchiveFile, describe_file
from labext.redaction import mask
from labext.storage import make_folder, write_atomic

STRUCTURES = (".pdb", ".cif", ".mmcif", ".ent", ".sdf")
"""How the names of files with structures end."""


def files_by_job(paths: Iterable[str], jobs: Iterable[str], of: str) -> dict[str, list[str]]:
    """Return each job's files, by the name it is stored under.

    Args:
        paths: of the files, in the results folder.
        jobs: the names that the jobs are stored under.
        of: the fetched object: the one job itself, or a batch, a split batch or a pipeline.
    """
    by_job: dict[str, list[str]] = {job: [] for job in jobs}
    if list(by_job) == [of]:
        return {of: list(paths)}
    job_of_name = {name: job for job in by_job for name in (job, own_job_name(job, of))}
    for path in paths:
        # An archive may have one folder of the batch's name around all.
        for folder in path.split("/")[:-1][:2]:
            if folder in job_of_name:
                by_job[job_of_name[folder]].append(path)
                break
    return by_job


def job_folder(path: str, job: str, of: str) -> str:
    """Return the folder of the job that a file belongs to; empty for files of the batch."""
    above = path.split("/")[:-1]
    for depth, folder in enumerate(above[:2]):
        if folder in (job, own_job_name(job, of)):
            return "/".join(above[: depth + 1])
    return ""


def own_job_name(job: str, of: str) -> str:
    """Return a job's own name, without the batch's or that of a part of it."""
    if not job.startswith(f"{of}-"):
        return job
    rest = job.removeprefix(f"{of}-")
    part, _, own = rest.partition("-")
    return own if own and identity.parse_part_name(f"{of}-{part}") is not None else rest


def is_structure(path: str) -> bool:
    """Return whether a file holds a structure, by its name."""
    return path.lower().endswith(STRUCTURES)


_VERSION = 1
_RECORDED_FIELDS = (
    "JobName",
    "Type",
    "JobStatus",
    "batchStatus",
    "Settings",
    "Created",
    "Started",
    "Completed",
    "WeightedHours",
)


@dataclass(frozen=True)
class Origin:
    """The origin of fetched results, for later readers.

    Attributes:
        fetched: when, as ISO 8601 in UTC.
        by: the versions of `labext` and `python` that fetched them.
        tools: the catalogue's record of each tool that ran, without its parameters.
        jobs: the row of each job, in order; of a single job its own.
        inputs: the files that were uploaded from this machine for them: name, size, sha256, at (the
            time), and the names of the jobs.
    """

    fetched: str = ""
    by: Mapping[str, str] = field(default_factory=dict)
    tools: Sequence[Mapping[str, Any]] = ()
    jobs: Sequence[Mapping[str, Any]] = ()
    inputs: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def now(
        cls,
        tools: Iterable[Mapping[str, Any]],
        jobs: Iterable[Mapping[str, Any]],
        inputs: Iterable[Mapping[str, Any]] = (),
    ) -> Origin:
        """Return the origin of results that this process fetches now."""
        return cls(
            datetime.now(UTC).isoformat(timespec="seconds"),
            {
                "labext": extras.installed_version(extras.DISTRIBUTION) or "",
                "python": platform.python_version(),
            },
            [{key: value for key, value in tool.items() if key != "settings"} for tool in tools],
            [recorded_fields(job) for job in jobs],
            [*inputs],
        )


@dataclass(frozen=True)
class Manifest:
    """One set of results on disk.

    Attributes:
        service: the service's address.
        identity: distinguishes the run of the job from any other.
        selection: the selection: `pdbsOnly`, `fileName`.
        files: the files on disk, by paths relative to the results folder.
        archive: the archive they came from, if it was kept.
        job: the job's row, for the record.
        origin: where they come from; empty in a manifest of an earlier labext.
        earlier: files of an earlier run, while these files replace them.
    """

    service: str
    identity: Mapping[str, Any]
    selection: Mapping[str, Any]
    files: tuple[ArchiveFile, ...]
    archive: ArchiveFile | None = None
    job: Mapping[str, Any] = field(default_factory=dict, compare=False)
    origin: Origin = field(default_factory=Origin, compare=False)
    earlier: tuple[ArchiveFile, ...] = ()

    def write(self, path: Path) -> None:
        """Write it.

        Raises:
            StorageError: the disk is full, or the folder can't be written.
        """
        record = {"version": _VERSION, **asdict(self)}
        write_atomic(path, json.dumps(record, indent=1, default=str).encode())

    @classmethod
    def read(cls, path: Path) -> Manifest | None:
        """Read a manifest; None if it is missing or unreadable."""
        try:
            record = json.loads(path.read_bytes())
            if record["version"] != _VERSION:
                return None
            archive = record["archive"]
            return cls(
                record["service"],
                record["identity"],
                record["selection"],
                tuple(map(_parse_file, record["files"])),
                None if archive is None else _parse_file(archive),
                record["job"],
                Origin(**record.get("origin", {})),
                tuple(map(_parse_file, record.get("earlier", ()))),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def is_of(self, other: Manifest) -> bool:
        """Return whether these are the same results: the same selection of the same run."""
        return (self.service, self.identity, self.selection) == (
            other.service,
            other.identity,
            other.selection,
        )

    @property
    def paths(self) -> set[str]:
        """The paths of the files."""
        return {file.path for file in self.files}

    def is_whole(self, folder: Path) -> bool:
        """Return whether all files, and the archive, are present and unchanged."""
        if self.earlier:
            return False
        files = self.files if self.archive is None else (*self.files, self.archive)
        return all(file_matches(folder, file) for file in files)


def _parse_file(record: Mapping[str, Any]) -> ArchiveFile:
    """Return a file of a manifest, which anybody may have written.

    Raises:
        ValueError: its path leaves the folder.
    """
    path = PurePosixPath(record["path"])
    if path.is_absolute() or ".." in path.parts or PureWindowsPath(record["path"]).anchor:
        raise ValueError(record["path"])
    return ArchiveFile(**record)


def file_matches(folder: Path, file: ArchiveFile) -> bool:
    """Return whether a file exists with the recorded size and checksum."""
    path = folder / file.path
    try:
        return path.stat().st_size == file.size and describe_file(path, file.path) == file
    except OSError:
        return False


def run_identity(name: str, rows: Mapping[str, JobRecord | None]) -> dict[str, Any]:
    """Return the fields that identify the run of a result; of a split batch those of its parts."""
    if name in rows and (row := rows[name]) is not None:
        return records.run_fields(row)
    return {"name": name, "parts": [row and records.run_fields(row) for row in rows.values()]}


def recorded_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recorded fields of a job's row; the service's reason for its end is masked."""
    fields = {key: row[key] for key in _RECORDED_FIELDS if row.get(key) is not None}
    return fields | {key: mask(str(row[key])) for key in records.REASON_FIELDS if row.get(key)}


def separate_manifest_path(state: Path, target: Path) -> Path:
    """Return the path of the manifest of a single file or archive, which is not beside it."""
    key = hashlib.sha256(str(target.absolute()).encode("utf-8", "replace")).hexdigest()[:32]
    return make_folder(state / "results", 0o700) / f"{key}.json"

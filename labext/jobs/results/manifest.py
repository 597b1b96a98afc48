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
from labext.storage import make_state_folder, write_atomic


def files_by_job(paths: Iterable[str], jobs: Iterable[str], parent: str) -> dict[str, list[str]]:
    """Return the files of each job of the fetched `parent`, by the job's name on the service."""
    by_job: dict[str, list[str]] = {job: [] for job in jobs}
    if list(by_job) == [parent]:
        return {parent: list(paths)}
    # The archive may consist of one folder, named like the batch.
    folders = {path: path.split("/")[:-1][:2] for path in paths}
    # A job may have the name that another one has inside the batch.
    job_of_name = max(
        ({own_job_name(job, parent): job for job in by_job}, {job: job for job in by_job}),
        key=lambda names: sum(not names.keys().isdisjoint(found) for found in folders.values()),
    )
    for path, found in folders.items():
        if (name := next((name for name in found if name in job_of_name), None)) is not None:
            by_job[job_of_name[name]].append(path)
    return by_job


def job_folder(path: str, job: str, parent: str) -> str:
    """Return the folder of a job in the path of one of its files; empty if it has none."""
    folders = path.split("/")[:-1]
    for depth, folder in enumerate(folders[:2]):
        if folder in (job, own_job_name(job, parent)):
            return "/".join(folders[: depth + 1])
    return ""


def own_job_name(job: str, parent: str) -> str:
    """Return the name of a job without the name of its batch or part."""
    if not job.startswith(f"{parent}-"):
        return job
    rest = job.removeprefix(f"{parent}-")
    part, _, own = rest.partition("-")
    return own if own and identity.parse_part_name(f"{parent}-{part}") is not None else rest


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
    """The origin of downloaded results.

    Attributes:
        fetched: time of the download in UTC, in ISO 8601.
        by: versions of `labext` and `python` at the download.
        tools: the catalogue's record of each tool, without its parameters.
        jobs: the row of each job, in the order of the input.
        inputs: the files uploaded from this machine for these jobs: name, size, sha256, at (time of
            the upload), and jobs (names).
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
        """Return the origin of results downloaded now."""
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
        selection: the selected results: `pdbsOnly`, `fileName`.
        files: the files on disk, with paths relative to the results folder.
        archive: the archive of the files, if it was kept.
        origin: the origin of the results; empty in the manifest of a single file.
        earlier: files of an earlier run that are still to be deleted or replaced.
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
        """Write the manifest."""
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
                Origin(**record["origin"]),
                tuple(map(_parse_file, record["earlier"])),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def same_results(self, other: Manifest) -> bool:
        """Return whether two manifests describe the same selection of the same run."""
        return (self.service, self.identity, self.selection) == (
            other.service,
            other.identity,
            other.selection,
        )

    def same_source(self, other: Manifest) -> bool:
        """Return whether two manifests describe the same selection of a job, in any run of it."""
        name, other_name = self.job.get("JobName"), other.job.get("JobName")
        return (name, self.selection) == (other_name, other.selection)

    def is_complete(self, folder: Path) -> bool:
        """Return whether all files and the archive exist unchanged."""
        if self.earlier:
            return False
        files = self.files if self.archive is None else (*self.files, self.archive)
        return all(file_matches(folder, file) for file in files)


def _parse_file(record: Mapping[str, Any]) -> ArchiveFile:
    """Parse a file of an untrusted manifest; raise ValueError if it is outside of the folder."""
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
    """Return fields that identify the run of a job, or the runs of the parts of a split batch."""
    if name in rows and (row := rows[name]) is not None:
        return records.run_fields(row)
    return {"name": name, "parts": [row and records.run_fields(row) for row in rows.values()]}


def recorded_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recorded fields of a job row, with secrets in the reasons masked."""
    fields = {key: row[key] for key in _RECORDED_FIELDS if row.get(key) is not None}
    return fields | {key: mask(str(row[key])) for key in records.REASON_FIELDS if row.get(key)}


def separate_manifest_path(state: Path, target: Path) -> Path:
    """Return the path in the state folder for the manifest of a single file or archive."""
    key = hashlib.sha256(str(target.absolute()).encode("utf-8", "replace")).hexdigest()[:32]
    return make_state_folder(state / "results") / f"{key}.json"

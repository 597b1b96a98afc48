"""What was fetched, beside the results: which job's they are, and each file's size and checksum.

With it results that are on disk and whole are not fetched again, damaged ones are, and nothing is
overwritten that is somebody else's. It is written before the first file is put in its place, so
that a fetch which was cut short is finished by the next one. `provenance` makes the record of it
that a reader of the results wants.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from labext.jobs import rows
from labext.jobs.results.archives import File, file_of
from labext.jobs.rows import Row
from labext.redaction import mask
from labext.storage import make_folder, write_atomic

_VERSION = 1
_KEPT = (
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
    """Where fetched results come from, for whoever reads them later.

    Attributes:
        fetched: when, as ISO 8601 in UTC.
        by: what fetched them: `labext` and `python`, each a version.
        tools: the catalogue's record of each tool that ran, without its parameters.
        jobs: the row of each job, in order; of a single job its own.
        inputs: the files that were uploaded from this machine for them: name, size, sha256, at
            (the time), and the names of the jobs.
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
        """Return the origin of what is fetched by this process, now."""
        import labext

        return cls(
            datetime.now(UTC).isoformat(timespec="seconds"),
            {"labext": labext.__version__, "python": platform.python_version()},
            [{key: value for key, value in tool.items() if key != "settings"} for tool in tools],
            [kept(job) for job in jobs],
            [*inputs],
        )


@dataclass(frozen=True)
class Manifest:
    """One set of results on disk.

    Attributes:
        service: the service's address.
        identity: tells the run of the job from any other.
        wanted: what was asked for: `pdbsOnly`, `fileName`.
        files: what is on disk, by paths relative to the results folder.
        archive: the archive they came from, if it was kept.
        job: the job's row, for the record.
        origin: where they come from; empty in a manifest of an earlier labext.
        earlier: what an earlier run's fetch left, while these files take its place.
    """

    service: str
    identity: Mapping[str, Any]
    wanted: Mapping[str, Any]
    files: tuple[File, ...]
    archive: File | None = None
    job: Mapping[str, Any] = field(default_factory=dict, compare=False)
    origin: Origin = field(default_factory=Origin, compare=False)
    earlier: tuple[File, ...] = ()

    def write(self, path: Path) -> None:
        """Write it.

        Raises:
            StorageError: the disk is full, or the folder can't be written.
        """
        record = {"version": _VERSION, **asdict(self)}
        write_atomic(path, json.dumps(record, indent=1, default=str).encode())

    @classmethod
    def read(cls, path: Path) -> Manifest | None:
        """Read one; None where there is none, or none that can be read."""
        try:
            record = json.loads(path.read_bytes())
            if record["version"] != _VERSION:
                return None
            archive = record["archive"]
            return cls(
                record["service"],
                record["identity"],
                record["wanted"],
                tuple(map(_file, record["files"])),
                None if archive is None else _file(archive),
                record["job"],
                Origin(**record.get("origin", {})),
                tuple(map(_file, record.get("earlier", ()))),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def is_of(self, other: Manifest) -> bool:
        """Say whether these are the same results: of the same run, and the same choice of them."""
        return (self.service, self.identity, self.wanted) == (
            other.service,
            other.identity,
            other.wanted,
        )

    @property
    def paths(self) -> set[str]:
        """The paths of the files."""
        return {file.path for file in self.files}

    def is_whole(self, folder: Path) -> bool:
        """Say whether every file, and the archive, is there as it was fetched, and no other."""
        if self.earlier:
            return False
        kept = self.files if self.archive is None else (*self.files, self.archive)
        return all(is_same(folder, file) for file in kept)


def _file(record: Mapping[str, Any]) -> File:
    """Return a file of a manifest, which anybody may have written.

    Raises:
        ValueError: its path leaves the folder.
    """
    path = PurePosixPath(record["path"])
    if path.is_absolute() or ".." in path.parts or PureWindowsPath(record["path"]).anchor:
        raise ValueError(record["path"])
    return File(**record)


def is_same(folder: Path, file: File) -> bool:
    """Say whether a file is there with the size and checksum that are recorded."""
    path = folder / file.path
    try:
        return path.stat().st_size == file.size and file_of(path, file.path) == file
    except OSError:
        return False


def identity(name: str, found: Mapping[str, Row | None]) -> dict[str, Any]:
    """Return what tells the results of one run from another's; of a split batch its parts'."""
    if name in found and (row := found[name]) is not None:
        return rows.identity(row)
    return {"name": name, "parts": [row and rows.identity(row) for row in found.values()]}


def kept(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is recorded of a job's row; the service's words on why it ended are masked."""
    found = {key: row[key] for key in _KEPT if row.get(key) is not None}
    return found | {key: mask(str(row[key])) for key in rows.REASONS if row.get(key)}


def elsewhere(state: Path, target: Path) -> Path:
    """Return where the manifest of a single file or archive is kept: not beside it."""
    key = hashlib.sha256(str(target.absolute()).encode("utf-8", "replace")).hexdigest()[:32]
    return make_folder(state / "results", 0o700) / f"{key}.json"

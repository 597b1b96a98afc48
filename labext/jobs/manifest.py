"""What was fetched, beside the results: which job's they are, and each file's size and checksum.

With it results that are on disk and whole are not fetched again, damaged ones are, and nothing is
overwritten that is somebody else's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labext.jobs import rows
from labext.jobs.archives import File, file_of
from labext.jobs.rows import Row
from labext.storage import make_folder, write_whole

_VERSION = 1
_KEPT = ("JobName", "Type", "Settings", "Created", "Started", "Completed", "WeightedHours")


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
    """

    service: str
    identity: Mapping[str, Any]
    wanted: Mapping[str, Any]
    files: tuple[File, ...]
    archive: File | None = None
    job: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def write(self, path: Path) -> None:
        """Write it.

        Raises:
            StorageError: the disk is full, or the folder can't be written.
        """
        record = {
            "version": _VERSION,
            "fetched": datetime.now(UTC).isoformat(timespec="seconds"),
            **asdict(self),
        }
        write_whole(path, json.dumps(record, indent=1, default=str).encode())

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
                tuple(File(**file) for file in record["files"]),
                None if archive is None else File(**archive),
                record["job"],
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

    def is_whole(self, folder: Path) -> bool:
        """Say whether every file, and the archive, is there as it was fetched."""
        kept = self.files if self.archive is None else (*self.files, self.archive)
        return all(is_same(folder, file) for file in kept)


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
    """Return what is recorded of a job's row."""
    return {key: row[key] for key in _KEPT if row.get(key) is not None}


def elsewhere(state: Path, target: Path) -> Path:
    """Return where the manifest of a single file or archive is kept: not beside it."""
    key = hashlib.sha256(str(target.absolute()).encode("utf-8", "replace")).hexdigest()[:32]
    return make_folder(state / "results", 0o700) / f"{key}.json"

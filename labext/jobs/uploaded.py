"""The files that were uploaded from this machine: size, checksums and time of every version.

A job's settings hold the name of an uploaded file (job service contract, Settings rule 7), and the
contract's service tells no checksum. With these notes a submission can be compared with an earlier
one, and the provenance of results can name what went in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labext.jobs.file_versions import FileVersion, moment
from labext.jobs.identity import account
from labext.storage import make_folder, write_atomic


class Uploaded:
    """Notes of the files that were uploaded to one service with one key; a file for each name."""

    def __init__(self, folder: Path, address: str, api_key: str | None) -> None:
        self._folder = folder / "uploads"
        self._address = address
        self._account = account(address, api_key)

    def note(self, name: str, version: FileVersion, folder: str | None = None) -> None:
        """Note that a file has been uploaded.

        Args:
            name: its bare name.
            version: its size and checksums.
            folder: the folder that it was filed in.

        Raises:
            StorageError: the note can't be written.
        """
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        versions = [
            *self._versions(name),
            {"at": now, "folder": folder or "", **version.record()},
        ]
        make_folder(self._folder, 0o700)
        write_atomic(self._file(name), json.dumps(versions).encode(), private=True)

    def latest(self, name: str, folder: str = "") -> FileVersion | None:
        """Return the version that was uploaded last to a folder; None if none was from here."""
        versions = [each for each in self._versions(name) if each.get("folder", "") == folder]
        return FileVersion.of_record(versions[-1]) if versions else None

    def of(self, job: Mapping[str, Any], settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return name, size, sha256 and time of the uploads that a job's settings name.

        Of a name that was uploaded again and again, it is the last before the job was created; a
        job whose time is not known has none.
        """
        created = moment(job.get("Created"))
        if created is None:
            return []
        inputs = []
        for value in dict.fromkeys(value for value in settings.values() if isinstance(value, str)):
            folder, _, name = value.rpartition("/")
            earlier = [
                version
                for version in self._versions(name)
                if (at := moment(version.get("at"))) is not None
                and at <= created
                and (not folder or version.get("folder") == folder)
            ]
            if earlier:
                known = {key: earlier[-1].get(key) for key in ("at", "size", "sha256")}
                inputs.append({"name": value, **known})
        return inputs

    def _versions(self, name: str) -> list[dict[str, Any]]:
        try:
            versions = json.loads(self._file(name).read_bytes())
        except (OSError, ValueError):
            return []
        if not isinstance(versions, list):
            return []
        return [version for version in versions if isinstance(version, dict)]

    def _file(self, name: str) -> Path:
        key = f"{self._address}\n{self._account}\n{name}".encode("utf-8", "replace")
        return self._folder / f"{hashlib.sha256(key).hexdigest()[:32]}.json"

"""What was uploaded from this machine: the checksum of each file that a setting may refer to.

A job's settings hold the bare name of an uploaded file (job service contract, Settings rule 7), and
the service tells no checksum. With this note the provenance of results can name what went in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labext.jobs.identity import account
from labext.jobs.results.archives import file_of
from labext.storage import make_folder, write_whole


class Uploaded:
    """Notes of the files that were uploaded to one service with one key, one on disk a name."""

    def __init__(self, folder: Path, address: str, api_key: str | None) -> None:
        self._folder = folder / "uploads"
        self._address = address
        self._account = account(address, api_key)

    def note(self, name: str, source: Path) -> None:
        """Note that `source` has been uploaded under a bare name.

        Raises:
            OSError: it can't be read, or the note not written (a StorageError).
        """
        file = file_of(source, name)
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        versions = [*self._versions(name), {"at": now, "size": file.size, "sha256": file.sha256}]
        make_folder(self._folder, 0o700)
        write_whole(self._file(name), json.dumps(versions).encode(), private=True)

    def of(self, job: Mapping[str, Any], settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return name, size, sha256 and time of the uploads that a job's settings refer to.

        Of a name that was uploaded again and again, it is the last before the job was made; a job
        whose time is not known has none.
        """
        created = _moment(job.get("Created"))
        if created is None:
            return []
        found = []
        for value in dict.fromkeys(value for value in settings.values() if isinstance(value, str)):
            earlier = [
                version
                for version in self._versions(value)
                if (at := _moment(version.get("at"))) is not None and at <= created
            ]
            if earlier:
                found.append({"name": value, **earlier[-1]})
        return found

    def _versions(self, name: str) -> list[dict[str, Any]]:
        try:
            found = json.loads(self._file(name).read_bytes())
        except (OSError, ValueError):
            return []
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def _file(self, name: str) -> Path:
        said = f"{self._address}\n{self._account}\n{name}".encode("utf-8", "replace")
        return self._folder / f"{hashlib.sha256(said).hexdigest()[:32]}.json"


def _moment(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)

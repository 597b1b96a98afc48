"""Versions of uploaded files: checksums, comparison and local records."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from labext.http.headers import content_length, parse_http_date
from labext.jobs.identity import account_digest
from labext.storage import make_state_folder, write_atomic

_CLOCK_MARGIN = timedelta(seconds=2)
"""Minimum time between `Last-Modified` of a file and a submission that used this version.

`Last-Modified` has a resolution of one second, and the clocks of store and service may differ.
"""

_READ_SIZE = 1024 * 1024
_MD5 = re.compile(r'"([0-9a-f]{32})"')
_SHA256 = re.compile(r"(?:^|[,\s])sha-256=:([A-Za-z0-9+/=]+):")


@dataclass(frozen=True)
class FileVersion:
    """Known properties of a file's content.

    Attributes:
        sha256, md5: hexadecimal checksums of the content.
        etag: entity tag; equal tags mean equal content.
        modified: time of storage by the clock of the service, in ISO 8601.
    """

    size: int | None = None
    sha256: str | None = None
    md5: str | None = None
    etag: str | None = None
    modified: str | None = None

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> Self:
        """Return the version that the headers of a HEAD response describe."""
        etag = headers.get("ETag", "").strip()
        modified = parse_http_date(headers.get("Last-Modified", ""))
        match = _SHA256.search(headers.get("Repr-Digest", ""))
        encoded = match[1] if match else headers.get("x-amz-checksum-sha256", "")
        md5 = _MD5.fullmatch(etag)
        return cls(
            size=content_length(headers),
            sha256=_base64_to_hex(encoded),
            md5=None if md5 is None else md5[1],
            etag=etag if etag and not etag.startswith("W/") else None,
            modified=None if modified is None else modified.isoformat(),
        )

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Return the size and checksums of a file on disk."""
        sha256, md5, size = hashlib.sha256(), hashlib.md5(usedforsecurity=False), 0
        with path.open("rb") as content:
            while block := content.read(_READ_SIZE):
                sha256.update(block)
                md5.update(block)
                size += len(block)
        return cls(size=size, sha256=sha256.hexdigest(), md5=md5.hexdigest())

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the version in a record by `to_record`, ignoring fields of the wrong type."""
        types = {"size": int}
        known_values: dict[str, Any] = {
            field.name: value
            for field in fields(cls)
            if isinstance(value := record.get(field.name), types.get(field.name, str))
        }
        return cls(**known_values)

    def to_record(self) -> dict[str, Any]:
        """Return the known properties as JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def checksum(self) -> str | None:
        """A checksum of the content; None if unknown.

        The service's MD5 is preferred because it is available on every machine; the SHA-256 may
        only be known to the machine that uploaded the file.
        """
        if self.md5 is not None and self.etag == f'"{self.md5}"':
            return self.md5
        return self.sha256 or self.md5 or self.etag

    def same_content(self, other: FileVersion) -> bool | None:
        """Return whether two versions have the same content; None if unknown."""
        for checksum, other_checksum in ((self.sha256, other.sha256), (self.md5, other.md5)):
            if checksum is not None and other_checksum is not None:
                return checksum == other_checksum
        if None not in (self.size, other.size) and self.size != other.size:
            return False
        if self.etag is not None and self.etag == other.etag:
            return True
        return None

    def with_checksums_of(self, other: FileVersion) -> FileVersion:
        """Return this version with missing checksums taken from a version of the same content."""
        sha256, md5 = self.sha256 or other.sha256, self.md5 or other.md5
        return FileVersion(self.size, sha256, md5, self.etag, self.modified)

    def description(self) -> str:
        """Return a short description of size and checksum."""
        checksum = f"SHA-256 {self.sha256[:12]}…" if self.sha256 else ""
        if self.size is None:
            return checksum or "other content"
        return f"{self.size:,} bytes" + (f" ({checksum})" if checksum else "")


def changed_since(
    submission: datetime | None, then: FileVersion | None, now: FileVersion | None
) -> bool | None:
    """Return whether a file's content has changed since a submission; None if unknown.

    `then` and `now` are its versions, as far as known; `submission` is the time by the clock of the
    service.
    """
    if now is None:
        return None
    stored = parse_time(now.modified)
    same = None if then is None else then.same_content(now)
    if submission is not None and stored is not None:
        if stored + _CLOCK_MARGIN <= submission:
            return False
        if same is None and stored <= submission:
            return False
        if same is None and now.checksum is not None:
            return True  # identical content would not have been uploaded again
    return None if same is None else not same


def parse_time(value: Any) -> datetime | None:
    """Parse an ISO 8601 time, by default in UTC; None for any other value."""
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _base64_to_hex(encoded: str) -> str | None:
    """Convert a Base64 SHA-256 to hexadecimal; None if invalid."""
    try:
        digest = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    return digest.hex() if len(digest) == 32 else None


class UploadRecords:
    """Local records of the uploads to one service with one key: one JSON file per file name."""

    def __init__(self, folder: Path, address: str, api_key: str | None) -> None:
        self._folder = folder / "uploads"
        self._address = address
        self._account = account_digest(address, api_key)

    def note(
        self, name: str, version: FileVersion, at: datetime, folder: str | None = None
    ) -> None:
        """Record an upload to a folder on the service; `at` is the time by the service's clock."""
        versions = [
            *self._versions(name),
            {
                "at": at.isoformat(timespec="microseconds"),
                "folder": folder or "",
                **version.to_record(),
            },
        ]
        make_state_folder(self._folder)
        write_atomic(self._file(name), json.dumps(versions).encode(), private=True)

    def latest(self, name: str, folder: str = "") -> FileVersion | None:
        """Return the version last uploaded to a folder from this machine; None if unknown."""
        versions = [
            version for version in self._versions(name) if version.get("folder", "") == folder
        ]
        return FileVersion.from_record(versions[-1]) if versions else None

    def inputs_of(
        self, job: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the uploads that a job's settings name: name, size, sha256 and `at` (time).

        If a file was uploaded several times, the last upload before the job's creation is
        returned. Empty if the time of creation is unknown.
        """
        created = parse_time(job.get("Created"))
        if created is None:
            return []
        inputs = []
        for value in dict.fromkeys(value for value in settings.values() if isinstance(value, str)):
            folder, _, name = value.rpartition("/")
            earlier = [
                version
                for version in self._versions(name)
                if (at := parse_time(version.get("at"))) is not None
                and at <= created
                and (not folder or version.get("folder") == folder)
            ]
            if earlier:
                version = {key: earlier[-1].get(key) for key in ("at", "size", "sha256")}
                inputs.append({"name": value, **version})
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

"""File versions from response headers, and changes since a submission."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from labext.jobs.file_versions import FileVersion, changed_since

CONTENT = b"ATOM"
SHA256 = hashlib.sha256(CONTENT)
MD5 = hashlib.md5(CONTENT).hexdigest()
ENCODED = base64.b64encode(SHA256.digest()).decode()
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "known"),
    [
        ({}, {}),
        ({"Content-Length": "4"}, {"size": 4}),
        ({"Content-Length": "-4"}, {}),
        ({"Content-Length": "٤"}, {}),
        ({"Content-Length": "9" * 5000}, {}),
        ({"ETag": f'"{MD5}"'}, {"md5": MD5, "etag": f'"{MD5}"'}),
        ({"ETag": f'"{MD5}-7"'}, {"etag": f'"{MD5}-7"'}),
        ({"ETag": f'W/"{MD5}"'}, {}),
        ({"Repr-Digest": f"sha-256=:{ENCODED}:"}, {"sha256": SHA256.hexdigest()}),
        ({"Repr-Digest": f"sha-512=:AAAA:, sha-256=:{ENCODED}:"}, {"sha256": SHA256.hexdigest()}),
        ({"Repr-Digest": "sha-256=:AAAA:"}, {}),
        ({"Repr-Digest": "sha-256=:%%%:"}, {}),
        ({"x-amz-checksum-sha256": ENCODED}, {"sha256": SHA256.hexdigest()}),
        ({"x-amz-checksum-sha256": f"{ENCODED}-3"}, {}),
        (
            {"Last-Modified": "Sun, 01 Mar 2026 12:00:00 GMT"},
            {"modified": "2026-03-01T12:00:00+00:00"},
        ),
        ({"Last-Modified": "last week"}, {}),
        ({"Last-Modified": "Sun, 01 Mar 99999999999 12:00:00 GMT"}, {}),
    ],
)
def test_version_from_headers(headers: dict[str, str], known: dict[str, object]) -> None:
    assert FileVersion.from_headers(headers) == FileVersion(**known)


def test_version_survives_serialization(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(CONTENT)
    version = FileVersion.from_file(tmp_path / "a")
    assert version == FileVersion(4, SHA256.hexdigest(), MD5)
    assert FileVersion.from_record(version.to_record()) == version
    assert FileVersion.from_record({"size": "4", "sha256": 7, "other": 1}) == FileVersion()


FULL = FileVersion(4, "a" * 64, "b" * 32, "tag", None)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (FULL, FileVersion(sha256="a" * 64, md5="c" * 32), True),
        (FULL, FileVersion(sha256="c" * 64, md5="b" * 32), False),
        (FULL, FileVersion(md5="b" * 32), True),
        (FULL, FileVersion(md5="c" * 32), False),
        (FULL, FileVersion(size=5), False),
        (FULL, FileVersion(size=4), None),
        (FULL, FileVersion(size=4, etag="tag"), True),
        (FULL, FileVersion(size=4, etag="other"), None),
        (FULL, FileVersion(), None),
    ],
)
def test_content_is_compared_by_the_strongest_shared_attribute(
    one: FileVersion, other: FileVersion, same: bool | None
) -> None:
    assert one.same_content(other) is same
    assert other.same_content(one) is same


def at(seconds: float, **known: str) -> FileVersion:
    """Return a version stored `seconds` after noon."""
    return FileVersion(modified=(NOON + timedelta(seconds=seconds)).isoformat(), **known)


A, B = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    ("then", "now", "changed"),
    [
        (None, None, None),
        (FileVersion(sha256=A), None, None),
        (None, FileVersion(sha256=A), None),
        (FileVersion(sha256=A), FileVersion(sha256=A), False),
        (FileVersion(sha256=A), FileVersion(sha256=B), True),
        # Stored well before the submission: it is the submitted version, whatever is recorded.
        (FileVersion(sha256=A), at(-60, sha256=B), False),
        # At about the same time a checksum decides, if there is one.
        (FileVersion(sha256=A), at(-1, sha256=B), True),
        (None, at(-1, sha256=B), False),
        # Stored later.
        (FileVersion(sha256=A), at(60, sha256=A), False),
        (None, at(60, sha256=A), True),
        (None, at(60), None),
        (FileVersion(size=4), at(60), None),
    ],
)
def test_change_since_a_submission(
    then: FileVersion | None, now: FileVersion | None, changed: bool | None
) -> None:
    assert changed_since(NOON, then, now) is changed


def test_unknown_submission_time_compares_content_only() -> None:
    assert changed_since(None, FileVersion(sha256=A), at(-60, sha256=B)) is True
    assert changed_since(None, None, at(-60, sha256=B)) is None

"""Signing keys of the provider: generated once, private, and rotated with an overlap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from labext.sandbox.lab.oidc import service

FILE = "lab_oidc_keys.json"


def kids(folder: Path) -> list[str]:
    return [key.kid for key in service.load_signing_keys(folder)]


def test_key_is_generated_once_in_a_private_file(tmp_path):
    first = kids(tmp_path)
    assert kids(tmp_path) == first
    assert len(first) == 1
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_only_public_members_are_published(tmp_path):
    [key] = service.load_signing_keys(tmp_path)
    assert set(key.published) == {"kty", "n", "e", "kid", "use", "alg"}
    assert "private" not in repr(key).lower()


def test_rotated_keys_stay_published(tmp_path):
    first_kids = kids(tmp_path)
    for _ in range(service.MAX_KEYS):
        newest = service.rotate_signing_keys(tmp_path)[0].kid
        assert newest not in first_kids
        first_kids.insert(0, newest)
        assert kids(tmp_path) == first_kids[: service.MAX_KEYS]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"keys": [1]}', '{"keys": [{"kty": "RSA"}]}'])
def test_damaged_file_is_replaced(tmp_path, content):
    (tmp_path / FILE).write_text(content)
    assert len(kids(tmp_path)) == 1
    assert kids(tmp_path) == kids(tmp_path)


def test_concurrent_first_use_generates_one_key(tmp_path):
    with ThreadPoolExecutor(4) as threads:
        key_sets = list(threads.map(lambda _: kids(tmp_path), range(8)))
    assert key_sets == [key_sets[0]] * 8

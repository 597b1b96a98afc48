"""What the provider signs with: made once, its owner's alone, replaced with an overlap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from labext.sandbox.lab.oidc import keys

FILE = "lab_oidc_keys.json"


def kids(folder: Path) -> list[str]:
    return [key.kid for key in keys.signing_keys(folder)]


def test_a_key_is_made_once_and_kept_from_others(tmp_path: Path) -> None:
    first = kids(tmp_path)
    assert kids(tmp_path) == first
    assert len(first) == 1
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_only_the_public_half_is_published(tmp_path: Path) -> None:
    [key] = keys.signing_keys(tmp_path)
    assert set(key.published) == {"kty", "n", "e", "kid", "use", "alg"}
    assert "private" not in repr(key).lower()


def test_a_new_key_signs_and_the_last_ones_stay_published(tmp_path: Path) -> None:
    seen = kids(tmp_path)
    for _ in range(keys.KEPT):
        newest = keys.rotate(tmp_path)[0].kid
        assert newest not in seen
        seen.insert(0, newest)
        assert kids(tmp_path) == seen[: keys.KEPT]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"keys": [1]}', '{"keys": [{"kty": "RSA"}]}'])
def test_a_damaged_file_is_taken_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    assert len(kids(tmp_path)) == 1
    assert kids(tmp_path) == kids(tmp_path)


def test_many_at_once_make_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: kids(tmp_path), range(8)))
    assert found == [found[0]] * 8

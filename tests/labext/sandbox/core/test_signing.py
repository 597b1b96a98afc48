"""Presigned addresses and cursors: what fits, what was changed, what is over."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.sandbox.core.signing import ExpiredSignatureError, InvalidSignatureError, Signer

NOW = 1_800_000_000.0
PATH = "/download/abc/helix1.zip"


def _signer(now: float = NOW, key: str = "a key") -> Signer:
    return Signer(key, clock=lambda: now)


def _query(path: str = PATH, seconds: float = 900) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(_signer().presign(path, seconds)).items()}


def test_a_presigned_path_is_good_until_its_time_is_over() -> None:
    query = _query()
    _signer(NOW).check_presigned(PATH, **query)
    _signer(NOW + 899).check_presigned(PATH, **query)
    with pytest.raises(ExpiredSignatureError):
        _signer(NOW + 900).check_presigned(PATH, **query)


@pytest.mark.parametrize(
    "change",
    [
        {"expires": str(int(NOW) + 10**6)},
        {"expires": "9" * 5000},
        {"expires": "١٨٠٠٠٠٠٩٠٠"},
        {"expires": "-1"},
        {"expires": ""},
        {"expires": None},
        {"signature": ""},
        {"signature": None},
        {"signature": "AAAA"},
        {"signature": "ä\x00"},
    ],
)
def test_a_changed_query_is_forged(change: dict[str, str | None]) -> None:
    with pytest.raises(InvalidSignatureError):
        _signer().check_presigned(PATH, **(_query() | change))


def test_another_path_and_another_key_are_forged() -> None:
    with pytest.raises(InvalidSignatureError):
        _signer().check_presigned("/download/abc/other.zip", **_query())
    with pytest.raises(InvalidSignatureError):
        _signer(key="another key").check_presigned(PATH, **_query())


json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(json)
def test_what_was_sealed_comes_back_the_same(value: Any) -> None:
    sealed = _signer().seal(value, "cursor")
    assert sealed.isascii()
    assert _signer().unseal(sealed, "cursor") == value


@given(st.text())
def test_nobody_makes_up_a_seal(text: str) -> None:
    with pytest.raises(InvalidSignatureError):
        _signer().unseal(text, "cursor")


def test_a_seal_is_good_for_its_purpose_alone() -> None:
    sealed = _signer().seal([1, 2], "cursor")
    with pytest.raises(InvalidSignatureError):
        _signer().unseal(sealed, "other")
    with pytest.raises(InvalidSignatureError):
        _signer(key="another key").unseal(sealed, "cursor")

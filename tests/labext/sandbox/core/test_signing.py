"""Presigned addresses and cursors: valid, changed and expired ones."""

from __future__ import annotations

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


def test_presigned_path_is_valid_until_it_expires():
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
def test_changed_query_is_invalid(change):
    with pytest.raises(InvalidSignatureError):
        _signer().check_presigned(PATH, **(_query() | change))


def test_other_path_and_other_key_are_invalid():
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
def test_sealed_value_round_trips(value):
    sealed = _signer().seal(value, "cursor")
    assert sealed.isascii()
    assert _signer().unseal(sealed, "cursor") == value


@given(st.text())
def test_arbitrary_text_is_no_seal(text):
    with pytest.raises(InvalidSignatureError):
        _signer().unseal(text, "cursor")


def test_seal_is_bound_to_its_purpose():
    sealed = _signer().seal([1, 2], "cursor")
    with pytest.raises(InvalidSignatureError):
        _signer().unseal(sealed, "other")
    with pytest.raises(InvalidSignatureError):
        _signer(key="another key").unseal(sealed, "cursor")

"""The service's password: what is kept of it, and that only the present one is right."""

from __future__ import annotations

import hashlib

import pytest

from labext.sandbox.nb.middleware import PasswordVerifier, hash_password

pytestmark = pytest.mark.contract

PASSWORD = "correct-horse-battery"


def test_what_is_kept_is_slow_to_guess_and_tells_nothing() -> None:
    one, other = hash_password(PASSWORD), hash_password(PASSWORD)
    kind, salt, slow = one.split("$")
    assert kind == "scrypt"
    made = hashlib.scrypt(PASSWORD.encode(), salt=bytes.fromhex(salt), n=1 << 14, r=8, p=1)
    assert slow == made.hex()
    assert salt not in other
    assert slow not in other


def test_a_password_that_was_changed_is_right_no_more() -> None:
    verifier = PasswordVerifier()
    before, after = hash_password(PASSWORD), hash_password("another-password")
    assert [verifier.verify(PASSWORD, kept) for kept in (before, before, after)] == [
        True,
        True,
        False,
    ]
    assert verifier.verify("another-password", after)
    assert not verifier.verify(PASSWORD, after)
    assert not verifier.verify("", before)

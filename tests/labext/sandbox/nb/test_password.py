"""The service's password: its stored form, and only the current one is accepted."""

from __future__ import annotations

import hashlib

import pytest

from labext.sandbox.nb.middleware import PasswordVerifier, hash_password

pytestmark = pytest.mark.contract

PASSWORD = "correct-horse-battery"


def test_password_is_stored_as_salted_scrypt_hash() -> None:
    first_hash, other = hash_password(PASSWORD), hash_password(PASSWORD)
    kind, salt, slow = first_hash.split("$")
    assert kind == "scrypt"
    created = hashlib.scrypt(PASSWORD.encode(), salt=bytes.fromhex(salt), n=1 << 14, r=8, p=1)
    assert slow == created.hex()
    assert salt not in other
    assert slow not in other


def test_changed_password_invalidates_the_old_one() -> None:
    verifier = PasswordVerifier()
    before, after = hash_password(PASSWORD), hash_password("another-password")
    assert [verifier.verify(PASSWORD, stored) for stored in (before, before, after)] == [
        True,
        True,
        False,
    ]
    assert verifier.verify("another-password", after)
    assert not verifier.verify(PASSWORD, after)
    assert not verifier.verify("", before)

"""The service's password: what is kept of it, and that only the present one is right."""

from __future__ import annotations

import hashlib

from labext.sandbox.nb.passwords import Verifier, hashed

PASSWORD = "correct-horse-battery"


def test_what_is_kept_is_slow_to_guess_and_tells_nothing() -> None:
    one, other = hashed(PASSWORD), hashed(PASSWORD)
    kind, salt, slow = one.split("$")
    assert kind == "scrypt"
    made = hashlib.scrypt(PASSWORD.encode(), salt=bytes.fromhex(salt), n=1 << 14, r=8, p=1)
    assert slow == made.hex()
    assert salt not in other
    assert slow not in other


def test_a_password_that_was_changed_is_right_no_more() -> None:
    verifier = Verifier()
    before, after = hashed(PASSWORD), hashed("another-password")
    assert [verifier.is_right(PASSWORD, kept) for kept in (before, before, after)] == [
        True,
        True,
        False,
    ]
    assert verifier.is_right("another-password", after)
    assert not verifier.is_right(PASSWORD, after)
    assert not verifier.is_right("", before)

"""The service's password: kept as a salted slow hash, and compared with what a request sends.

People choose it, so a plain hash would be too easily guessed back. A slow one takes some 50 ms;
what was right once is therefore remembered, as long as the password is the same.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

_SALT_BYTES = 16
_COST = 1 << 14


def hashed(password: str) -> str:
    """What is kept of a password: `scrypt$salt$hash`, in hexadecimal."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return f"scrypt${salt.hex()}${_slow(password, salt).hex()}"


class Verifier:
    """Says whether a password is the one that was hashed. Safe to use from threads."""

    def __init__(self) -> None:
        self._right: tuple[str, bytes] | None = None

    def is_right(self, password: str, kept: str) -> bool:
        """Whether `kept` was made of `password`."""
        quick = hashlib.sha256(password.encode()).digest()
        right = self._right
        if right is not None and right[0] == kept and hmac.compare_digest(right[1], quick):
            return True
        _, salt, slow = kept.split("$")
        if not hmac.compare_digest(_slow(password, bytes.fromhex(salt)), bytes.fromhex(slow)):
            return False
        self._right = kept, quick
        return True


def _slow(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=8, p=1)

"""Keys of the local services: long and random, shown once, kept as a hash."""

from __future__ import annotations

import hashlib
import secrets

from labext.redaction import keep_secret


def new_key(prefix: str = "") -> str:
    """A key nobody can guess (256 bits); masked in every message from now on.

    Args:
        prefix: what it begins with, such as `sk_`.
    """
    key = prefix + secrets.token_urlsafe(32)
    keep_secret(key)
    return key


def key_hash(key: str) -> str:
    """What is kept of a key. Keys are long and random, so that a plain hash is enough."""
    return hashlib.sha256(key.encode()).hexdigest()

"""The provider's signing keys: RSA keys in a file that only its owner can read, newest first.

Every OpenID client supports RS256 (OpenID Connect Core 1.0, section 15.1). Replaced keys stay
published, so that the tokens signed with them remain valid until they expire.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from jwt.exceptions import InvalidKeyError

from labext.sandbox.folder import Lock, write_json

ALGORITHM = "RS256"

KEPT = 3
"""Number of published keys: the current one and its predecessors."""


@dataclass(frozen=True)
class SigningKey:
    """A key and its key id."""

    kid: str
    private: rsa.RSAPrivateKey = field(repr=False)

    @property
    def published(self) -> dict[str, Any]:
        """The public key as a JSON Web Key (RFC 7517)."""
        return _public(self.private) | {"kid": self.kid, "use": "sig", "alg": ALGORITHM}


def signing_keys(secrets: Path) -> list[SigningKey]:
    """Return the keys, the current one first; the first key is generated when it is needed."""
    return _read(secrets) or _add(secrets, only_first=True)


def rotate(secrets: Path) -> list[SigningKey]:
    """Generate a new current key, and return all published keys."""
    return _add(secrets, only_first=False)


def _read(secrets: Path) -> list[SigningKey]:
    try:
        return list(_parsed(_file(secrets).read_bytes()))
    except (FileNotFoundError, InvalidKeyError, KeyError, TypeError, ValueError):
        return []  # a damaged file is replaced


@lru_cache(maxsize=4)
def _parsed(content: bytes) -> tuple[SigningKey, ...]:
    """Parse the content of the file; cached, as parsing a key takes as long as signing with it."""
    keys = [RSAAlgorithm.from_jwk(key) for key in json.loads(content)["keys"]]
    return tuple(SigningKey(_kid(key), key) for key in keys if isinstance(key, rsa.RSAPrivateKey))


def _add(secrets: Path, *, only_first: bool) -> list[SigningKey]:
    """Add a key under a lock: the host and an administrator's command share the file."""
    lock = Lock(secrets / "lab_oidc_keys.lock")
    if not lock.acquire(seconds=10.0):
        raise OSError(f"The file {lock.path} stays locked.")
    try:
        existing = _read(secrets)
        if existing and only_first:
            return existing
        private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        keys = [SigningKey(_kid(private), private), *existing][:KEPT]
        content = [RSAAlgorithm.to_jwk(key.private, as_dict=True) for key in keys]
        write_json(_file(secrets), {"keys": content})
        return keys
    finally:
        lock.release()


def _file(secrets: Path) -> Path:
    return secrets / "lab_oidc_keys.json"


def _kid(private: rsa.RSAPrivateKey) -> str:
    """Return the thumbprint of a key (RFC 7638), which is unique."""
    members = json.dumps(_public(private), separators=(",", ":"), sort_keys=True)
    digest = hashlib.sha256(members.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def _public(private: rsa.RSAPrivateKey) -> dict[str, Any]:
    """Return the required members of the public key, which are those of its thumbprint."""
    jwk = RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
    return {name: jwk[name] for name in ("kty", "n", "e")}

"""What the provider signs with: RSA keys in a file that only its owner reads, the newest first.

RS256 is what every OpenID provider and client knows (OpenID Connect Core 1.0, 15.1). Keys that
were replaced stay published, so that tokens that are out hold until they expire.
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
"""How many keys are published: the one in use, and those before it."""

_PUBLIC = ("kty", "n", "e")


@dataclass(frozen=True)
class SigningKey:
    """A key with what it is called."""

    kid: str
    private: rsa.RSAPrivateKey = field(repr=False)

    @property
    def published(self) -> dict[str, Any]:
        """Its public half as a JSON Web Key (RFC 7517)."""
        found = RSAAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        return {name: found[name] for name in _PUBLIC} | {
            "kid": self.kid,
            "use": "sig",
            "alg": ALGORITHM,
        }


def signing_keys(secrets: Path) -> list[SigningKey]:
    """The keys, the one in use first; one is made where there is none."""
    return _read(secrets) or _added(secrets, unless_there=True)


def rotate(secrets: Path) -> list[SigningKey]:
    """Take a new key into use; returns all that are published now."""
    return _added(secrets, unless_there=False)


def _read(secrets: Path) -> list[SigningKey]:
    try:
        return list(_parsed(_file(secrets).read_bytes()))
    except (FileNotFoundError, InvalidKeyError, KeyError, TypeError, ValueError):
        return []  # damaged, if it is there: new ones take their place


@lru_cache(maxsize=4)
def _parsed(content: bytes) -> tuple[SigningKey, ...]:
    """The keys in a file's content; reading one takes as long as signing with it."""
    found = [RSAAlgorithm.from_jwk(each) for each in json.loads(content)["keys"]]
    return tuple(SigningKey(_kid(key), key) for key in found if isinstance(key, rsa.RSAPrivateKey))


def _added(secrets: Path, *, unless_there: bool) -> list[SigningKey]:
    """One at a time: a host that starts and an administrator have the same file."""
    lock = Lock(secrets / "lab_oidc_keys.lock")
    if not lock.acquire(seconds=10.0):
        raise OSError(f"The file {lock.path} stays locked.")
    try:
        there = _read(secrets)
        if there and unless_there:
            return there
        private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        keys = [SigningKey(_kid(private), private), *there][:KEPT]
        kept = [RSAAlgorithm.to_jwk(key.private, as_dict=True) for key in keys]
        write_json(_file(secrets), {"keys": kept})
        return keys
    finally:
        lock.release()


def _file(secrets: Path) -> Path:
    return secrets / "lab_oidc_keys.json"


def _kid(private: rsa.RSAPrivateKey) -> str:
    """The key's own thumbprint (RFC 7638): no two keys are called alike."""
    public = RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
    named = {name: public[name] for name in sorted(_PUBLIC)}
    digest = hashlib.sha256(json.dumps(named, separators=(",", ":")).encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()

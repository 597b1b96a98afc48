"""Signing keys, ID tokens and user secrets of the OpenID provider."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from jwt.exceptions import InvalidKeyError
from sqlalchemy import select

from labext.sandbox.core.data_folder import FileLock, ensure_secret, write_json, write_secret
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.lab.endpoints import CAMPUS, PROVIDER_ENDPOINT
from labext.sandbox.lab.oidc.verifier import WELL_KNOWN
from labext.sandbox.lab.tables import Tenant, User, normalize_email

ALGORITHM = "RS256"

MAX_KEYS = 3
"""Number of published keys: the current one and its predecessors."""


@dataclass(frozen=True)
class SigningKey:
    """A key and its key id."""

    kid: str
    private: rsa.RSAPrivateKey = field(repr=False)

    @property
    def published(self) -> dict[str, Any]:
        """The public key as a JSON Web Key (RFC 7517)."""
        return _public_jwk(self.private) | {"kid": self.kid, "use": "sig", "alg": ALGORITHM}


def load_signing_keys(secrets: Path) -> list[SigningKey]:
    """Return the keys, the current one first; generate a key if there is none."""
    return _read_keys(secrets) or _add_key(secrets, only_first=True)


def rotate_signing_keys(secrets: Path) -> list[SigningKey]:
    """Generate a new current key, and return all published keys."""
    return _add_key(secrets, only_first=False)


def _read_keys(secrets: Path) -> list[SigningKey]:
    try:
        return list(_parse_keys(_key_file(secrets).read_bytes()))
    except (FileNotFoundError, InvalidKeyError, KeyError, TypeError, ValueError):
        return []  # a damaged file is replaced


@lru_cache(maxsize=4)
def _parse_keys(content: bytes) -> tuple[SigningKey, ...]:
    """Parse the content of the file; cached, since parsing a key takes as long as signing."""
    keys = [RSAAlgorithm.from_jwk(key) for key in json.loads(content)["keys"]]
    return tuple(
        SigningKey(_key_thumbprint(key), key) for key in keys if isinstance(key, rsa.RSAPrivateKey)
    )


def _add_key(secrets: Path, *, only_first: bool) -> list[SigningKey]:
    """Add a key under a lock: the host and an administrator's command share the file."""
    lock = FileLock(secrets / "lab_oidc_keys.lock")
    if not lock.acquire(seconds=10.0):
        raise OSError(f"The file {lock.path} stays locked.")
    try:
        existing = _read_keys(secrets)
        if existing and only_first:
            return existing
        private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        keys = [SigningKey(_key_thumbprint(private), private), *existing][:MAX_KEYS]
        content = [RSAAlgorithm.to_jwk(key.private, as_dict=True) for key in keys]
        write_json(_key_file(secrets), {"keys": content})
        return keys
    finally:
        lock.release()


def _key_file(secrets: Path) -> Path:
    return secrets / "lab_oidc_keys.json"


def _key_thumbprint(private: rsa.RSAPrivateKey) -> str:
    """Return the thumbprint of a key (RFC 7638), which is unique."""
    members = json.dumps(_public_jwk(private), separators=(",", ":"), sort_keys=True)
    digest = hashlib.sha256(members.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def _public_jwk(private: rsa.RSAPrivateKey) -> dict[str, Any]:
    """Return the required members of the public key, which its thumbprint covers."""
    jwk = RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
    return {name: jwk[name] for name in ("kty", "n", "e")}


DEFAULT_AUDIENCE = "labext-campus"
"""Default audience of the tokens, if `campus` has no other one configured."""

TOKEN_SECONDS = 3600
"""Lifetime of a token."""


def issuer_url(site: Site) -> str:
    """Return the provider's issuer: its origin."""
    return site.origins[PROVIDER_ENDPOINT]


def own_configuration_url(site: Site) -> str:
    """Return the address of the provider's configuration."""
    return issuer_url(site) + WELL_KNOWN


def is_own_configuration(site: Site, url: str) -> bool:
    """Return whether a URL is the provider's own configuration, possibly at an earlier port."""
    if url == own_configuration_url(site):
        return True
    return re.fullmatch(rf"https://localhost:\d+{re.escape(WELL_KNOWN)}", url) is not None


def expected_audience(site: Site) -> str:
    """Return the audience that `campus` expects."""
    with site.database.read() as session:
        audience = session.scalars(select(Tenant.audience).where(Tenant.name == CAMPUS)).first()
    return audience or DEFAULT_AUDIENCE


def list_users(site: Site) -> list[User]:
    """Return the users of `campus`, including suspended ones, whom only the platform refuses."""
    with site.database.read() as session:
        users = select(User).join(Tenant).where(Tenant.name == CAMPUS).order_by(User.email)
        return list(session.scalars(users))


def find_campus_user(site: Site, email: str) -> User | None:
    """Return the user of `campus` with this e-mail address, ignoring case, if any."""
    # Not compared in the database: PostgreSQL rejects NUL characters, which a form can contain.
    normalized = normalize_email(email)
    return next((user for user in list_users(site) if user.email == normalized), None)


def issue_id_token(
    site: Site,
    email: str,
    *,
    seconds: int = TOKEN_SECONDS,
    audience: str | None = None,
    nonce: str | None = None,
) -> str:
    """Return a new ID token, also for an e-mail address without a user.

    `seconds` is its lifetime, negative for an expired token; `audience` is by default the one that
    `campus` expects.
    """
    now = int(time.time())
    user = find_campus_user(site, email)
    claims: dict[str, Any] = {
        "iss": issuer_url(site),
        "sub": subject_claim(email),
        "aud": audience or expected_audience(site),
        "iat": now + min(0, seconds),
        "exp": now + seconds,
        "email": email,
        "email_verified": True,
        "name": email if user is None else user.name,
    }
    if nonce is not None:
        claims["nonce"] = nonce
    key = load_signing_keys(site.secrets)[0]
    return jwt.encode(claims, key.private, ALGORITHM, headers={"kid": key.kid})


def subject_claim(email: str) -> str:
    """Return the subject claim: stable for a user, without revealing the e-mail address."""
    return hashlib.sha256(email.encode()).hexdigest()[:32]


GRANT_TYPE = "password"
"""Grant type with which a program signs in as a user (RFC 6749, section 4.3)."""


class SignInError(Exception):
    """The user does not exist or the secret is wrong; the message does not say which."""

    def __init__(self) -> None:
        super().__init__("The e-mail address or the secret is not valid.")


def sign_in(site: Site, email: str, value: str) -> User:
    """Return the user who signs in; the secret is ignored if secrets are switched off."""
    user = find_campus_user(site, email)
    if user is None:
        raise SignInError
    if requires_secret(site):
        expected = ensure_user_secret(site.secrets, user.id)
        if not secrets.compare_digest(expected.encode(), value.encode(errors="replace")):
            raise SignInError
    return user


def requires_secret(site: Site) -> bool:
    """Return whether users need their secret to sign in; True by default."""
    with site.database.read() as session:
        required = session.scalars(
            select(Tenant.requires_user_secret).where(Tenant.name == CAMPUS)
        ).first()
    return required is not False


def ensure_user_secret(folder: Path, user_id: str) -> str:
    """Return the secret of a user; generate it at the first call."""
    return ensure_secret(_user_secret_file(folder, user_id))


def replace_user_secret(folder: Path, user_id: str) -> str:
    """Replace the secret of a user; see `ensure_user_secret`."""
    write_secret(_user_secret_file(folder, user_id), secrets.token_urlsafe(32))
    return ensure_user_secret(folder, user_id)


def delete_user_secret(folder: Path, user_id: str) -> None:
    """Delete the secret of a removed user; see `ensure_user_secret`."""
    _user_secret_file(folder, user_id).unlink(missing_ok=True)


def _user_secret_file(folder: Path, user_id: str) -> Path:
    return folder / f"lab_oidc_user_{user_id}"

"""ID tokens of the provider (OpenID Connect Core 1.0, 2)."""

from __future__ import annotations

import hashlib
import re
import time
from typing import Any

import jwt
from sqlalchemy import select

from labext.sandbox.lab.doors import CAMPUS, PROVIDER
from labext.sandbox.lab.oidc.keys import ALGORITHM, signing_keys
from labext.sandbox.lab.oidc.verifier import WELL_KNOWN
from labext.sandbox.lab.store import Tenant, User
from labext.sandbox.service import Site

AUDIENCE = "labext-campus"
"""Whom the tokens are for, unless `campus` is configured otherwise."""

SECONDS = 3600
"""How long a token is good."""


def issuer(site: Site) -> str:
    """The provider's own name: its address."""
    return site.origins[PROVIDER]


def configuration_url(site: Site) -> str:
    """Where a tenant finds all else about the provider (contract, OpenID Connect 2)."""
    return issuer(site) + WELL_KNOWN


def is_own(url: str) -> bool:
    """Whether a configuration is the sandbox's own, be it at an address of an earlier start."""
    return re.fullmatch(rf"https://localhost:\d+{re.escape(WELL_KNOWN)}", url) is not None


def expected_audience(site: Site) -> str:
    """Whom tokens are for: as `campus` is configured."""
    with site.database.read() as session:
        found = session.scalars(select(Tenant.audience).where(Tenant.name == CAMPUS)).first()
    return found or AUDIENCE


def people(site: Site) -> list[User]:
    """Whom the provider knows: the people of `campus`, also those whom the platform refuses."""
    with site.database.read() as session:
        found = select(User).join(Tenant).where(Tenant.name == CAMPUS).order_by(User.email)
        return list(session.scalars(found))


def issue(
    site: Site,
    email: str,
    *,
    seconds: int = SECONDS,
    audience: str | None = None,
    nonce: str | None = None,
) -> str:
    """An ID token.

    Args:
        site: the platform's.
        email: the address that it claims; also one that the platform does not know.
        seconds: how long it is good; below zero for one that has expired.
        audience: whom it is for; None for what `campus` expects.
        nonce: what the client gave to tell its own token by.
    """
    now = int(time.time())
    names = {user.email: user.name for user in people(site)}
    claims: dict[str, Any] = {
        "iss": issuer(site),
        "sub": subject(email),
        "aud": audience or expected_audience(site),
        "iat": now + min(0, seconds),
        "exp": now + seconds,
        "email": email,
        "email_verified": True,
        "name": names.get(email, email),
    }
    if nonce is not None:
        claims["nonce"] = nonce
    key = signing_keys(site.secrets)[0]
    return jwt.encode(claims, key.private, ALGORITHM, headers={"kid": key.kid})


def subject(email: str) -> str:
    """The same for the same person, and no address: a client tells people apart by it."""
    return hashlib.sha256(email.encode()).hexdigest()[:32]

"""Issue the provider's ID tokens (OpenID Connect Core 1.0, section 2)."""

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
"""Audience of the tokens, unless `campus` is configured otherwise."""

SECONDS = 3600
"""Lifetime of a token."""


def issuer(site: Site) -> str:
    """Return the provider's issuer: its origin."""
    return site.origins[PROVIDER]


def configuration_url(site: Site) -> str:
    """Return the address of the provider's configuration (contract, OpenID Connect 2)."""
    return issuer(site) + WELL_KNOWN


def is_own(url: str) -> bool:
    """Return whether a configuration is the sandbox's own, possibly on an earlier port."""
    return re.fullmatch(rf"https://localhost:\d+{re.escape(WELL_KNOWN)}", url) is not None


def expected_audience(site: Site) -> str:
    """Return the audience that `campus` is configured with."""
    with site.database.read() as session:
        audience = session.scalars(select(Tenant.audience).where(Tenant.name == CAMPUS)).first()
    return audience or AUDIENCE


def people(site: Site) -> list[User]:
    """Return the users of `campus`, including suspended ones, whom only the platform refuses."""
    with site.database.read() as session:
        users = select(User).join(Tenant).where(Tenant.name == CAMPUS).order_by(User.email)
        return list(session.scalars(users))


def user_of(site: Site, email: str) -> User | None:
    """Return the user of `campus` with exactly this address, if there is one."""
    # Not compared by the database: PostgreSQL refuses text with NUL, which a form can contain.
    return next((user for user in people(site) if user.email == email), None)


def issue(
    site: Site,
    email: str,
    *,
    seconds: int = SECONDS,
    audience: str | None = None,
    nonce: str | None = None,
) -> str:
    """Return a new ID token.

    Args:
        site: the platform's site.
        email: the email claim; it need not belong to a user.
        seconds: the lifetime; negative for a token that has expired.
        audience: the audience claim; None for the audience that `campus` expects.
        nonce: the nonce of the client's request.
    """
    now = int(time.time())
    user = user_of(site, email)
    claims: dict[str, Any] = {
        "iss": issuer(site),
        "sub": subject(email),
        "aud": audience or expected_audience(site),
        "iat": now + min(0, seconds),
        "exp": now + seconds,
        "email": email,
        "email_verified": True,
        "name": email if user is None else user.name,
    }
    if nonce is not None:
        claims["nonce"] = nonce
    key = signing_keys(site.secrets)[0]
    return jwt.encode(claims, key.private, ALGORITHM, headers={"kid": key.kid})


def subject(email: str) -> str:
    """Return the subject claim: stable for a user, and not an address."""
    return hashlib.sha256(email.encode()).hexdigest()[:32]

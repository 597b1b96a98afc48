"""Sign-in at the identity provider with an e-mail address and a user's secret.

Every account of the machine can reach the provider, so an address alone proves nothing. The
secrets are files in the sandbox's data folder that only the folder's owner can read.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from sqlalchemy import select

from labext.sandbox.folder import secret, write_secret
from labext.sandbox.lab.doors import CAMPUS
from labext.sandbox.lab.oidc.issuing import user_of
from labext.sandbox.lab.store import Tenant, User
from labext.sandbox.service import Site

SCHEME = "password"
"""The grant type by which a program signs in as a user (RFC 6749, 4.3)."""


class SignInRefused(Exception):
    """The user does not exist or the secret is wrong; the message does not say which."""

    def __init__(self) -> None:
        super().__init__("The e-mail address or the secret is not valid.")


def sign_in(site: Site, email: str, value: str) -> User:
    """Return the user who signs in.

    Args:
        site: the platform's site.
        email: the user's address.
        value: the user's secret; ignored where secrets are switched off.

    Raises:
        SignInRefused: the user does not exist, or the secret is wrong.
    """
    user = user_of(site, email)
    if user is None:
        raise SignInRefused
    if requires_secret(site):
        expected = user_secret(site.secrets, user.id)
        if not secrets.compare_digest(expected.encode(), value.encode(errors="replace")):
            raise SignInRefused
    return user


def requires_secret(site: Site) -> bool:
    """Return whether the provider asks for users' secrets; the default is yes."""
    with site.database.read() as session:
        required = session.scalars(
            select(Tenant.requires_user_secret).where(Tenant.name == CAMPUS)
        ).first()
    return required is not False


def user_secret(folder: Path, user_id: str) -> str:
    """Return the secret of a user; it is generated when it is first needed.

    Args:
        folder: `Site.secrets`.
        user_id: `ent_…`.
    """
    return secret(_file(folder, user_id))


def renew_user_secret(folder: Path, user_id: str) -> str:
    """Replace the secret of a user; the old one is no longer accepted. Args as `user_secret`."""
    write_secret(_file(folder, user_id), secrets.token_urlsafe(32))
    return user_secret(folder, user_id)


def forget_user_secret(folder: Path, user_id: str) -> None:
    """Delete the secret of a removed user. Args as `user_secret`."""
    _file(folder, user_id).unlink(missing_ok=True)


def _file(folder: Path, user_id: str) -> Path:
    return folder / f"lab_oidc_user_{user_id}"

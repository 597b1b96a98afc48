"""The providers' keys, encrypted at rest; what opens them is a secret of the sandbox.

A copy of the database alone gives no key away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from labext.redaction import keep_secret
from labext.sandbox.folder import secret
from labext.sandbox.nb import faults
from labext.sandbox.nb.models import steps
from labext.sandbox.nb.store import Credential
from labext.sandbox.service import Site

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

LONGEST = 10_000
"""Characters of a key."""


def checked(key: str) -> str:
    """A key that a header can have; masked in every message from now on.

    Raises:
        HTTPException: 400, it can't be a key.
    """
    keep_secret(key)
    if not (key.isascii() and key.isprintable() and " " not in key and 0 < len(key) <= LONGEST):
        raise faults.invalid(
            "This can't be a key: it is empty or too long, or holds blanks or signs that a header "
            "can't.",
            "Copy it again from the provider's page.",
        )
    return key


def encrypted(site: Site, key: str) -> bytes:
    """A key as it is stored; masked in every message from now on.

    Raises:
        HTTPException: 422, the secret that encrypts keys can't be used.
    """
    keep_secret(key)
    return sealed(site, key.encode())


def key_of(site: Site, credential: Credential) -> str | None:
    """The key of a credential, None where it has none; masked in every message from now on.

    Raises:
        HTTPException: 422, it was encrypted by another secret.
    """
    if credential.key is None:
        return None
    try:
        key = opened(site, credential.key).decode()
    except (HTTPException, ValueError):
        raise faults.unconfigured(
            f"The key of {credential.name} can't be read: the secret that encrypts keys has "
            "changed.",
            f"Give it again: {steps.new_key(credential.name)}.",
        ) from None
    keep_secret(key)
    return key


def error_of(site: Site, credential: Credential) -> str | None:
    """Why the key of a credential can't be read, in a sentence or two; None if all is well."""
    try:
        key_of(site, credential)
    except HTTPException as error:
        return str(error.detail)
    return None


def is_configured(site: Site) -> bool:
    """Whether keys can be encrypted."""
    try:
        _fernet(site)
    except HTTPException:
        return False
    return True


def sealed(site: Site, content: bytes) -> bytes:
    """Bytes as they are stored.

    Raises:
        HTTPException: 422, the secret that encrypts keys can't be used.
    """
    return _fernet(site).encrypt(content)


def opened(site: Site, stored: bytes) -> bytes:
    """What was stored.

    Raises:
        HTTPException: 422, the secret that encrypts keys can't be used.
        ValueError: it was encrypted by another one.
    """
    from cryptography.fernet import InvalidToken

    try:
        return _fernet(site).decrypt(stored)
    except InvalidToken:
        raise ValueError("encrypted by another secret") from None


def _fernet(site: Site) -> Fernet:
    """What encrypts by the sandbox's secret: 32 random bytes as Fernet writes them."""
    from cryptography.fernet import Fernet

    try:
        return Fernet(f"{secret(site.secrets / 'nb_encryption')}=".encode())
    except (ValueError, OSError):
        raise faults.unconfigured(
            "Keys can't be encrypted: the file nb_encryption among the sandbox's secrets is not "
            "what it was.",
            "Ask whoever runs the sandbox to restore it, or to remove it and give all keys again.",
        ) from None

"""The providers' keys, encrypted at rest; what opens them is a secret of the sandbox.

A copy of the database alone gives no key away.
"""

from __future__ import annotations

from labext.redaction import keep_secret
from labext.sandbox.folder import secret
from labext.sandbox.nb import faults
from labext.sandbox.nb.store import Credential
from labext.sandbox.service import Site


def encrypted(site: Site, key: str) -> bytes:
    """A key as it is stored; masked in every message from now on."""
    from cryptography.fernet import Fernet

    keep_secret(key)
    return Fernet(_opener(site)).encrypt(key.encode())


def key_of(site: Site, credential: Credential) -> str | None:
    """The key of a credential, None where it has none; masked in every message from now on.

    Raises:
        HTTPException: 422, it was encrypted by another secret.
    """
    from cryptography.fernet import Fernet, InvalidToken

    if credential.key is None:
        return None
    try:
        key = Fernet(_opener(site)).decrypt(credential.key).decode()
    except (InvalidToken, ValueError):
        raise faults.unconfigured(
            f"The key of {credential.name} can't be read: the secret that encrypts keys has "
            "changed. Give its models the key again: `labext sandbox nb models key NAME`."
        ) from None
    keep_secret(key)
    return key


def _opener(site: Site) -> bytes:
    """The secret that keys are encrypted by: 32 random bytes as Fernet writes them."""
    return f"{secret(site.secrets / 'nb_encryption')}=".encode()

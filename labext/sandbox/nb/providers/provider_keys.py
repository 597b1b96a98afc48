"""API keys of providers: encryption at rest, and keys from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson
from starlette.exceptions import HTTPException

from labext.redaction import register_secret
from labext.sandbox.core import provider_variables
from labext.sandbox.core.data_folder import ensure_secret, write_secret
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import addresses, errors
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.providers.registry import PROVIDERS, ProviderInfo
from labext.sandbox.nb.tables import Credential

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

MAX_KEY_LENGTH = 10_000
"""Characters of a key."""


def check_key(key: str) -> str:
    """A key that a header can have; masked in every message from now on.

    Raises:
        HTTPException: 400, it can't be a key.
    """
    register_secret(key)
    if not (
        key.isascii() and key.isprintable() and " " not in key and 0 < len(key) <= MAX_KEY_LENGTH
    ):
        raise errors.bad_request(
            "This can't be a key: it is empty or too long, or holds blanks or signs that a header "
            "can't.",
            "Copy it again from the provider's page.",
        )
    return key


def encrypt_key(site: Site, key: str) -> bytes:
    """A key as it is stored; masked in every message from now on.

    Raises:
        HTTPException: 422, the secret that encrypts keys can't be used.
    """
    register_secret(key)
    return encrypt(site, key.encode())


def decrypt_key(site: Site, credential: Credential) -> str | None:
    """The key of a credential, None where it has none; masked in every message from now on.

    Raises:
        HTTPException: 422, it was encrypted by another secret.
    """
    if credential.key is None:
        return None
    try:
        key = decrypt(site, credential.key).decode()
    except (HTTPException, ValueError):
        raise errors.not_configured(
            f"The key of {credential.name} can't be read: the secret that encrypts keys has "
            "changed.",
            f"Give it again: {registry.new_key_line(credential.name)}.",
        ) from None
    register_secret(key)
    return key


def key_error(site: Site, credential: Credential) -> str | None:
    """Why the key of a credential can't be read, in a sentence or two; None if all is well."""
    try:
        decrypt_key(site, credential)
    except HTTPException as error:
        return str(error.detail)
    return None


def is_encryption_configured(site: Site) -> bool:
    """Whether keys can be encrypted."""
    try:
        _fernet(site)
    except HTTPException:
        return False
    return True


def encrypt(site: Site, content: bytes) -> bytes:
    """Bytes as they are stored.

    Raises:
        HTTPException: 422, the secret that encrypts keys can't be used.
    """
    return _fernet(site).encrypt(content)


def decrypt(site: Site, stored: bytes) -> bytes:
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
        return Fernet(f"{ensure_secret(site.secrets / 'nb_encryption')}=".encode())
    except (ValueError, OSError):
        raise errors.not_configured(
            "Keys can't be encrypted: the file nb_encryption among the sandbox's secrets is not "
            "what it was.",
            "Ask whoever runs the sandbox to restore it, or to remove it and give all keys again.",
        ) from None


@dataclass(frozen=True)
class EnvironmentProvider:
    """What the environment says of a provider."""

    base_url: str | None
    key: str | None = field(repr=False)


def store_environment(site: Site, environment: Mapping[str, str] = os.environ) -> None:
    """Keep what the environment says, at a start of the service; forget what an earlier one said.

    Where it can't be encrypted nothing is kept, and the service starts all the same.
    """
    said = {
        name: environment[name].strip()
        for name in provider_variables.provider_variables() & environment.keys()
    }
    said = {name: value for name, value in said.items() if value}
    path = site.secrets / "nb_providers"
    path.unlink(missing_ok=True)
    if said and is_encryption_configured(site):
        _mask_keys(said)
        write_secret(path, encrypt(site, orjson.dumps(said)).decode())


def provider_from_environment(site: Site, known: ProviderInfo) -> EnvironmentProvider | None:
    """What the environment says of a provider; None where that is not enough to reach it."""
    return _parse_provider(_stored_environment(site), known)


def environment_status(site: Site) -> dict[str, bool]:
    """For every provider, whether the environment says how it is reached."""
    said = _stored_environment(site)
    return {name: _parse_provider(said, known) is not None for name, known in PROVIDERS.items()}


def _parse_provider(said: Mapping[str, str], known: ProviderInfo) -> EnvironmentProvider | None:
    key = said.get(provider_variables.key_variable(known.name))
    base_url = said.get(provider_variables.url_variable(known.name))
    if key is None if known.needs_key else base_url is None:
        return None
    try:
        return EnvironmentProvider(
            known.base_url if base_url is None else addresses.check_base_url(base_url),
            None if key is None else check_key(key),
        )
    except HTTPException:  # no address, or no key
        return None


def _stored_environment(site: Site) -> dict[str, str]:
    try:
        kept = (site.secrets / "nb_providers").read_bytes()
    except FileNotFoundError:
        return {}
    try:
        said: dict[str, str] = orjson.loads(decrypt(site, kept))
    except (HTTPException, ValueError):  # of an earlier secret
        return {}
    _mask_keys(said)
    return said


def _mask_keys(said: Mapping[str, str]) -> None:
    for name, value in said.items():
        register_secret(value if name.endswith("_API_KEY") else None)

"""API keys of providers: encryption at rest, and keys from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson
from starlette.exceptions import HTTPException

from labext.actions import Action
from labext.redaction import register_secret
from labext.sandbox.core.data_folder import ensure_secret, write_secret
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import addresses, errors
from labext.sandbox.nb.providers import provider_variables
from labext.sandbox.nb.providers.registry import PROVIDERS, ProviderInfo
from labext.sandbox.nb.tables import Credential

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

MAX_KEY_LENGTH = 10_000
"""Maximum characters of a key."""


def check_key(key: str) -> str:
    """Return a key that is valid in a header; mask it in messages from now on."""
    register_secret(key)
    if not (
        key.isascii() and key.isprintable() and " " not in key and 0 < len(key) <= MAX_KEY_LENGTH
    ):
        raise errors.bad_request(
            "The key is invalid: it is empty, too long, or not valid in a header.",
            "Copy it again from the provider's page.",
        )
    return key


def encrypt_key(site: Site, key: str) -> bytes:
    """Return a key encrypted for storage; mask it in messages from now on."""
    return cipher(site).encrypt(check_key(key).encode())


def decrypt_key(site: Site, credential: Credential) -> str | None:
    """Return the key of a credential, or None; mask it in messages from now on.

    Raises:
        HTTPException: 422 if it was encrypted with another secret.
    """
    from cryptography.fernet import InvalidToken

    if credential.key is None:
        return None
    try:
        key = cipher(site).decrypt(credential.key).decode()
    except (HTTPException, InvalidToken):
        raise errors.not_configured(
            f"The key of {credential.name} can't be read: the secret that encrypts keys has "
            "changed.",
            "Give it again.",
            Action.set_key(credential.name),
        ) from None
    register_secret(key)
    return key


def key_error(site: Site, credential: Credential) -> str | None:
    """Return why the key of a credential can't be read; None if it can."""
    try:
        decrypt_key(site, credential)
    except HTTPException as error:
        return str(error.detail)
    return None


def is_encryption_configured(site: Site) -> bool:
    """Return whether keys can be encrypted."""
    try:
        cipher(site)
    except HTTPException:
        return False
    return True


def cipher(site: Site) -> Fernet:
    """Return the cipher of keys with the sandbox's secret: 32 random bytes in Fernet's encoding."""
    from cryptography.fernet import Fernet

    try:
        return Fernet(f"{ensure_secret(site.secrets / 'nb_encryption')}=".encode())
    except (ValueError, OSError):
        raise errors.not_configured(
            "Keys can't be encrypted: the file nb_encryption in the sandbox's secrets folder is "
            "invalid.",
            "Restore the file from a backup, or remove it and enter all keys again.",
        ) from None


@dataclass(frozen=True)
class EnvironmentProvider:
    """The address and key of a provider from environment variables."""

    base_url: str | None
    key: str | None = field(repr=False)


def store_environment(site: Site, environment: Mapping[str, str] = os.environ) -> None:
    """Store the provider variables at service start, replacing those of earlier starts.

    If they can't be encrypted, nothing is stored, and the service starts regardless.
    """
    variables = {
        name: environment[name].strip()
        for name in provider_variables.provider_variables() & environment.keys()
    }
    variables = {name: value for name, value in variables.items() if value}
    path = site.secrets / "nb_providers"
    path.unlink(missing_ok=True)
    if variables and is_encryption_configured(site):
        _mask_keys(variables)
        write_secret(path, cipher(site).encrypt(orjson.dumps(variables)).decode())


def provider_from_environment(site: Site, provider: ProviderInfo) -> EnvironmentProvider | None:
    """Return a provider's settings from the environment; None if insufficient."""
    return _parse_provider(_stored_environment(site), provider)


def environment_status(site: Site) -> dict[str, bool]:
    """Return for every provider whether the environment configures it."""
    variables = _stored_environment(site)
    return {
        name: _parse_provider(variables, provider) is not None
        for name, provider in PROVIDERS.items()
    }


def _parse_provider(
    variables: Mapping[str, str], provider: ProviderInfo
) -> EnvironmentProvider | None:
    key = variables.get(provider_variables.key_variable(provider.name))
    base_url = variables.get(provider_variables.url_variable(provider.name))
    if key is None if provider.needs_key else base_url is None:
        return None
    try:
        return EnvironmentProvider(
            provider.base_url if base_url is None else addresses.check_base_url(base_url),
            None if key is None else check_key(key),
        )
    except HTTPException:  # invalid address or key
        return None


def _stored_environment(site: Site) -> dict[str, str]:
    from cryptography.fernet import InvalidToken

    try:
        encrypted = (site.secrets / "nb_providers").read_bytes()
        variables: dict[str, str] = orjson.loads(cipher(site).decrypt(encrypted))
    except (FileNotFoundError, HTTPException, InvalidToken):  # encrypted with an earlier secret
        return {}
    _mask_keys(variables)
    return variables


def _mask_keys(variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        register_secret(value if name.endswith("_API_KEY") else None)

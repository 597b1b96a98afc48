"""Read and save secrets: environment, session and keyring."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache

from labext.errors import InputError
from labext.redaction import register_secret

SECRET_NAMES: Mapping[str, tuple[str, ...]] = {
    "lab": ("api_key", "client_id", "client_secret", "id_token", "oidc_secret"),
    "jobs": ("api_key",),
    "nb": ("password",),
}
"""The names of each service's secrets."""

PUBLIC_NAMES = frozenset({"client_id"})
"""Names of secrets that identify an app but give no access; their values may be displayed."""

ENVIRONMENT = "environment"
"""Stands for a profile in the names of secrets that belong to the address of the environment."""

_KEYRING = "labext"

_session_secrets: dict[str, str] = {}


def environment_variable(service: str, name: str) -> str:
    """Return the environment variable of a secret, such as `LABEXT_JOBS_API_KEY`."""
    return f"LABEXT_{service.upper()}_{name.upper()}"


def from_environment(service: str, name: str) -> str | None:
    """Return a secret from the environment, or None if it is not set or blank."""
    return os.environ.get(environment_variable(service, name), "").strip() or None


def saved_secret(service: str, profile: str | None, name: str) -> str | None:
    """Return a secret saved in this session or in the keyring, None if there is none.

    A secret is read from the keyring once, until `read_keyring_again`, because that may be slow, or
    ask the user to unlock the keyring.
    """
    user = _keyring_user(service, profile, name)
    return _session_secrets.get(user) or _keyring_get(user)


def read_keyring_again() -> None:
    """Read secrets from the keyring anew, since another program may have changed them."""
    _keyring_get.cache_clear()


def is_in_keyring(service: str, profile: str | None) -> bool:
    """Return whether the keyring has a secret of a service."""
    return any(
        _keyring_get(_keyring_user(service, profile, name)) is not None
        for name in SECRET_NAMES[service]
    )


def save_secret(service: str, profile: str | None, name: str, value: str) -> bool:
    """Save a secret in the keyring; without one, for this session only.

    Args:
        service: `lab`, `jobs` or `nb`.
        profile: the profile of the secret; None for the address of the environment.
        name: a name in `SECRET_NAMES`.
        value: the secret.

    Returns:
        True if the secret was saved in the keyring.
    """
    if name not in SECRET_NAMES.get(service, ()):
        names = ", ".join(SECRET_NAMES.get(service, ()))
        raise InputError(f"{service} has no secret called {name}.", f"There are: {names}.")
    mask_secrets({name: value})
    user = _keyring_user(service, profile, name)
    if _keyring_set(user, value):
        _session_secrets.pop(user, None)
        return True
    _session_secrets[user] = value
    return False


def mask_secrets(secrets: Mapping[str, str]) -> None:
    """Register secrets for masking in messages and logs."""
    for name, value in secrets.items():
        if name not in PUBLIC_NAMES:
            register_secret(value)


def forget_secret(service: str, profile: str | None, name: str) -> None:
    """Remove a secret from this session and from the keyring."""
    user = _keyring_user(service, profile, name)
    _session_secrets.pop(user, None)
    _keyring_delete(user)


def forget_session_secrets(service: str, profile: str | None) -> None:
    """Forget this session's secrets of a profile; the keyring stays unchanged."""
    for name in SECRET_NAMES[service]:
        _session_secrets.pop(_keyring_user(service, profile, name), None)
    read_keyring_again()


def forget_session() -> None:
    """Forget this session's secrets; the keyring stays unchanged."""
    _session_secrets.clear()
    read_keyring_again()


def _keyring_user(service: str, profile: str | None, name: str) -> str:
    return f"{profile or ENVIRONMENT}/{service}/{name}"


# Backends raise various exceptions, such as those of D-Bus. Any of them means that there is no
# usable keyring. Their texts are not displayed, since they may contain the secret.


@cache
def _keyring_get(user: str) -> str | None:
    with suppress(Exception):
        import keyring

        return keyring.get_password(_KEYRING, user)
    return None


def _keyring_set(user: str, value: str) -> bool:
    with suppress(Exception):
        import keyring

        keyring.set_password(_KEYRING, user, value)
    read_keyring_again()
    return _keyring_get(user) == value  # a null keyring accepts secrets and discards them


def _keyring_delete(user: str) -> None:
    with suppress(Exception):
        import keyring

        keyring.delete_password(_KEYRING, user)
    read_keyring_again()

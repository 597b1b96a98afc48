"""Where a service's secrets come from: the environment, this session, the keyring."""

from __future__ import annotations

import os
from collections.abc import Mapping

from labext.errors import InputError
from labext.redaction import keep_secret

NAMES: Mapping[str, tuple[str, ...]] = {
    "lab": ("api_key", "client_id", "client_secret", "id_token", "oidc_secret"),
    "jobs": ("api_key",),
    "nb": ("password",),
}
"""What each service is signed in to with."""

OPEN = frozenset({"client_id"})
"""Those of them that name somebody and open nothing: they may be seen."""

_KEYRING = "labext"

_held: dict[str, str] = {}


def variable(service: str, name: str) -> str:
    """Return the environment's name for it: `LABEXT_JOBS_API_KEY` for the jobs' `api_key`."""
    return f"LABEXT_{service.upper()}_{name.upper()}"


def from_environment(service: str, name: str) -> str | None:
    """Return what the environment says, or None where it says nothing."""
    return os.environ.get(variable(service, name)) or None


def kept(service: str, profile: str | None, name: str) -> str | None:
    """Return what was saved: in this session, or in the keyring.

    The keyring is asked once a session: it may take its time, or ask the user to unlock it.
    """
    user = _user(service, profile, name)
    found = _held.get(user) or _keyring_get(user)
    if found is not None:
        _held[user] = found
    return found


def is_in_keyring(service: str, profile: str | None) -> bool:
    """Say whether the keyring has anything that signs in to a service."""
    return any(_keyring_get(_user(service, profile, name)) is not None for name in NAMES[service])


def save_secret(service: str, profile: str | None, name: str, value: str) -> bool:
    """Keep a secret in the keyring; where there is none, for this session only.

    Args:
        service: `lab`, `jobs` or `nb`.
        profile: whose it is; None for the address of the environment.
        name: as in `NAMES`.
        value: the secret.

    Returns:
        Whether it outlives the session.
    """
    if name not in NAMES.get(service, ()):
        names = ", ".join(NAMES.get(service, ()))
        raise InputError(f"{service} has no secret called {name}.", f"There is: {names}.")
    keep_masked({name: value})
    user = _user(service, profile, name)
    _held[user] = value
    return _keyring_set(user, value)


def keep_masked(secrets: Mapping[str, str]) -> None:
    """Mask secrets wherever they turn up from now on."""
    for name, value in secrets.items():
        if name not in OPEN:
            keep_secret(value)


def forget_secret(service: str, profile: str | None, name: str) -> None:
    """Remove a secret from this session and from the keyring."""
    user = _user(service, profile, name)
    _held.pop(user, None)
    _keyring_delete(user)


def forget_held(service: str, profile: str | None) -> None:
    """Forget what this session was told for a profile; the keyring stays as it is."""
    for name in NAMES[service]:
        _held.pop(_user(service, profile, name), None)


def forget_session() -> None:
    """Forget what this session was told; the keyring stays as it is."""
    _held.clear()


def _user(service: str, profile: str | None, name: str) -> str:
    return f"{profile or 'environment'}/{service}/{name}"


def _keyring_get(user: str) -> str | None:
    import keyring
    import keyring.errors

    try:
        return keyring.get_password(_KEYRING, user)
    except keyring.errors.KeyringError:
        return None  # no keyring here, or a locked one: the secret has to come from elsewhere


def _keyring_set(user: str, value: str) -> bool:
    import keyring
    import keyring.errors

    try:
        keyring.set_password(_KEYRING, user, value)
    except keyring.errors.KeyringError:
        return False
    return _keyring_get(user) == value  # a null keyring takes all and keeps nothing


def _keyring_delete(user: str) -> None:
    import keyring
    import keyring.errors

    try:
        keyring.delete_password(_KEYRING, user)
    except keyring.errors.KeyringError:
        return  # it was not there, or there is no keyring

"""Where each service is, and how to sign in: profiles, the environment, the keyring.

A profile has a name and, for each service, an address and options; they stand in `profiles.toml`
in the platform's config folder. A secret never does: it comes from the environment or the keyring.
The profile `sandbox` is reserved: the running sandbox writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from labext import profiles as _file
from labext import secret_store as _secrets
from labext.connections import (
    OPTIONS,
    SANDBOX,
    SECURE,
    SERVICES,
    Connection,
    Service,
    of_environment,
    of_profile,
    of_sandbox,
    service_url,
)
from labext.errors import InputError, SetupError
from labext.folders import choose_sandbox, config_dir, sandbox_dir, state_dir
from labext.profiles import clean_url
from labext.secret_store import forget_secret, from_environment, save_secret

__all__ = [
    "OPTIONS",
    "SANDBOX",
    "SECURE",
    "SERVICES",
    "Connection",
    "Service",
    "choose_profile",
    "choose_sandbox",
    "chosen",
    "clean_url",
    "config_dir",
    "connection",
    "forget_secret",
    "forget_session",
    "known",
    "profiles",
    "sandbox_dir",
    "save_profile",
    "save_secret",
    "service_url",
    "sign_out",
    "state_dir",
    "use",
]

_chosen: dict[Service, tuple[str, Mapping[str, str]]] = {}
_used: dict[Service, Connection] = {}
_signed_out: set[Service] = set()


def connection(service: Service, profile: str | None = None) -> Connection:
    """Return how to reach a service.

    The first that is there: the given profile, the session's choice (a profile, or what `use` was
    given), the environment (`LABEXT_JOBS_BASE_URL` …), the profile `default`.

    After `sign_out` the session's own has no secrets.

    Raises:
        SetupError: nothing says where the service is.
    """
    found = known(service, profile)
    return replace(found, secrets={}) if profile is None and service in _signed_out else found


def known(service: Service, profile: str | None = None) -> Connection:
    """Return the same with all that there is to sign in, also after `sign_out`."""
    _checked(service)
    if profile is not None:
        return of_sandbox(service) if profile == SANDBOX else of_profile(service, profile)
    if service in _chosen:
        name, options = _chosen[service]
        found = known(service, name)
        return replace(found, options={**found.options, **options})
    if service in _used:
        return _used[service]
    base_url = from_environment(service, "base_url")
    if base_url:
        return of_environment(service, base_url)
    if service in _file.read().get("default", {}):
        return of_profile(service, "default")
    raise SetupError(
        f"No {service} service is configured.",
        f"Run `%lab sandbox start` for a local one, or `%{service} connect URL`.",
    )


def choose_profile(
    service: Service | None, name: str | None, options: Mapping[str, str] | None = None
) -> None:
    """Use a profile for this session, for one service or (None) for all; None forgets the choice.

    Args:
        service: for which.
        name: the profile.
        options: what holds for this session in place of the profile's own, as in `OPTIONS`.

    Raises:
        SetupError: there is no such profile.
    """
    if name is not None and name != SANDBOX:
        _file.existing(name, SANDBOX)
    for each in SERVICES if service is None else (_checked(service),):
        _forget_choice(each)
        if name is not None:
            _chosen[each] = name, dict(options or {})


def use(connection: Connection) -> None:
    """Use an address of no profile for this session, with the secrets that were typed for it."""
    _secrets.keep_masked(connection.secrets)
    _forget_choice(connection.service)
    _used[connection.service] = connection


def sign_out(service: Service) -> Connection:
    """Have no secrets of a service in this session, until `choose_profile` or `use` is called.

    What was typed is forgotten. The environment and the keyring stay as they are: `known` has them.

    Returns:
        How the service was reached.

    Raises:
        SetupError: nothing says where the service is.
    """
    found = known(service)
    if service in _used and found.profile in profiles():
        del _used[service]
        _chosen[service] = found.profile, found.options
    elif service in _used:
        _used[service] = replace(found, secrets={})
    _secrets.forget_held(service, found.profile)
    _signed_out.add(service)
    return found


def chosen(service: Service) -> str | None:
    """Return the profile that this session has chosen for a service."""
    return _chosen[service][0] if service in _chosen else None


def profiles() -> list[str]:
    """Return the names of the profiles, the sandbox's first if it has been started."""
    running = [SANDBOX] if (sandbox_dir() / "connection.json").exists() else []
    return running + sorted(_file.read())


def check_profile_name(name: str) -> None:
    """Check the name of a profile that is to be written.

    Raises:
        InputError: it can't be one, or is the sandbox's.
    """
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) or name == SANDBOX:
        why = "is kept for the sandbox" if name == SANDBOX else "is no name for a profile"
        raise InputError(f"{name!r} {why}.", "Use letters, digits, `_`, `.` and `-`.")


def save_profile(
    name: str, service: Service, base_url: str, options: Mapping[str, str] | None = None
) -> None:
    """Write where a service is under a profile's name; the profile's other services stay.

    Raises:
        InputError: a name, address or option that can't be one.
        StorageError: the config folder can't be written.
    """
    check_profile_name(name)
    unknown = sorted(set(options or {}).difference(OPTIONS))
    if unknown:
        raise InputError(
            f"A profile has no option {', '.join(unknown)}.", f"Options are {', '.join(OPTIONS)}."
        )
    entry = {"base_url": service_url(_checked(service), base_url), **(options or {})}
    written = _file.read()
    written.setdefault(name, {})[service] = entry
    _file.write(written)


def forget_session() -> None:
    """Forget what this session chose and was told: profiles, the sandbox's folder, secrets."""
    _chosen.clear()
    _used.clear()
    _signed_out.clear()
    _secrets.forget_session()
    choose_sandbox(None)


def _forget_choice(service: Service) -> None:
    _chosen.pop(service, None)
    _used.pop(service, None)
    _signed_out.discard(service)


def _checked(service: Service) -> Service:
    if service not in SERVICES:
        raise InputError(f"There is no service {service!r}.", "The services are lab, jobs and nb.")
    return service

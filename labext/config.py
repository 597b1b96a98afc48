"""Where each service is, and how to sign in: profiles, the environment, the keyring.

A profile has a name and, for each service, an address and options; they stand in `profiles.toml`
in the platform's config folder. A secret never does: it comes from the environment or the keyring.
The profile `sandbox` is reserved: the running sandbox writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from labext import profiles as _file
from labext import secret_store as _secrets
from labext.errors import InputError, SetupError
from labext.folders import choose_sandbox, config_dir, sandbox_dir, state_dir
from labext.profiles import clean_url
from labext.redaction import keep_secret
from labext.secret_store import forget_secret, from_environment, save_secret

__all__ = [
    "OPTIONS",
    "SANDBOX",
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
    "profiles",
    "sandbox_dir",
    "save_profile",
    "save_secret",
    "state_dir",
    "use",
]

Service = Literal["lab", "jobs", "nb"]

SERVICES: tuple[Service, ...] = get_args(Service)

SANDBOX = "sandbox"
"""The profile that the running sandbox writes."""

OPTIONS = ("ca_bundle",)
"""What else a profile may hold for a service."""

_chosen: dict[Service, str] = {}
_used: dict[Service, Connection] = {}


@dataclass(frozen=True)
class Connection:
    """How to reach a service.

    Attributes:
        service: `lab`, `jobs` or `nb`.
        profile: where this comes from; None for the environment.
        base_url: the service's address.
        secrets: by name, as in `labext.secret_store.NAMES`; what is not known is missing.
        options: by name, as in `OPTIONS`.
    """

    service: Service
    profile: str | None
    base_url: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    options: Mapping[str, str] = field(default_factory=dict)


def connection(service: Service, profile: str | None = None) -> Connection:
    """Return how to reach a service.

    The first that is there: the given profile, the session's choice (a profile, or what `use` was
    given), the environment (`LABEXT_JOBS_BASE_URL` …), the profile `default`.

    Raises:
        SetupError: nothing says where the service is.
    """
    _checked(service)
    name = profile or _chosen.get(service)
    if name is None and service in _used:
        return _used[service]
    base_url = from_environment(service, "base_url")
    if name is None and base_url:
        return _from_environment(service, base_url)
    if name is None and service in _file.read().get("default", {}):
        name = "default"
    if name is None:
        raise SetupError(
            f"No {service} service is configured.",
            f"Run `%lab sandbox start` for a local one, or `%{service} connect URL`.",
        )
    return _from_sandbox(service) if name == SANDBOX else _from_profile(service, name)


def choose_profile(service: Service | None, name: str | None) -> None:
    """Use a profile for this session, for one service or (None) for all; None forgets the choice.

    Raises:
        SetupError: there is no such profile.
    """
    if name is not None and name != SANDBOX:
        _file.existing(name, SANDBOX)
    for each in SERVICES if service is None else (_checked(service),):
        _used.pop(each, None)
        _chosen.pop(each, None)
        if name is not None:
            _chosen[each] = name


def use(connection: Connection) -> None:
    """Use an address of no profile for this session, with the secrets that were typed for it."""
    for value in connection.secrets.values():
        keep_secret(value)
    _chosen.pop(connection.service, None)
    _used[connection.service] = connection


def chosen(service: Service) -> str | None:
    """Return the profile that this session has chosen for a service."""
    return _chosen.get(service)


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
    entry = {"base_url": clean_url(base_url), **(options or {})}
    known = _file.read()
    known.setdefault(name, {})[_checked(service)] = entry
    _file.write(known)


def forget_session() -> None:
    """Forget what this session chose and was told: profiles, the sandbox's folder, secrets."""
    _chosen.clear()
    _used.clear()
    _secrets.forget_session()
    choose_sandbox(None)


def _from_environment(service: Service, base_url: str) -> Connection:
    secrets = {
        name: from_environment(service, name) or _secrets.kept(service, None, name)
        for name in _secrets.NAMES[service]
    }
    options = {name: from_environment(service, name) for name in OPTIONS}
    return _connection(service, None, clean_url(base_url), secrets, options)


def _from_profile(service: Service, name: str) -> Connection:
    entry = _file.existing(name, SANDBOX).get(service)
    if not isinstance(entry, dict) or not isinstance(entry.get("base_url"), str):
        raise SetupError(
            f"The profile {name} has no address for {service}.",
            f"Run `%{service} connect URL --save {name}`, or choose another profile.",
        )
    # A key of the environment belongs to the environment's address, if it names one.
    free = from_environment(service, "base_url") is None
    secrets = {
        secret: (from_environment(service, secret) if free else None)
        or _secrets.kept(service, name, secret)
        for secret in _secrets.NAMES[service]
    }
    return _connection(service, name, clean_url(entry["base_url"]), secrets, entry)


def _from_sandbox(service: Service) -> Connection:
    try:
        entry = json.loads((sandbox_dir() / "connection.json").read_text("utf-8"))[service]
        base_url = str(entry["base_url"])
    except (OSError, ValueError, KeyError, TypeError):
        entry = None
    if entry is None:
        raise SetupError(
            f"The sandbox's {service} service is not running.", "Run `%lab sandbox start`."
        )
    return _connection(service, SANDBOX, base_url, entry, entry)


def _connection(
    service: Service,
    profile: str | None,
    base_url: str,
    secrets: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Connection:
    known = _texts(secrets, _secrets.NAMES[service])
    for value in known.values():
        keep_secret(value)
    return Connection(service, profile, base_url, known, _texts(options, OPTIONS))


def _texts(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    found = {name: values.get(name) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, str) and value}


def _checked(service: Service) -> Service:
    if service not in SERVICES:
        raise InputError(f"There is no service {service!r}.", "The services are lab, jobs and nb.")
    return service

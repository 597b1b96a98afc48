"""Addresses and credentials of the services, profiles, and folders of this machine."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from labext import messages
from labext.actions import Action
from labext.config import secret_store as _secrets
from labext.config.secret_store import forget_secret, from_environment, save_secret
from labext.errors import InputError, SetupError, StorageError
from labext.storage import make_folder, write_atomic

Service = Literal["lab", "jobs", "nb"]

SERVICES: tuple[Service, ...] = get_args(Service)

SANDBOX = "sandbox"
"""The profile that the running sandbox writes."""

OPTIONS = (
    *("ca_bundle", "method", "user", "backend"),
    *("oidc_configuration_url", "oidc_client_id", "oidc_user"),
    *("max_response_mib", "max_response_seconds"),
)
"""Further options of a service in a profile: the CA bundle, the sign-in method, the e-mail address
of the user for whom an app acts, and the kind of server; for an identity provider its OpenID
configuration, the client that ID tokens are for, and the user who signs in; and the limits of a
response (`labext.http.connection_pool`).
"""

HTTPS_ONLY: frozenset[Service] = frozenset({"lab"})
"""The services that accept HTTPS only (LAB-1)."""


@dataclass(frozen=True)
class Connection:
    """How to reach a service.

    Attributes:
        service: `lab`, `jobs` or `nb`.
        profile: the profile of this connection; None for the environment.
        base_url: the service's address.
        secrets: by name, as in `secret_store.SECRET_NAMES`; unknown ones are missing.
        options: by name, as in `OPTIONS`.
    """

    service: Service
    profile: str | None
    base_url: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    options: Mapping[str, str] = field(default_factory=dict)


def service_url(service: Service, base_url: str) -> str:
    """Return the normalized address of a service.

    Raises:
        InputError: it is invalid, or not encrypted although the service requires that.
    """
    return clean_url(base_url, secure=service in HTTPS_ONLY)


def connection_from_environment(service: Service, base_url: str) -> Connection:
    """Return how to reach the address that the environment names; InputError if it can't be one."""
    secrets = {
        name: from_environment(service, name) or _secrets.saved_secret(service, None, name)
        for name in _secrets.SECRET_NAMES[service]
    }
    options = {name: from_environment(service, name) for name in OPTIONS}
    return _build_connection(service, None, service_url(service, base_url), secrets, options)


def connection_from_profile(service: Service, name: str) -> Connection:
    """Return a service's connection from a profile; SetupError if there is none."""
    entry = get_profile(name, SANDBOX).get(service)
    if not isinstance(entry, dict) or not isinstance(entry.get("base_url"), str):
        raise SetupError(
            f"The profile {name} has no address for {service}.",
            "Add one: {action}; or choose another profile.",
            action=Action.connect(service, name),
        )
    _check_profile_keys(name, service, entry)
    secrets = {
        secret: _environment_secret(service, secret) or _secrets.saved_secret(service, name, secret)
        for secret in _secrets.SECRET_NAMES[service]
    }
    options = {key: _number_to_text(value) for key, value in entry.items()}
    return _build_connection(
        service, name, service_url(service, entry["base_url"]), secrets, options
    )


def _check_profile_keys(name: str, service: Service, entry: Mapping[str, Any]) -> None:
    """Check that a service's entry in the profiles file has known keys only."""
    known = ("base_url", *OPTIONS)
    for key in entry:
        if key not in known:
            near = messages.did_you_mean(key, known)
            raise SetupError(
                f"The profile {name} has an unknown key {key} for {service}{near}.",
                f"Remove or rename it in {profiles_path()}.",
            )


def connection_from_sandbox(service: Service) -> Connection:
    """Return a service's connection from the running sandbox; SetupError if none runs."""
    try:
        entry = json.loads((sandbox_dir() / "connection.json").read_text("utf-8"))[service]
        base_url = str(entry["base_url"])
    except (OSError, ValueError, KeyError, TypeError):
        entry = None
    if entry is None:
        raise SetupError(
            f"The sandbox's {service} service is not running.", action=Action.start_sandbox()
        )
    # Its own come first. It has no ID token: `oidc_secret` gets one when it is needed.
    secrets = {
        secret: entry.get(secret) or _environment_secret(service, secret)
        for secret in _secrets.SECRET_NAMES[service]
    }
    return _build_connection(service, SANDBOX, base_url, secrets, entry)


def is_sandbox(url: str) -> bool:
    """Return whether an address is on a server of the sandbox that was started last."""
    try:
        entries = json.loads((sandbox_dir() / "connection.json").read_text("utf-8"))
        addresses = [
            str(entries[service]["base_url"]) for service in SERVICES if service in entries
        ]
        return any(same_server(address, url) for address in addresses)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _environment_secret(service: Service, secret: str) -> str | None:
    """Return the environment's secret, unless it belongs to the address that it names."""
    named = from_environment(service, "base_url")
    return None if named is not None else from_environment(service, secret)


def _build_connection(
    service: Service,
    profile: str | None,
    base_url: str,
    secrets: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Connection:
    secret_values = _text_values(secrets, _secrets.SECRET_NAMES[service])
    _secrets.mask_secrets(secret_values)
    return Connection(service, profile, base_url, secret_values, _text_values(options, OPTIONS))


def _number_to_text(value: Any) -> Any:
    """Return a number of a profile as text, like every other option."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _text_values(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    texts = {name: values.get(name) for name in names}
    return {name: value for name, value in texts.items() if isinstance(value, str) and value}


__all__ = [
    "HTTPS_ONLY",
    "OPTIONS",
    "SANDBOX",
    "SERVICES",
    "Connection",
    "Service",
    "cache_dir",
    "choose_profile",
    "choose_sandbox",
    "chosen_profile",
    "clean_url",
    "config_dir",
    "connection",
    "connection_with_secrets",
    "forget_secret",
    "forget_session",
    "profile_names",
    "sandbox_dir",
    "save_profile",
    "save_secret",
    "service_url",
    "sign_out",
    "state_dir",
    "use_connection",
]

_chosen_profiles: dict[Service, tuple[str, Mapping[str, str]]] = {}
_used_connections: dict[Service, Connection] = {}
_signed_out: set[Service] = set()


def connection(service: Service, profile: str | None = None) -> Connection:
    """Return the connection to a service.

    The first of these that exists: the given profile, the session's choice (a profile, or the
    arguments of `use`), the environment (`LABEXT_JOBS_BASE_URL` …), the profile `default`.

    After `sign_out` the session's own choice has no secrets.

    Raises:
        SetupError: no address of the service is configured.
    """
    result = connection_with_secrets(service, profile)
    return replace(result, secrets={}) if profile is None and service in _signed_out else result


def connection_with_secrets(service: Service, profile: str | None = None) -> Connection:
    """Return the connection with all its secrets, also after `sign_out`."""
    _check_service(service)
    if profile is not None:
        return (
            connection_from_sandbox(service)
            if profile == SANDBOX
            else connection_from_profile(service, profile)
        )
    if service in _chosen_profiles:
        name, options = _chosen_profiles[service]
        result = connection_with_secrets(service, name)
        return replace(result, options={**result.options, **options})
    if service in _used_connections:
        return _used_connections[service]
    base_url = from_environment(service, "base_url")
    if base_url:
        return connection_from_environment(service, base_url)
    if service in read_profiles().get("default", {}):
        return connection_from_profile(service, "default")
    raise SetupError(
        f"No {service} service is configured.",
        f"Run {{action}} for a local one, or {Action.connect(service)}.",
        action=Action.start_sandbox(),
    )


def choose_profile(
    service: Service | None, name: str | None, options: Mapping[str, str] | None = None
) -> None:
    """Use a profile for this session, for one service or (None) for all; None forgets the choice.

    Args:
        service: the service.
        name: the profile.
        options: options as in `OPTIONS` that replace the profile's own in this session.

    Raises:
        SetupError: there is no such profile.
    """
    if name is not None and name != SANDBOX:
        get_profile(name, SANDBOX)
    for target in SERVICES if service is None else (_check_service(service),):
        _forget_choice(target)
        if name is not None:
            _chosen_profiles[target] = name, dict(options or {})


def use_connection(connection: Connection) -> None:
    """Use an address of no profile for this session, with the secrets that were typed for it."""
    _secrets.mask_secrets(connection.secrets)
    _forget_choice(connection.service)
    _used_connections[connection.service] = connection


def sign_out(service: Service) -> Connection:
    """Drop a service's secrets for this session, until `choose_profile` or `use` is called.

    Secrets typed in this session are forgotten. The environment and the keyring stay as they are:
    `connection_with_secrets` still reads them.

    Returns:
        The connection used until now.

    Raises:
        SetupError: no address of the service is configured.
    """
    current = connection_with_secrets(service)
    if service in _used_connections and current.profile in profile_names():
        del _used_connections[service]
        _chosen_profiles[service] = current.profile, current.options
    elif service in _used_connections:
        _used_connections[service] = replace(current, secrets={})
    _secrets.forget_session_secrets(service, current.profile)
    _signed_out.add(service)
    return current


def chosen_profile(service: Service) -> str | None:
    """Return the profile that this session has chosen for a service."""
    return _chosen_profiles[service][0] if service in _chosen_profiles else None


def profile_names() -> list[str]:
    """Return the names of the profiles, the sandbox's first if it has been started."""
    running = [SANDBOX] if (sandbox_dir() / "connection.json").exists() else []
    return running + sorted(read_profiles())


def check_profile_name(name: str) -> None:
    """Check the name of a profile that is to be written.

    Raises:
        InputError: it can't be one, or is the sandbox's.
    """
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) or name == SANDBOX:
        why = "is kept for the sandbox" if name == SANDBOX else "is not a valid profile name"
        raise InputError(f"{name!r} {why}.", "Use letters, digits, `_`, `.` and `-`.")


def save_profile(
    name: str, service: Service, base_url: str, options: Mapping[str, str] | None = None
) -> None:
    """Write a service's address to a profile; the profile's other services stay.

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
    entry = {"base_url": service_url(_check_service(service), base_url), **(options or {})}
    written = read_profiles()
    written.setdefault(name, {})[service] = entry
    write_profiles(written)


def forget_session() -> None:
    """Forget this session's choices: profiles, the sandbox's folder, secrets."""
    _chosen_profiles.clear()
    _used_connections.clear()
    _signed_out.clear()
    _secrets.forget_session()
    choose_sandbox(None)


def _forget_choice(service: Service) -> None:
    _chosen_profiles.pop(service, None)
    _used_connections.pop(service, None)
    _signed_out.discard(service)


def _check_service(service: Service) -> Service:
    if service not in SERVICES:
        raise InputError(f"There is no service {service!r}.", "The services are lab, jobs and nb.")
    return service


_chosen_sandbox: Path | None = None


def config_dir() -> Path:
    """Return the folder of the profiles; it need not exist yet."""
    return _environment_path("LABEXT_CONFIG_DIR") or _platform_dir("user_config_path")


def state_dir() -> Path:
    """Return the folder for journals; it need not exist yet."""
    return _environment_path("LABEXT_STATE_DIR") or _platform_dir("user_state_path")


def cache_dir() -> Path:
    """Return the folder for files that can be made again; it need not exist yet."""
    return _environment_path("LABEXT_CACHE_DIR") or _platform_dir("user_cache_path")


def sandbox_dir() -> Path:
    """Return the data folder of the sandbox that this session uses; it need not exist yet."""
    return _chosen_sandbox or _environment_path("LABEXT_SANDBOX_DIR") or _platform_sandbox()


def is_default_sandbox(data_dir: Path) -> bool:
    """Return whether every shell finds this data folder without configuration."""
    return "LABEXT_SANDBOX_DIR" not in os.environ and data_dir == _platform_sandbox()


def choose_sandbox(data_dir: Path | str | None) -> None:
    """Use the sandbox in another data folder for this session; None goes back to the usual one."""
    global _chosen_sandbox
    _chosen_sandbox = None if data_dir is None else Path(data_dir).expanduser().absolute()


def _platform_sandbox() -> Path:
    return _platform_dir("user_data_path") / "sandbox"


def _environment_path(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value).expanduser().absolute() if value else None


def _platform_dir(kind: str) -> Path:
    import platformdirs

    folder: Path = getattr(platformdirs, kind)("labext", appauthor=False)
    return folder


Profile = dict[str, Any]


def profiles_path() -> Path:
    """Return the file's path."""
    return config_dir() / "profiles.toml"


def read_profiles() -> dict[str, Profile]:
    """Return all profiles by name; empty if there is no file.

    Raises:
        SetupError: the file can't be read, or is not TOML.
    """
    try:
        profiles = tomllib.loads(profiles_path().read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as failure:
        why = str(failure)
    else:
        return {name: entry for name, entry in profiles.items() if isinstance(entry, dict)}
    raise SetupError(
        f"The profiles in {profiles_path()} can't be read ({why}).",
        "Correct that file, or remove it.",
    )


def get_profile(name: str, *others: str) -> Profile:
    """Return one profile.

    Raises:
        SetupError: there is none of that name; names a near one, or all, `others` too.
    """
    profiles = read_profiles()
    if name in profiles:
        return profiles[name]
    names = [*profiles, *others]
    suggestion = messages.closest_match(name, names)
    hint = f"Did you mean {suggestion}?" if suggestion else f"There are: {', '.join(names)}."
    raise SetupError(f"There is no profile {name}.", hint)


def write_profiles(known: Mapping[str, Profile]) -> None:
    """Replace the file atomically.

    Raises:
        StorageError: the folder can't be written.
    """
    import tomli_w

    file = profiles_path()
    try:
        make_folder(file.parent)
        write_atomic(file, tomli_w.dumps(dict(known)).encode())
    except StorageError as error:
        raise StorageError(
            error.message, "Make the folder writable, or set LABEXT_CONFIG_DIR to another one."
        ) from None


def same_server(one: str, other: str) -> bool:
    """Whether two addresses that `clean_url` took are of one server: scheme, host and port."""
    return _server(one) == _server(other)


def _server(base_url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(base_url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def clean_url(base_url: str, *, secure: bool = False) -> str:
    """Return a normalized address.

    Args:
        base_url: as it was given.
        secure: only HTTPS will do.

    Raises:
        InputError: it is no HTTP address, is not encrypted where it has to be, or holds a user, a
            password or a query.
    """
    url = base_url.strip()
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url or "\\" in url:
        raise InputError(
            f"{base_url!r} is not the address of a service.",
            f"Give one that begins with {'' if secure else 'http:// or '}https://, a host, and "
            "the path of its API, if any.",
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError(
            "The address holds a user, a password or a query.",
            "Give the address only; `login` asks for the key.",
        )
    if secure and parts.scheme != "https":
        raise InputError(
            f"{url} is not encrypted, and this service requires HTTPS; nothing was sent.",
            "Begin the address with https://.",
        )
    return url

"""Where each service is, and how to sign in: profiles, the environment, the keyring.

A profile has a name and, for each service, an address and options; they stand in `profiles.toml`
in the platform's config folder. A secret never does: it comes from the environment or the keyring.
The profile `sandbox` is reserved: the running sandbox writes it.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from labext.errors import InputError, SetupError, StorageError
from labext.redaction import keep_secret

Service = Literal["lab", "jobs", "nb"]

SERVICES: tuple[Service, ...] = get_args(Service)

SANDBOX = "sandbox"
"""The profile that the running sandbox writes."""

SECRETS: Mapping[Service, tuple[str, ...]] = {
    "lab": ("api_key", "client_id", "client_secret", "id_token"),
    "jobs": ("api_key",),
    "nb": ("password",),
}
"""What each service is signed in to with."""

OPTIONS: Mapping[Service, tuple[str, ...]] = {
    "lab": ("ca_bundle",),
    "jobs": ("ca_bundle",),
    "nb": ("ca_bundle",),
}
"""What else a profile may hold for a service."""

_KEYRING = "labext"

_chosen: dict[Service, str] = {}
_used: dict[Service, Connection] = {}
_held: dict[tuple[Service, str | None, str], str] = {}
_sandbox_dir: Path | None = None


@dataclass(frozen=True)
class Connection:
    """How to reach a service.

    Attributes:
        service: `lab`, `jobs` or `nb`.
        profile: where this comes from; None for the environment.
        base_url: the service's address.
        secrets: by name, as in `SECRETS`; what is not known is missing.
        options: by name, as in `OPTIONS`.
    """

    service: Service
    profile: str | None
    base_url: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    options: Mapping[str, str] = field(default_factory=dict)


def connection(service: Service, profile: str | None = None) -> Connection:
    """Return how to reach a service.

    The first that is there: the given profile, the session's choice, the environment
    (`LABEXT_JOBS_BASE_URL` …), the profile `default`.

    Raises:
        SetupError: nothing says where the service is.
    """
    _checked(service)
    name = profile or _chosen.get(service)
    if name is None and service in _used:
        return _used[service]
    if name is None and (base_url := _environment(service, "base_url")):
        return _from_environment(service, base_url)
    if name is None and service in _read_profiles().get("default", {}):
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
        _existing(name)
    for each in SERVICES if service is None else (_checked(service),):
        if name is None:
            _chosen.pop(each, None)
        else:
            _chosen[each] = name
        _used.pop(each, None)


def use(found: Connection) -> None:
    """Use an address and its secrets for this session, until something else is chosen."""
    choose_profile(found.service, None)
    _used[found.service] = found


def chosen(service: Service) -> str | None:
    """Return the profile that this session has chosen for a service."""
    return _chosen.get(service)


def profiles() -> list[str]:
    """Return the names of the profiles, the sandbox's first if it has been started."""
    running = [SANDBOX] if (sandbox_dir() / "connection.json").exists() else []
    return running + sorted(_read_profiles())


def save_profile(
    name: str, service: Service, base_url: str, options: Mapping[str, str] | None = None
) -> None:
    """Write where a service is under a profile's name; the profile's other services stay.

    Raises:
        InputError: a name, address or option that can't be one.
        StorageError: the config folder can't be written.
    """
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) or name == SANDBOX:
        why = "is kept for the sandbox" if name == SANDBOX else "is no name for a profile"
        raise InputError(f"{name!r} {why}.", "Use letters, digits, `_`, `.` and `-`.")
    unknown = set(options or {}) - set(OPTIONS[_checked(service)])
    if unknown:
        raise InputError(
            f"{service} has no option {', '.join(sorted(unknown))}.",
            f"Options are {', '.join(OPTIONS[service])}.",
        )
    entry = {"base_url": clean_url(base_url), **(options or {})}
    known = _read_profiles()
    known.setdefault(name, {})[service] = entry
    _write_profiles(known)


def save_secret(service: Service, profile: str | None, name: str, value: str) -> bool:
    """Keep a secret in the keyring; where there is none, for this session only.

    Returns:
        Whether it outlives the session.
    """
    if name not in SECRETS[_checked(service)]:
        raise InputError(f"{service} has no secret called {name}.", "See `config.SECRETS`.")
    keep_secret(value)
    _held[service, profile, name] = value
    return _keyring_set(_user(service, profile, name), value)


def forget_secret(service: Service, profile: str | None, name: str) -> None:
    """Remove a secret from this session and from the keyring."""
    _held.pop((service, profile, name), None)
    _keyring_delete(_user(service, profile, name))


def forget_session() -> None:
    """Forget what this session chose and was told: profiles, the sandbox's folder, secrets."""
    _chosen.clear()
    _used.clear()
    _held.clear()
    choose_sandbox(None)


def config_file() -> Path:
    """Return where the profiles are written."""
    return _folder("LABEXT_CONFIG_DIR", "user_config_path") / "profiles.toml"


def state_dir() -> Path:
    """Return the folder for journals; it need not exist yet."""
    return _folder("LABEXT_STATE_DIR", "user_state_path")


def sandbox_dir() -> Path:
    """Return the data folder of the sandbox that this session uses."""
    if _sandbox_dir is not None:
        return _sandbox_dir
    own = os.environ.get("LABEXT_SANDBOX_DIR")
    return Path(own).absolute() if own else _folder("", "user_data_path") / "sandbox"


def choose_sandbox(data_dir: Path | str | None) -> None:
    """Use the sandbox in another data folder for this session; None goes back to the usual one."""
    global _sandbox_dir
    _sandbox_dir = None if data_dir is None else Path(data_dir).expanduser().absolute()


def clean_url(base_url: str) -> str:
    """Return an address as it is kept.

    Raises:
        InputError: it is no HTTP address, or holds a user, a password or a query.
    """
    url = base_url.strip()
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(blank in url for blank in " \t\r\n"):
        raise InputError(
            f"{base_url!r} is no address of a service.",
            "Give one that begins with https:// (or http://), a host, and the path of its API.",
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError(
            "The address holds a user, a password or a query.",
            "Give the plain address; a key is asked for by `login`.",
        )
    return url


def _from_environment(service: Service, base_url: str) -> Connection:
    secrets = {name: _environment(service, name) for name in SECRETS[service]}
    held = {name: _secret(service, None, name) for name in SECRETS[service]}
    options = {name: _environment(service, name) for name in OPTIONS[service]}
    return Connection(
        service,
        None,
        clean_url(base_url),
        _masked(_present({**held, **_present(secrets)})),
        _present(options),
    )


def _from_profile(service: Service, name: str) -> Connection:
    entry = _existing(name).get(service)
    if not isinstance(entry, dict) or not isinstance(entry.get("base_url"), str):
        raise SetupError(
            f"The profile {name} has no address for {service}.",
            f"Run `%{service} connect URL --profile {name}`, or choose another profile.",
        )
    own_address = _environment(service, "base_url")
    secrets = {}
    for secret in SECRETS[service]:
        # A key of the environment belongs to the environment's address, if it names one.
        value = None if own_address else _environment(service, secret)
        secrets[secret] = value or _secret(service, name, secret)
    options = {key: entry[key] for key in OPTIONS[service] if isinstance(entry.get(key), str)}
    return Connection(
        service, name, clean_url(entry["base_url"]), _masked(_present(secrets)), options
    )


def _from_sandbox(service: Service) -> Connection:
    path = sandbox_dir() / "connection.json"
    try:
        entry = json.loads(path.read_text("utf-8"))[service]
        base_url = str(entry["base_url"])
    except (OSError, ValueError, KeyError, TypeError):
        raise SetupError(
            f"The sandbox's {service} service is not running.", "Run `%lab sandbox start`."
        ) from None
    secrets = {name: entry.get(name) for name in SECRETS[service]}
    options = {name: entry.get(name) for name in OPTIONS[service]}
    return Connection(service, SANDBOX, base_url, _masked(_present(secrets)), _present(options))


def _present(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in values.items() if isinstance(value, str) and value}


def _masked(secrets: dict[str, str]) -> dict[str, str]:
    for value in secrets.values():
        keep_secret(value)
    return secrets


def _environment(service: Service, name: str) -> str | None:
    return os.environ.get(f"LABEXT_{service.upper()}_{name.upper()}") or None


def _checked(service: Service) -> Service:
    if service not in SERVICES:
        raise InputError(f"There is no service {service!r}.", "The services are lab, jobs and nb.")
    return service


def _existing(name: str) -> dict[str, Any]:
    known = _read_profiles()
    if name not in known:
        near = get_close_matches(name, [*known, SANDBOX], n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join([*known, SANDBOX])}."
        raise SetupError(f"There is no profile {name}.", hint)
    return known[name]


def _read_profiles() -> dict[str, dict[str, Any]]:
    path = config_file()
    try:
        known = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as failure:
        raise SetupError(
            f"The profiles in {path} can't be read ({failure}).", "Correct that file, or remove it."
        ) from None
    return {name: entry for name, entry in known.items() if isinstance(entry, dict)}


def _write_profiles(known: Mapping[str, Any]) -> None:
    import tomli_w

    path = config_file()
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(tomli_w.dumps(dict(known)), "utf-8")
        scratch.replace(path)
    except OSError as failure:
        raise StorageError(
            f"The profile can't be written to {path} ({failure.strerror}).",
            "Make the folder writable, or set LABEXT_CONFIG_DIR to another one.",
        ) from None


def _folder(variable: str, platform_name: str) -> Path:
    own = os.environ.get(variable) if variable else None
    if own:
        return Path(own).absolute()
    import platformdirs

    folder: Path = getattr(platformdirs, platform_name)("labext", appauthor=False)
    return folder


def _secret(service: Service, profile: str | None, name: str) -> str | None:
    held = _held.get((service, profile, name))
    return held or _keyring_get(_user(service, profile, name))


def _user(service: Service, profile: str | None, name: str) -> str:
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

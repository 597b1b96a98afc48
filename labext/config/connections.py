"""Find the connection to a service by the session, the environment, profiles or the sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from labext import messages
from labext.actions import Action
from labext.config import secret_store
from labext.config.paths import choose_sandbox, sandbox_dir
from labext.config.profiles import (
    OPTIONS,
    SANDBOX,
    SERVICES,
    Service,
    check_service,
    get_profile,
    profile_names,
    profiles_path,
    read_profiles,
    same_server,
    service_url,
)
from labext.config.secret_store import from_environment
from labext.errors import InputError, SetupError


@dataclass(frozen=True)
class Connection:
    """Address, secrets and options of a service.

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
    check_service(service)
    if profile == SANDBOX:
        return connection_from_sandbox(service)
    if profile is not None:
        return connection_from_profile(service, profile)
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
    for target in SERVICES if service is None else (check_service(service),):
        _forget_choice(target)
        if name is not None:
            _chosen_profiles[target] = name, dict(options or {})


def use_connection(connection: Connection) -> None:
    """Use a connection that is not from a profile in this session."""
    secret_store.mask_secrets(connection.secrets)
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
    secret_store.forget_session_secrets(service, current.profile)
    _signed_out.add(service)
    return current


def forget_session() -> None:
    """Forget this session's choices: profiles, the sandbox's folder, secrets."""
    _chosen_profiles.clear()
    _used_connections.clear()
    _signed_out.clear()
    secret_store.forget_session()
    choose_sandbox(None)


def connection_from_environment(service: Service, base_url: str) -> Connection:
    """Return the connection to an address from the environment; InputError if it is invalid."""
    secrets = {
        name: from_environment(service, name) or secret_store.saved_secret(service, None, name)
        for name in secret_store.SECRET_NAMES[service]
    }
    options = {name: from_environment(service, name) for name in OPTIONS}
    source = secret_store.environment_variable(service, "base_url")
    return _build_connection(
        service, None, _checked_url(service, base_url, source), secrets, options
    )


def connection_from_profile(service: Service, name: str) -> Connection:
    """Return a service's connection from a profile; SetupError if there is none."""
    entry = get_profile(name, SANDBOX).get(service)
    if isinstance(entry, dict):
        _check_profile_keys(name, service, entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("base_url"), str):
        raise SetupError(
            f"The profile {name} has no address for {service}.",
            "Add one: {action}; or choose another profile.",
            action=Action.connect(service, name),
        )
    secrets = {
        secret: _environment_secret(service, secret)
        or secret_store.saved_secret(service, name, secret)
        for secret in secret_store.SECRET_NAMES[service]
    }
    options = {key: _number_to_text(value) for key, value in entry.items()}
    source = f"the profile {name} in {profiles_path()}"
    url = _checked_url(service, entry["base_url"], source)
    return _build_connection(service, name, url, secrets, options)


def _checked_url(service: Service, base_url: str, source: str) -> str:
    try:
        return service_url(service, base_url)
    except InputError as error:
        raise error.with_hint(f"It is set by {source}.") from None


def connection_from_sandbox(service: Service) -> Connection:
    """Return a service's connection from the running sandbox; SetupError if none runs."""
    try:
        entry = json.loads((sandbox_dir() / "connection.json").read_text("utf-8"))[service]
        base_url = str(entry["base_url"])
    except (OSError, ValueError, KeyError, TypeError):
        raise SetupError(
            f"The sandbox's {service} service is not running.", action=Action.start_sandbox()
        ) from None
    # The sandbox's own secrets come first. ID tokens are requested by `oidc_secret` when needed.
    secrets = {
        secret: entry.get(secret) or _environment_secret(service, secret)
        for secret in secret_store.SECRET_NAMES[service]
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


def _forget_choice(service: Service) -> None:
    _chosen_profiles.pop(service, None)
    _used_connections.pop(service, None)
    _signed_out.discard(service)


def _check_profile_keys(name: str, service: Service, entry: Mapping[str, Any]) -> None:
    """Check the keys of a service's entry in the profiles file and the types of their values."""
    known = ("base_url", *OPTIONS)
    for key, value in entry.items():
        if key in secret_store.SECRET_NAMES[service]:
            raise SetupError(
                f"The profile {name} has {key} for {service}; profiles hold no secrets.",
                f"Remove it from {profiles_path()}. Use {{action}}, or set "
                f"{secret_store.environment_variable(service, key)}.",
                action=Action.sign_in(service, key),
            )
        if key not in known:
            near = messages.did_you_mean(key, known)
            raise SetupError(
                f"The profile {name} has an unknown key {key} for {service}{near}.",
                f"Remove or rename it in {profiles_path()}.",
            )
        if not isinstance(_number_to_text(value), str):
            raise SetupError(
                f"{key} of {service} in the profile {name} is neither text nor a number.",
                f"Correct or remove it in {profiles_path()}.",
            )


def _environment_secret(service: Service, secret: str) -> str | None:
    """Return a secret from the environment, unless the environment names an address for it."""
    named = from_environment(service, "base_url")
    return None if named is not None else from_environment(service, secret)


def _build_connection(
    service: Service,
    profile: str | None,
    base_url: str,
    secrets: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Connection:
    secret_values = _text_values(secrets, secret_store.SECRET_NAMES[service])
    secret_store.mask_secrets(secret_values)
    return Connection(service, profile, base_url, secret_values, _text_values(options, OPTIONS))


def _number_to_text(value: Any) -> Any:
    """Return a number of a profile as text, like every other option."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _text_values(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    texts = {name: values.get(name) for name in names}
    return {name: value for name, value in texts.items() if isinstance(value, str) and value}

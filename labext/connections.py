"""How to reach a service, as the environment, a profile or the running sandbox says it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from labext import profiles as _file
from labext import secret_store as _secrets
from labext.errors import SetupError
from labext.folders import sandbox_dir
from labext.profiles import clean_url
from labext.secret_store import from_environment

Service = Literal["lab", "jobs", "nb"]

SERVICES: tuple[Service, ...] = get_args(Service)

SANDBOX = "sandbox"
"""The profile that the running sandbox writes."""

OPTIONS = (
    *("ca_bundle", "method", "user", "dialect"),
    *("oidc_configuration_url", "oidc_client_id", "oidc_user"),
    *("max_response_mib", "max_response_seconds"),
)
"""What else a profile may hold for a service: certificates to trust, the sign-in method, the
e-mail address of the person for whom an app acts, and what kind of server it is; of an identity
provider its OpenID configuration, the client that ID tokens are for, and who signs in; and the
limits of a response (`labext.transport.limits`)."""

SECURE: frozenset[Service] = frozenset({"lab"})
"""The services that are asked by HTTPS alone (lab platform contract, Limits)."""


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


def service_url(service: Service, base_url: str) -> str:
    """Return the address of a service as it is kept.

    Raises:
        InputError: it can't be one, or is not encrypted where the service asks for that.
    """
    return clean_url(base_url, secure=service in SECURE)


def of_environment(service: Service, base_url: str) -> Connection:
    """Return how to reach the address that the environment names; InputError if it can't be one."""
    secrets = {
        name: from_environment(service, name) or _secrets.kept(service, None, name)
        for name in _secrets.NAMES[service]
    }
    options = {name: from_environment(service, name) for name in OPTIONS}
    return _connection(service, None, service_url(service, base_url), secrets, options)


def of_profile(service: Service, name: str) -> Connection:
    """Return what a profile says of a service; SetupError if there is none, or it says nothing."""
    entry = _file.existing(name, SANDBOX).get(service)
    if not isinstance(entry, dict) or not isinstance(entry.get("base_url"), str):
        raise SetupError(
            f"The profile {name} has no address for {service}.",
            f"Run `%{service} connect URL --save {name}`, or choose another profile.",
        )
    secrets = {
        secret: _of_no_address(service, secret) or _secrets.kept(service, name, secret)
        for secret in _secrets.NAMES[service]
    }
    options = {key: _text(value) for key, value in entry.items()}
    return _connection(service, name, service_url(service, entry["base_url"]), secrets, options)


def of_sandbox(service: Service) -> Connection:
    """Return what the running sandbox has written; SetupError if none runs."""
    try:
        entry = json.loads((sandbox_dir() / "connection.json").read_text("utf-8"))[service]
        base_url = str(entry["base_url"])
    except (OSError, ValueError, KeyError, TypeError):
        entry = None
    if entry is None:
        raise SetupError(
            f"The sandbox's {service} service is not running.", "Run `%lab sandbox start`."
        )
    # Its own come first. It has no ID token: `oidc_secret` gets one when it is needed.
    secrets = {
        secret: entry.get(secret) or _of_no_address(service, secret)
        for secret in _secrets.NAMES[service]
    }
    return _connection(service, SANDBOX, base_url, secrets, entry)


def is_sandbox(url: str) -> bool:
    """Tell whether an address is on one of the servers of the sandbox that was started last."""
    try:
        entries = json.loads((sandbox_dir() / "connection.json").read_text("utf-8"))
        known = [str(entries[each]["base_url"]) for each in SERVICES if each in entries]
        return any(_file.same_server(each, url) for each in known)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _of_no_address(service: Service, secret: str) -> str | None:
    """Return the environment's secret, unless it belongs to the address that it names."""
    named = from_environment(service, "base_url")
    return None if named is not None else from_environment(service, secret)


def _connection(
    service: Service,
    profile: str | None,
    base_url: str,
    secrets: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Connection:
    known = _texts(secrets, _secrets.NAMES[service])
    _secrets.keep_masked(known)
    return Connection(service, profile, base_url, known, _texts(options, OPTIONS))


def _text(value: Any) -> Any:
    """Return a number of a profile as text, like every other option."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _texts(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    found = {name: values.get(name) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, str) and value}

"""Profiles: named addresses of services, kept in a TOML file; comparison of addresses."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from labext import messages
from labext.config.paths import config_dir, sandbox_dir
from labext.config.secret_store import ENVIRONMENT
from labext.errors import InputError, SetupError, StorageError
from labext.storage import make_folder, write_atomic


def clean_url(base_url: str, *, secure: bool = False) -> str:
    """Return a normalized address.

    Args:
        base_url: the address as the user gave it.
        secure: whether HTTPS is required.

    Raises:
        InputError: the address is not HTTP(S), lacks required encryption, or contains a user, a
            password or a query.
    """
    url = base_url.strip() if isinstance(base_url, str) else ""
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
            "The address contains a user, a password or a query.",
            "Give the address only; keys are passed separately.",
        )
    if secure and parts.scheme != "https":
        raise InputError(
            f"{url} is not encrypted, and this service requires HTTPS; nothing was sent.",
            "Begin the address with https://.",
        )
    return url


def same_server(one: str, other: str) -> bool:
    """Return whether two normalized addresses have the same scheme, host and port."""
    return origin(one) == origin(other)


def origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port: the origin that a key may be sent to.

    Args:
        url: of a prepared request, which `requests` parses likewise to connect; or an address that
            `clean_url` accepted.

    Raises:
        ValueError: it is not an address.
    """
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", port


Service = Literal["lab", "jobs", "nb"]

SERVICES: tuple[Service, ...] = get_args(Service)

SANDBOX = "sandbox"
"""The profile that the running sandbox writes."""

_RESERVED = {SANDBOX: "the sandbox", ENVIRONMENT: "the address of the environment"}
"""What owns each name that no new profile may have."""

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

Profile = dict[str, Any]


def service_url(service: Service, base_url: str) -> str:
    """Return the normalized address of a service.

    Raises:
        InputError: it is invalid, or not encrypted although the service requires that.
    """
    return clean_url(base_url, secure=service in HTTPS_ONLY)


def check_service(service: Service) -> Service:
    """Return the name of a service; InputError if there is no such service."""
    if service not in SERVICES:
        raise InputError(f"There is no service {service!r}.", "The services are lab, jobs and nb.")
    return service


def profiles_path() -> Path:
    """Return the path of the profiles file; it need not exist yet."""
    return config_dir() / "profiles.toml"


def profile_names() -> list[str]:
    """Return the names of the profiles, the sandbox's first if it has been started."""
    running = [SANDBOX] if (sandbox_dir() / "connection.json").exists() else []
    return running + sorted(read_profiles())


def read_profiles() -> dict[str, Profile]:
    """Return all profiles by name; empty if the file does not exist.

    Raises:
        SetupError: the file can't be read, or is not TOML.
    """
    try:
        profiles = tomllib.loads(_read_text())
    except (OSError, ValueError) as failure:
        why = str(failure)
    else:
        return {name: entry for name, entry in profiles.items() if isinstance(entry, dict)}
    raise SetupError(
        f"The profiles in {profiles_path()} can't be read ({why}).",
        "Correct that file, or remove it.",
    )


def _read_text() -> str:
    try:
        return profiles_path().read_text("utf-8-sig")
    except FileNotFoundError:
        return ""


def get_profile(name: str, *others: str) -> Profile:
    """Return a profile by name.

    Args:
        name: the profile.
        others: further names to suggest in the error.

    Raises:
        SetupError: no profile has this name; the message suggests a similar one, or lists all.
        InputError: the name is not text.
    """
    if not isinstance(name, str):
        raise InputError(f"{name!r} is not the name of a profile.", "Give a text.")
    profiles = read_profiles()
    if name in profiles:
        return profiles[name]
    names = [*profiles, *others]
    hint = messages.suggest(name, names, f"There are: {', '.join(names)}.")
    raise SetupError(f"There is no profile {name}.", hint)


def check_profile_name(name: str) -> None:
    """Check the name of a new profile; raise InputError if it is invalid or reserved."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) or name in _RESERVED:
        owner = _RESERVED.get(name)
        why = f"is reserved for {owner}" if owner else "is not a valid profile name"
        raise InputError(f"{name!r} {why}.", "Use letters, digits, `_`, `.` and `-`.")


def save_profile(
    name: str, service: Service, base_url: str, options: Mapping[str, str] | None = None
) -> str:
    """Write a service's address to a profile; keep everything else in the file, with comments.

    Returns:
        The former text of the file, for `write_profiles`.

    Raises:
        InputError: the name, the address or an option is invalid.
        SetupError: the file can't be read, or is not TOML.
        StorageError: the configuration folder is not writable.
    """
    import tomlkit

    check_profile_name(name)
    unknown = sorted(set(options or {}).difference(OPTIONS))
    if unknown:
        raise InputError(
            f"A profile has no option {', '.join(unknown)}.", f"Options are {', '.join(OPTIONS)}."
        )
    entry = {"base_url": service_url(check_service(service), base_url), **(options or {})}
    is_new = name not in read_profiles()
    former = _read_text()
    document = tomlkit.parse(former)
    if is_new:
        document[name] = tomlkit.table(is_super_table=True)
    document[name][service] = entry
    write_profiles(tomlkit.dumps(document))
    return former


def write_profiles(text: str) -> None:
    """Replace the profiles file atomically.

    Raises:
        StorageError: the folder can't be written.
    """
    file = profiles_path()
    try:
        make_folder(file.parent)
        write_atomic(file, text.encode())
    except StorageError as error:
        raise StorageError(
            error.message, "Make the folder writable, or set LABEXT_CONFIG_DIR to another one."
        ) from None

"""Read and write the profiles file, which never holds a secret."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from labext import messages
from labext.config.paths import config_dir
from labext.errors import InputError, SetupError, StorageError
from labext.storage import make_folder, write_atomic

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
            f"{base_url!r} is no address of a service.",
            f"Give one that begins with {'' if secure else 'http:// or '}https://, a host, and "
            "the path of its API, if any.",
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError(
            "The address holds a user, a password or a query.",
            "Give the plain address; a key is asked for by `login`.",
        )
    if secure and parts.scheme != "https":
        raise InputError(
            f"{url} is not encrypted, and this service is asked by HTTPS alone: nothing was sent.",
            "Begin the address with https://.",
        )
    return url

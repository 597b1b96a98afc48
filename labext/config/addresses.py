"""Addresses of services: validation and comparison."""

from __future__ import annotations

from urllib.parse import urlsplit

from labext.errors import InputError


def clean_url(base_url: str, *, secure: bool = False) -> str:
    """Return a normalized address.

    Args:
        base_url: the address as the user gave it.
        secure: whether HTTPS is required.

    Raises:
        InputError: the address is not HTTP(S), lacks required encryption, or contains a user, a
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
            "The address contains a user, a password or a query.",
            "Give the address only; `login` asks for the key.",
        )
    if secure and parts.scheme != "https":
        raise InputError(
            f"{url} is not encrypted, and this service requires HTTPS; nothing was sent.",
            "Begin the address with https://.",
        )
    return url


def same_server(one: str, other: str) -> bool:
    """Return whether two normalized addresses have the same scheme, host and port."""
    return _server(one) == _server(other)


def _server(base_url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(base_url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)

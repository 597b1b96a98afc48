"""Validate the base URL of a model provider.

This machine and its network are allowed: that is where Ollama runs. Link-local addresses and the
metadata services of clouds are not, since they hand out the machine's own credentials.
"""

from __future__ import annotations

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from labext.errors import InputError
from labext.profiles import clean_url
from labext.sandbox.nb import faults
from labext.sandbox.nb.ingestion import addresses


def checked(base_url: str) -> str:
    """Return a base URL as it is stored: http or https, no user, no query, no trailing slash.

    Raises:
        HTTPException: 400, it is not a valid address of a model provider.
    """
    try:
        url = clean_url(base_url)
    except InputError as error:
        raise faults.invalid(error.what, "Give one such as http://localhost:11434/v1.") from None
    host = urlsplit(url).hostname or ""
    if any(is_refused(number) for number in numeric_addresses(host)):
        raise faults.invalid(
            f"{host} is a link-local address or a cloud's metadata service, and no model provider "
            "is contacted there.",
            "Give the address of a model's server, such as http://localhost:11434/v1.",
        )
    return url.rstrip("/")


def is_refused(number: str) -> bool:
    """Return whether a numeric address is link-local or a cloud metadata service."""
    return addresses.is_refused(ip_address(number))


def numeric_addresses(host: str) -> list[str]:
    """Return the address that a host in any numeric notation stands for; nothing for a name."""
    try:
        found = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return []
    return [str(entry[4][0]) for entry in found]

"""Which addresses a model's server may have.

This machine and its network are allowed: that is where Ollama runs. Link-local addresses are not:
in a cloud, the one at 169.254.169.254 hands out the machine's own keys.
"""

from __future__ import annotations

import socket
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from labext.errors import InputError
from labext.profiles import clean_url
from labext.sandbox.nb import faults
from labext.sandbox.nb.ingestion.addresses import within


def checked(base_url: str) -> str:
    """An address as it is kept: `http` or `https`, without user and query, no slash at the end.

    Raises:
        HTTPException: 400, it can't be the address of a model's server.
    """
    try:
        url = clean_url(base_url)
    except InputError as error:
        raise faults.invalid(error.what, "Give one such as http://localhost:11434/v1.") from None
    host = urlsplit(url).hostname or ""
    if any(is_link_local(number) for number in _numbers(host)):
        raise faults.invalid(
            f"{host} is a link-local address, and no model's server is asked there.",
            "Give the address of a model's server, such as http://localhost:11434/v1.",
        )
    return url.rstrip("/")


def is_link_local(number: str) -> bool:
    """Whether an address, as numbers, is link-local, or has such a one written into it."""
    address = ip_address(number.partition("%")[0])
    inner = within(address) if isinstance(address, IPv6Address) else None
    return address.is_link_local or (inner is not None and inner.is_link_local)


def _numbers(host: str) -> list[str]:
    """A host that is written in numbers, in any way that the system reads; empty for a name."""
    try:
        found = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return []
    return [str(entry[4][0]) for entry in found]

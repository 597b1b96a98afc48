"""Decide which network addresses the service may connect to."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from labext.config import clean_url
from labext.errors import InputError
from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.nb import errors
from labext.sandbox.nb.errors import UnreadableError

Address = IPv4Address | IPv6Address

REFUSED_NETWORKS: tuple[IPv4Network | IPv6Network, ...] = tuple(
    ip_network(network)
    for network in (
        "169.254.0.0/16",  # link-local, with the metadata service of most clouds
        "fe80::/10",  # link-local
        "fd00:ec2::/32",  # Amazon Web Services
        "fd20:ce::254",  # Google Cloud
        "192.0.0.192",  # Oracle Cloud
        "fd00:c1::a9fe:a9fe",  # Oracle Cloud
        "168.63.129.16",  # Azure
        "100.100.100.200",  # Alibaba Cloud
        "fd00:42::42",  # Scaleway
    )
)
"""Link-local networks and cloud metadata services."""

_NAT64 = IPv6Network("64:ff9b::/96")
"""IPv6 addresses with an IPv4 address in their last four bytes (RFC 6052)."""
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
"""The prefix for networks that translate IPv4 addresses themselves (RFC 8215)."""
_COMPATIBLE = IPv6Network("::/96")
"""IPv4-compatible IPv6 addresses (RFC 4291, 2.5.5.1)."""
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
"""IPv4-translated IPv6 addresses (RFC 2765)."""
_ISATAP = (bytes.fromhex("00005efe"), bytes.fromhex("02005efe"))
"""Prefix of an interface identifier that ends in an IPv4 address (RFC 5214)."""


def is_refused(address: Address) -> bool:
    """Return whether an address, or an IPv4 address embedded in it, is in `REFUSED_NETWORKS`."""
    if isinstance(address, IPv6Address):
        if any(is_refused(inner) for inner in _embedded(address)):
            return True
        address = IPv6Address(int(address))  # without its scope
    return any(address in network for network in REFUSED_NETWORKS)


def is_public(address: Address) -> bool:
    """Return whether an address, and the IPv4 address it is translated to, is on the internet."""
    if is_refused(address):
        return False
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        inner = _translated(address)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local or address in _LOCAL_NAT64:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def resolve_host(host: str, port: int, *, private: bool) -> list[str]:
    """Resolve a host, a name or an address, to the addresses to connect to, in order of preference.

    All of them must be public unless `private` is given; otherwise the host is refused.
    """
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UnreadableError(f"There is no host {host}; check the web address.") from None
    numbers = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for address in map(ip_address, numbers):
        if is_refused(address):
            raise UnreadableError(
                f"{host} is a link-local address or a cloud's metadata service, from which no page "
                "is fetched. Check the web address."
            )
        if not private and not is_public(address):
            raise UnreadableError(
                f"{host} is an address of this machine or its network, from which no page is "
                f"fetched. To allow it: {admin_command('nb fetch allow-private')}."
            )
    return numbers


def _translated(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that a packet to this IPv6 address finally goes to."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in (_NAT64, _COMPATIBLE, _TRANSLATED)):
        return IPv4Address(address.packed[12:])
    return None


def _embedded(address: IPv6Address) -> Iterator[IPv4Address]:
    """Yield every IPv4 address that a translator or a tunnel may read out of an IPv6 address."""
    packed = address.packed
    translated = _translated(address)
    if translated is not None:
        yield translated
    if address.teredo is not None:
        yield address.teredo[0]
    if address in _LOCAL_NAT64:  # where the IPv4 address is depends on the length of the prefix
        yield IPv4Address(packed[6:8] + packed[9:11])
        yield IPv4Address(packed[7:8] + packed[9:12])
        yield IPv4Address(packed[9:13])
        yield IPv4Address(packed[12:])
    if packed[8:12] in _ISATAP:
        yield IPv4Address(packed[12:])


def check_base_url(base_url: str) -> str:
    """Return a base URL as it is stored: http or https, no user, no query, no trailing slash."""
    try:
        url = clean_url(base_url)
    except InputError as error:
        raise errors.bad_request(
            error.message, "Give one such as http://localhost:11434/v1."
        ) from None
    host = urlsplit(url).hostname or ""
    if is_refused_host(host):
        raise errors.bad_request(
            f"{host} is a link-local address or a cloud's metadata service, and no model provider "
            "is contacted there.",
            "Give the address of a model's server, such as http://localhost:11434/v1.",
        )
    return url.rstrip("/")


def is_refused_ip(number: str) -> bool:
    """Return whether a numeric address is link-local or a cloud metadata service."""
    return is_refused(ip_address(number))


def is_refused_host(host: str) -> bool:
    """Return whether a host is such an address in any numeric notation; a name is not."""
    try:
        entries = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return any(is_refused_ip(str(entry[4][0])) for entry in entries)

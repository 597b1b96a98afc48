"""Which addresses of the network a page may come from: public ones, unless others are allowed.

A name is looked up once. What it stands for is checked, and then connected to as it is: nobody can
answer with a public address first and with one of this machine or its network later.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from labext.sandbox.nb.ingestion.reasons import Unreadable

Address = IPv4Address | IPv6Address

_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv6 addresses with an IPv4 one in their last four bytes (RFC 6052)."""
_COMPATIBLE = IPv6Network("::/96")
"""The same, of an older kind (RFC 4291, 2.5.5.1)."""
_TRANSLATED_HERE = IPv6Network("64:ff9b:1::/48")
"""The same, whose IPv4 address a network of one's own makes up (RFC 8215)."""


def is_public(address: Address) -> bool:
    """Whether an address is of the public internet, and any other that is written into it too."""
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        inner = within(address)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local or address in _TRANSLATED_HERE:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def within(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a packet to this IPv6 address is for in the end."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _TRANSLATED or address in _COMPATIBLE:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def addresses(host: str, port: int, *, private: bool) -> list[str]:
    """What a host's name stands for, to be connected to in this order.

    Args:
        host: a name, or an address in any way that the system reads.
        port: where it will be connected to.
        private: whether addresses that aren't public are allowed.

    Raises:
        Unreadable: there is no such host, or one of its addresses isn't public.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unreadable(f"There is no host {host}; check the web address.") from None
    numbers = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not private:
        for number in numbers:
            if not is_public(ip_address(number)):
                raise Unreadable(
                    f"{host} is an address of this machine or its network, from which no page is "
                    "fetched; whoever runs the service may switch that on: "
                    "`labext sandbox nb fetch allow-private`."
                )
    return numbers

"""Asks a web server for a page, at an address of its host that was checked."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from labext.sandbox.nb.ingestion.addresses import addresses
from labext.sandbox.nb.ingestion.reasons import Unreadable

_HEADERS = {
    "User-Agent": "labext",
    "Accept": "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "identity",
}
_SAFE = "/%:@!$&'()*+,;=~-._"


def split(url: str) -> SplitResult:
    """A web address taken apart.

    Raises:
        ValueError: it is none, or has a user's name or password in it.
    """
    if any(letter <= " " or letter == "\x7f" for letter in url):
        raise ValueError("A web address has no blanks and no control characters.")
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("That is no web address.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("A web address begins with http:// or https:// and has a host.")
    if "@" in parts.netloc:
        raise ValueError("A web address with a user's name or password is not taken.")
    return parts


def ask(parts: SplitResult, seconds: float, *, private: bool) -> Any:
    """The answer of the first of a host's addresses that can be connected to; its body is not read.

    Args:
        parts: the page's address.
        seconds: to connect, and to wait for the next byte.
        private: whether addresses that aren't public are allowed.

    Raises:
        Unreadable: there is no such host, it may not be asked, or what answers is no web server.
    """
    import urllib3

    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    timeout = urllib3.Timeout(connect=min(10.0, seconds), read=seconds)
    for number in addresses(host, port, private=private):
        pool: urllib3.HTTPConnectionPool
        if parts.scheme == "https":
            pool = urllib3.HTTPSConnectionPool(
                number, port, timeout=timeout, server_hostname=host, assert_hostname=host
            )
        else:
            pool = urllib3.HTTPConnectionPool(number, port, timeout=timeout)
        try:
            return pool.urlopen(
                "GET",
                _path(parts),
                headers=_HEADERS | {"Host": _authority(parts)},
                redirect=False,
                retries=False,
                preload_content=False,
                decode_content=False,
            )
        except urllib3.exceptions.SSLError:
            raise Unreadable(f"{host} shows no certificate that can be trusted.") from None
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError):
            continue
        except (urllib3.exceptions.HTTPError, OSError, ValueError):
            raise Unreadable(f"{host} answered with what is no page; try again later.") from None
    raise Unreadable(f"{host} does not answer; check the web address, or try again later.")


def _authority(parts: SplitResult) -> str:
    """The Host header: ASCII, with the port where one was given."""
    host = parts.hostname or ""
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            raise Unreadable(f"There is no host {host}; check the web address.") from None
    if ":" in host:
        host = f"[{host}]"
    return host if parts.port is None else f"{host}:{parts.port}"


def _path(parts: SplitResult) -> str:
    query = f"?{quote(parts.query, safe=_SAFE + '?[]')}" if parts.query else ""
    return (quote(parts.path, safe=_SAFE) or "/") + query

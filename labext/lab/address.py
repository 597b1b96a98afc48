"""The address of a tenant: HTTPS alone, and the same with or without the path of the API."""

from __future__ import annotations

from urllib.parse import urlsplit

from labext.config import clean_url
from labext.errors import InputError

_API = "/api/v2"


def tenant_of(base_url: str) -> str:
    """Return a tenant's address, without `/api/v2` and without a slash at its end.

    Raises:
        InputError: it is no address, or not HTTPS (contract, Endpoints: plain HTTP is rejected).
    """
    url = clean_url(base_url, secure=True).rstrip("/")
    return url.removesuffix(_API).rstrip("/")


def tenant_in(url: str) -> str:
    """Return the tenant's address out of that of one of its resources."""
    before, found, _ = url.partition(f"{_API}/")
    parts = urlsplit(url)
    return before if found else f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def check_https(url: str) -> None:
    """Check that what signs a request goes by HTTPS, also where plain `requests` sends it.

    Raises:
        InputError: it would not.
    """
    if urlsplit(url).scheme != "https":
        raise InputError(
            "What signs in to the lab platform is sent by HTTPS alone: nothing was sent.",
            "Begin the address with https://.",
        )


def api_of(tenant: str) -> str:
    """Return the address of a tenant's API."""
    return f"{tenant}{_API}"

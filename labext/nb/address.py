"""Find the API of a notebook service from an address that people paste.

People know the server's own address (`http://host:5055`), or that of its web page
(`http://host:8502/notebooks`), which passes `/api` on.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from labext.errors import LabextError, SetupError, UnreachableError
from labext.transport import Operation, Repeat, Transport
from labext.transport.limits import DOCUMENT

_API = "api"
_TIMEOUT = 5.0, 15.0
_CONFIG = Operation("find the API", "GET", "config", Repeat.ALWAYS, answer="json")
_KEYS = frozenset({"version", "dbStatus"})
"""What the API's `config` has; the web page has a `config` of its own, with other keys."""


def find_api(url: str, verify: bool | str = True) -> str:
    """Return the address of the API that an address leads to; the address itself if none is found.

    An address that ends in `/api` is returned without a request. No password is sent.

    Raises:
        UnreachableError: no server answers.
        SetupError: the server's certificate is not trusted, or it does not speak TLS.
    """
    if urlsplit(url).path.rstrip("/").endswith(f"/{_API}"):
        return url
    return next((each for each in candidates(url) if _is_api(each, verify)), url)


def candidates(url: str) -> list[str]:
    """Return the addresses to try: `/api` below the given one and each folder above it."""
    parts = urlsplit(url)
    folders = [each for each in parts.path.split("/") if each]
    if _API in folders:  # something of the API: /api/notebooks
        folders = folders[: folders.index(_API)]
    below = ["/".join([*folders[:depth], _API]) for depth in range(len(folders), -1, -1)]
    own = parts.path.strip("/")
    return [f"{parts.scheme}://{parts.netloc}/{path}".rstrip("/") for path in (*below, own)]


def _is_api(url: str, verify: bool | str) -> bool:
    """Tell whether a notebook service shows its configuration below an address."""
    with Transport(
        url,
        auth=None,
        rate=None,
        verify=verify,
        timeout=_TIMEOUT,
        limits=DOCUMENT,
        attempts=1,
        service="notebook service",
    ) as transport:
        try:
            configuration = transport.send(_CONFIG).json()
        except (UnreachableError, SetupError):
            raise
        except LabextError:
            return False
    return isinstance(configuration, Mapping) and not _KEYS.isdisjoint(configuration)

"""The HTTP session beneath a transport: pooled, without cookies, and the same everywhere.

`requests` lets the environment add a password from netrc and replace a given CA bundle. Neither
happens here (`trust_env` is off). Two things of the environment are taken, since nothing works
without them where they are set: the proxies, though never for loopback; and REQUESTS_CA_BUNDLE
where no CA bundle was given.
"""

from __future__ import annotations

import ipaddress
import os
import re
import threading
import weakref
from collections.abc import Callable
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from labext.errors import SetupError
from labext.redaction import logger
from labext.transport.limits import TimedResponse

Timeout = tuple[float, float | None]
"""Seconds to connect, and seconds between two bytes of the answer (None: as long as it takes)."""

_IDLE = 1.0
"""Seconds after which a kept connection is not trusted with what must not be sent twice."""

BLOCK = 128 * 1024
"""Bytes of a body sent at once; with the 16 KiB of http.client an upload takes longer."""

_SENDING = 60.0
"""Seconds that one such block may take, which is 2 KiB/s."""

UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")
"""Characters that no address needs, and that parsers read differently."""

logger("urllib3.connectionpool")  # its debug lines print presigned queries


class _Patient:
    """A connection that may send slowly, and bounds the time of a response.

    urllib3 would limit sending to the time it had to connect, or to what the response before had
    left.
    """

    response_class: Any = TimedResponse

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        self.sock.settimeout(_SENDING)  # type: ignore[attr-defined]

    def request(self, *args: Any, **options: Any) -> None:
        sock = getattr(self, "sock", None)
        if sock is not None:
            sock.settimeout(_SENDING)
        super().request(*args, **options)  # type: ignore[misc]


class _Connection(_Patient, HTTPConnection): ...


class _TLSConnection(_Patient, HTTPSConnection): ...


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _TLSConnection


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, blocksize=BLOCK, **options)
        self._make_patient(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        return self._make_patient(super().proxy_manager_for(proxy, **options))

    @staticmethod
    def _make_patient(manager: Any) -> Any:
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}
        return manager


class _Session(requests.Session):
    def get_redirect_target(self, resp: requests.Response) -> None:
        """Leave redirects to `labext.transport.redirects`.

        Even where it follows none, `requests` would read a redirect's body, however long, and
        parse its Location.
        """


def new_session() -> requests.Session:
    """Return a session that signs in nowhere, keeps no cookies and retries nothing."""
    session = _Session()
    session.trust_env = False
    session.headers["User-Agent"] = "labext"
    # urllib3 decompresses these in bounded pieces, whatever else is installed.
    session.headers["Accept-Encoding"] = "gzip, deflate"
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    adapter = _Adapter(pool_connections=4, pool_maxsize=4, max_retries=0)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    return session


class Sessions:
    """A session for each thread, since one may not be shared."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._local = threading.local()
        self._all: weakref.WeakSet[requests.Session] = weakref.WeakSet()
        self._lock = threading.Lock()

    def mine(self, *, fresh: bool = False) -> requests.Session:
        """Return this thread's session; `fresh` for what must not be sent twice.

        A connection that idled may be closed by the service just as it is used again, and the
        request's outcome would then be unknown: hence it is opened anew.
        """
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = new_session()
            with self._lock:
                self._all.add(session)
        elif fresh and self._clock() - getattr(self._local, "used", 0.0) > _IDLE:
            session.close()
        return session

    def used(self) -> None:
        """Note that this thread's connections are in use now."""
        self._local.used = self._clock()

    def close(self) -> None:
        """Close the connections of every thread."""
        with self._lock:
            for session in list(self._all):
                session.close()


def proxies_for(url: str) -> dict[str, str]:
    """Return the environment's proxies for an address; none for loopback."""
    return {} if is_loopback(url) else dict(get_environ_proxies(url, no_proxy=None))


def is_loopback(url: str) -> bool:
    """Tell whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def trust(verify: bool | str) -> bool | str:
    """Return what a TLS certificate is checked against.

    Raises:
        SetupError: the CA bundle is not there.
    """
    bundle = os.environ.get("REQUESTS_CA_BUNDLE", "") if verify is True else verify
    if not isinstance(bundle, str) or not bundle:
        return verify
    if not Path(bundle).exists():
        raise SetupError(f"There is no CA bundle at {bundle}.", "Correct the profile's ca_bundle.")
    return bundle


def origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port: what a key is good for.

    Args:
        url: of a prepared request, which `requests` parses likewise to connect; or an address that
            `clean_url` accepted.

    Raises:
        ValueError: it is no address.
    """
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port

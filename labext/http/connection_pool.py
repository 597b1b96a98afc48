"""Pooled connections with TLS, proxies and limits on responses."""

from __future__ import annotations

import http.client
import io
import ipaddress
import os
import re
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import requests
import urllib3.exceptions
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from labext.actions import parameter
from labext.errors import InputError, SetupError
from labext.redaction import get_logger

MIB = 1024 * 1024

_DECODE_SIZE = MIB
"""Bytes decoded at once: a response may use this much memory beyond its bound."""


@dataclass(frozen=True)
class ResponseLimits:
    """Bounds on a response that is read as a whole.

    Attributes:
        size: bytes of the decoded body.
        seconds: time from the first byte of the response to the last. The time to the first byte is
            limited by the read timeout.
    """

    size: int = 256 * MIB
    seconds: float = 300.0

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        """Return the limits of a profile: `max_response_mib` and `max_response_seconds`.

        Raises:
            SetupError: an option is not a positive number.
        """
        size = _positive(options, "max_response_mib", cls.size / MIB)
        return cls(int(size * MIB), _positive(options, "max_response_seconds", cls.seconds))


DOCUMENT = ResponseLimits(size=MIB, seconds=30.0)
"""Limits for short documents: tokens, an identity provider's configuration."""


class ResponseTooLarge(urllib3.exceptions.HTTPError):
    """A response exceeds its size limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class ResponseTooSlow(TimeoutError):
    """A response exceeds its time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__("timed out")
        self.seconds = seconds


class Deadline:
    """Time limit of one response, counted from its first byte.

    Args:
        seconds: the limit; None for no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._end: float | None = None

    def start(self) -> None:
        """Start the timer, unless it is running."""
        if self._end is None and self._seconds is not None:
            self._end = time.monotonic() + self._seconds

    def reset(self) -> None:
        """Restart the timer at the next byte."""
        self._end = None

    def lift(self) -> None:
        """Remove the limit."""
        self._seconds = self._end = None

    def remaining(self) -> float | None:
        """Return the seconds left; None without a limit or before the first byte.

        Raises:
            ResponseTooSlow: the time is over.
        """
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise ResponseTooSlow(self._seconds or 0.0)
        return left


_deadline: ContextVar[Deadline | None] = ContextVar("_deadline", default=None)


@contextmanager
def enforce_deadline(deadline: Deadline) -> Iterator[None]:
    """Enforce a deadline on the responses of requests sent in this context."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


class TimedResponse(http.client.HTTPResponse):
    """A response that is read from its socket within the deadline of the context."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        deadline = _deadline.get()
        if deadline is not None:
            raw = _TimedReader(self.fp.detach(), sock, deadline)
            self.fp = io.BufferedReader(raw)


class _TimedReader(io.RawIOBase):
    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: Deadline) -> None:
        self._raw = raw
        self._sock = sock
        self._timeout = sock.gettimeout()
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline.remaining()
        timeout = self._timeout
        if left is not None:
            timeout = left if timeout is None else min(timeout, left)
        self._sock.settimeout(timeout)
        try:
            count = self._raw.readinto(buffer)
        except TimeoutError:
            self._deadline.remaining()  # raises if this limit has expired
            raise
        self._deadline.start()
        return int(count)

    def close(self) -> None:
        super().close()
        self._raw.close()


def read_body(response: requests.Response, limit: int) -> bytes:
    """Return the decoded body of a response.

    Raises:
        ResponseTooLarge: it exceeds `limit` bytes, or its Content-Length does.
    """
    declared = response.headers.get("Content-Length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:18]) > limit:
        response.close()
        raise ResponseTooLarge(limit)
    piece: bytes = response.raw.read(_DECODE_SIZE, decode_content=True)
    if len(piece) < _DECODE_SIZE:
        return piece
    # BytesIO returns its own buffer: joining a list would need the memory twice.
    body = io.BytesIO()
    while piece:
        body.write(piece)
        if body.tell() > limit:
            response.close()
            raise ResponseTooLarge(limit)
        piece = response.raw.read(_DECODE_SIZE, decode_content=True)
    return body.getvalue()


def _positive(options: Mapping[str, str], name: str, default: float) -> float:
    written = options.get(name)
    if written is None:
        return default
    try:
        value = float(written)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise SetupError(
            f"{name} is {written!r}, which is not a positive number.",
            f"Correct {name} in the profile or the environment.",
        )
    return value


NETWORK_ERRORS = (requests.RequestException, urllib3.exceptions.HTTPError, OSError)
"""Exceptions of `requests` for a failed request or an unreadable response."""

Timeout = float | tuple[float, float | None]
"""Seconds to connect, and seconds between two bytes of the response (None: as long as it takes).

One number stands for both.
"""

DEFAULT_TIMEOUT = (5, 60)

first_check: ContextVar[float | None] = ContextVar("first_check", default=None)
"""Seconds for which clients that are created in this context wait for a response, with retries."""

_MAX_IDLE_SECONDS = 1.0
"""Idle seconds after which a connection is not used for a request that must not be sent twice."""

SEND_BLOCK_SIZE = 128 * 1024
"""Bytes of a body sent at once; with the 16 KiB of http.client an upload takes longer."""

_SEND_TIMEOUT = 60.0
"""Seconds that one such block may take, which is 2 KiB/s."""

UNSAFE_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")
"""Characters that no address needs, and that parsers read differently."""

get_logger("urllib3.connectionpool")  # its debug lines print presigned queries


class _TimedConnection:
    """A connection with a time limit for the response and none for sending.

    urllib3 would limit sending to the connect timeout, or to the time that the previous response
    had left.
    """

    response_class: Any = TimedResponse

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        deadline = _deadline.get()
        if deadline is not None:
            deadline.reset()  # started by a proxy's response to CONNECT
        self.sock.settimeout(_SEND_TIMEOUT)  # type: ignore[attr-defined]

    def request(self, *args: Any, **options: Any) -> None:
        sock = getattr(self, "sock", None)
        if sock is not None:
            sock.settimeout(_SEND_TIMEOUT)
        super().request(*args, **options)  # type: ignore[misc]


class _Connection(_TimedConnection, HTTPConnection): ...


class _TLSConnection(_TimedConnection, HTTPSConnection): ...


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _TLSConnection


def _socket_options() -> list[tuple[int, int, int]]:
    """Return options that end a connection two minutes after its server has vanished.

    Some requests have no read timeout, because the server may work for long before it responds.
    """
    options = [
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (
            ("TCP_KEEPIDLE", 60),
            ("TCP_KEEPALIVE", 60),  # its name on macOS
            ("TCP_KEEPINTVL", 15),
            ("TCP_KEEPCNT", 4),
        )
        if hasattr(socket, name)
    ]
    return [
        *HTTPConnection.default_socket_options,
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *options,
    ]


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(
            *args, blocksize=SEND_BLOCK_SIZE, socket_options=_socket_options(), **options
        )
        self._make_patient(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, socket_options=_socket_options(), **options)
        return self._make_patient(manager)

    @staticmethod
    def _make_patient(manager: Any) -> Any:
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}
        return manager


class _Session(requests.Session):
    def get_redirect_target(self, resp: requests.Response) -> None:
        """Leave redirects to `labext.http.redirects`.

        Even where it follows none, `requests` would read a redirect's body, however long, and
        parse its Location.
        """


def new_session() -> requests.Session:
    """Return a session without authentication, cookies and retries."""
    session = _Session()
    session.trust_env = False
    session.headers["User-Agent"] = "labext"
    # urllib3 decompresses these in bounded pieces, with any installed codec.
    session.headers["Accept-Encoding"] = "gzip, deflate"
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    adapter = _Adapter(pool_connections=4, pool_maxsize=4, max_retries=0)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    return session


class SessionPool:
    """Sessions by process and thread, because neither can share the connections of a session."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._local = threading.local()
        self._all: weakref.WeakSet[requests.Session] = weakref.WeakSet()
        self._lock = threading.Lock()

    def for_this_thread(self, *, fresh: bool = False) -> requests.Session:
        """Return this thread's session; `fresh` for a request that must not be sent twice.

        The service may close an idle connection just as it is used again, and the outcome of the
        request would then be unknown. A fresh session opens a new connection.
        """
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None or self._local.process != os.getpid():
            session = self._local.session = new_session()
            self._local.process = os.getpid()
            with self._lock:
                self._all.add(session)
        elif fresh and self._clock() - getattr(self._local, "used", 0.0) > _MAX_IDLE_SECONDS:
            session.close()
        return session

    def mark_used(self) -> None:
        """Record that this thread's connections were used now."""
        self._local.used = self._clock()

    def close(self) -> None:
        """Close the connections of every thread."""
        with self._lock:
            for session in list(self._all):
                session.close()


def proxies_for(url: str) -> dict[str, str]:
    """Return the proxies for an address from the environment; none for loopback."""
    return {} if is_loopback(url) else dict(get_environ_proxies(url, no_proxy=None))


def is_loopback(url: str) -> bool:
    """Return whether an address is a loopback address."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_timeout(timeout: Timeout) -> None:
    """Check that a timeout is a positive number or two of them, else raise InputError."""
    parts = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    connect, read = parts if len(parts) == 2 else (None, None)
    for seconds in (connect, connect if read is None else read):
        if not isinstance(seconds, int | float) or not 0 < seconds <= threading.TIMEOUT_MAX:
            raise InputError(
                f"The timeout {timeout!r} is not a positive number of seconds.",
                "Give `timeout=30`, or `timeout=(5, 60)` to connect and to wait for a response.",
            )


def tls_verification(verify: bool | str) -> bool | str:
    """Return the value of `verify` for `requests`: a CA bundle, or whether to verify.

    Raises:
        SetupError: the CA bundle does not exist, can't be read, or has no certificate.
    """
    bundle = os.environ.get("REQUESTS_CA_BUNDLE", "") if verify is True else verify
    if not isinstance(bundle, str) or not bundle:
        return verify
    path = Path(bundle).expanduser()
    try:
        if not path.is_dir():  # the certificates of a folder are read when they are needed
            _check_bundle(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        fault = f"There is no CA bundle at {bundle}."
    except ssl.SSLError:
        fault = f"The CA bundle {bundle} has no certificate in PEM format."
    except OSError as failure:
        fault = f"The CA bundle {bundle} can't be read ({failure.strerror})."
    else:
        return str(path)
    by_default = "REQUESTS_CA_BUNDLE in the environment"
    given = f"{parameter('verify', 'FILE')}, or ca_bundle in the profile or the environment"
    raise SetupError(fault, f"Correct {by_default if verify is True else given}.")


@lru_cache(maxsize=16)
def _check_bundle(path: Path, _modified: int) -> None:
    """Parse a CA bundle; once for each modification, since that takes 30 ms."""
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)

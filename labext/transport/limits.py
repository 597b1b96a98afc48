"""Bounds on what one response may cost: memory and time.

A server decides how many bytes it sends, how far they expand when decompressed and how fast they
come. The time limit is enforced where the socket is read, since a server that sends one byte now
and then keeps every other timeout from expiring, within the headers too.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Self

import requests
import urllib3.exceptions

from labext.errors import SetupError

MIB = 1024 * 1024

_PIECE = MIB
"""Bytes decoded at once; what a response may use beyond its bound."""


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
    def of(cls, options: Mapping[str, str]) -> Self:
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
        """Start the time, unless it is running."""
        if self._end is None and self._seconds is not None:
            self._end = time.monotonic() + self._seconds

    def reset(self) -> None:
        """Start the time anew at the next byte."""
        self._end = None

    def lift(self) -> None:
        """Set no limit from now on."""
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
def enforced(deadline: Deadline) -> Iterator[None]:
    """Enforce a deadline on the responses that begin in this context, until they are read."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


class TimedResponse(http.client.HTTPResponse):
    """A response whose socket is read within the deadline of its context."""

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
            self._deadline.remaining()  # raises if it is this limit that expired
            raise
        self._deadline.start()
        return int(count)

    def close(self) -> None:
        super().close()
        self._raw.close()


def read_body(response: requests.Response, limit: int) -> bytes:
    """Return the decoded body of a response.

    Raises:
        ResponseTooLarge: it exceeds `limit` bytes, or says that it will.
    """
    declared = response.headers.get("Content-Length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:18]) > limit:
        response.close()
        raise ResponseTooLarge(limit)
    piece: bytes = response.raw.read(_PIECE, decode_content=True)
    if len(piece) < _PIECE:
        return piece
    # BytesIO returns its own buffer: joining a list would need the memory twice.
    body = io.BytesIO()
    while piece:
        body.write(piece)
        if body.tell() > limit:
            response.close()
            raise ResponseTooLarge(limit)
        piece = response.raw.read(_PIECE, decode_content=True)
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

"""One exchange with a model's server: what is sent, how long it may take, what comes back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase

from labext.sandbox.nb.models import provider as telling
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.models.locating import is_refused, numeric_addresses
from labext.sandbox.nb.models.provider import CONNECT_SECONDS, Provider
from labext.sandbox.nb.models.sending import Sent

_HERE = {"localhost", "127.0.0.1", "::1"}


def told(provider: Provider, path: str, sent: Sent | None = None, line: Line | None = None) -> Any:
    """The JSON that a provider answers; see `fetched`.

    Raises:
        HTTPException: as `fetched`; 502 too, what it answers is no JSON.
        HungUp: nobody waits any more.
    """
    text = fetched(provider, path, sent, line).decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise telling.nonsense(provider, text) from None


def fetched(
    provider: Provider,
    path: str,
    sent: Sent | None = None,
    line: Line | None = None,
    accept: str = "application/json",
) -> bytes:
    """Return the bytes that a provider answers.

    An address without a path, such as Ollama's http://localhost:11434, is tried with `/v1` where
    it has no such route.

    Args:
        provider: whom to ask.
        path: below its address: `/chat/completions`.
        sent: what is posted; None gets.
        line: may be hung up while it waits.
        accept: what kind of answer is wanted.

    Raises:
        HTTPException: 502, it could not be reached, or did not answer well; 429, it is asked too
            often.
        HungUp: nobody waits any more.
    """
    response, content = _exchanged(provider, path, sent, line, accept)
    if response.status_code == 404 and not urlsplit(provider.base_url).path.strip("/"):
        below = replace(provider, base_url=f"{provider.base_url.rstrip('/')}/v1")
        second, body = _exchanged(below, path, sent, line, accept)
        if second.status_code != 404:
            provider, response, content = below, second, body
    if not 200 <= response.status_code < 300:
        raise telling.refused(provider, response, content.decode("utf-8", "replace"))
    return content


def _exchanged(
    provider: Provider, path: str, sent: Sent | None, line: Line | None, accept: str
) -> tuple[requests.Response, bytes]:
    """Return a provider's response, whatever its status, and its body; arguments as `fetched`."""
    line = line or Line()
    line.check()
    # Of a name, the address is checked once it is connected to.
    host = urlsplit(provider.base_url).hostname or ""
    if any(map(is_refused, numeric_addresses(host))):
        raise telling.forbidden(provider)
    headers = {"Accept": accept}
    if sent is not None:
        headers["Content-Type"] = sent.media_type
    ours = Line()
    with _session(provider, line, ours) as session:
        # A proxy of the environment has nothing to do with this machine.
        session.trust_env = host not in _HERE
        try:
            with session.request(
                "GET" if sent is None else "POST",
                f"{provider.base_url}{path}",
                data=sent,
                headers=headers,
                auth=_Key(provider.key),
                timeout=(CONNECT_SECONDS, provider.seconds),
                allow_redirects=False,
                stream=True,
            ) as response:
                content = _content(provider, response, ours)
        except (requests.RequestException, OSError) as error:
            line.check()
            raise telling.unreached(provider, error) from None
    return response, content


class _Key(AuthBase):
    """The key and nothing else: without it, requests would look into the user's .netrc."""

    def __init__(self, key: str | None) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key is not None:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request


def _session(provider: Provider, *lines: Line) -> requests.Session:
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter(provider, lines))
    return session


class _Adapter(HTTPAdapter):
    """Check the address of every new connection, and register the connection with the lines."""

    def __init__(self, provider: Provider, lines: Sequence[Line]) -> None:
        self._provider = provider
        self._lines = lines
        super().__init__()

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*arguments, **options)
        provider, lines, plain = self._provider, self._lines, pool.ConnectionCls

        class CheckedConnection(plain):  # type: ignore[misc, valid-type]
            def connect(self) -> None:
                super().connect()
                if is_refused(self.sock.getpeername()[0]):
                    self.close()
                    raise telling.forbidden(provider)
                for line in lines:
                    line.opened(self)

        pool.ConnectionCls = CheckedConnection
        return pool


def _content(provider: Provider, response: requests.Response, line: Line) -> bytes:
    """The body, within the time and the size that an answer may take.

    A server that says a byte now and then is hung up: no read of the body ends by itself then.
    """
    until = time.monotonic() + provider.seconds
    late = Timer(provider.seconds, line.hang_up)
    late.daemon = True
    late.start()
    try:
        content = b"".join(_bounded(provider, response))
    except (requests.RequestException, OSError):
        if time.monotonic() >= until:
            raise requests.Timeout from None
        raise
    finally:
        late.cancel()
    if time.monotonic() >= until:  # what has no length ends where it is hung up
        raise requests.Timeout
    return content


def _bounded(provider: Provider, response: requests.Response) -> Iterator[bytes]:
    """The body's parts, within the size that an answer may take."""
    size = 0
    for part in response.iter_content(1 << 16):
        size += len(part)
        if size > telling.LARGEST:
            raise telling.too_long(provider)
        yield part

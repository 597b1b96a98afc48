"""Send requests to the servers of models: addresses checked, bounded, cancellable, streamed."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from starlette.exceptions import HTTPException
from urllib3.exceptions import HTTPError, ReadTimeoutError

from labext.sandbox.nb.addresses import is_refused_ip, parse_numeric_host
from labext.sandbox.nb.cancellation import CancelToken, cancel_after
from labext.sandbox.nb.providers import servers
from labext.sandbox.nb.providers.servers import CONNECT_SECONDS, ProviderServer

_CHUNK_SIZE = 1 << 18
_MAX_SUFFIX_LENGTH = 8


class JsonPayload:
    """A JSON body."""

    media_type = "application/json"

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._content = orjson.dumps(body)

    def __len__(self) -> int:
        return len(self._content)

    def __iter__(self) -> Iterator[bytes]:
        # In chunks, since the time limit applies to each.
        for start in range(0, len(self._content), _CHUNK_SIZE):
            yield self._content[start : start + _CHUNK_SIZE]


class FormPayload:
    """A `multipart/form-data` body with a file.

    Args:
        fields: text by name; names are fixed by the caller, not by users.
        path: the file, in the field `file`; of its name only the suffix is sent, which states the
            format.
    """

    def __init__(self, fields: Mapping[str, str], path: Path) -> None:
        boundary = secrets.token_hex(16)
        self.media_type = f"multipart/form-data; boundary={boundary}"
        texts = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{text}\r\n'
            for field, text in fields.items()
        )
        file = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; '
            f'filename="file{_file_suffix(path)}"\r\nContent-Type: '
            "application/octet-stream\r\n\r\n"
        )
        self._head = (texts + file).encode()
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self._path = path
        self._size = path.stat().st_size

    def __len__(self) -> int:
        return len(self._head) + self._size + len(self._tail)

    def __iter__(self) -> Iterator[bytes]:
        yield self._head
        remaining = self._size  # the announced length, even if the file grows
        with self._path.open("rb") as file:
            while chunk := file.read(min(remaining, _CHUNK_SIZE)):
                remaining -= len(chunk)
                yield chunk
        if remaining:
            raise OSError(f"{self._path.name} became shorter while it was sent")
        yield self._tail


Payload = JsonPayload | FormPayload


def _file_suffix(path: Path) -> str:
    suffix = path.suffix[:_MAX_SUFFIX_LENGTH]
    return suffix if suffix[1:].isascii() and suffix[1:].isalnum() else ""


_LOOPBACK_HOSTS = {"localhost", "127.0.0.1", "::1"}


def request_json(
    provider: ProviderServer,
    path: str,
    payload: Payload | None = None,
    cancel_token: CancelToken | None = None,
) -> Any:
    """Return the parsed JSON response of a provider; see `request_bytes`.

    Raises:
        HTTPException: as `request_bytes`; also 502 if the response is not JSON.
        CallCancelledError: if the call was cancelled.
    """
    return _parse(provider, request_bytes(provider, path, payload, cancel_token))


def request_bytes(
    provider: ProviderServer,
    path: str,
    payload: Payload | None = None,
    cancel_token: CancelToken | None = None,
    accept: str = "application/json",
) -> bytes:
    """Return the response body of a provider.

    An address without a path, such as Ollama's http://localhost:11434, is retried with the
    provider's default path, mostly `/v1`, after a 404.

    `path` is below its address, such as `/chat/completions`; without a payload it is a GET.

    Raises:
        HTTPException: 502 if the server could not be reached or failed; 429 if it is rate-limited.
        CallCancelledError: if the call was cancelled.
    """
    wait = _RateLimitWait(provider.max_wait)
    while True:
        try:
            return _request_bytes(provider, path, payload, cancel_token, accept)
        except HTTPException as error:
            wait.sleep_or_raise(error)


def _request_bytes(
    provider: ProviderServer,
    path: str,
    payload: Payload | None,
    cancel_token: CancelToken | None,
    accept: str,
) -> bytes:
    not_found: HTTPException | None = None
    for server in _with_default_path(provider):
        response, content = _send(server, path, payload, cancel_token, accept)
        if 200 <= response.status_code < 300:
            return content
        error = servers.error_response(server, response, content.decode("utf-8", "replace"))
        if response.status_code != 404:
            raise error
        not_found = not_found or error
    assert not_found is not None
    raise not_found


def stream_json(
    provider: ProviderServer, path: str, payload: Payload, cancel_token: CancelToken | None = None
) -> Iterator[Any]:
    """Yield the JSON values of a streamed response, each as soon as it has arrived.

    The stream is one of server-sent events or of lines of JSON. A server that does not stream
    yields one value. The time limit applies to the start, and to each pause.

    Raises:
        HTTPException: as `request_json`; also 502 if the connection was lost.
        CallCancelledError: if the call was cancelled.
    """
    wait = _RateLimitWait(provider.max_wait)
    while True:
        try:
            yield from _stream_json(provider, path, payload, cancel_token or CancelToken())
            return
        except HTTPException as error:
            wait.sleep_or_raise(error)


def _stream_json(
    provider: ProviderServer, path: str, payload: Payload, cancel_token: CancelToken
) -> Iterator[Any]:
    not_found: HTTPException | None = None
    for server in _with_default_path(provider):
        with _open(server, path, payload, (cancel_token,), _STREAM) as response:
            chunks = _iter_chunks(server, response, cancel_token)
            if not 200 <= response.status_code < 300:
                text = b"".join(chunks).decode("utf-8", "replace")
                error = servers.error_response(server, response, text)
                if response.status_code != 404:
                    raise error
                not_found = not_found or error
                continue
            kind = response.headers.get("Content-Type", "").lower()
            if "event-stream" in kind or "ndjson" in kind:
                yield from _parse_lines(server, chunks)
                return
            content = b"".join(chunks)
            if content.lstrip().startswith(_EVENT_FIELDS):  # a stream with another content type
                yield from _parse_lines(server, iter([content]))
            else:
                yield _parse(server, content)
            return
    assert not_found is not None
    raise not_found


_MIN_DELAY = 1.0
"""Minimum seconds between two tries of a call."""


class _RateLimitWait:
    """Wait until a call is no longer rate-limited or its server overloaded, `seconds` in all."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def sleep_or_raise(self, error: HTTPException) -> None:
        """Sleep as long as the error requires; raise it if that is too long or unknown."""
        if "Retry-After" not in (error.headers or {}):
            raise error
        delay = max(servers.seconds_to_wait(error), _MIN_DELAY)
        if delay > self._seconds:
            raise error
        self._seconds -= delay
        time.sleep(delay)


_STREAM = "text/event-stream, application/x-ndjson, application/json"
_EVENT_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def _parse_lines(provider: ProviderServer, chunks: Iterator[bytes]) -> Iterator[Any]:
    """Yield the values in the lines of a stream, up to the mark of its end.

    Comments, by which a server keeps the connection alive, do not extend the time limit.
    """
    deadline = time.monotonic() + provider.seconds
    for line, is_whole in _split_lines(chunks):
        content = line.removeprefix(b"data:").strip()
        if content == b"[DONE]":
            yield None
            return
        if not line.startswith((b"data:", b"{")) or not content:
            if time.monotonic() > deadline:
                raise servers.connection_failed(provider, requests.Timeout())
            continue
        try:
            yield _parse(provider, content)
            deadline = time.monotonic() + provider.seconds
        except HTTPException:
            if is_whole:
                raise
            return  # the connection was closed within the line


def _split_lines(chunks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of a stream, and whether each has its line end, which the last may lack."""
    pending: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        pending.append(first)
        for part in others:
            yield b"".join(pending), True
            pending = [part]
    yield b"".join(pending), False


def _parse(provider: ProviderServer, content: bytes) -> Any:
    text = content.decode("utf-8", "replace")
    try:
        return json.loads(text, parse_constant=lambda _number: None)  # NaN is not JSON
    except (ValueError, RecursionError):
        raise servers.invalid_response(provider, text) from None


def _iter_chunks(
    provider: ProviderServer,
    response: requests.Response,
    cancel_token: CancelToken,
    timeout_token: CancelToken | None = None,
) -> Iterator[bytes]:
    """Yield the bytes of a response as they arrive, within the size limit."""
    size = 0
    while True:
        error: Exception | None = None
        try:
            chunk: bytes = response.raw.read1(1 << 16, decode_content=True)
        except (HTTPError, OSError) as caught:
            error = caught
        cancel_token.check()
        # A cancelled body without a length seems complete.
        is_over = timeout_token is not None and timeout_token.is_cancelled
        if is_over or isinstance(error, ReadTimeoutError | TimeoutError):
            raise servers.connection_failed(provider, requests.Timeout())
        if error is not None:
            raise servers.cut_reply(provider)
        if not chunk:
            return
        size += len(chunk)
        if size > servers.MAX_RESPONSE_BYTES:
            raise servers.response_too_long(provider)
        yield chunk


def _with_default_path(provider: ProviderServer) -> list[ProviderServer]:
    """Return a server, and for an address without a path, the one to try after a 404."""
    url = provider.base_url.rstrip("/")
    if not provider.default_path or urlsplit(url).path:
        return [provider]
    return [provider, replace(provider, base_url=f"{url}{provider.default_path}")]


def _send(
    provider: ProviderServer,
    path: str,
    payload: Payload | None,
    cancel_token: CancelToken | None,
    accept: str,
) -> tuple[requests.Response, bytes]:
    """Return a provider's response with any status, and its body; see `request_bytes`."""
    cancel_token, timeout_token = cancel_token or CancelToken(), CancelToken()
    with (
        _open(provider, path, payload, (cancel_token, timeout_token), accept) as response,
        # Also ends responses that arrive byte by byte and never hit the read timeout.
        cancel_after(timeout_token, provider.seconds),
    ):
        content = b"".join(_iter_chunks(provider, response, cancel_token, timeout_token))
    return response, content


@contextmanager
def _open(
    provider: ProviderServer,
    path: str,
    payload: Payload | None,
    cancel_tokens: Sequence[CancelToken],
    accept: str,
) -> Iterator[requests.Response]:
    """Yield a provider's response with any status, before its body is read.

    The first token is the caller's, which cancels the call.
    """
    cancel_tokens[0].check()
    # If the host is a name, its address is checked on connecting.
    host = urlsplit(provider.base_url).hostname or ""
    if any(map(is_refused_ip, parse_numeric_host(host))):
        raise servers.forbidden_address(provider)
    headers = {"Accept": accept, **provider.headers}
    if payload is not None:
        headers["Content-Type"] = payload.media_type
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, _CheckedAdapter(provider, cancel_tokens))
        # Proxies of the environment are not used for this machine.
        session.trust_env = host not in _LOOPBACK_HOSTS
        try:
            response = session.request(
                "GET" if payload is None else "POST",
                f"{provider.base_url}{path}",
                data=payload,
                headers=headers,
                auth=_KeyAuth(provider.key_header, provider.key),
                timeout=(CONNECT_SECONDS, provider.seconds),
                allow_redirects=False,
                stream=True,
            )
        except (requests.RequestException, OSError) as error:
            cancel_tokens[0].check()
            raise servers.connection_failed(provider, error) from None
        with response:
            yield response


class _KeyAuth(AuthBase):
    """Send only the given key: by default, requests would read the user's .netrc."""

    def __init__(self, header: str, key: str | None) -> None:
        self._header, self._key = header, key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key is not None:
            prefix = "Bearer " if self._header == "Authorization" else ""
            request.headers[self._header] = f"{prefix}{self._key}"
        return request


class _CheckedAdapter(HTTPAdapter):
    """Check the address of every new connection, and register it with the cancel tokens."""

    def __init__(self, provider: ProviderServer, cancel_tokens: Sequence[CancelToken]) -> None:
        self._provider = provider
        self._cancel_tokens = cancel_tokens
        super().__init__()

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*arguments, **options)
        provider, cancel_tokens, plain = self._provider, self._cancel_tokens, pool.ConnectionCls

        class CheckedConnection(plain):  # type: ignore[misc, valid-type]
            def connect(self) -> None:
                super().connect()
                self.sock.settimeout(provider.seconds)  # for sending; so far that of connecting
                if is_refused_ip(self.sock.getpeername()[0]):
                    self.close()
                    raise servers.forbidden_address(provider)
                for cancel_token in cancel_tokens:
                    cancel_token.opened(self)

        pool.ConnectionCls = CheckedConnection
        return pool

"""Send requests to the servers of models: addresses checked, bounded, cancellable, streamed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import requests
from requests.adapters import HTTPAdapter
from starlette.exceptions import HTTPException
from urllib3.exceptions import HTTPError, ReadTimeoutError
from urllib3.filepost import encode_multipart_formdata

from labext.sandbox.nb.addresses import is_refused_host, is_refused_ip
from labext.sandbox.nb.cancellation import CancelToken, cancel_after
from labext.sandbox.nb.providers import servers
from labext.sandbox.nb.providers.servers import CONNECT_SECONDS, ProviderServer

_CHUNK_SIZE = 1 << 18


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
    """A `multipart/form-data` body with texts and, in the field `file`, a file.

    The file is read while it is sent. Of its name only the suffix is sent, which states the format.
    """

    def __init__(self, fields: Mapping[str, str], path: Path) -> None:
        empty = (f"file{path.suffix}", b"", "application/octet-stream")
        form, self.media_type = encode_multipart_formdata({**fields, "file": empty})
        head, separator, boundary = form.rpartition(b"\r\n--")  # the file's content is before it
        self._head, self._tail = head, separator + boundary
        self._path, self._size = path, path.stat().st_size

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


@dataclass(frozen=True)
class ModelRequest:
    """A request to a model's server.

    Attributes:
        path: the path below its address, such as `/chat/completions`.
        payload: the body; without one it is a GET.
        accept: the header Accept.
    """

    path: str
    payload: Payload | None = None
    accept: str = "application/json"


_LOOPBACK_HOSTS = {"localhost", "127.0.0.1", "::1"}


def request_json(
    provider: ProviderServer, request: ModelRequest, cancel_token: CancelToken | None = None
) -> Any:
    """Return the parsed JSON response of a provider."""
    return _parse(provider, request_bytes(provider, request, cancel_token))


def request_bytes(
    provider: ProviderServer, request: ModelRequest, cancel_token: CancelToken | None = None
) -> bytes:
    """Return the response body of a provider.

    Raises:
        HTTPException: 502 if the server could not be reached or failed; 429 if it is rate-limited.
        CallCancelledError: if the call was cancelled.
    """
    with _open_successful(provider, request, cancel_token or CancelToken()) as response:
        return response.read()


def stream_json(
    provider: ProviderServer, request: ModelRequest, cancel_token: CancelToken | None = None
) -> Iterator[Any]:
    """Yield the JSON values of a streamed response, each as soon as it has arrived.

    The stream is one of server-sent events or of lines of JSON. A server that does not stream
    yields one value. The time limit applies to the start, and to each pause.
    """
    request = replace(request, accept=_STREAM)
    with _open_successful(provider, request, cancel_token or CancelToken()) as response:
        chunks = response.chunks()
        kind = response.raw.headers.get("Content-Type", "").lower()
        if "event-stream" not in kind and "ndjson" not in kind:
            content = b"".join(chunks)
            if not content.lstrip().startswith(_EVENT_FIELDS):
                yield _parse(response.server, content)
                return
            chunks = iter([content])  # a stream with another content type
        yield from _parse_lines(response.server, chunks)


@contextmanager
def _open_successful(
    provider: ProviderServer, request: ModelRequest, cancel_token: CancelToken
) -> Iterator[_Response]:
    """Yield a response with a status of success, before its body is read.

    Waits while the provider is rate-limited or overloaded, `max_wait` seconds in all.
    """
    remaining = provider.max_wait
    while True:
        with ExitStack() as stack:
            try:
                opened = _request(stack, provider, request, cancel_token)
            except HTTPException as error:
                if (value := (error.headers or {}).get("Retry-After")) is None:
                    raise
                delay = max(float(value), _MIN_DELAY)
                if delay > remaining:
                    raise
            else:
                yield opened
                return
        remaining -= delay
        cancel_token.wait(delay)


def _request(
    stack: ExitStack, provider: ProviderServer, request: ModelRequest, cancel_token: CancelToken
) -> _Response:
    """Return a response that `stack` closes; raise an error response.

    An address without a path, such as Ollama's http://localhost:11434, is retried with the
    provider's default path, mostly `/v1`, after a 404.
    """
    url = provider.base_url.rstrip("/")
    addresses = [provider]
    if provider.default_path and not urlsplit(url).path:
        addresses.append(replace(provider, base_url=f"{url}{provider.default_path}"))
    not_found: list[HTTPException] = []
    for server in addresses:
        response = stack.enter_context(_open(server, request, cancel_token))
        if 200 <= response.raw.status_code < 300:
            return response
        text = response.read().decode("utf-8", "replace")
        error = servers.error_response(server, response.raw, text)
        if response.raw.status_code != 404:
            raise error
        not_found.append(error)
    raise not_found[0]


_MIN_DELAY = 1.0
"""Minimum seconds between two tries of a call."""

_STREAM = "text/event-stream, application/x-ndjson, application/json"
_EVENT_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def _parse_lines(provider: ProviderServer, chunks: Iterator[bytes]) -> Iterator[Any]:
    """Yield the values in the lines of a stream, up to the mark of its end.

    Comments, by which a server keeps the connection alive, do not extend the time limit.
    llama.cpp reports a failure in a field `error`.
    """
    deadline = time.monotonic() + provider.seconds
    for line, is_whole in _split_lines(chunks):
        is_error = line.startswith(b"error:")
        content = line.removeprefix(b"error:" if is_error else b"data:").strip()
        if content == b"[DONE]":
            yield None
            return
        if not line.startswith((b"data:", b"error:", b"{")) or not content:
            if time.monotonic() > deadline:
                raise servers.connection_failed(provider, requests.Timeout())
            continue
        try:
            value = _parse(provider, content)
            yield {"error": value} if is_error else value
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


class _Response:
    """A response of a server, with its body still to be read."""

    def __init__(
        self, server: ProviderServer, raw: requests.Response, tokens: Sequence[CancelToken]
    ) -> None:
        self.server, self.raw = server, raw
        self._cancel_token, self._timeout_token = tokens

    def read(self) -> bytes:
        """Return the body, also of a response that arrives byte by byte, in time."""
        with cancel_after(self._timeout_token, self.server.seconds):
            return b"".join(self.chunks())

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes as they arrive, within the size limit."""
        size = 0
        while True:
            error: Exception | None = None
            try:
                chunk: bytes = self.raw.raw.read1(1 << 16, decode_content=True)
            except (HTTPError, OSError) as caught:
                error = caught
            self._cancel_token.check()
            # A cancelled body without a length seems complete.
            is_over = self._timeout_token.is_cancelled
            if is_over or isinstance(error, ReadTimeoutError | TimeoutError):
                raise servers.connection_failed(self.server, requests.Timeout())
            if error is not None:
                raise servers.cut_reply(self.server)
            if not chunk:
                return
            size += len(chunk)
            if size > servers.MAX_RESPONSE_BYTES:
                raise servers.response_too_long(self.server)
            yield chunk


@contextmanager
def _open(
    provider: ProviderServer, request: ModelRequest, cancel_token: CancelToken
) -> Iterator[_Response]:
    """Yield a server's response with any status, before its body is read."""
    cancel_token.check()
    cancel_tokens = (cancel_token, CancelToken())  # the second one is for the time limit
    # If the host is a name, its address is checked on connecting.
    host = urlsplit(provider.base_url).hostname or ""
    if is_refused_host(host):
        raise servers.forbidden_address(provider)
    headers = {"Accept": request.accept, **provider.headers}
    if request.payload is not None:
        headers["Content-Type"] = request.payload.media_type

    def authorize(prepared: requests.PreparedRequest) -> requests.PreparedRequest:
        if provider.key is not None:
            prefix = "Bearer " if provider.key_header == "Authorization" else ""
            prepared.headers[provider.key_header] = f"{prefix}{provider.key}"
        return prepared

    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, _CheckedAdapter(provider, cancel_tokens))
        # Proxies of the environment are not used for this machine.
        session.trust_env = host not in _LOOPBACK_HOSTS
        try:
            response = session.request(
                "GET" if request.payload is None else "POST",
                f"{provider.base_url}{request.path}",
                data=request.payload,
                headers=headers,
                auth=authorize,  # also without a key, or requests would read the user's .netrc
                timeout=(CONNECT_SECONDS, provider.seconds),
                allow_redirects=False,
                stream=True,
            )
        except (requests.RequestException, OSError) as error:
            cancel_token.check()
            raise servers.connection_failed(provider, error) from None
        with response:
            yield _Response(provider, response, cancel_tokens)


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
                    cancel_token.opened(self.sock)

        pool.ConnectionCls = CheckedConnection
        return pool

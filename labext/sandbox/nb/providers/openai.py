"""Client of OpenAI-compatible servers: chat, embeddings, speech, transcription."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any, Protocol
from urllib.parse import urlsplit

import orjson
import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.addresses import is_refused_ip, parse_numeric_host
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.providers import servers as telling
from labext.sandbox.nb.providers.servers import (
    CONNECT_SECONDS,
    ProviderServer,
    invalid_response,
    remove_key,
    server_of_model,
)
from labext.sandbox.nb.tables import Model
from labext.sandbox.nb.text import segmentation

_CHUNK_SIZE = 1 << 18
_MAX_SUFFIX_LENGTH = 8


class Payload(Protocol):
    """The body of a request."""

    media_type: str

    def __len__(self) -> int:
        """Return the number of bytes."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the parts, from the beginning each time."""


class JsonPayload:
    """A JSON body."""

    media_type = "application/json"

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._content = orjson.dumps(body)

    def __len__(self) -> int:
        return len(self._content)

    def __iter__(self) -> Iterator[bytes]:
        yield self._content


class FormPayload:
    """A `multipart/form-data` body with a file.

    Args:
        fields: text by name; names are fixed by the caller, not by users.
        name: the name of the file's field.
        path: the file; only the suffix of its name is sent, which states the format.
    """

    def __init__(self, fields: Mapping[str, str], name: str, path: Path) -> None:
        boundary = secrets.token_hex(16)
        self.media_type = f"multipart/form-data; boundary={boundary}"
        texts = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{text}\r\n'
            for field, text in fields.items()
        )
        file = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; '
            f'filename="{name}{_file_suffix(path)}"\r\nContent-Type: '
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
    text = request_bytes(provider, path, payload, cancel_token).decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise telling.invalid_response(provider, text) from None


def request_bytes(
    provider: ProviderServer,
    path: str,
    payload: Payload | None = None,
    cancel_token: CancelToken | None = None,
    accept: str = "application/json",
) -> bytes:
    """Return the response body of a provider.

    An address without a path, such as Ollama's http://localhost:11434, is retried with `/v1` after
    a 404.

    Args:
        provider: the server.
        path: the path below its address, such as `/chat/completions`.
        payload: the body of a POST; None for a GET.
        cancel_token: cancels the call.
        accept: the Accept header.

    Raises:
        HTTPException: 502 if the server could not be reached or failed; 429 if it is rate-limited.
        CallCancelledError: if the call was cancelled.
    """
    response, content = _send(provider, path, payload, cancel_token, accept)
    if response.status_code == 404 and not urlsplit(provider.base_url).path.strip("/"):
        retry_provider = replace(provider, base_url=f"{provider.base_url.rstrip('/')}/v1")
        retry_response, body = _send(retry_provider, path, payload, cancel_token, accept)
        if retry_response.status_code != 404:
            provider, response, content = retry_provider, retry_response, body
    if not 200 <= response.status_code < 300:
        raise telling.error_response(provider, response, content.decode("utf-8", "replace"))
    return content


def _send(
    provider: ProviderServer,
    path: str,
    payload: Payload | None,
    cancel_token: CancelToken | None,
    accept: str,
) -> tuple[requests.Response, bytes]:
    """Return a provider's response with any status, and its body; see `request_bytes`."""
    cancel_token = cancel_token or CancelToken()
    cancel_token.check()
    # If the host is a name, its address is checked on connecting.
    host = urlsplit(provider.base_url).hostname or ""
    if any(map(is_refused_ip, parse_numeric_host(host))):
        raise telling.forbidden_address(provider)
    headers = {"Accept": accept}
    if payload is not None:
        headers["Content-Type"] = payload.media_type
    timeout_token = CancelToken()
    with _open_session(provider, cancel_token, timeout_token) as session:
        # Proxies of the environment are not used for this machine.
        session.trust_env = host not in _LOOPBACK_HOSTS
        try:
            with session.request(
                "GET" if payload is None else "POST",
                f"{provider.base_url}{path}",
                data=payload,
                headers=headers,
                auth=_BearerAuth(provider.key),
                timeout=(CONNECT_SECONDS, provider.seconds),
                allow_redirects=False,
                stream=True,
            ) as response:
                content = _read_body(provider, response, timeout_token)
        except (requests.RequestException, OSError) as error:
            cancel_token.check()
            raise telling.connection_failed(provider, error) from None
    return response, content


class _BearerAuth(AuthBase):
    """Send only the given key: by default, requests would read the user's .netrc."""

    def __init__(self, key: str | None) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key is not None:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request


def _open_session(provider: ProviderServer, *cancel_tokens: CancelToken) -> requests.Session:
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _CheckedAdapter(provider, cancel_tokens))
    return session


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
                if is_refused_ip(self.sock.getpeername()[0]):
                    self.close()
                    raise telling.forbidden_address(provider)
                for cancel_token in cancel_tokens:
                    cancel_token.opened(self)

        pool.ConnectionCls = CheckedConnection
        return pool


def _read_body(
    provider: ProviderServer, response: requests.Response, cancel_token: CancelToken
) -> bytes:
    """Read the body within the limits of time and size.

    The timer also ends responses that arrive byte by byte and never hit the read timeout.
    """
    deadline = time.monotonic() + provider.seconds
    timer = Timer(provider.seconds, cancel_token.cancel)
    timer.daemon = True
    timer.start()
    try:
        content = b"".join(_iter_bounded(provider, response))
    except (requests.RequestException, OSError):
        if time.monotonic() >= deadline:
            raise requests.Timeout from None
        raise
    finally:
        timer.cancel()
    if time.monotonic() >= deadline:  # a body without a length seems complete when cancelled
        raise requests.Timeout
    return content


def _iter_bounded(provider: ProviderServer, response: requests.Response) -> Iterator[bytes]:
    """Yield the body's parts within the size limit."""
    size = 0
    for part in response.iter_content(1 << 16):
        size += len(part)
        if size > telling.MAX_RESPONSE_BYTES:
            raise telling.response_too_long(provider)
        yield part


BATCH_SIZE = 128
"""Texts per embedding request."""

_THINKING = re.compile(r"(?s)\A\s*<think>.*?</think>\s*")
"""The reasoning that some models put before their answer."""

_AUDIO_MAGIC = re.compile(rb"RIFF|ID3|OggS|fLaC|\xff[\xe0-\xff]")
"""First bytes of audio files: WAV, MP3, OGG, FLAC."""

_MAX_NAME_LENGTH = 500


def chat(
    site: Site,
    model: Model,
    messages: Sequence[Mapping[str, str]],
    cancel_token: CancelToken | None = None,
    max_tokens: int | None = None,
) -> str:
    """Return a model's reply to a conversation.

    Raises:
        HTTPException: 502 if its server failed; 422 if it has no server or its key can't be read.
        CallCancelledError: if the call was cancelled.
    """
    provider = server_of_model(site, model)
    turns = [dict(message) for message in messages]
    body: dict[str, Any] = {"model": model.name, "messages": turns, "stream": False}
    if max_tokens is not None:
        body["max_tokens"] = max_tokens
    answer = request_json(provider, "/chat/completions", JsonPayload(body), cancel_token)
    try:
        text = _message_text(answer["choices"][0]["message"]["content"])
    except (KeyError, IndexError, TypeError):
        raise invalid_response(provider, json.dumps(answer)) from None
    text = segmentation.encodable(_THINKING.sub("", text)).strip()
    if not text:
        raise invalid_response(provider, "")
    return remove_key(provider, text)


def embed(
    site: Site, model: Model, texts: Sequence[str], cancel_token: CancelToken | None = None
) -> list[list[float]]:
    """Return one vector per text, all of the same length.

    Raises:
        HTTPException: as `chat`.
        CallCancelledError: if the call was cancelled.
    """
    provider = server_of_model(site, model)
    vectors: list[list[float]] = []
    for start in range(0, len(texts), BATCH_SIZE):
        batch = list(texts[start : start + BATCH_SIZE])
        body = JsonPayload({"model": model.name, "input": batch})
        answer = request_json(provider, "/embeddings", body, cancel_token)
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors += [_parse_vector(row["embedding"]) for row in rows]
        except (KeyError, TypeError, ValueError):
            raise invalid_response(provider, json.dumps(answer)) from None
        if len(rows) != len(batch) or len({len(vector) for vector in vectors}) != 1:
            raise invalid_response(provider, json.dumps(answer))
    return vectors


def synthesize(
    site: Site, model: Model, text: str, voice: str, cancel_token: CancelToken | None = None
) -> bytes:
    """Return the speech of a text as an audio file.

    Returns:
        A WAV file, or MP3, OGG or FLAC from servers without WAV.

    Raises:
        HTTPException: as `chat`.
        CallCancelledError: if the call was cancelled.
    """
    provider = server_of_model(site, model)
    body = {"model": model.name, "input": text, "voice": voice, "response_format": "wav"}
    sound = request_bytes(
        provider, "/audio/speech", JsonPayload(body), cancel_token, accept="audio/wav, audio/*"
    )
    if not _AUDIO_MAGIC.match(sound):
        raise invalid_response(provider, sound.decode("utf-8", "replace"))
    return sound


def transcribe(
    site: Site, model: Model, path: Path, cancel_token: CancelToken | None = None
) -> str:
    """Return the speech in an audio file; empty if nobody speaks.

    Raises:
        HTTPException: as `chat`.
        CallCancelledError: if the call was cancelled.
        OSError: if the file can't be read.
    """
    provider = server_of_model(site, model)
    form = FormPayload({"model": model.name, "response_format": "json"}, "file", path)
    answer = request_json(provider, "/audio/transcriptions", form, cancel_token)
    text = answer.get("text") if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise invalid_response(provider, json.dumps(answer))
    return remove_key(provider, segmentation.encodable(text).strip())


def list_models(provider: ProviderServer) -> list[str]:
    """Return the names of a server's models, in its order.

    Raises:
        HTTPException: 502 if it failed.
    """
    answer = request_json(provider, "/models")
    try:
        names = [row["id"] for row in answer["data"]]
    except (KeyError, TypeError):
        raise invalid_response(provider, json.dumps(answer)) from None
    texts = [name for name in names if isinstance(name, str)]
    return [name for name in dict.fromkeys(texts) if _is_valid_name(provider, name)]


def _is_valid_name(provider: ProviderServer, name: str) -> bool:
    """Return whether a model name of a server can be stored and does not contain its key."""
    return (
        0 < len(name) <= _MAX_NAME_LENGTH
        and name.isprintable()
        and name == name.strip()
        and name == remove_key(provider, name)
    )


def _message_text(content: Any) -> str:
    """Return the text of a message, given as a string or as parts."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _parse_vector(value: Any) -> list[float]:
    if not value or any(isinstance(v, bool) or not isinstance(v, int | float) for v in value):
        raise ValueError
    return [float(number) for number in value]

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
        """Its bytes."""

    def __iter__(self) -> Iterator[bytes]:
        """Its parts; again from its beginning each time."""


class JsonPayload:
    """An object, as JSON."""

    media_type = "application/json"

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._content = orjson.dumps(body)

    def __len__(self) -> int:
        return len(self._content)

    def __iter__(self) -> Iterator[bytes]:
        yield self._content


class FormPayload:
    """A form of `multipart/form-data` with a file in it.

    Args:
        fields: text by name; the names are the caller's own, not a user's.
        name: of the file's field.
        path: the file, whose suffix tells the server its format; its own name is not told.
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
        left = self._size  # as was announced, should the file grow
        with self._path.open("rb") as file:
            while chunk := file.read(min(left, _CHUNK_SIZE)):
                left -= len(chunk)
                yield chunk
        if left:
            raise OSError(f"{self._path.name} became shorter while it was sent")
        yield self._tail


def _file_suffix(path: Path) -> str:
    suffix = path.suffix[:_MAX_SUFFIX_LENGTH]
    return suffix if suffix[1:].isascii() and suffix[1:].isalnum() else ""


_LOOPBACK_HOSTS = {"localhost", "127.0.0.1", "::1"}


def request_json(
    provider: ProviderServer,
    path: str,
    sent: Payload | None = None,
    cancel_token: CancelToken | None = None,
) -> Any:
    """The JSON that a provider answers; see `fetched`.

    Raises:
        HTTPException: as `fetched`; 502 too, what it answers is no JSON.
        CallCancelledError: if the call was cancelled.
    """
    text = request_bytes(provider, path, sent, cancel_token).decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise telling.invalid_response(provider, text) from None


def request_bytes(
    provider: ProviderServer,
    path: str,
    sent: Payload | None = None,
    cancel_token: CancelToken | None = None,
    accept: str = "application/json",
) -> bytes:
    """Return the bytes that a provider answers.

    An address without a path, such as Ollama's http://localhost:11434, is tried with `/v1` where
    it has no such route.

    Args:
        provider: whom to ask.
        path: below its address: `/chat/completions`.
        sent: what is posted; None gets.
        cancel_token: cancels the call.
        accept: what kind of answer is wanted.

    Raises:
        HTTPException: 502, it could not be reached, or did not answer well; 429, it is asked too
            often.
        CallCancelledError: if the call was cancelled.
    """
    response, content = _send(provider, path, sent, cancel_token, accept)
    if response.status_code == 404 and not urlsplit(provider.base_url).path.strip("/"):
        below = replace(provider, base_url=f"{provider.base_url.rstrip('/')}/v1")
        second, body = _send(below, path, sent, cancel_token, accept)
        if second.status_code != 404:
            provider, response, content = below, second, body
    if not 200 <= response.status_code < 300:
        raise telling.error_response(provider, response, content.decode("utf-8", "replace"))
    return content


def _send(
    provider: ProviderServer,
    path: str,
    sent: Payload | None,
    cancel_token: CancelToken | None,
    accept: str,
) -> tuple[requests.Response, bytes]:
    """Return a provider's response, whatever its status, and its body; arguments as `fetched`."""
    cancel_token = cancel_token or CancelToken()
    cancel_token.check()
    # Of a name, the address is checked once it is connected to.
    host = urlsplit(provider.base_url).hostname or ""
    if any(map(is_refused_ip, parse_numeric_host(host))):
        raise telling.forbidden_address(provider)
    headers = {"Accept": accept}
    if sent is not None:
        headers["Content-Type"] = sent.media_type
    ours = CancelToken()
    with _open_session(provider, cancel_token, ours) as session:
        # A proxy of the environment has nothing to do with this machine.
        session.trust_env = host not in _LOOPBACK_HOSTS
        try:
            with session.request(
                "GET" if sent is None else "POST",
                f"{provider.base_url}{path}",
                data=sent,
                headers=headers,
                auth=_BearerAuth(provider.key),
                timeout=(CONNECT_SECONDS, provider.seconds),
                allow_redirects=False,
                stream=True,
            ) as response:
                content = _read_body(provider, response, ours)
        except (requests.RequestException, OSError) as error:
            cancel_token.check()
            raise telling.connection_failed(provider, error) from None
    return response, content


class _BearerAuth(AuthBase):
    """The key and nothing else: without it, requests would look into the user's .netrc."""

    def __init__(self, key: str | None) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key is not None:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request


def _open_session(provider: ProviderServer, *lines: CancelToken) -> requests.Session:
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _CheckedAdapter(provider, lines))
    return session


class _CheckedAdapter(HTTPAdapter):
    """Check the address of every new connection, and register the connection with the lines."""

    def __init__(self, provider: ProviderServer, lines: Sequence[CancelToken]) -> None:
        self._provider = provider
        self._lines = lines
        super().__init__()

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*arguments, **options)
        provider, lines, plain = self._provider, self._lines, pool.ConnectionCls

        class CheckedConnection(plain):  # type: ignore[misc, valid-type]
            def connect(self) -> None:
                super().connect()
                if is_refused_ip(self.sock.getpeername()[0]):
                    self.close()
                    raise telling.forbidden_address(provider)
                for line in lines:
                    line.opened(self)

        pool.ConnectionCls = CheckedConnection
        return pool


def _read_body(
    provider: ProviderServer, response: requests.Response, cancel_token: CancelToken
) -> bytes:
    """The body, within the time and the size that an answer may take.

    A server that says a byte now and then is hung up: no read of the body ends by itself then.
    """
    until = time.monotonic() + provider.seconds
    late = Timer(provider.seconds, cancel_token.cancel)
    late.daemon = True
    late.start()
    try:
        content = b"".join(_iter_bounded(provider, response))
    except (requests.RequestException, OSError):
        if time.monotonic() >= until:
            raise requests.Timeout from None
        raise
    finally:
        late.cancel()
    if time.monotonic() >= until:  # what has no length ends where it is hung up
        raise requests.Timeout
    return content


def _iter_bounded(provider: ProviderServer, response: requests.Response) -> Iterator[bytes]:
    """The body's parts, within the size that an answer may take."""
    size = 0
    for part in response.iter_content(1 << 16):
        size += len(part)
        if size > telling.MAX_RESPONSE_BYTES:
            raise telling.response_too_long(provider)
        yield part


BATCH_SIZE = 128
"""Texts whose embeddings are asked for at once."""

_THINKING = re.compile(r"(?s)\A\s*<think>.*?</think>\s*")
"""What models that reason aloud put before their answer."""

_AUDIO_MAGIC = re.compile(rb"RIFF|ID3|OggS|fLaC|\xff[\xe0-\xff]")
"""How files of sound begin: WAV, MP3, OGG, FLAC."""

_MAX_NAME_LENGTH = 500


def chat(
    site: Site,
    model: Model,
    messages: Sequence[Mapping[str, str]],
    cancel_token: CancelToken | None = None,
    max_tokens: int | None = None,
) -> str:
    """What a model answers to a conversation.

    Args:
        site: has the key.
        model: of type `llm`.
        messages: `{"role": "system|user|assistant", "content": …}` each.
        cancel_token: cancels the call.
        max_tokens: of the answer; None leaves it to the server.

    Raises:
        HTTPException: 502, its server failed; 422, it has no server, or no key that can be read.
        CallCancelledError: if the call was cancelled.
    """
    provider = server_of_model(site, model)
    turns = [dict(each) for each in messages]
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
    """The vectors of texts, one each, all of one length.

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
    """A text, spoken.

    Args:
        site: has the key.
        model: of type `tts`.
        text: what is said.
        voice: the server's name of who says it: `alloy`.
        cancel_token: cancels the call.

    Returns:
        a WAV file, or what else a server that knows no WAV makes: MP3, OGG or FLAC.

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
    """What is said in a file of sound; empty where nobody speaks.

    Args:
        site: has the key.
        model: of type `stt`.
        path: the file; its suffix tells the server its format.
        cancel_token: cancels the call.

    Raises:
        HTTPException: as `chat`.
        CallCancelledError: if the call was cancelled.
        OSError: the file can't be read.
    """
    provider = server_of_model(site, model)
    form = FormPayload({"model": model.name, "response_format": "json"}, "file", path)
    answer = request_json(provider, "/audio/transcriptions", form, cancel_token)
    text = answer.get("text") if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise invalid_response(provider, json.dumps(answer))
    return remove_key(provider, segmentation.encodable(text).strip())


def list_models(provider: ProviderServer) -> list[str]:
    """The names of the models that a server has, in its order.

    Raises:
        HTTPException: 502, it failed.
    """
    answer = request_json(provider, "/models")
    try:
        names = [row["id"] for row in answer["data"]]
    except (KeyError, TypeError):
        raise invalid_response(provider, json.dumps(answer)) from None
    texts = [name for name in names if isinstance(name, str)]
    return [name for name in dict.fromkeys(texts) if _is_valid_name(provider, name)]


def _is_valid_name(provider: ProviderServer, name: str) -> bool:
    """Whether a model can be kept by what a server calls it, which is not its key."""
    return (
        0 < len(name) <= _MAX_NAME_LENGTH
        and name.isprintable()
        and name == name.strip()
        and name == remove_key(provider, name)
    )


def _message_text(content: Any) -> str:
    """The text of a message: a string, or the parts of one."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _parse_vector(value: Any) -> list[float]:
    if not value or any(isinstance(v, bool) or not isinstance(v, int | float) for v in value):
        raise ValueError
    return [float(number) for number in value]

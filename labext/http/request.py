"""Operations of a service and requests built from them."""

from __future__ import annotations

import io
import json as stdlib_json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, BinaryIO, Literal, TypedDict, Unpack
from urllib.parse import quote, urlsplit

import requests
from requests.auth import AuthBase

from labext.actions import Action
from labext.errors import InputError
from labext.http.connection_pool import SEND_BLOCK_SIZE


class RetryMode(Enum):
    """Whether a request may be sent again after its response was lost."""

    ALWAYS = "always"
    """Reads, POST or not, and idempotent changes."""

    DELETE = "delete"
    """A removal: a 404 on a repeat means that the first one succeeded."""

    UNSENT = "unsent"
    """A change that must not happen twice: again only if it did not arrive."""


@dataclass(frozen=True)
class Operation:
    """One operation of a service.

    Attributes:
        name: a description for errors: `submit a job`.
        method: the HTTP method.
        path: relative to the service's base address; may hold `{placeholders}`.
        repeat: whether it may be sent again.
        answer: `json` if only JSON is valid: a response of another type with status 200 is then an
            error. With `any` the response is checked by its own Content-Type, with `unchecked` it
            is not checked.
        next_step: the next step for a user if the outcome is unknown.
        action: the replacement of `{action}` in `next_step`.
        relays: whether the service calls another server for it, such as that of a model, and passes
            on its 429, which then delays no other request.
    """

    name: str
    method: str
    path: str
    repeat: RetryMode
    answer: Literal["json", "any", "unchecked"] = "any"
    next_step: str = "Check whether it exists before you send it again."
    action: Action | None = None
    relays: bool = False

    def address(self, base_url: str, values: Mapping[str, str]) -> str:
        """Return the whole address, each placeholder filled with its quoted value.

        Raises:
            InputError: a value would change the path: empty, `.` or `..`.
        """
        filled = {name: _quote_segment(name, value) for name, value in values.items()}
        return f"{base_url.rstrip('/')}/{self.path.lstrip('/').format_map(filled)}"


def _quote_segment(name: str, value: str) -> str:
    if value in {"", ".", ".."}:
        raise InputError(f"{value!r} can't be a {name}.", f"Give the {name} a name of its own.")
    return quote(encode_text(name, value), safe="")


def encode_text(name: str, text: str) -> bytes:
    """Return a text as UTF-8; InputError if it can't be encoded, like some names of files."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"The {name} {text!a} contains characters that can't be sent.",
            "Use Unicode text; rename a file whose name is not UTF-8.",
        ) from None


QueryParams = Mapping[str, str | int | float | bool | None]


@dataclass
class Request:
    """An operation with the values of its parameters.

    Attributes:
        url: the whole address, without the query.
        body: the body, if it is in memory.
        content: opens the body for every attempt, if it is a stream.
        maybe_received: an earlier attempt may have reached the service.
    """

    op: Operation
    url: str
    path: str
    params: dict[str, str] = field(repr=False)  # the query may hold a secret
    headers: dict[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
    content: Callable[[], BinaryIO] | None = None
    maybe_received: bool = field(default=False, compare=False)

    def prepare(self, auth: AuthBase | None, stream: BinaryIO | None) -> requests.Request:
        """Return the request to send, with the opened `stream` as its body, if any."""
        data = None if stream is None else stream_body(stream)
        if self.body is not None:
            # In blocks, each with its own timeout.
            data = io.BytesIO(self.body) if len(self.body) > SEND_BLOCK_SIZE else self.body
        return requests.Request(
            self.op.method, self.url, headers=self.headers, params=self.params, data=data, auth=auth
        )

    @contextmanager
    def open_content(self) -> Iterator[BinaryIO | None]:
        """Open the stream to send, if there is one; raise InputError if it can't be read."""
        if self.content is None:
            yield None
            return
        try:
            stream = self.content()
        except OSError as failure:
            name, why = failure.filename or "The content to send", failure.strerror
            stream = None
        if stream is None:
            raise InputError(f"{name} can't be read ({why}).", "Check the file.")
        with closing(stream):
            yield stream


class RequestArguments(TypedDict, total=False):
    """Arguments of a request.

    Attributes:
        path: the values of the path's placeholders.
        params: the query; a value of None is left out, booleans become `true` and `false`.
        json: the body as JSON.
        content: opens the body as a stream, once for each attempt.
        headers: further headers.
    """

    path: Mapping[str, str]
    params: QueryParams | None
    json: Any
    content: Callable[[], BinaryIO] | None
    headers: Mapping[str, str] | None


def build_request(op: Operation, base_url: str, **arguments: Unpack[RequestArguments]) -> Request:
    """Return the request; `json` is serialized here, so that invalid values fail at once."""
    json, content = arguments.get("json"), arguments.get("content")
    if json is not None and content is not None:
        raise ValueError("a request has one body: json or content")
    url = op.address(base_url, arguments.get("path", {}))
    headers = dict(arguments.get("headers") or {})
    body = None
    if json is not None:
        body = _encode_json(json, op)
        headers.setdefault("Content-Type", "application/json")
    elif content is not None:
        headers.setdefault("Content-Type", "application/octet-stream")
    base_path = urlsplit(base_url).path.rstrip("/")
    relative_path = urlsplit(url).path.removeprefix(base_path)
    params = _encode_query(arguments.get("params"))
    return Request(op, url, relative_path, params, headers, body, content)


def _encode_query(params: QueryParams | None) -> dict[str, str]:
    written = {}
    for name, value in (params or {}).items():
        if value is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            encode_text(name, text)
            written[name] = text
    return written


def _encode_json(json: Any, op: Operation) -> bytes:
    try:
        text = stdlib_json.dumps(
            json, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_to_builtin
        )
        return text.encode()
    except (TypeError, ValueError, RecursionError) as failure:
        raise InputError(
            f"The arguments of '{op.name}' can't be written as JSON ({failure}).",
            "Use text, finite numbers, booleans, lists and dictionaries.",
        ) from None


def _to_builtin(value: Any) -> Any:
    """Return a numpy number as a Python number."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    raise TypeError(f"a {type(value).__name__} cannot be represented as JSON")


def stream_body(stream: BinaryIO) -> bytes | BinaryIO:
    """Return a stream as a body; `requests` would send an empty one in chunks."""
    try:
        start = stream.tell()
        size = stream.seek(0, io.SEEK_END) - start
        stream.seek(start)
    except (OSError, AttributeError):
        return stream  # of unknown size
    return stream if size else b""  # object stores refuse chunks

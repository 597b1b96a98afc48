"""One call of an operation: what is sent, the same at every try."""

from __future__ import annotations

import io
import json as stdlib_json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import requests
from requests.auth import AuthBase

from labext.errors import InputError
from labext.transport.operation import Operation
from labext.transport.session import BLOCK

Params = Mapping[str, str | int | float | bool | None]


@dataclass
class Call:
    """An operation with its values.

    Attributes:
        url: the whole address, without the query.
        body: what is sent, if it is in memory.
        content: opens what is sent, anew for every try, if it is a stream.
        seen: an earlier try may have reached the service.
    """

    op: Operation
    url: str
    path: str
    params: dict[str, str] = field(repr=False)  # what is sent may hold a secret
    headers: dict[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
    content: Callable[[], BinaryIO] | None = None
    seen: bool = field(default=False, compare=False)

    def request(self, auth: AuthBase | None, stream: BinaryIO | None) -> requests.Request:
        """Return the request, with what was opened of its stream."""
        data: bytes | BinaryIO | None = stream
        if stream is not None and size_of(stream) == 0:
            data = b""  # `requests` would send an empty file in chunks, which stores refuse
        elif self.body is not None:
            # In blocks, for each of which there is time.
            data = io.BytesIO(self.body) if len(self.body) > BLOCK else self.body
        return requests.Request(
            self.op.method, self.url, headers=self.headers, params=self.params, data=data, auth=auth
        )

    @contextmanager
    def opened(self) -> Iterator[BinaryIO | None]:
        """Open the stream to send, if there is one.

        Raises:
            InputError: it can't be read.
        """
        if self.content is None:
            yield None
            return
        try:
            stream = self.content()
        except OSError as failure:
            what, why = failure.filename or "What was to be sent", failure.strerror
            stream = None
        if stream is None:
            raise InputError(f"{what} can't be read ({why}).", "Check the file.")
        with closing(stream):
            yield stream


def new_call(
    op: Operation,
    base_url: str,
    *,
    path: Mapping[str, str],
    params: Params | None,
    json: Any,
    content: Callable[[], BinaryIO] | None,
    headers: Mapping[str, str] | None,
) -> Call:
    """Return the call; `json` is written here, so that what can't be written fails at once."""
    if json is not None and content is not None:
        raise ValueError("a request has one body: json or content")
    url = op.address(base_url, path)
    sent = dict(headers or {})
    body = None
    if json is not None:
        body = _written(json, op)
        sent.setdefault("Content-Type", "application/json")
    elif content is not None:
        sent.setdefault("Content-Type", "application/octet-stream")
    base_path = urlsplit(base_url).path.rstrip("/")
    shown = urlsplit(url).path.removeprefix(base_path)
    return Call(op, url, shown, _query(params), sent, body, content)


def _query(params: Params | None) -> dict[str, str]:
    written = {}
    for name, value in (params or {}).items():
        if value is not None:
            written[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return written


def _written(json: Any, op: Operation) -> bytes:
    try:
        text = stdlib_json.dumps(
            json, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_plain
        )
        return text.encode()
    except (TypeError, ValueError, RecursionError) as failure:
        raise InputError(
            f"What '{op.name}' was given can't be written as JSON ({failure}).",
            "Use text, finite numbers, booleans, lists and dictionaries.",
        ) from None


def _plain(value: Any) -> Any:
    """Return the Python number behind one of numpy's."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    raise TypeError(f"a {type(value).__name__} is no JSON")


def size_of(stream: BinaryIO) -> int | None:
    """Return how many bytes a stream has left; None where it can't tell."""
    try:
        start = stream.tell()
        size = stream.seek(0, io.SEEK_END) - start
        stream.seek(start)
    except (OSError, AttributeError):
        return None
    return size

"""What is sent to a model's server: JSON, or a form with a file that is read while it is sent."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import orjson

_CHUNK = 1 << 18
_SUFFIX = 8


class Sent(Protocol):
    """The body of a request."""

    media_type: str

    def __len__(self) -> int:
        """Its bytes."""

    def __iter__(self) -> Iterator[bytes]:
        """Its parts; again from its beginning each time."""


class Json:
    """An object, as JSON."""

    media_type = "application/json"

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._content = orjson.dumps(body)

    def __len__(self) -> int:
        return len(self._content)

    def __iter__(self) -> Iterator[bytes]:
        yield self._content


class Form:
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
            f'filename="{name}{_suffix(path)}"\r\nContent-Type: application/octet-stream\r\n\r\n'
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
            while chunk := file.read(min(left, _CHUNK)):
                left -= len(chunk)
                yield chunk
        if left:
            raise OSError(f"{self._path.name} became shorter while it was sent")
        yield self._tail


def _suffix(path: Path) -> str:
    suffix = path.suffix[:_SUFFIX]
    return suffix if suffix[1:].isascii() and suffix[1:].isalnum() else ""

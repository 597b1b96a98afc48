"""Forms with files, streamed: a file is read from disk while it is sent."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, cast

from urllib3.fields import RequestField

_CHUNK = 256 * 1024


class Multipart:
    """A form of `multipart/form-data` with fields and files, to be sent as often as need be.

    Use it as `transport.send(op, content=form.open, headers=form.headers)`.

    Args:
        fields: text by name; a name may come more than once.
        files: paths by the name of their field.
        on_bytes: is told the bytes of the form that were taken to be sent, and the whole's; a try
            after a cut begins at 0 again.
    """

    def __init__(
        self,
        fields: Iterable[tuple[str, str]] = (),
        files: Mapping[str, Path] | None = None,
        on_bytes: Callable[[int, int], None] | None = None,
    ) -> None:
        self._boundary = secrets.token_hex(16)
        self._fields = list(fields)
        self._files = dict(files or {})
        self._on_bytes = on_bytes

    @property
    def headers(self) -> dict[str, str]:
        """The Content-Type that goes with the body."""
        return {"Content-Type": f"multipart/form-data; boundary={self._boundary}"}

    def open(self) -> BinaryIO:
        """Open the body at its beginning.

        Raises:
            OSError: a file can't be read.
        """
        parts: list[bytes | Path] = []
        for name, text in self._fields:
            parts.append(self._head(name, None) + text.encode() + b"\r\n")
        for name, path in self._files.items():
            parts += [self._head(name, path.name), path, b"\r\n"]
        parts.append(f"--{self._boundary}--\r\n".encode())
        return cast(BinaryIO, _Body(parts, self._on_bytes))

    def _head(self, name: str, filename: str | None) -> bytes:
        field = RequestField(name, b"", filename=filename)
        kind = "application/octet-stream" if filename is not None else None
        field.make_multipart(content_type=kind)
        return f"--{self._boundary}\r\n{field.render_headers()}".encode()


class _Body:
    """What `requests` needs of a stream: a length, and pieces."""

    def __init__(
        self, parts: list[bytes | Path], on_bytes: Callable[[int, int], None] | None
    ) -> None:
        self._opened: list[tuple[BinaryIO, int, str]] = []
        try:
            for part in parts:
                self._opened.append(_opened(part))
        except BaseException:
            self.close()
            raise
        self._rest = iter(self._opened)
        self._part, self._left, self._name = next(self._rest)
        self._length = sum(size for _, size, _ in self._opened)
        self._taken = 0
        self._on_bytes = on_bytes

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self.read(_CHUNK):
            yield chunk

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, none only at the end; all the rest without a size.

        What is read of a file is handed on as it is: at the speed of an upload a copy costs.

        Raises:
            OSError: a file has become shorter.
        """
        if size < 0:
            return b"".join(self)
        while not self._left and self._taken < self._length:
            self._part, self._left, self._name = next(self._rest)
        if not self._left or not size:
            return b""
        chunk = self._part.read(min(self._left, size))
        if not chunk:
            raise OSError(f"{self._name} became shorter while it was sent")
        self._left -= len(chunk)
        self._taken += len(chunk)
        if self._on_bytes is not None:
            self._on_bytes(self._taken, self._length)
        return chunk

    def close(self) -> None:
        """Close the files."""
        for part, _, _ in self._opened:
            part.close()


def _opened(part: bytes | Path) -> tuple[BinaryIO, int, str]:
    """Return a part as a stream, with its length and what it is called."""
    if isinstance(part, bytes):
        return io.BytesIO(part), len(part), ""
    file = part.open("rb", buffering=0)
    return cast(BinaryIO, file), os.fstat(file.fileno()).st_size, str(part)

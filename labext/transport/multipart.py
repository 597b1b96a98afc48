"""Forms with files, streamed: a file is read from disk while it is sent."""

from __future__ import annotations

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
        self._files = [part.open("rb") for part in parts if isinstance(part, Path)]
        sizes = [os.fstat(file.fileno()).st_size for file in self._files]
        self._length = sum(sizes) + sum(len(part) for part in parts if isinstance(part, bytes))
        self._chunks = self._read(parts, sizes)
        self._rest = b""
        self._taken = 0
        self._on_bytes = on_bytes

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self.read(_CHUNK):
            yield chunk

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes; fewer only at the end."""
        held = [self._rest]
        count = len(self._rest)
        while (size < 0 or count < size) and (chunk := next(self._chunks, b"")):
            held.append(chunk)
            count += len(chunk)
        whole = b"".join(held)
        end = len(whole) if size < 0 else size
        self._rest = whole[end:]
        self._taken += len(whole) - len(self._rest)
        if self._on_bytes is not None:
            self._on_bytes(self._taken, self._length)
        return whole[:end]

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()

    def _read(self, parts: list[bytes | Path], sizes: list[int]) -> Iterator[bytes]:
        opened = zip(self._files, sizes, strict=True)
        for part in parts:
            if isinstance(part, bytes):
                yield part
                continue
            file, left = next(opened)
            while left:
                chunk = file.read(min(left, _CHUNK))
                if not chunk:
                    raise OSError(f"{part} became shorter while it was sent")
                left -= len(chunk)
                yield chunk

"""Reads a form with a file, which goes to the disk as it comes: no file is held in memory.

The framework's own reader would write it twice, into the system's folder for temporary files first,
which may be memory.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool

from labext.sandbox.nb import faults

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

CHUNK = 1 << 20
MOST_FIELDS = 100
LONGEST_HEADER = 16 * 1024

FILE = "file"
"""The field that may hold a file (contract, POST /sources)."""


@dataclass(frozen=True)
class Most:
    """Bytes that a form may have: its file, and all of its fields together."""

    file: int
    fields: int


@dataclass(frozen=True)
class Received:
    """A file on the disk: its name as it was sent, its bytes and how many they are."""

    name: str
    media_type: str | None
    path: Path
    size: int


@dataclass
class Form:
    """What was sent."""

    fields: dict[str, str] = field(default_factory=dict)
    file: Received | None = None

    def discard(self) -> None:
        """Remove the file, unless it was moved."""
        if self.file is not None:
            self.file.path.unlink(missing_ok=True)


async def read(content_type: str, body: AsyncIterator[bytes], folder: Path, most: Most) -> Form:
    """Read a form; its file is put into `folder`. Whatever is refused leaves nothing there.

    Raises:
        HTTPException: 400, it is no form; 413, it is too big.
    """
    boundary = parse_options_header(content_type)[1].get(b"boundary")
    if not boundary:
        raise faults.invalid("The form's Content-Type names no boundary.")
    reader = _Reader(folder, most)
    try:
        parser = MultipartParser(boundary, reader.callbacks())
        async for chunk in body:
            parser.write(chunk)
            await reader.settle()
        if not reader.ended:
            raise faults.invalid("The form broke off.")
        return await run_in_threadpool(reader.form)
    except FormParserError:
        reader.discard()
        raise faults.invalid("The form can't be read; send it as multipart/form-data.") from None
    except BaseException:
        reader.discard()
        raise


class _Reader:
    """Takes what the parser finds: fields, and a file whose bytes are written by `settle`."""

    def __init__(self, folder: Path, most: Most) -> None:
        self.ended = False
        self._path = folder / uuid.uuid4().hex
        self._most = most
        self._fields: dict[str, bytearray] = {}
        self._headers: dict[bytes, bytes] = {}
        self._header = (bytearray(), bytearray())
        self._name: str | None = None
        self._named: tuple[str, str | None] | None = None
        self._file: BinaryIO | None = None
        self._waiting: list[bytes] = []
        self._held = self._size = self._fields_size = 0

    def callbacks(self) -> MultipartCallbacks:
        """What the parser calls."""
        return {
            "on_part_begin": self._begin,
            "on_part_data": self._data,
            "on_header_field": self._header_name,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_end,
            "on_end": self._end,
        }

    async def settle(self) -> None:
        """Write what has come of the file, once it is worth it."""
        if self._held >= CHUNK and self._file is not None:
            waiting, self._waiting, self._held = self._waiting, [], 0
            await run_in_threadpool(self._file.write, b"".join(waiting))

    def form(self) -> Form:
        """The whole form, its file safe on the disk."""
        try:
            fields = {name: bytes(value).decode() for name, value in self._fields.items()}
        except UnicodeDecodeError:
            raise faults.invalid("The form's fields are no UTF-8.") from None
        if self._file is None or self._named is None:
            return Form(fields)
        with self._file as file:
            file.write(b"".join(self._waiting))
            file.flush()
            os.fsync(file.fileno())
        return Form(fields, Received(*self._named, self._path, self._size))

    def discard(self) -> None:
        """Leave nothing on the disk."""
        if self._file is not None:
            self._file.close()
            self._path.unlink(missing_ok=True)

    def _begin(self) -> None:
        self._headers, self._name = {}, None

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._grow(0, data[start:end])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._grow(1, data[start:end])

    def _grow(self, which: int, part: bytes) -> None:
        self._header[which].extend(part)
        if len(self._header[which]) > LONGEST_HEADER:
            raise faults.invalid("The form has a header that is too long.")

    def _header_end(self) -> None:
        name, value = self._header
        self._headers[bytes(name).lower()] = bytes(value)
        self._header = (bytearray(), bytearray())

    def _headers_end(self) -> None:
        options = parse_options_header(self._headers.get(b"content-disposition"))[1]
        if b"name" not in options:
            raise faults.invalid("A part of the form has no name.")
        name = options[b"name"].decode(errors="replace")
        if b"filename" in options:
            self._open(name, _unescaped(options[b"filename"].decode(errors="replace")))
        elif name in self._fields:
            raise faults.invalid(f"The form has the field {name[:50]} twice.")
        elif len(self._fields) >= MOST_FIELDS:
            raise faults.invalid(f"The form has more than {MOST_FIELDS} fields.")
        else:
            self._fields[name] = bytearray()
            self._name = name

    def _open(self, field: str, name: str) -> None:
        if field != FILE or self._file is not None:
            raise faults.invalid(f"Send one file, in the field {FILE}.")
        said = self._headers.get(b"content-type", b"").partition(b";")[0].strip()
        self._named = (name, said.decode("latin-1").lower()[:200] or None)
        self._file = self._path.open("xb")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._name is not None:
            self._fields_size += end - start
            if self._fields_size > self._most.fields:
                raise faults.too_large(f"A form's fields have at most {self._most.fields:,} bytes.")
            self._fields[self._name] += data[start:end]
            return
        self._size += end - start
        if self._size > self._most.file:
            raise faults.too_large(f"A file has at most {self._most.file:,} bytes.")
        self._waiting.append(data[start:end])
        self._held += end - start

    def _end(self) -> None:
        self.ended = True


def _unescaped(name: str) -> str:
    """A file's name with the quotes that browsers escape (HTML, Multipart form data)."""
    return name.replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")

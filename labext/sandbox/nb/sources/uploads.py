"""Parse the request that creates a source: a form with a file, a plain form, or JSON."""

from __future__ import annotations

import os
import unicodedata
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import parse_qsl

import orjson
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, files, limits
from labext.sandbox.nb.ingestion import fetch
from labext.sandbox.nb.sources.schemas import NewSource

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

WRITE_SIZE = 1 << 20
MAX_FIELDS = 100

_ESCAPES = {"%22": '"', "%0D": "\r", "%0A": "\n"}
"""Characters in file names of forms (HTML, Multipart form data)."""

FILE_FIELD = "file"
"""The field that may hold a file (NB-62)."""


@dataclass(frozen=True)
class FormLimits:
    """Maximum bytes of a form's file, and of all its fields together."""

    file: int
    fields: int


@dataclass(frozen=True)
class ReceivedFile:
    """A received file on disk, with its original name and size."""

    name: str
    media_type: str | None
    path: Path
    size: int


@dataclass
class ParsedForm:
    """The fields and file of a request."""

    fields: dict[str, str] = field(default_factory=dict)
    file: ReceivedFile | None = None

    def discard(self) -> None:
        """Remove the file, unless it was moved."""
        if self.file is not None:
            self.file.path.unlink(missing_ok=True)


async def read_multipart(
    content_type: str, body: AsyncIterator[bytes], folder: Path, form_limits: FormLimits
) -> ParsedForm:
    """Parse a multipart form, storing its file in `folder`; errors leave no file behind."""
    boundary = parse_options_header(content_type)[1].get(b"boundary")
    if not boundary:
        raise errors.bad_request("The form's Content-Type has no boundary.")
    reader = _MultipartReader(folder, form_limits)
    try:
        parser = MultipartParser(boundary, reader.callbacks())
        async for chunk in body:
            parser.write(chunk)
            await reader.settle()
        if not reader.ended:
            raise errors.bad_request("The form is incomplete.")
        return await run_in_threadpool(reader.form)
    except FormParserError:
        reader.discard()
        raise errors.bad_request("The form is invalid; send it as multipart/form-data.") from None
    except BaseException:
        reader.discard()
        raise


class _MultipartReader:
    """Collect the parser's fields, and the file content that `settle` writes to disk."""

    def __init__(self, folder: Path, form_limits: FormLimits) -> None:
        self.ended = False
        self._path = folder / uuid.uuid4().hex
        self._limits = form_limits
        self._fields: dict[str, bytearray] = {}
        self._headers: dict[bytes, bytes] = {}
        self._header = (bytearray(), bytearray())
        self._name: str | None = None
        self._named: tuple[str, str | None] | None = None
        self._file: BinaryIO | None = None
        self._buffered: list[bytes] = []
        self._buffered_size = self._size = self._fields_size = 0

    def callbacks(self) -> MultipartCallbacks:
        """Return the callbacks of the parser."""
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
        """Write the received file content once enough is buffered."""
        if self._buffered_size >= WRITE_SIZE and self._file is not None:
            buffered, self._buffered, self._buffered_size = self._buffered, [], 0
            await run_in_threadpool(self._file.write, b"".join(buffered))

    def form(self) -> ParsedForm:
        """Return the complete form, with its file synced to disk."""
        try:
            fields = {name: bytes(value).decode() for name, value in self._fields.items()}
        except UnicodeDecodeError:
            raise errors.bad_request("The form's fields are not UTF-8.") from None
        if self._file is None or self._named is None:
            return ParsedForm(fields)
        with self._file as file:
            file.write(b"".join(self._buffered))
            file.flush()
            os.fsync(file.fileno())
        return ParsedForm(fields, ReceivedFile(*self._named, self._path, self._size))

    def discard(self) -> None:
        """Remove the file from disk."""
        if self._file is not None:
            self._file.close()
            self._path.unlink(missing_ok=True)

    def _begin(self) -> None:
        self._headers, self._name = {}, None

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header[0].extend(data[start:end])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._header[1].extend(data[start:end])

    def _header_end(self) -> None:
        name, value = self._header
        self._headers[bytes(name).lower()] = bytes(value)
        self._header = (bytearray(), bytearray())

    def _headers_end(self) -> None:
        options = parse_options_header(self._headers.get(b"content-disposition"))[1]
        if b"name" not in options:
            raise errors.bad_request("A part of the form has no name.")
        name = options[b"name"].decode(errors="replace")
        if b"filename" in options:
            file_name = options[b"filename"].decode(errors="replace")
            for escape, character in _ESCAPES.items():
                file_name = file_name.replace(escape, character)
            self._open(name, file_name)
        elif name in self._fields:
            raise errors.bad_request(f"The form has the field {name[:50]} twice.")
        elif len(self._fields) >= MAX_FIELDS:
            raise errors.bad_request(f"The form has more than {MAX_FIELDS} fields.")
        else:
            self._fields[name] = bytearray()
            self._name = name

    def _open(self, field: str, name: str) -> None:
        if field != FILE_FIELD or self._file is not None:
            raise errors.bad_request(f"Send one file, in the field {FILE_FIELD}.")
        media_type = self._headers.get(b"content-type", b"").partition(b";")[0].strip()
        self._named = (name, media_type.decode("latin-1").lower()[:200] or None)
        self._file = self._path.open("xb")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._name is not None:
            self._fields_size += end - start
            if self._fields_size > self._limits.fields:
                raise errors.too_large(
                    f"A form's fields have at most {self._limits.fields:,} bytes."
                )
            self._fields[self._name] += data[start:end]
            return
        self._size += end - start
        if self._size > self._limits.file:
            raise errors.too_large(
                f"A file has at most {self._limits.file:,} bytes. Add a smaller file, or allow "
                f"more: {admin_command('nb limits set upload_bytes VALUE')}."
            )
        self._buffered.append(data[start:end])
        self._buffered_size += end - start

    def _end(self) -> None:
        self.ended = True


MAX_FILE_NAME_LENGTH = 255
FORM_OVERHEAD = 64 * 1024
"""Bytes allowed for a form's fields besides its text."""

_BOOLEAN = TypeAdapter(bool)


@dataclass
class SourceRequest:
    """A request to create a source from exactly one of a file, a web address and a text.

    `body` has all fields but the file, which is in `form` until it is moved.
    """

    body: NewSource
    form: ParsedForm = field(default_factory=ParsedForm)


async def read_request(site: Site, request: Request, *, json: bool = False) -> SourceRequest:
    """Parse and validate a request; `json` parses JSON regardless of its content type."""
    form_limits = await run_in_threadpool(_form_limits, site)
    try:
        form = await _read_form(site, request, form_limits, json=json)
    except ClientDisconnect:
        raise errors.bad_request("The request is incomplete.") from None  # no client receives this
    try:
        # In a thread, since it takes time in proportion to the text.
        return await run_in_threadpool(_validate_request, site, form)
    except BaseException:
        form.discard()
        raise


async def _read_form(
    site: Site, request: Request, form_limits: FormLimits, *, json: bool
) -> ParsedForm:
    content_type = request.headers.get("content-type", "")
    media_type = content_type.partition(";")[0].strip().lower()
    if json or media_type in ("application/json", "") or media_type.endswith("+json"):
        return ParsedForm(await run_in_threadpool(_parse_json, await request.body()))
    if media_type == "multipart/form-data":
        form = await read_multipart(
            content_type, request.stream(), site.folder / files.INCOMING, form_limits
        )
    elif media_type == "application/x-www-form-urlencoded":
        form = ParsedForm(await run_in_threadpool(_parse_urlencoded, await request.body()))
    else:
        raise errors.bad_request("Send a form (multipart/form-data), or JSON for a page or a text.")
    try:
        form.fields = _convert_fields(form.fields)
    except BaseException:
        form.discard()
        raise
    return form


def _form_limits(site: Site) -> FormLimits:
    with site.database.read() as session:
        text = limits.get_limit(session, "text_bytes")
        return FormLimits(limits.get_limit(session, "upload_bytes"), text + FORM_OVERHEAD)


def _parse_json(body: bytes) -> dict[str, Any]:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise errors.bad_request("The body is not valid JSON.") from None
    if not isinstance(content, dict):
        raise errors.bad_request("The body is not a JSON object.")
    return content


def _parse_urlencoded(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise errors.bad_request("The form is invalid.") from None
    return dict(pairs)


def _convert_fields(fields: dict[str, str]) -> dict[str, Any]:
    """Return a form's fields with JSON types; empty fields count as not sent."""
    typed: dict[str, Any] = {name: value for name, value in fields.items() if value != ""}
    if "process_async" in typed:
        try:
            typed["process_async"] = _BOOLEAN.validate_python(typed["process_async"].strip())
        except ValidationError:
            raise errors.bad_request("process_async: must be true or false.") from None
    if fields.get("text") == "":
        typed["text"] = ""
    return typed


def _validate_request(site: Site, form: ParsedForm) -> SourceRequest:
    try:
        body = NewSource.model_validate(form.fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None
    contents = [body.url, body.text, form.file]
    if sum(content is not None for content in contents) != 1:
        raise errors.bad_request("Send exactly one of file, url and text.")
    if body.url is not None:
        try:
            fetch.split_url(body.url.strip())
        except ValueError as error:
            raise errors.bad_request(f"url: {error}") from None
    if body.text is not None:
        if not body.text.strip():
            raise errors.bad_request("text: can't be empty.")
        with site.database.read() as session:
            limits.check_text_size(session, body.text)
    return SourceRequest(body, form)


def clean_file_name(file_name: str) -> str:
    """Return the name of an uploaded file without folders and unprintable characters."""
    name = file_name.replace("\\", "/").rpartition("/")[2]
    name = "".join(letter for letter in name if unicodedata.category(letter)[0] != "C")
    name = unicodedata.normalize("NFC", name).strip()
    if name in ("", ".", ".."):
        return "file"
    stem, dot, suffix = name.rpartition(".")
    if len(name) > MAX_FILE_NAME_LENGTH and dot and len(suffix) < 20:
        return f"{stem[: MAX_FILE_NAME_LENGTH - len(suffix) - 1]}.{suffix}"
    return name[:MAX_FILE_NAME_LENGTH]

"""Upload files to presigned URLs and as streamed multipart forms."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import requests
from urllib3.fields import RequestField

from labext.config.profiles import origin
from labext.errors import AccessError, LabextError, NotFoundError, ServiceError
from labext.http.connection_failures import ConnectionFailure, classify_failure
from labext.http.connection_pool import (
    NETWORK_ERRORS,
    UNSAFE_CHARACTERS,
    Deadline,
    ResponseTooLarge,
    new_session,
    read_body,
)
from labext.http.rate_limiter import requested_delay
from labext.http.redirects import send_following_redirects
from labext.http.request import encode_text, stream_body
from labext.http.responses import excerpt, read_message
from labext.http.retry_policy import (
    REJECTED,
    TRANSIENT,
    RequestOptions,
    RetryableError,
    on_transfer_failure,
)

_READ_SIZE = 256 * 1024


class MultipartForm:
    """A repeatable `multipart/form-data` body with fields and files.

    Usage: `client.send(op, content=form.open, headers=form.headers)`.

    Args:
        fields: names and values; a name may occur more than once.
        files: paths by field name.
        on_bytes: called with the number of bytes read for sending and the total; a repeated
            attempt starts at 0.
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
        """The Content-Type of the body."""
        return {"Content-Type": f"multipart/form-data; boundary={self._boundary}"}

    def open(self) -> BinaryIO:
        """Open the body at its start; raise OSError if a file can't be read."""
        parts: list[bytes | Path] = []
        for name, text in self._fields:
            parts.append(self._head(name, None) + encode_text(name, text) + b"\r\n")
        for name, path in self._files.items():
            parts += [self._head(name, path.name), path, b"\r\n"]
        parts.append(f"--{self._boundary}--\r\n".encode())
        return cast(BinaryIO, _MultipartStream(parts, self._on_bytes))

    def _head(self, name: str, filename: str | None) -> bytes:
        field = RequestField(name, b"", filename=filename)
        kind = "application/octet-stream" if filename is not None else None
        field.make_multipart(content_type=kind)
        return encode_text("file name", f"--{self._boundary}\r\n{field.render_headers()}")


class _MultipartStream:
    """The part of the file interface that `requests` needs: `__len__` and `read`."""

    def __init__(
        self, parts: list[bytes | Path], on_bytes: Callable[[int, int], None] | None
    ) -> None:
        self._opened: list[tuple[BinaryIO, int, str]] = []
        try:
            for part in parts:
                self._opened.append(_open_part(part))
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
        while chunk := self.read(_READ_SIZE):
            yield chunk

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, or all remaining ones; empty only at the end.

        Data read from a file is returned without copying, because a copy slows the upload.

        Raises:
            OSError: a file has been truncated.
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


def _open_part(part: bytes | Path) -> tuple[BinaryIO, int, str]:
    """Return a part as a stream, with its length and a name for errors."""
    if isinstance(part, bytes):
        return io.BytesIO(part), len(part), ""
    file = part.open("rb", buffering=0)
    return cast(BinaryIO, file), os.fstat(file.fileno()).st_size, str(part)


_T = TypeVar("_T")

_EXPIRED = frozenset({400, 401, 403, 410})
"""Statuses that object stores send for an expired presigned address."""


def check_presigned_url(url: str, service: str) -> None:
    """Check a presigned URL from a service; raise ServiceError if the URL is invalid."""
    try:
        prepared = requests.Request("GET", url).prepare().url or ""
        is_address = origin(prepared)[0] in {"http", "https"} and not UNSAFE_CHARACTERS.search(url)
    except ValueError:  # requests.InvalidURL is one
        is_address = False
    if not is_address:
        raise ServiceError(
            f"The {service} gave an invalid address for a file.",
            "Try again; tell the administrator of the service if this persists.",
        )


class PresignedStore:
    """Object store accessed by presigned URLs."""

    def __init__(self, options: RequestOptions) -> None:
        self._options = options

    def put(self, url: str, name: str, content: Callable[[], BinaryIO]) -> None:
        """Upload a file's content, opened for each attempt; a lost response is retried.

        Raises:
            AccessError: the URL is invalid or has expired.
            ServiceError: the store failed.
        """

        def once(session: requests.Session) -> None:
            with closing(content()) as stream:
                request = requests.Request(
                    "PUT",
                    url,
                    headers={"Content-Type": "application/octet-stream"},
                    data=stream_body(stream),
                )
                self._send(session, request, name).close()

        self._with_retries(url, once)

    def headers(self, url: str, name: str) -> Mapping[str, str]:
        """Return the headers of a HEAD request for the file.

        Raises:
            NotFoundError: it does not exist.
            AccessError, ServiceError: as for `put`.
        """

        def once(session: requests.Session) -> Mapping[str, str]:
            request = requests.Request("HEAD", url, headers={"Accept-Encoding": "identity"})
            with self._send(session, request, name) as response:
                return response.headers

        return self._with_retries(url, once)

    def tail(self, url: str, name: str, length: int) -> bytes:
        """Return at most the last `length` bytes of the file.

        Empty if the store ignores ranges and the file is longer.

        Raises:
            NotFoundError: it does not exist.
            AccessError, ServiceError: as for `put`.
        """

        def once(session: requests.Session) -> bytes:
            headers = {"Accept-Encoding": "identity", "Range": f"bytes=-{length}"}
            response = self._send(session, requests.Request("GET", url, headers=headers), name, 416)
            if response.status_code == 416:  # stores that refuse a range longer than the file
                response.close()
                del headers["Range"]
                response = self._send(session, requests.Request("GET", url, headers=headers), name)
            with response:
                try:
                    return read_body(response, length)
                except ResponseTooLarge:
                    return b""
                except NETWORK_ERRORS as failure:
                    raise RetryableError(
                        classify_failure(failure, url, self._options.service).error
                    ) from failure

        return self._with_retries(url, once)

    def _with_retries(self, url: str, once: Callable[[requests.Session], _T]) -> _T:
        check_presigned_url(url, self._options.service)
        with new_session() as session:
            return self._options.run_with_retries(lambda: once(session))

    def _send(
        self,
        session: requests.Session,
        request: requests.Request,
        name: str,
        accepted: int | None = None,
    ) -> requests.Response:
        """Return the response if its status is below 400 or the accepted one."""
        response = send_following_redirects(
            session,
            request,
            self._options,
            deadline=Deadline(self._options.limits.seconds),
            away=request.method == "GET",
        )
        if isinstance(response, ConnectionFailure):
            raise on_transfer_failure(response)
        if response.status_code < 400 or response.status_code == accepted:
            return response
        raise on_store_error(response, self._options.service, name)


def on_store_error(
    response: requests.Response, service: str, name: str
) -> LabextError | RetryableError:
    """Return the exception for an object store's error response to a file, and read its body."""
    status, method = response.status_code, response.request.method
    with response:
        message = read_message(response)
    detail = f": {excerpt(message, 200)}" if message else ""
    transfer = "download" if method == "GET" else "upload"
    kind: type[LabextError] = ServiceError
    summary = f"The {service} answered {status} to the {transfer} of {name}{detail}."
    step = None
    if status == 404:
        kind, step = NotFoundError, f"{transfer.capitalize()} it again."
    elif status == 413:
        step = "Choose a smaller file, or ask the administrator of the service for a larger limit."
    elif status in _EXPIRED:
        kind, step = AccessError, f"{transfer.capitalize()} it again: it gets a new address."
        summary = f"The address for the {transfer} of {name} is invalid or has expired"
        summary += f" ({status}{detail})."
    error = kind(summary, step, status=status, method=method, server=message)
    if status in REJECTED | TRANSIENT:
        return RetryableError(error, requested_delay(status, response.headers))
    return error

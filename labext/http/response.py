"""Successful responses, read into memory and parsed."""

from __future__ import annotations

import gc
import json as stdlib_json
from collections.abc import Mapping
from typing import Any

import orjson

from labext.errors import ResponseLimitError, ServiceError
from labext.http.connection_pool import ResponseLimits, ResponseTooLarge
from labext.http.failures import READ_FOR_WORDS, excerpt, looks_like_html
from labext.http.request import Operation

_NOT_PARSED: Any = object()

_MIN_VALUE_SIZE = 64
"""Bytes of an empty list or a short string, with its place in another list."""


class Response:
    """A successful answer.

    Attributes:
        status: the HTTP status; 404 only for a repeated removal, which has then succeeded.
        headers: by any case of their names.
        content: the body's bytes.
        repeated: an earlier try of this request may have reached the service.
    """

    def __init__(
        self,
        op: Operation,
        status: int,
        headers: Mapping[str, str],
        content: bytes,
        *,
        repeated: bool = False,
        service: str = "service",
        limit: int = ResponseLimits.size,
    ) -> None:
        self.status = status
        self.headers = headers
        self.content = content
        self.repeated = repeated
        self._op = op
        self._service = service
        self._limit = limit
        self._json = _NOT_PARSED

    def __repr__(self) -> str:
        return f"Response({self.status}, {len(self.content)} bytes)"

    def text(self) -> str:
        """Return the body as text, in UTF-8."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body parsed as JSON, once.

        Raises:
            ServiceError: the body is a web page, incomplete JSON, or empty.
            ResponseLimitError: its values would exceed the memory limit.
        """
        if self._json is _NOT_PARSED:
            try:
                self._json = parse_json(self.content, self._limit)
            except ResponseTooLarge:
                raise ResponseLimitError(
                    f"The {self._service} answered '{self._op.name}' with too many values.",
                    "Ask for less, or allow more with `max_response_mib` in the profile.",
                    status=self.status,
                    method=self._op.method,
                    path=f"/{self._op.path.lstrip('/')}",
                ) from None
            except ValueError:
                raise self._senseless("JSON") from None
        return self._json

    def validation_error(self) -> ServiceError | None:
        """Return the reason why this response can't be the service's own, or None if it may be.

        A web page under 200 comes from a proxy. An empty body without a Content-Length is a
        response cut within its headers. JSON is parsed if the operation declares it, or if the
        response declares it and begins like JSON: some services label every response as JSON, plain
        text included.
        """
        if self._op.answer == "unchecked" or self._op.method == "HEAD":
            return None
        if self.status in {204, 304, 404}:
            return None
        kind = self.headers.get("Content-Type", "").lower()
        start = self.content[:200].lstrip()
        if "html" in kind or looks_like_html(start.decode("utf-8", "replace")):
            return self._senseless("an answer of its own")
        length = self.headers.get("Content-Length", "")  # may itself be cut before its digits
        bounded = length.strip().isdigit() or "Transfer-Encoding" in self.headers
        if not start and not bounded:
            return self._senseless("a whole answer")
        if self._op.answer == "json" or ("json" in kind and start[:1] in {b"{", b"["}):
            try:
                self.json()
            except ServiceError as error:
                return error
        return None

    def _senseless(self, expected: str) -> ServiceError:
        start = excerpt(
            self.content[:READ_FOR_WORDS].decode("utf-8", "replace"),
            is_cut=len(self.content) > READ_FOR_WORDS,
        )
        instead = f"“{start}”" if start else "nothing at all"
        return ServiceError(
            f"The {self._service} answered {instead} to '{self._op.name}', not {expected}.",
            "Check the service's address, then try again.",
            status=self.status,
            method=self._op.method,
            path=f"/{self._op.path.lstrip('/')}",
            server=start,
        )


def parse_json(content: bytes, limit: int = ResponseLimits.size) -> Any:
    """Parse JSON; `NaN` and `Infinity`, which Python writes, are accepted too.

    Args:
        content: the text.
        limit: bytes that its values may use. `[[],[],…` uses 20 times its own length.

    Raises:
        ValueError: it is not JSON.
        ResponseTooLarge: it has too many values.
    """
    if len(content) * _MIN_VALUE_SIZE > 2 * limit:  # a value takes two characters at least
        values = content.count(b",") + content.count(b"[") + content.count(b"{")
        if values * _MIN_VALUE_SIZE > limit:
            raise ResponseTooLarge(limit)
    try:
        return _parse_without_gc(content)
    except ValueError:
        try:
            return stdlib_json.loads(content)
        except RecursionError:
            raise ValueError("nested too deeply") from None


def _parse_without_gc(content: bytes) -> Any:
    """Read JSON without a search for garbage in between, which takes twice as long as the reading.

    No value being parsed can be garbage yet, and no other thread runs meanwhile.
    """
    searching = gc.isenabled()
    gc.disable()
    try:
        return orjson.loads(content)
    finally:
        if searching:
            gc.enable()

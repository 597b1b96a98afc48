"""Successful responses, error responses, and their exceptions."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any

import orjson
import requests

from labext.actions import Action
from labext.errors import (
    AccessError,
    BusyError,
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    ResponseLimitError,
    ServiceError,
    SetupError,
    SignInError,
)
from labext.http.connection_pool import NETWORK_ERRORS, ResponseLimits, ResponseTooLarge
from labext.http.request import Operation, RetryMode
from labext.messages import end_sentence, truncate
from labext.redaction import mask_start
from labext.sanitize import strip_control

EXCERPT_BYTES = 64 * 1024
"""Bytes of a body that are read for an excerpt. More than an excerpt needs, since masking drops the
end (`labext.redaction.MARGIN`)."""

MESSAGE_LIMIT = 500
"""Maximum length of a service's message in characters."""

_FIELDS = ("userMessage", "message", "error", "detail", "title", "error_description", "msg")


@dataclass(frozen=True)
class ErrorResponse:
    """A response with status 400 or above.

    Attributes:
        status: the HTTP status.
        method: the HTTP method.
        path: the path, without host and query.
        server_message: the service's message, masked, in one line.
        op: the operation.
        from_service: True for a JSON response; proxies send web pages and plain text.
        has_challenge: True if the response names an authentication scheme (RFC 9110, 11.6.1).
        action: the action that the service suggests, as data.
    """

    status: int
    method: str
    path: str
    server_message: str
    op: Operation
    from_service: bool = False
    has_challenge: bool = False
    action: Action | None = None


ErrorMapper = Callable[[ErrorResponse], LabextError | None]
"""Maps an error response to the exception of a service, or None for the default."""


def server_message(body: bytes, content_type: str = "") -> str:
    """Return the server's message in one line, masked and of bounded length.

    The body may be plain text, a JSON string, or an object with one of `_FIELDS`, which may contain
    another object or a list. For a web page, the title is returned.
    """
    text = body.decode("utf-8", "replace").strip()
    if "html" in content_type.lower() or looks_like_html(text):
        message = _html_title(text)
    else:
        try:
            value = json.loads(text)
            message = _json_message(value) or (text if value else "")
        except (ValueError, RecursionError):
            message = text
    return excerpt(message, MESSAGE_LIMIT)


def sent_action(body: bytes) -> Action | None:
    """Return the action in an error response of the sandbox, or None."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return Action.from_json(content.get("action")) if isinstance(content, Mapping) else None


def read_start(response: requests.Response) -> bytes:
    """Return the start of a body for an error message; empty if it can't be read."""
    try:
        return bytes(response.raw.read(EXCERPT_BYTES, decode_content=True) or b"")
    except NETWORK_ERRORS:
        return b""


def read_message(response: requests.Response) -> str:
    """Return the server's message in a response that is not read otherwise."""
    return server_message(read_start(response), response.headers.get("Content-Type", ""))


def excerpt(text: str, limit: int = 80, *, is_cut: bool = False) -> str:
    """Return the start of a text as one masked line without control characters.

    `is_cut`: True if the text is the start of a longer text.
    """
    # More than `limit` characters are needed, since whitespace is collapsed.
    line = " ".join(strip_control(mask_start(text, limit * 20, is_cut=is_cut)).split())
    return truncate(line, limit)


_PAGE = "a web page"


def looks_like_html(text: str) -> bool:
    """Return whether a text is a web page."""
    return text[:200].lstrip("\ufeff \t\r\n").lower().startswith(("<!doctype html", "<html"))


def _html_title(page: str) -> str:
    match = re.search(r"<title[^>]*>(.*?)</title>", page[:20_000], re.IGNORECASE | re.DOTALL)
    title = unescape(match[1]).strip() if match else ""
    return f"{_PAGE}, “{title}”" if title else _PAGE


def quote_message(message: str) -> str:
    """Return a server's message in parentheses for an error message; empty if there is none."""
    message = message.strip().rstrip(".")
    quoted = message if message.startswith(_PAGE) else f"“{message}”"
    return f" ({quoted})" if message else ""


def _json_message(body: Any) -> str:
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        return "; ".join(filter(None, map(_json_message, body[:10])))
    if not isinstance(body, dict):
        return ""
    message = next(filter(None, (_json_message(body.get(name)) for name in _FIELDS)), "")
    location = body.get("loc")  # in validation errors of FastAPI
    if message and isinstance(location, list):
        return f"{'.'.join(map(str, location))}: {message}"
    return message


_NEEDS_TLS = re.compile(r"(?i)plain HTTP request was sent to HTTPS|HTTP request to an HTTPS server")
"""Messages of nginx and of servers in Go after a request without TLS."""


def to_exception(
    failure: ErrorResponse, service: str, map_error: ErrorMapper | None
) -> LabextError:
    """Return the exception for a failure, from the service's error mapper or by status."""
    error = map_error(failure) if map_error else None
    if failure.status == 400 and _NEEDS_TLS.search(failure.server_message):
        error = SetupError(
            f"The server of the {service} uses HTTPS.", "Begin its address with https://."
        )
    if error is None:
        error = _default_exception(failure, service)
    error.status = error.status or failure.status
    error.method = error.method or failure.method
    error.path = error.path or failure.path
    error.server = error.server or failure.server_message
    return error


def _default_exception(failure: ErrorResponse, service: str) -> LabextError:
    status, suffix = failure.status, f": {failure.server_message}" if failure.server_message else ""
    message = end_sentence(f"The {service} answered {status} to '{failure.op.name}'{suffix}")
    match status:
        case 401:
            return SignInError(message, "Check the key or password, and sign in again.")
        case 403:
            return AccessError(message)
        case 404 | 410:
            return NotFoundError(message, "Check the name.")
        case 407:  # only proxies send it
            return proxy_error(status, service)
        case 409:
            return ConflictError(message, "Choose another name.")
        case 429:
            return BusyError(message)
        case _ if status < 500:
            return InputError(message, "Correct the request.")
        case _:
            return ServiceError(message)


CHECK_PROXY = (
    "Correct the proxy in the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY), or list the host "
    "of the service in NO_PROXY."
)


def proxy_error(status: int, service: str) -> SetupError:
    """Return the error of a proxy that refuses a request; 407 asks for a user and a password."""
    why = "requires a user and a password" if status == 407 else "does not allow this connection"
    return SetupError(
        f"The proxy for the {service} {why} (status {status}).", CHECK_PROXY, status=status
    )


_NOT_PARSED: Any = object()

_MIN_VALUE_SIZE = 64
"""Bytes of an empty list or a short string, including its slot in a list."""


class Response:
    """A successful response.

    Attributes:
        status: the HTTP status; 404 only if a repeated deletion has succeeded before.
        headers: case-insensitive mapping.
        content: the body's bytes.
        repeated: True if an earlier attempt may have reached the service.
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
        """Return the body as UTF-8 text."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body parsed as JSON; the result is cached.

        Raises:
            ServiceError: the body is not valid JSON.
            ResponseLimitError: the values would exceed the memory limit.
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
                raise self._unexpected_error("JSON") from None
        return self._json

    def validation_error(self) -> ServiceError | None:
        """Return the error of an invalid response, or None if it is valid.

        A web page with status 200 comes from a proxy. An empty body without a Content-Length means
        that the headers were truncated. JSON is parsed if the operation expects it, or if the
        response is labelled as JSON and starts like JSON; some services label plain text as JSON.
        """
        if self._op.answer == "unchecked" or self._op.method == "HEAD":
            return None
        must_have_json = self._op.answer == "json" and self._op.repeat is RetryMode.UNSENT
        if self.status in {204, 304, 404} and not must_have_json:
            return None
        kind = self.headers.get("Content-Type", "").lower()
        start = self.content[:200].lstrip()
        if "html" in kind or looks_like_html(start.decode("utf-8", "replace")):
            return self._unexpected_error("a response of the service", is_page=True)
        length = self.headers.get("Content-Length", "")  # the header may be cut before its digits
        bounded = length.strip().isdigit() or "Transfer-Encoding" in self.headers
        if not start and not bounded:
            return self._unexpected_error("a complete response")
        if self._op.answer == "json" or ("json" in kind and start[:1] in {b"{", b"["}):
            try:
                self.json()
            except ServiceError as error:
                return error
        return None

    def _unexpected_error(self, expected: str, *, is_page: bool = False) -> ServiceError:
        body = self.content[:EXCERPT_BYTES]
        start = excerpt(body.decode("utf-8", "replace"), is_cut=len(self.content) > EXCERPT_BYTES)
        received = f"“{start}”" if start else "an empty response"
        step = "Check the service's address, then try again."
        if is_page:
            step = "Check the service's address, and sign in to this network if a browser asks you."
            page = server_message(body, "html")
            received = page if page != _PAGE else received
        return ServiceError(
            f"The {self._service} answered {received} to '{self._op.name}', not {expected}.",
            step,
            status=self.status,
            method=self._op.method,
            path=f"/{self._op.path.lstrip('/')}",
            server=start,
        )


def parse_json(content: bytes, limit: int = ResponseLimits.size) -> Any:
    """Parse JSON; `NaN` and `Infinity` are accepted, since Python writes them.

    The values may take `limit` bytes of memory; `[[],[],…` needs 20 times its length.

    Raises:
        ValueError: the text is not JSON.
        ResponseTooLarge: the text has too many values.
    """
    if len(content) * _MIN_VALUE_SIZE > 2 * limit:  # a value has at least two characters
        values = content.count(b",") + content.count(b"[") + content.count(b"{")
        if values * _MIN_VALUE_SIZE > limit:
            raise ResponseTooLarge(limit)
    try:
        return _parse_without_gc(content)
    except ValueError:
        try:
            return json.loads(content)
        except RecursionError:
            raise ValueError("nested too deeply") from None


def _parse_without_gc(content: bytes) -> Any:
    """Parse JSON with the garbage collector paused, which halves the time.

    Values being parsed are never garbage, and no other thread runs during the call.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return orjson.loads(content)
    finally:
        if was_enabled:
            gc.enable()

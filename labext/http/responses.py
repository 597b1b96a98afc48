"""Successful responses, error responses, lost connections, and their exceptions."""

from __future__ import annotations

import errno
import gc
import http.client
import json
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import orjson
import requests
import urllib3.exceptions

from labext.actions import Action, parameter
from labext.config import is_sandbox
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
    UnreachableError,
)
from labext.http.connection_pool import MIB, ResponseLimits, ResponseTooLarge, ResponseTooSlow
from labext.http.request import Operation
from labext.messages import end_sentence
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
            message = _json_message(json.loads(text)) or text
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


def excerpt(text: str, limit: int = 80, *, is_cut: bool = False) -> str:
    """Return the start of a text as one masked line without control characters.

    `is_cut`: True if the text is the start of a longer text.
    """
    # More than `limit` characters are needed, since whitespace is collapsed.
    line = " ".join(strip_control(mask_start(text, limit * 20, is_cut=is_cut)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def looks_like_html(text: str) -> bool:
    """Return whether a text is a web page."""
    return text[:200].lstrip("\ufeff \t\r\n").lower().startswith(("<!doctype html", "<html"))


def _html_title(page: str) -> str:
    match = re.search(r"<title[^>]*>(.*?)</title>", page[:20_000], re.IGNORECASE | re.DOTALL)
    title = unescape(match[1]).strip() if match else ""
    return f"a web page, “{title}”" if title else "a web page"


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


def to_exception(
    failure: ErrorResponse, service: str, map_error: ErrorMapper | None
) -> LabextError:
    """Return the exception for a failure, from the service's error mapper or by status."""
    error = map_error(failure) if map_error else None
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


class FailureStage(Enum):
    """The stage at which a request failed."""

    NEVER = "never"
    """The request can't be sent; a retry would not help."""
    UNSENT = "unsent"
    """No connection; the request did not arrive."""
    SENT = "sent"
    """The request may have arrived."""
    LIMIT = "limit"
    """The request arrived, and its response exceeds a limit; a retry would not help."""


@dataclass(frozen=True)
class ConnectionFailure:
    """A request without a response.

    Attributes:
        stage: the stage at which the connection was lost.
        reason: the reason in a few words, without the address.
        error: the exception to raise if no retry succeeds.
    """

    stage: FailureStage
    reason: str
    error: LabextError


NETWORK_ERRORS = (requests.RequestException, urllib3.exceptions.HTTPError, OSError)
"""Exceptions of `requests` for a failed request or an unreadable response."""


def classify_failure(failure: Exception, url: str, service: str) -> ConnectionFailure:
    """Classify a failure of `requests`; its message is not used, since it contains the URL."""
    place = _redacted_url(url)
    too_slow, too_large = (
        _find_cause(failure, ResponseTooSlow),
        _find_cause(failure, ResponseTooLarge),
    )
    if isinstance(too_slow, ResponseTooSlow):
        return _limit_exceeded(
            f"The {service} at {place} took more than {too_slow.seconds:g} s to send its response.",
            "Ask for less, or allow more with `max_response_seconds` in the profile.",
        )
    if isinstance(too_large, ResponseTooLarge):
        return _limit_exceeded(
            f"The response of the {service} at {place} exceeds {too_large.limit / MIB:g} MiB.",
            "Ask for less, or allow more with `max_response_mib` in the profile.",
        )
    if _find_cause(failure, urllib3.exceptions.InvalidHeader):
        summary = f"The {service} at {place} sent invalid headers."
        error = ServiceError(summary, "Try again later, or tell the administrator of the service.")
        return ConnectionFailure(FailureStage.SENT, "invalid headers", error)
    if isinstance(failure, requests.exceptions.SSLError) or _find_cause(failure, ssl.SSLError):
        return _tls_failure(failure, place, service)
    if (refused := _proxy_failure(failure, service)) is not None:
        return refused
    stage, reason = _failure_stage(failure)
    if stage is FailureStage.NEVER:
        return ConnectionFailure(
            stage,
            reason,
            SetupError(f"{place} is not a valid address ({reason}).", "Correct the address."),
        )
    if stage is FailureStage.UNSENT:
        summary = f"No {service} answers at {place} ({reason})."
        by_proxy = isinstance(failure, requests.exceptions.ProxyError)
        step = _CHECK_PROXY if by_proxy else "Check the address, and that the service runs."
        error = UnreachableError(summary, step)
        if is_sandbox(url):
            error = UnreachableError(
                summary, "Start the sandbox again: {action}.", action=Action.start_sandbox()
            )
        return ConnectionFailure(stage, reason, error)
    summary = f"The connection to the {service} at {place} was interrupted ({reason})."
    return ConnectionFailure(
        stage, reason, UnreachableError(summary, "Try again; check the service if this persists.")
    )


def _limit_exceeded(message: str, step: str) -> ConnectionFailure:
    return ConnectionFailure(
        FailureStage.LIMIT, "a limit was exceeded", ResponseLimitError(message, step)
    )


def _redacted_url(url: str) -> str:
    """Return a URL without user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _tls_failure(failure: Exception, place: str, service: str) -> ConnectionFailure:
    refused = _find_cause(failure, ssl.SSLCertVerificationError)
    if isinstance(refused, ssl.SSLCertVerificationError):
        reason = excerpt(refused.verify_message or "certificate refused")
        error: LabextError = SetupError(
            f"The certificate of the {service} at {place} is not trusted ({reason}).",
            f"Give the service's CA bundle ({parameter('verify', 'FILE')}, or a profile's "
            "ca_bundle), or correct the address.",
        )
        return ConnectionFailure(FailureStage.NEVER, reason, error)
    broken = _find_cause(failure, ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError)
    if broken is not None:
        reason = "the TLS connection was interrupted"
        return ConnectionFailure(
            FailureStage.SENT, reason, ServiceError(f"The {service} at {place} failed: {reason}.")
        )
    code = str(getattr(_find_cause(failure, ssl.SSLError), "reason", None) or "TLS error")
    if code in _NOT_TLS:
        reason, step = "the server does not use TLS", "Check the address: scheme, host and port."
    else:
        reason = code.replace("_", " ").lower()
        step = (
            "Ask the administrator of the service: it may require a client certificate, or a "
            "version of TLS that is not supported here."
        )
    error = SetupError(f"The {service} at {place} can't be reached by HTTPS ({reason}).", step)
    return ConnectionFailure(FailureStage.NEVER, reason, error)


_NOT_TLS = frozenset(
    {"HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL"}
    | {"WRONG_VERSION_NUMBER"}
)
"""OpenSSL's names of the errors after a response that is not TLS, in its various versions."""

_TUNNEL_STATUS = re.compile(r"Tunnel connection failed: ([0-9]{3})")
"""The message of `http.client` if a proxy refuses a connection to an HTTPS server."""


def _tunnel_status(failure: Exception) -> int | None:
    """Return the status with which a proxy refused a connection to an HTTPS server."""
    matches = (_TUNNEL_STATUS.match(str(part)) for part in _causes(failure, 0))
    return next((int(match[1]) for match in matches if match), None)


def _proxy_failure(failure: Exception, service: str) -> ConnectionFailure | None:
    """Return the failure of a proxy that refuses the request or can't be used, else None."""
    kinds = requests.exceptions
    status = _tunnel_status(failure)
    if status is not None and status < 500:
        error = proxy_error(status, service)
    elif isinstance(failure, kinds.InvalidSchema) and "SOCKS" in str(failure):
        reason = "can't be used: SOCKS proxies need the package PySocks"
        error = SetupError(f"The proxy for the {service} {reason}.", _CHECK_PROXY)
    elif isinstance(failure, kinds.InvalidProxyURL) or _find_cause(
        failure, urllib3.exceptions.ProxySchemeUnknown
    ):
        error = SetupError(f"The address of the proxy for the {service} is invalid.", _CHECK_PROXY)
    else:
        return None
    return ConnectionFailure(FailureStage.NEVER, "refused by the proxy", error)


_CHECK_PROXY = (
    "Correct the proxy in the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY), or list the host "
    "of the service in NO_PROXY."
)


def proxy_error(status: int, service: str) -> SetupError:
    """Return the error of a proxy that refuses a request; 407 asks for a user and a password."""
    why = "requires a user and a password" if status == 407 else "does not allow this connection"
    return SetupError(
        f"The proxy for the {service} {why} (status {status}).", _CHECK_PROXY, status=status
    )


def _failure_stage(failure: Exception) -> tuple[FailureStage, str]:
    kinds = requests.exceptions
    invalid = kinds.InvalidURL, kinds.InvalidSchema, kinds.MissingSchema
    if isinstance(failure, invalid) or _find_cause(failure, urllib3.exceptions.LocationParseError):
        return FailureStage.NEVER, "not an HTTP address"
    if isinstance(failure, (kinds.InvalidHeader, kinds.InvalidJSONError)):
        return FailureStage.NEVER, "the request can't be written"
    if isinstance(failure, kinds.ConnectTimeout):
        return FailureStage.UNSENT, "the connection timed out"
    if isinstance(failure, kinds.ProxyError):
        status = _tunnel_status(failure)
        problem = "does not respond" if status is None else f"answered {status}"
        return FailureStage.UNSENT, f"the proxy {problem}"
    if _find_cause(failure, urllib3.exceptions.NameResolutionError):
        return FailureStage.UNSENT, "unknown host name"
    if _find_cause(failure, urllib3.exceptions.NewConnectionError):
        refused = _find_cause(failure, ConnectionRefusedError)
        return FailureStage.UNSENT, "connection refused" if refused else "no connection"
    return FailureStage.SENT, _disconnect_reason(failure)


def _disconnect_reason(failure: Exception) -> str:
    if isinstance(failure, requests.exceptions.ReadTimeout) or _find_cause(
        failure, urllib3.exceptions.ReadTimeoutError, TimeoutError
    ):
        return "the response timed out"
    if _find_cause(failure, http.client.IncompleteRead):  # urllib3's exception is a subclass
        return "the response was truncated"
    if _find_cause(failure, urllib3.exceptions.DecodeError):
        return "the response can't be decompressed"
    reset = _find_cause(failure, ConnectionError)
    if reset is not None:
        return "closed without a response" if _is_closed(reset) else "connection reset"
    return "the response was cut off"


def _is_closed(failure: BaseException) -> bool:
    return getattr(failure, "errno", None) not in {errno.ECONNRESET, errno.EPIPE}


def _find_cause(failure: BaseException, *kinds: type[BaseException]) -> BaseException | None:
    """Return the first exception of `kinds` among a failure's causes and arguments."""
    return next((part for part in _causes(failure, 0) if isinstance(part, kinds)), None)


def _causes(failure: BaseException, depth: int) -> Iterator[BaseException]:
    yield failure
    if depth > 8:
        return
    inner = [*failure.args, getattr(failure, "reason", None), failure.__cause__]
    for part in inner:
        if isinstance(part, BaseException):
            yield from _causes(part, depth + 1)


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
        if self.status in {204, 304, 404}:
            return None
        kind = self.headers.get("Content-Type", "").lower()
        start = self.content[:200].lstrip()
        if "html" in kind or looks_like_html(start.decode("utf-8", "replace")):
            return self._unexpected_error("a response of the service")
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

    def _unexpected_error(self, expected: str) -> ServiceError:
        start = excerpt(
            self.content[:EXCERPT_BYTES].decode("utf-8", "replace"),
            is_cut=len(self.content) > EXCERPT_BYTES,
        )
        received = f"“{start}”" if start else "an empty response"
        return ServiceError(
            f"The {self._service} answered {received} to '{self._op.name}', not {expected}.",
            "Check the service's address, then try again.",
            status=self.status,
            method=self._op.method,
            path=f"/{self._op.path.lstrip('/')}",
            server=start,
        )


def parse_json(content: bytes, limit: int = ResponseLimits.size) -> Any:
    """Parse JSON; `NaN` and `Infinity` are accepted, since Python writes them.

    Args:
        content: the JSON text.
        limit: the maximum memory of the values in bytes; `[[],[],…` needs 20 times its length.

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

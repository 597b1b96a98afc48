"""Classify requests without a response: connection, TLS, proxy and limits."""

from __future__ import annotations

import errno
import http.client
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

import requests
import urllib3.exceptions

from labext.actions import Action, parameter
from labext.config import is_sandbox
from labext.errors import (
    LabextError,
    ResponseLimitError,
    ServiceError,
    SetupError,
    UnreachableError,
)
from labext.http.connection_pool import MIB, ResponseTooLarge, ResponseTooSlow, proxies_for
from labext.http.responses import CHECK_PROXY, excerpt, proxy_error


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
        may_need_tls: whether a server that uses TLS may have closed a connection without it.
    """

    stage: FailureStage
    reason: str
    error: LabextError
    may_need_tls: bool = False


def classify_failure(failure: Exception, url: str, service: str) -> ConnectionFailure:
    """Classify a failure of `requests`; its message is not used, since it contains the URL."""
    place = _redacted_url(url)
    too_slow = _find_cause(failure, ResponseTooSlow)
    too_large = _find_cause(failure, ResponseTooLarge)
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
    is_tls = _find_cause(failure, requests.exceptions.SSLError, ssl.SSLError)
    if is_tls and not _find_cause(failure, *_INTERRUPTED):
        if isinstance(failure, requests.exceptions.ProxyError):
            summary = f"The proxy for the {service} can't be reached by HTTPS."
            step = f"The address of most proxies begins with http://. {CHECK_PROXY}"
            return ConnectionFailure(
                FailureStage.NEVER, "TLS of the proxy", SetupError(summary, step)
            )
        return _tls_failure(failure, place, service)
    if (refused := _proxy_failure(failure, url, service)) is not None:
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
        step = CHECK_PROXY if by_proxy else "Check the address, and that the service runs."
        error = UnreachableError(summary, step)
        if is_sandbox(url):
            error = UnreachableError(
                summary, "Start the sandbox again: {action}.", action=Action.start_sandbox()
            )
        return ConnectionFailure(stage, reason, error)
    summary = f"The connection to the {service} at {place} was interrupted ({reason})."
    error = UnreachableError(summary, "Try again; check the service if this persists.")
    was_closed = _find_cause(failure, ConnectionError) is not None
    may_need_tls = was_closed and place.startswith("http:") and not is_sandbox(url)
    return ConnectionFailure(stage, reason, error, may_need_tls)


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
        reason = excerpt(refused.verify_message or "certificate refused").rstrip(".")
        step = (
            "Check the date of this computer; if it is right, the service needs a new certificate."
            if refused.verify_code in _OUT_OF_DATE
            else f"Give the service's CA bundle ({parameter('verify', 'FILE')}, or a profile's "
            "ca_bundle), or correct the address."
        )
        error = SetupError(
            f"The certificate of the {service} at {place} is not trusted ({reason}).", step
        )
        return ConnectionFailure(FailureStage.NEVER, reason, error)
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


_INTERRUPTED = ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError

_OUT_OF_DATE = 9, 10
"""OpenSSL's codes of a certificate that is not valid yet, or has expired."""

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


def _proxy_failure(failure: Exception, url: str, service: str) -> ConnectionFailure | None:
    """Return the failure of a proxy that refuses the request or can't be used, else None."""
    kinds = requests.exceptions
    status = _tunnel_status(failure)
    if status is not None and status < 500:
        error = proxy_error(status, service)
    elif isinstance(failure, kinds.InvalidSchema) and "SOCKS" in str(failure):
        reason = "can't be used: SOCKS proxies need the package PySocks"
        error = SetupError(f"The proxy for the {service} {reason}.", CHECK_PROXY)
    elif (
        _find_cause(failure, kinds.InvalidURL, http.client.InvalidURL)
        and _is_valid(url)
        and proxies_for(url)
    ):
        error = SetupError(f"The address of the proxy for the {service} is invalid.", CHECK_PROXY)
    else:
        return None
    return ConnectionFailure(FailureStage.NEVER, "refused by the proxy", error)


def _is_valid(url: str) -> bool:
    """Return whether `requests` can send a request to an address."""
    try:
        requests.Request("GET", url).prepare()
    except ValueError:  # also those of `requests`
        return False
    return True


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
        is_reset = getattr(reset, "errno", None) in {errno.ECONNRESET, errno.EPIPE}
        return "connection reset" if is_reset else "closed without a response"
    if _find_cause(failure, ssl.SSLError):
        return "the TLS connection was closed"
    return "the response was cut off"


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

"""A request without an answer: what went wrong, and whether the service can have seen it."""

from __future__ import annotations

import errno
import http.client
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

import requests
import urllib3.exceptions

from labext.connections import is_sandbox
from labext.errors import (
    LabextError,
    ResponseLimitError,
    ServiceError,
    SetupError,
    UnreachableError,
)
from labext.transport.failure import first_words
from labext.transport.limits import MIB, ResponseTooLarge, ResponseTooSlow


class Stage(Enum):
    """How far a request came before it was lost."""

    NEVER = "never"
    """It can't be sent at all; a repeat changes nothing."""
    UNSENT = "unsent"
    """No connection: it surely did not arrive."""
    SENT = "sent"
    """It may have arrived."""
    LIMIT = "limit"
    """It arrived, and the response exceeds a limit; a repeat would change nothing."""


@dataclass(frozen=True)
class Lost:
    """Why there is no answer.

    Attributes:
        stage: how far the request came.
        why: the reason in a few words, without the address.
        error: what a user meets if it stays so.
    """

    stage: Stage
    why: str
    error: LabextError


NETWORK_ERRORS = (requests.RequestException, urllib3.exceptions.HTTPError, OSError)
"""What `requests` raises when a request fails or its answer can't be read."""


def lost(failure: Exception, url: str, service: str) -> Lost:
    """Judge a failure of `requests`; its own message is dropped, since it holds the whole URL."""
    place = _place(url)
    too_slow, too_large = _find(failure, ResponseTooSlow), _find(failure, ResponseTooLarge)
    if isinstance(too_slow, ResponseTooSlow):
        return _exceeded(
            f"The {service} at {place} took more than {too_slow.seconds:g} s to send its response.",
            "Ask for less, or allow more with `max_response_seconds` in the profile.",
        )
    if isinstance(too_large, ResponseTooLarge):
        return _exceeded(
            f"The response of the {service} at {place} exceeds {too_large.limit / MIB:g} MiB.",
            "Ask for less, or allow more with `max_response_mib` in the profile.",
        )
    if _find(failure, urllib3.exceptions.InvalidHeader):
        what = f"The {service} at {place} sends headers that make no sense."
        error = ServiceError(what, "Tell whoever runs the service, and try again later.")
        return Lost(Stage.SENT, "invalid headers", error)
    if isinstance(failure, requests.exceptions.SSLError) or _find(failure, ssl.SSLError):
        return _tls(failure, place, service)
    stage, why = _stage(failure)
    if stage is Stage.NEVER:
        return Lost(
            stage,
            why,
            SetupError(f"{place} is no address that can be asked ({why}).", "Correct the address."),
        )
    if stage is Stage.UNSENT:
        what = f"No {service} answers at {place} ({why})."
        step = "Check the address, and that the service runs."
        if is_sandbox(url):
            step = "Start the sandbox again with `%lab sandbox start`."
        return Lost(stage, why, UnreachableError(what, step))
    what = f"The connection to the {service} at {place} broke ({why})."
    return Lost(stage, why, UnreachableError(what, "Try again; look at the service if it stays."))


def _exceeded(what: str, step: str) -> Lost:
    return Lost(Stage.LIMIT, "a limit was exceeded", ResponseLimitError(what, step))


def _place(url: str) -> str:
    """Return an address without user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _tls(failure: Exception, place: str, service: str) -> Lost:
    refused = _find(failure, ssl.SSLCertVerificationError)
    if isinstance(refused, ssl.SSLCertVerificationError):
        why = first_words(refused.verify_message or "certificate refused")
        error: LabextError = SetupError(
            f"The certificate of the {service} at {place} is not trusted ({why}).",
            "Give the service's CA bundle (`--ca-bundle FILE`, or a profile's ca_bundle), or "
            "correct the address.",
        )
        return Lost(Stage.NEVER, why, error)
    broken = _find(failure, ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError)
    if broken is not None:
        why = "the encrypted connection was cut"
        return Lost(Stage.SENT, why, ServiceError(f"The {service} at {place} failed: {why}."))
    why = "no TLS is spoken there"
    return Lost(
        Stage.NEVER,
        why,
        SetupError(
            f"The {service} at {place} can't be reached by HTTPS ({why}).",
            "Check the address: scheme, host and port.",
        ),
    )


def _stage(failure: Exception) -> tuple[Stage, str]:
    kinds = requests.exceptions
    invalid = kinds.InvalidURL, kinds.InvalidSchema, kinds.MissingSchema
    if isinstance(failure, invalid) or _find(failure, urllib3.exceptions.LocationParseError):
        return Stage.NEVER, "not an HTTP address"
    if isinstance(failure, (kinds.InvalidHeader, kinds.InvalidJSONError)):
        return Stage.NEVER, "the request can't be written"
    if isinstance(failure, kinds.ConnectTimeout):
        return Stage.UNSENT, "no connection in time"
    if isinstance(failure, kinds.ProxyError):
        return Stage.UNSENT, "the proxy does not answer"
    if _find(failure, urllib3.exceptions.NameResolutionError):
        return Stage.UNSENT, "the host's name is unknown"
    if _find(failure, urllib3.exceptions.NewConnectionError):
        refused = _find(failure, ConnectionRefusedError)
        return Stage.UNSENT, "connection refused" if refused else "no connection"
    return Stage.SENT, _why_broken(failure)


def _why_broken(failure: Exception) -> str:
    if isinstance(failure, requests.exceptions.ReadTimeout) or _find(
        failure, urllib3.exceptions.ReadTimeoutError, TimeoutError
    ):
        return "no answer in time"
    if _find(failure, http.client.IncompleteRead):  # urllib3's own is one too
        return "the answer was cut short"
    if _find(failure, urllib3.exceptions.DecodeError):
        return "the answer can't be unpacked"
    reset = _find(failure, ConnectionError)
    if reset is not None:
        return "closed without an answer" if _closed(reset) else "connection reset"
    return "the answer was cut"


def _closed(failure: BaseException) -> bool:
    return getattr(failure, "errno", None) not in {errno.ECONNRESET, errno.EPIPE}


def _find(failure: BaseException, *kinds: type[BaseException]) -> BaseException | None:
    """Return the first of `kinds` among what a failure wraps, however it was wrapped."""
    return next((part for part in _parts(failure, 0) if isinstance(part, kinds)), None)


def _parts(failure: BaseException, depth: int) -> Iterator[BaseException]:
    yield failure
    if depth > 8:
        return
    inner = [*failure.args, getattr(failure, "reason", None), failure.__cause__]
    for part in inner:
        if isinstance(part, BaseException):
            yield from _parts(part, depth + 1)

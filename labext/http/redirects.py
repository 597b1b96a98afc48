"""Send a request and follow its redirects without leaking credentials."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import requests
from requests.utils import rewind_body

from labext.config.profiles import origin
from labext.errors import LabextError, ServiceError
from labext.http.connection_failures import ConnectionFailure, FailureStage, classify_failure
from labext.http.connection_pool import (
    NETWORK_ERRORS,
    UNSAFE_CHARACTERS,
    Deadline,
    Timeout,
    enforce_deadline,
    proxies_for,
)
from labext.http.retry_policy import RequestOptions

REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})

MAX_REDIRECTS = 5
"""Redirects that are followed for one request."""

_SAFE_HEADERS = ("Accept", "Accept-Encoding", "Range", "If-Range", "User-Agent")
"""The headers that are sent to another origin; any other may hold a key."""


class RedirectError(Exception):
    """A redirect that is not followed.

    Attributes:
        error: the exception to raise.
    """

    def __init__(self, error: LabextError) -> None:
        super().__init__()
        self.error = error


def redirect_request(
    session: requests.Session, response: requests.Response, service: str, *, away: bool
) -> requests.PreparedRequest:
    """Return the request that a redirect leads to; raise RedirectError if it is not followed.

    Within the same origin (scheme, host and port) the request is sent on unchanged. To another
    origin no key is ever sent: with `away` a GET is followed there without one. A redirect that
    would turn a change into a GET (301, 302, 303) is not followed: its response would look like
    success.
    """
    request, status = response.request, response.status_code
    here = request.url or ""
    again = _prepare_redirect(request, _location(response, service), service, status)
    target = again.url or ""
    scheme, other = origin(target)[0], origin(here) != origin(target)
    reading = request.method in {"GET", "HEAD"}
    if origin(here)[0] == "https" and scheme == "http":
        raise _unsafe_redirect(
            service, f"from HTTPS to unencrypted HTTP ({_redacted_url(target)})", status
        )
    if other and not (away and reading):
        raise _unsafe_redirect(service, f"to another address ({_redacted_url(target)})", status)
    streamed = hasattr(request.body, "read") and not hasattr(request.body, "seek")
    if not reading and (streamed or status not in {307, 308}):
        raise _unsafe_redirect(service, f"without what was sent (status {status})", status)
    if other:
        headers = {name: request.headers[name] for name in _SAFE_HEADERS if name in request.headers}
        return session.prepare_request(requests.Request(request.method, target, headers=headers))
    if hasattr(again.body, "read"):
        rewind_body(again)
    return again


def _location(response: requests.Response, service: str) -> str:
    """Return the Location of a redirect, decoded as UTF-8 like in browsers."""
    try:
        location = response.headers["location"].encode("latin-1").decode()
        unsafe = UNSAFE_CHARACTERS.search(location) or "@" in urlsplit(location).netloc
    except (KeyError, ValueError):
        location, unsafe = "", True
    if unsafe:
        raise _invalid_location(service, response.status_code)
    return location


def _prepare_redirect(
    request: requests.PreparedRequest, location: str, service: str, status: int
) -> requests.PreparedRequest:
    again = request.copy()
    try:
        again.prepare_url(urljoin(request.url or "", location), None)
        scheme, host, _ = origin(again.url or "")
    except ValueError:  # requests.InvalidURL is one
        raise _invalid_location(service, status) from None
    if scheme not in {"http", "https"} or not host:
        raise _invalid_location(service, status)
    return again


def _redacted_url(url: str) -> str:
    scheme, host, port = origin(url)
    return f"{scheme}://{host}:{port}"


def _unsafe_redirect(service: str, how: str, status: int) -> RedirectError:
    return RedirectError(
        ServiceError(
            f"The {service} redirects {how}; the redirect was not followed.",
            "Use the address that the service really answers at.",
            status=status,
        )
    )


def _invalid_location(service: str, status: int) -> RedirectError:
    return RedirectError(
        ServiceError(
            f"The {service} redirects to an invalid or unsafe address; it was not followed.",
            "Check the service's address, and tell the administrator of the service.",
            status=status,
        )
    )


def send_following_redirects(
    session: requests.Session,
    request: requests.Request,
    options: RequestOptions,
    *,
    timeout: Timeout | None = None,
    deadline: Deadline,
    away: bool,
) -> requests.Response | ConnectionFailure:
    """Send a request, follow its redirects, and return the response before its body is read.

    `timeout` replaces that of `options`; `deadline` limits each response from its first byte on,
    also while the caller reads it. With `away` a GET may be redirected to another origin, without
    its key.
    """
    url, service = request.url or "", options.service
    try:
        prepared = session.prepare_request(request)
        for _ in range(MAX_REDIRECTS):
            url = prepared.url or ""
            deadline.reset()
            with enforce_deadline(deadline):
                response = session.send(
                    prepared,
                    stream=True,
                    timeout=timeout or options.timeout,
                    verify=options.verify,
                    proxies=proxies_for(url),
                    allow_redirects=False,
                )
            status = response.status_code
            if status < 200:  # 103, whose final response http.client does not read
                response.close()
                summary = f"The {service} sent an interim response (status {status})"
                error = ServiceError(
                    f"{summary} in place of its response.",
                    "Try again; check the service if this persists.",
                    status=status,
                )
                return ConnectionFailure(FailureStage.SENT, "an interim response", error)
            if status not in REDIRECT_STATUSES:
                return response
            response.close()
            prepared = redirect_request(session, response, service, away=away)
        how = f"more than {MAX_REDIRECTS} times ({_redacted_url(response.url)})"
        raise _unsafe_redirect(service, how, response.status_code)
    except RedirectError as refused:
        return ConnectionFailure(FailureStage.NEVER, "redirected", refused.error)
    except NETWORK_ERRORS as failure:
        return classify_failure(failure, url, service)

"""Decide whether a redirect is followed, and which headers go along.

Parsers disagree about addresses such as `http://a\\@b/`. So the origin is always compared on the
prepared URL, which is what `requests` connects to; and a Location that no server needs to send
(a backslash, control characters, a user or a password) is refused.
"""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import requests
from requests.utils import rewind_body

from labext.errors import LabextError, ServiceError
from labext.transport.session import UNSAFE, origin

STATUSES = frozenset({301, 302, 303, 307, 308})

MOST = 5
"""Redirects that are followed for one request."""

_CARRIED = ("Accept", "Accept-Encoding", "Range", "If-Range", "User-Agent")
"""The headers that are sent to another origin; any other may hold a key."""


class RefusedRedirect(Exception):
    """A redirect that is not followed.

    Attributes:
        error: what the user sees.
    """

    def __init__(self, error: LabextError) -> None:
        super().__init__()
        self.error = error


def redirected(
    session: requests.Session, response: requests.Response, service: str, *, away: bool
) -> requests.PreparedRequest:
    """Return the request that a redirect leads to.

    Within the same origin (scheme, host and port) the request is sent on unchanged. To another
    origin no key is ever sent: with `away` a GET is followed there without one. A redirect that
    would turn a change into a GET (301, 302, 303) is not followed: its response would look like
    success.

    Args:
        session: prepares the request.
        response: the redirect.
        service: what it is called in errors.
        away: a GET may go to another origin.

    Raises:
        RefusedRedirect: the redirect is not followed.
    """
    request, status = response.request, response.status_code
    here = request.url or ""
    again = _prepared(request, _location(response, service), service, status)
    target = again.url or ""
    scheme, other = origin(target)[0], origin(here) != origin(target)
    reading = request.method in {"GET", "HEAD"}
    if origin(here)[0] == "https" and scheme == "http":
        raise _refused(service, f"from HTTPS to unencrypted HTTP ({_place(target)})", status)
    if other and not (away and reading):
        raise _refused(service, f"to another address ({_place(target)})", status)
    streamed = hasattr(request.body, "read") and not hasattr(request.body, "seek")
    if not reading and (streamed or status not in {307, 308}):
        raise _refused(service, f"without what was sent (status {status})", status)
    if other:
        kept = {name: request.headers[name] for name in _CARRIED if name in request.headers}
        return session.prepare_request(requests.Request(request.method, target, headers=kept))
    if hasattr(again.body, "read"):
        rewind_body(again)
    return again


def endless(response: requests.Response, service: str) -> RefusedRedirect:
    """Return the refusal of one redirect too many."""
    place = _place(response.url)
    return _refused(service, f"more than {MOST} times ({place})", response.status_code)


def _location(response: requests.Response, service: str) -> str:
    """Return the Location of a redirect; its bytes are read as UTF-8, as browsers do."""
    try:
        location = response.headers["location"].encode("latin-1").decode()
        unsafe = UNSAFE.search(location) or "@" in urlsplit(location).netloc
    except (KeyError, ValueError):
        location, unsafe = "", True
    if unsafe:
        raise _invalid(service, response.status_code)
    return location


def _prepared(
    request: requests.PreparedRequest, location: str, service: str, status: int
) -> requests.PreparedRequest:
    again = request.copy()
    try:
        again.prepare_url(urljoin(request.url or "", location), None)
        scheme, host, _ = origin(again.url or "")
    except ValueError:  # requests.InvalidURL is one
        raise _invalid(service, status) from None
    if scheme not in {"http", "https"} or not host:
        raise _invalid(service, status)
    return again


def _place(url: str) -> str:
    scheme, host, port = origin(url)
    return f"{scheme}://{host}:{port}"


def _refused(service: str, how: str, status: int) -> RefusedRedirect:
    return RefusedRedirect(
        ServiceError(
            f"The {service} redirects {how}; the redirect was not followed.",
            "Use the address that the service really answers at.",
            status=status,
        )
    )


def _invalid(service: str, status: int) -> RefusedRedirect:
    return RefusedRedirect(
        ServiceError(
            f"The {service} redirects to an invalid or unsafe address; it was not followed.",
            "Check the service's address, and tell whoever runs the service.",
            status=status,
        )
    )

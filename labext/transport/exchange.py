"""Sending one request and following where the service sends it on, without giving the key away."""

from __future__ import annotations

from urllib.parse import urljoin

import requests
from requests.utils import rewind_body

from labext.errors import ServiceError
from labext.transport.lost import NETWORK_ERRORS, Lost, Stage, lost
from labext.transport.session import Timeout, origin, proxies_for

_MOST = 5

_BEGINNING = 64 * 1024

_CARRIED = ("Accept", "Accept-Encoding", "Range", "If-Range", "User-Agent")
"""The headers that go along to another origin; a key may stand in any other."""


def exchange(
    session: requests.Session,
    request: requests.Request,
    timeout: Timeout,
    verify: bool | str,
    service: str,
    *,
    away: bool,
) -> requests.Response | Lost:
    """Send a request, follow its redirects, and return the answer's beginning or its loss.

    Within the same origin (scheme, host and port) the request goes on as it is. To another origin
    a key never goes: with `away` a GET is followed there without it, else it is an error. A
    redirect that would turn a change into a GET (301, 302, 303) is not followed either: what came
    back would look like success.
    """
    url = request.url or ""
    try:
        prepared = session.prepare_request(request)
        for _ in range(_MOST):
            url = prepared.url or ""
            got = session.send(
                prepared,
                stream=True,
                timeout=timeout,
                verify=verify,
                proxies=proxies_for(url),
                allow_redirects=False,
            )
            if not got.is_redirect:
                return got
            got.close()
            target = urljoin(url, got.headers["location"])
            refusal = _refusal(prepared, got.status_code, target, away=away)
            if refusal:
                return _refused(service, refusal, target, got.status_code)
            prepared = _sent_on(session, prepared, target)
    except NETWORK_ERRORS as failure:
        return lost(failure, url, service)
    return _refused(service, "in a circle", url, got.status_code)


def beginning(response: requests.Response) -> bytes:
    """Return the start of a body, for an error's words; nothing if it can't be read."""
    try:
        return bytes(response.raw.read(_BEGINNING, decode_content=True) or b"")
    except NETWORK_ERRORS:
        return b""


def _refusal(
    request: requests.PreparedRequest, status: int, target: str, *, away: bool
) -> str | None:
    """Return why a redirect is not followed, or None if it is."""
    here, there = origin(request.url or ""), origin(target)
    reading = request.method in {"GET", "HEAD"}
    if there[0] not in {"http", "https"} or (here[0] == "https" and there[0] == "http"):
        return "out of HTTPS"
    if here != there and not (away and reading):
        return "to another address"
    streamed = hasattr(request.body, "read") and not hasattr(request.body, "seek")
    if not reading and (streamed or status not in {307, 308}):
        return "without what was sent"
    return None


def _sent_on(
    session: requests.Session, request: requests.PreparedRequest, target: str
) -> requests.PreparedRequest:
    if origin(request.url or "") != origin(target):
        kept = {name: request.headers[name] for name in _CARRIED if name in request.headers}
        return session.prepare_request(requests.Request(request.method, target, headers=kept))
    again = request.copy()
    again.prepare_url(target, None)
    if hasattr(again.body, "read"):
        rewind_body(again)
    return again


def _refused(service: str, how: str, target: str, status: int) -> Lost:
    scheme, host, port = origin(target)
    error = ServiceError(
        f"The {service} sends the request on {how} ({scheme}://{host}:{port}).",
        "Use the address that the service really answers at.",
        status=status,
    )
    return Lost(Stage.NEVER, "redirected", error)

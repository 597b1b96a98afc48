"""Send one request and follow its redirects."""

from __future__ import annotations

import requests

from labext.errors import ServiceError
from labext.transport import redirects
from labext.transport.failure import READ_FOR_WORDS
from labext.transport.limits import Deadline, enforced
from labext.transport.lost import NETWORK_ERRORS, Lost, Stage, lost
from labext.transport.session import Timeout, proxies_for


def exchange(
    session: requests.Session,
    request: requests.Request,
    timeout: Timeout,
    verify: bool | str,
    service: str,
    *,
    deadline: Deadline,
    away: bool,
) -> requests.Response | Lost:
    """Send a request, follow its redirects, and return the response before its body is read.

    Args:
        session: sends it.
        request: the request, signed by its `auth`.
        timeout: seconds to connect, and between two bytes of the response.
        verify: True, or the path of a CA bundle.
        service: what it is called in errors.
        deadline: limits each response from its first byte on, also while the caller reads it.
        away: a GET may be redirected to another origin, without its key.
    """
    url = request.url or ""
    try:
        prepared = session.prepare_request(request)
        for _ in range(redirects.MOST):
            url = prepared.url or ""
            deadline.reset()
            with enforced(deadline):
                response = session.send(
                    prepared,
                    stream=True,
                    timeout=timeout,
                    verify=verify,
                    proxies=proxies_for(url),
                    allow_redirects=False,
                )
            if response.status_code < 200:  # 103, whose final response http.client does not read
                response.close()
                return _interim(service, response.status_code)
            if response.status_code not in redirects.STATUSES:
                return response
            response.close()
            prepared = redirects.redirected(session, response, service, away=away)
        raise redirects.endless(response, service)
    except redirects.RefusedRedirect as refused:
        return Lost(Stage.NEVER, "redirected", refused.error)
    except NETWORK_ERRORS as failure:
        return lost(failure, url, service)


def _interim(service: str, status: int) -> Lost:
    what = f"The {service} sent an interim response (status {status}) in place of its response."
    error = ServiceError(what, "Try again; look at the service if it stays.", status=status)
    return Lost(Stage.SENT, "an interim response", error)


def beginning(response: requests.Response) -> bytes:
    """Return the start of a body, for an error's words; nothing if it can't be read."""
    try:
        return bytes(response.raw.read(READ_FOR_WORDS, decode_content=True) or b"")
    except NETWORK_ERRORS:
        return b""

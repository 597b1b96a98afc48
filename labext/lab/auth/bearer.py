"""A bearer token that can be replaced: what the two ways to sign in with a token share."""

from __future__ import annotations

import threading
from abc import abstractmethod
from functools import partial
from typing import Any

from requests import PreparedRequest, Response

from labext.lab.address import check_https
from labext.transport.auth import Fetched
from labext.transport.session import origin

_PREFIX = "Bearer "
_READS = frozenset({"GET", "HEAD"})


class RenewedBearer(Fetched):
    """Signs requests with a token; one that was refused is replaced, and the request sent again.

    Once only, and only a read to the service that the token is for: not what a redirect led
    elsewhere. A change is not repeated, but the next one has a new token. Threads share the token,
    and of several that were refused together one alone replaces it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    @abstractmethod
    def _token(self, url: str) -> str:
        """Return a token that is good now for a request to `url`; called under the lock."""

    @abstractmethod
    def _refused(self, token: str) -> None:
        """Use this token no longer, if it is still in use; called under the lock."""

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header."""
        url = request.url or ""
        check_https(url)
        with self._lock:
            request.headers["Authorization"] = f"{_PREFIX}{self._token(url)}"
        hook = partial(self._answered, home=origin(url))
        request.register_hook("response", hook)  # type: ignore[no-untyped-call]
        return request

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _answered(self, response: Response, *, home: Any, **sending: Any) -> Response:
        """Replace a token that was refused, and send the request again, as `requests` does."""
        request = response.request
        used = str(request.headers.get("Authorization", ""))
        at_home = origin(request.url or "") == home and used.startswith(_PREFIX)
        if response.status_code != 401 or not at_home:
            return response
        token = self._another(used.removeprefix(_PREFIX), request, response)
        if token is None:
            return response
        response.close()
        again = request.copy()
        again.headers["Authorization"] = f"{_PREFIX}{token}"
        repeated: Response = response.connection.send(again, **sending)
        repeated.history.append(response)
        repeated.request = again
        return repeated

    def _another(self, used: str, request: PreparedRequest, response: Response) -> str | None:
        """Return the token to repeat a request with; None where it is not to be repeated."""
        with self._lock:
            self._refused(used)
            if request.method not in _READS:
                return None
            try:
                token = self._token(request.url or "")
            except BaseException:
                response.close()
                raise
        return None if token == used else token

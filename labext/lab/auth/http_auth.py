"""Sign requests with an API key or a renewable bearer token."""

from __future__ import annotations

import re
import threading
from abc import abstractmethod
from functools import partial
from hashlib import sha256
from typing import Any

from requests import PreparedRequest, Response

from labext.actions import Action
from labext.errors import InputError
from labext.http.auth import BasicKeyAuth, RefreshableAuth, clean_secret
from labext.http.connection_pool import origin
from labext.lab.api import check_https

_HEADER = re.compile(r"(?i)(?:authorization\s*:|basic\s|bearer\s)")
_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*")


class ApiKey(BasicKeyAuth):
    """A user's key; actions with it are attributed to that user.

    Args:
        key: as the profile settings showed it; surrounding blanks are removed.

    Raises:
        InputError: it can't be a key: empty, with blanks or a colon inside, a whole header, or a
            token of one of the other ways to sign in. It is not sent then.
    """

    method = "key"

    def __init__(self, key: str) -> None:
        key = clean_secret(key, "key")
        wrong = _key_fault(key)
        if wrong is not None:
            raise InputError(*wrong)
        super().__init__(key)
        self.identity = f"key {sha256(key.encode()).hexdigest()[:16]}"

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header."""
        check_https(request.url or "")
        return super().__call__(request)


def _key_fault(key: str) -> tuple[str, str] | None:
    """Return the fault of a key and the next step; None if it may be a key."""
    if _HEADER.match(key):
        return "This is a header, not a key.", "Give only the key in it."
    if _TOKEN.fullmatch(key):
        return (
            "This is a token, not an API key.",
            f"Sign in with {Action.sign_in('lab', 'id_token', 'oidc')}, or take a key from the "
            "profile settings.",
        )
    if re.search(r"\s", key):
        return "The key contains spaces.", "Copy the key again: it is one word."
    if ":" in key:
        return "The key contains a colon.", "Give the key alone, without a password."
    if key[0] in "\"'`<" or key[-1] in "\"'`>":
        return "The key is in quotes.", "Give the key without them."
    return None


_PREFIX = "Bearer "
_SAFE_METHODS = frozenset({"GET", "HEAD"})


class RenewableBearerAuth(RefreshableAuth):
    """Sign requests with a token; a rejected token is replaced, and the request sent again.

    Only once, and only a read to the service that the token is for: not a request that was
    redirected elsewhere. A change is not repeated, but the next one has a new token. Threads share
    the token: if it is rejected for several at once, only one of them replaces it.
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
        """Return the token to repeat a request with; None if it is not to be repeated."""
        with self._lock:
            self._refused(used)
            if request.method not in _SAFE_METHODS:
                return None
            try:
                token = self._token(request.url or "")
            except BaseException:
                response.close()
                raise
        return None if token == used else token

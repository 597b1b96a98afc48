"""Sign requests with an API key or a renewable bearer token."""

from __future__ import annotations

import re
import threading
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

from requests import PreparedRequest, Response

from labext.actions import Action
from labext.config.profiles import origin
from labext.errors import InputError
from labext.http.auth import BasicKeyAuth, RefreshableAuth, clean_secret
from labext.lab.api import check_https

_HEADER = re.compile(r"(?i)(?:authorization\s*:|basic\s|bearer\s)")
_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*")


class ApiKey(BasicKeyAuth):
    """Sign-in with a user's API key; requests are attributed to that user.

    Args:
        key: the key from the profile settings; surrounding whitespace is removed.

    Raises:
        InputError: the key is empty, contains whitespace or a colon, is quoted, or is a header or
            a token. It is not sent.
    """

    method = "key"

    def __init__(self, key: str) -> None:
        key = clean_secret(key, "key")
        error = _key_error(key)
        if error is not None:
            raise InputError(*error)
        super().__init__(key)
        self.identity = f"key {sha256(key.encode()).hexdigest()[:16]}"

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the `Authorization` header."""
        check_https(request.url or "")
        return super().__call__(request)


def _key_error(key: str) -> tuple[str, str] | None:
    """Return an error message and the next step for an invalid key, else None."""
    if _HEADER.match(key):
        return "This is an HTTP header, not a key.", "Give only the key from the header."
    if _TOKEN.fullmatch(key):
        return (
            "This is a token, not an API key.",
            f"Sign in with {Action.sign_in('lab', 'id_token', 'oidc')}, or take a key from the "
            "profile settings.",
        )
    if re.search(r"\s", key):
        return "The key contains spaces.", "Copy the key again, without spaces."
    if ":" in key:
        return "The key contains a colon.", "Give the key alone, without a password."
    if key[0] in "\"'`<" or key[-1] in "\"'`>":
        return "The key is in quotes.", "Give the key without quotes."
    return None


_PREFIX = "Bearer "
_SAFE_METHODS = frozenset({"GET", "HEAD"})


class RenewableBearerAuth(RefreshableAuth):
    """Sign requests with a bearer token that is renewed after a 401.

    A GET or HEAD request is retried once with the new token, unless it was redirected to another
    origin. Other requests are not retried; the next request uses the new token. Threads share the
    token: if it is rejected for several threads at once, one of them renews it.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._lock = threading.RLock()
        self._clock = clock
        self._value, self._expires_at = "", float("inf")

    @property
    def expires_in(self) -> float | None:
        """Seconds until the token expires; None without a token, or if it has no known end."""
        left = self._expires_at - self._clock()
        return left if self._value and left != float("inf") else None

    @abstractmethod
    def _token(self, url: str) -> str:
        """Return a valid token for a request to `url`; called with the lock held."""

    @abstractmethod
    def _invalidate(self, token: str) -> None:
        """Discard this token if it is the current one; called with the lock held."""

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the `Authorization` header."""
        url = request.url or ""
        check_https(url)
        with self._lock:
            request.headers["Authorization"] = f"{_PREFIX}{self._token(url)}"
        hook = partial(self._on_response, token_origin=origin(url))
        request.register_hook("response", hook)  # type: ignore[no-untyped-call]
        return request

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _on_response(
        self, response: Response, *, token_origin: Any, **send_options: Any
    ) -> Response:
        """Renew a rejected token and retry the request; a response hook of `requests`."""
        request = response.request
        header = str(request.headers.get("Authorization", ""))
        is_own = origin(request.url or "") == token_origin and header.startswith(_PREFIX)
        if response.status_code != 401 or not is_own:
            return response
        token = self._retry_token(header.removeprefix(_PREFIX), request, response)
        if token is None:
            return response
        response.close()
        retry = request.copy()
        retry.headers["Authorization"] = f"{_PREFIX}{token}"
        retry_response: Response = response.connection.send(retry, **send_options)
        retry_response.history.append(response)
        retry_response.request = retry
        return retry_response

    def _retry_token(
        self, rejected: str, request: PreparedRequest, response: Response
    ) -> str | None:
        """Return the token for a retry; None if the request must not be retried."""
        with self._lock:
            self._invalidate(rejected)
            if request.method not in _SAFE_METHODS:
                return None
            try:
                token = self._token(request.url or "")
            except BaseException:
                response.close()
                raise
        return None if token == rejected else token

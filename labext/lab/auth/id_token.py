"""Sign-in with OpenID Connect ID tokens, and a client of the provider that issues them."""

from __future__ import annotations

import io
import re
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Unpack
from urllib.parse import urlencode, urlsplit

import orjson

from labext.actions import Action
from labext.config import clean_url
from labext.errors import InputError, LabextError, ServiceError, SignInError
from labext.http import ErrorResponse, HttpClient, Operation, RetryMode
from labext.http.auth import clean_secret
from labext.http.connection_pool import DOCUMENT
from labext.http.request import RequestArguments
from labext.http.responses import quote_message
from labext.lab.auth.http_auth import RenewableBearerAuth
from labext.redaction import register_secret

_WELL_KNOWN = "/.well-known/openid-configuration"

_URL_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)+")

_CONFIGURATION = Operation(
    "read the configuration of the identity provider",
    "GET",
    _WELL_KNOWN,
    RetryMode.ALWAYS,
    answer="json",
)


class ProviderSignIn:
    """Fetch ID tokens from an identity provider with a user's secret.

    An instance is callable and returns a new ID token, as `IdToken` expects.

    Args:
        configuration_url: HTTPS URL that ends in `/.well-known/openid-configuration`.
        client_id: the client ID for which tokens are issued.
        user: the user's email address.
        secret: the user's secret; it is sent to the provider's own origin only.
        verify: True, or the path of a CA bundle.

    Attributes:
        identity: as `IdToken.identity`.
    """

    def __init__(
        self,
        configuration_url: str,
        client_id: str,
        user: str,
        secret: str,
        *,
        verify: bool | str = True,
    ) -> None:
        if not configuration_url.startswith("https://") or not configuration_url.endswith(
            _WELL_KNOWN
        ):
            raise InputError(
                "This is not the address of an OpenID configuration.",
                f"It starts with https:// and ends in {_WELL_KNOWN}.",
            )
        clean_url(configuration_url, secure=True)
        self.identity = f"user {user.casefold()}"
        self._issuer = configuration_url.removesuffix(_WELL_KNOWN)
        self._origin = self._issuer.removesuffix(urlsplit(self._issuer).path)
        self._form = {
            "grant_type": "password",
            "client_id": client_id,
            "username": user,
            "password": secret,
            "scope": "openid email",
        }
        register_secret(secret)
        self._verify = verify

    def __repr__(self) -> str:
        return f"ProviderSignIn({self._issuer!r})"

    def __call__(self) -> str:
        """Return a new ID token."""
        endpoint = self._token_path(self._send(self._issuer, _CONFIGURATION))
        operation = Operation("sign in", "POST", endpoint, RetryMode.ALWAYS, answer="json")
        body = urlencode(self._form).encode()
        document = self._send(
            self._origin,
            operation,
            content=lambda: io.BytesIO(body),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )
        token = document.get("id_token") if isinstance(document, dict) else None
        if not isinstance(token, str):
            raise ServiceError("The identity provider's response contains no ID token.")
        register_secret(token)
        return token

    def _send(
        self, base_url: str, operation: Operation, **arguments: Unpack[RequestArguments]
    ) -> Any:
        with HttpClient(
            base_url,
            auth=None,
            rate=None,
            verify=self._verify,
            map_error=map_provider_error,
            timeout=(5, 30),
            limits=DOCUMENT,
            service="identity provider",
        ) as http:
            return http.send(operation, **arguments).json()

    def _token_path(self, configuration: Any) -> str:
        """Return the path of the token endpoint, which must have the origin of the issuer."""
        endpoint = configuration.get("token_endpoint") if isinstance(configuration, dict) else None
        is_own = isinstance(endpoint, str) and endpoint.startswith(self._origin)
        path = str(endpoint).removeprefix(self._origin) if is_own else ""
        if not _URL_PATH.fullmatch(path):
            raise ServiceError(
                "The identity provider's configuration has no token endpoint on its own host.",
                "Check the address of its OpenID configuration.",
            )
        return path


def map_provider_error(failure: ErrorResponse) -> LabextError | None:
    """Map an error response of the token endpoint to an exception (RFC 6749, section 5.2)."""
    if failure.op.method == "POST" and failure.status in (400, 401, 403):
        suffix = quote_message(failure.server_message)
        return SignInError(
            f"The identity provider rejected the user's secret{suffix}.",
            "Check the user name and the secret, or get an ID token from the provider.",
        )
    return None


_RENEWAL_SECONDS = 10.0
"""Seconds before a token expires from which a new one is requested."""

_NEXT_STEP = "Get a new one from your identity provider, then {action}."
_SIGN_IN = Action.sign_in("lab", "id_token", "oidc")


class IdToken(RenewableBearerAuth):
    """Sign-in with an OpenID Connect ID token.

    The claims are read but not verified, which is the platform's task. A token that has expired or
    has no email address is rejected before it is sent. The lifetime of a new token from a function
    is also right if the clock of this computer is ahead.

    Args:
        token: the token, or a function without arguments that returns one. The function is called
            for the first request, when the token expires, and once after a 401.
        clock: clock in seconds since the Unix epoch.

    Raises:
        InputError: the token is invalid.
    """

    method = "oidc"

    def __init__(
        self, token: str | Callable[[], str], *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(clock)
        self._fetch_token = None if isinstance(token, str) else token
        self._expires_at = 0.0
        self._email: str | None = None
        if isinstance(token, str):
            self._set_token(token)

    @property
    def identity(self) -> str:
        """The identity whose rate limit the requests count against: the user, by email address."""
        if self._fetch_token is None:
            return f"user {self._email}"
        return str(getattr(self._fetch_token, "identity", f"tokens of {id(self._fetch_token)}"))

    def ready(self) -> None:
        """Fetch a token if none is valid."""
        with self._lock:
            self._token("")

    def _token(self, url: str) -> str:  # noqa: ARG002 - the token does not depend on the URL
        if self._fetch_token is not None and self._clock() >= self._expires_at - _RENEWAL_SECONDS:
            self._set_token(self._fetch_token())
        if (now := self._clock()) >= self._expires_at:
            raise SignInError(
                f"The ID token has expired ({_format_time(self._expires_at)}), by the clock of "
                f"this computer ({_format_time(now)}).",
                _NEXT_STEP,
                action=_SIGN_IN,
            )
        return self._value

    def _invalidate(self, token: str) -> None:
        if token == self._value and self._fetch_token is not None:
            self._expires_at = 0.0

    def _set_token(self, token: str) -> None:
        value = clean_secret(token, "ID token") if isinstance(token, str) else ""
        claims = _claims(value)
        if claims is None:
            raise InputError(
                "This is not an ID token, which has three parts separated by dots.",
                _NEXT_STEP,
                action=_SIGN_IN,
            )
        email, expires = claims.get("email"), claims.get("exp")
        if not isinstance(email, str) or not email:
            raise InputError(
                "The ID token has no email address, which the platform needs to find the user.",
                "Ask your identity provider for the scopes `openid email`.",
            )
        self._value, self._email = value, email.casefold()
        self._expires_at = float(expires) if isinstance(expires, int | float) else float("inf")
        issued, now = claims.get("iat"), self._clock()
        if self._fetch_token and now >= self._expires_at and isinstance(issued, int | float):
            # New, but expired: this computer's clock is ahead, so the lifetime begins now.
            self._expires_at += now - issued


def _claims(token: str) -> dict[str, Any] | None:
    """Return the unverified claims of a token; None if it can't be parsed."""
    parts = token.split(".")
    if len(parts) != 3 or not parts[2]:
        return None
    try:
        header, claims = (orjson.loads(_decode_segment(part)) for part in parts[:2])
    except ValueError:
        return None
    return claims if isinstance(header, dict) and isinstance(claims, dict) else None


def _decode_segment(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _format_time(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return "long ago"

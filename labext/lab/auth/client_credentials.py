"""OAuth 2.0 client credentials with access tokens shared between threads."""

from __future__ import annotations

import io
import math
import re
import time
from base64 import b64encode
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode

from requests import PreparedRequest

from labext.actions import Action
from labext.config.profiles import origin
from labext.errors import (
    AccessError,
    InputError,
    LabextError,
    ServiceError,
    SetupError,
    SignInError,
)
from labext.http import ErrorResponse, HttpClient
from labext.http.auth import clean_secret
from labext.http.connection_pool import DOCUMENT
from labext.lab.api import TOKEN, api_url, resource_tenant_url, tenant_url
from labext.lab.auth.http_auth import RenewableBearerAuth
from labext.messages import quote_value
from labext.redaction import register_secret

_CHECK_CREDENTIALS = "Check both in the developer console, then {action}."
_SIGN_IN = Action.sign_in("lab", "client_secret", "oauth")


class AccessToken(NamedTuple):
    """An access token and its remaining lifetime in seconds; None if unknown."""

    value: str
    seconds: float | None

    def __repr__(self) -> str:
        return f"AccessToken(seconds={self.seconds})"


class TokenEndpoint:
    """Client of a token endpoint for one app.

    Servers accept ID and secret in the form (LAB-39), as HTTP Basic authentication (LAB-40), or
    both. The form is tried first; the variant that succeeded is used for later requests.
    """

    def __init__(
        self,
        base_url: str,
        client_id: str,
        client_secret: str,
        *,
        basic: bool | None,
        verify: bool | str,
    ) -> None:
        self._pair = client_id, client_secret
        self._basic_variants = [False, True] if basic is None else [basic]
        self._http = HttpClient(
            base_url,
            auth=None,
            rate=None,  # requests to the token endpoint do not count against the rate limit
            verify=verify,
            map_error=map_token_error,
            timeout=(5, 30),
            limits=DOCUMENT,
            service="lab platform",
        )

    def token(self) -> AccessToken:
        """Request a token."""
        try:
            return parse_token(self._request_token())
        finally:
            self._http.close()  # the next request is made only when this token expires

    def _request_token(self) -> Any:
        """Try each variant until one succeeds, and remember it."""
        reported: LabextError | None = None
        for basic in self._basic_variants:
            try:
                document = self._send(basic)
            except LabextError as error:
                # `invalid_client` is more informative than an error about the request's form.
                reported = error if reported is None or error.status == 401 else reported
                if not _may_need_other_variant(error):
                    raise
            else:
                self._basic_variants = [basic]
                return document
        assert reported is not None  # at least one variant was tried
        raise reported

    def _send(self, basic: bool) -> Any:
        client_id, client_secret = self._pair
        form = {"grant_type": "client_credentials"}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if basic:
            pair = b64encode(f"{client_id}:{client_secret}".encode()).decode("ascii")
            register_secret(pair)
            headers["Authorization"] = f"Basic {pair}"
        else:
            form |= {"client_id": client_id, "client_secret": client_secret}
        body = urlencode(form).encode()
        return self._http.send(TOKEN, content=lambda: io.BytesIO(body), headers=headers).json()


def parse_token(document: Any) -> AccessToken:
    """Parse a token response.

    A token without a valid lifetime is used until the platform rejects it.
    """
    fields = document if isinstance(document, dict) else {}
    value, kind = fields.get("access_token"), fields.get("token_type", "Bearer")
    if not isinstance(value, str) or not re.fullmatch("[!-~]+", value):
        raise ServiceError("The lab platform returned a response without a token.")
    register_secret(value)
    if not isinstance(kind, str) or kind.casefold() != "bearer":
        raise ServiceError("The lab platform returned a token of an unsupported type, not Bearer.")
    return AccessToken(value, _parse_seconds(fields.get("expires_in")))


def _parse_seconds(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _may_need_other_variant(error: LabextError) -> bool:
    """Return True if the server may have expected ID and secret in the other variant."""
    message = error.server or ""
    return error.status == 401 or (error.status == 400 and "invalid_request" in message)


def map_token_error(failure: ErrorResponse) -> LabextError | None:
    """Map an error response of the token endpoint to an exception (RFC 6749, section 5.2)."""
    suffix = f" ({failure.server_message})" if failure.server_message else ""
    match failure.status:
        case 400 if "unauthorized_client" in failure.server_message:
            return AccessError(
                f"The lab platform denied the app a token{suffix}: it is archived, or not "
                "authorized.",
                "Have an administrator unarchive the app in the developer console.",
            )
        case 400 if "unsupported_grant_type" in failure.server_message:
            return SignInError(
                f"The lab platform does not support sign-in by apps{suffix}.",
                "Use an API key: {action}.",
                action=Action.sign_in("lab", "api_key", "key"),
            )
        case 400 | 401:
            return SignInError(
                f"The lab platform rejected the app's client ID and secret{suffix}.",
                _CHECK_CREDENTIALS,
                action=_SIGN_IN,
            )
        case 403:
            return AccessError(
                f"The lab platform denied the app a token from this network{suffix}.",
                "Ask its administrator: API access may be restricted to certain IP addresses.",
            )
        case 404 | 405:
            return SetupError(
                f"There is no token endpoint at this address (status {failure.status}).",
                "Check the tenant's address: the API is at its `/api/v2`.",
            )
    return None


ON_BEHALF_OF = "On-Behalf-Of"
"""The request header with the user on whose behalf an app acts.

This is an assumption: audit records of the platform name that user (method 2, rule 7), but the
contract does not specify how the platform is told.
"""

_RENEWAL_FRACTION, _MAX_RENEWAL_SECONDS = 0.1, 60.0
"""A token is renewed when this fraction of its lifetime remains, but no earlier than this many
seconds before it expires.
"""


class ClientCredentials(RenewableBearerAuth):
    """Sign-in with an app's client ID and secret.

    A token is fetched for the first request, renewed before it expires, and once after a 401. ID,
    secret and token are sent to one tenant only. `LabClient` sets the tenant; with plain `requests`
    it is `base_url`, or the tenant of the first request.

    Args:
        client_id: the app's client ID.
        client_secret: the app's client secret; surrounding whitespace is removed.
        user: email address of the user on whose behalf the app acts.
        base_url: the tenant's URL.
        basic: True to send ID and secret as HTTP Basic authentication, False to send them in the
            form, None to try both.
        verify: True, or the path of a CA bundle, for the token endpoint.
        clock: monotonic clock in seconds.

    Raises:
        InputError: the ID, the secret, the user or the URL is invalid.
    """

    method = "oauth"

    def __init__(
        self,
        client_id: str,
        client_secret: str,
        user: str | None = None,
        *,
        base_url: str | None = None,
        basic: bool | None = None,
        verify: bool | str = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(clock)
        self.client_id = _check_word(client_id, "client ID")
        self.user = None if user is None else _check_email(user)
        self._secret = _check_word(clean_secret(client_secret, "client secret"), "client secret")
        self._basic = basic
        self._verify = verify
        self._endpoint: TokenEndpoint | None = None
        self._tenant = ""
        self._renew_at = 0.0
        if base_url is not None:
            self.for_tenant(base_url)

    @property
    def identity(self) -> str:
        """The identity whose rate limit the requests count against: the app (LAB-90)."""
        return f"app {self.client_id}"

    def __repr__(self) -> str:
        behalf = f", user={self.user!r}" if self.user else ""
        return f"ClientCredentials({self.client_id!r}{behalf})"

    def for_tenant(self, base_url: str, verify: bool | str | None = None) -> None:
        """Bind these credentials to a tenant; called by `LabClient`.

        Raises:
            InputError: the credentials are already bound to another tenant.
        """
        tenant = tenant_url(base_url)
        with self._lock:
            if self._tenant not in ("", tenant):
                raise InputError(
                    f"These client credentials are for {self._tenant}, not for {tenant}.",
                    "Create one per tenant: `ClientCredentials(client_id, client_secret)`.",
                )
            self._tenant = tenant
            if verify is not None:
                self._verify = verify

    def ready(self) -> None:
        """Fetch a token if none is valid."""
        with self._lock:
            self._token(self._tenant)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the token and, if configured, the `On-Behalf-Of` header."""
        super().__call__(request)
        if self.user is not None:
            request.headers[ON_BEHALF_OF] = self.user
        return request

    def _token(self, url: str) -> str:
        if not self._tenant:
            self.for_tenant(resource_tenant_url(url))
        if origin(url) != origin(self._tenant):
            raise InputError(
                f"These client credentials are only for {self._tenant}; nothing was sent.",
                "Create another instance for another tenant.",
            )
        if not self._value or self._clock() >= self._renew_at:
            requested_at = self._clock()  # the lifetime starts no earlier than the request
            if self._endpoint is None:
                self._endpoint = TokenEndpoint(
                    api_url(self._tenant),
                    self.client_id,
                    self._secret,
                    basic=self._basic,
                    verify=self._verify,
                )
            value, seconds = self._endpoint.token()
            self._value = value
            self._renew_at = self._expires_at = float("inf")
            if seconds is not None:
                self._expires_at = requested_at + seconds
                self._renew_at = self._expires_at - min(
                    seconds * _RENEWAL_FRACTION, _MAX_RENEWAL_SECONDS
                )
        return self._value

    def _invalidate(self, token: str) -> None:
        if token == self._value:
            self._value = ""


def _check_word(value: str, label: str) -> str:
    value = value.strip() if isinstance(value, str) else ""
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise InputError(
            f"The {label} is empty, or contains spaces or invalid characters.",
            f"Copy the {label} again from the developer console.",
        )
    return value


def _check_email(value: str) -> str:
    value = value.strip()
    if value.count("@") != 1 or not value.isascii() or not value.isprintable() or " " in value:
        raise InputError(
            f"{quote_value(value)} is not an email address.",
            "Give the email address of the user's account.",
        )
    return value

"""OAuth client credentials: fetch access tokens and share them between threads."""

from __future__ import annotations

import io
import math
import time
from base64 import b64encode
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode

from requests import PreparedRequest

from labext.actions import Action
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
from labext.http.connection_pool import DOCUMENT, origin
from labext.lab.api import TOKEN, api_url, resource_tenant_url, tenant_url
from labext.lab.auth.http_auth import RenewableBearerAuth
from labext.messages import quote_value
from labext.redaction import register_secret

_CHECK_CREDENTIALS = "Check both in the developer console, then {action}."
_SIGN_IN = Action.sign_in("lab", "client_secret", "oauth")


class AccessToken(NamedTuple):
    """An access token and its lifetime in seconds from now; None if unknown."""

    value: str
    seconds: float | None

    def __repr__(self) -> str:
        return f"AccessToken(seconds={self.seconds})"


class TokenEndpoint:
    """The token endpoint of one app.

    Servers take ID and secret in the form (LAB-39), as HTTP Basic (LAB-40), or as one of them only.
    Both are tried, and the one that worked is used from then on.

    Args:
        base_url: the API's address, which ends in `/api/v2`.
        client_id: of the app.
        client_secret: of the app.
        basic: True or False where it is known which of the two to use.
        verify: True, or the path of a CA bundle.
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
        self._ways = [False, True] if basic is None else [basic]
        self._http = HttpClient(
            base_url,
            auth=None,
            rate=None,  # the token endpoint does not count for the limit
            verify=verify,
            map_error=map_token_error,
            timeout=(5, 30),
            limits=DOCUMENT,
            service="lab platform",
        )

    def token(self) -> AccessToken:
        """Ask for a token.

        Raises:
            SignInError: the platform doesn't accept the ID and secret.
            AccessError: it does, but refuses tokens to the app or to this address.
            ServiceError: its response is invalid.
        """
        try:
            return parse_token(self._answer())
        finally:
            self._http.close()  # the next one is requested when this one has aged

    def _answer(self) -> Any:
        """Ask in the way that is known to work, or else in each."""
        refused: LabextError | None = None
        for basic in self._ways:
            try:
                answer = self._asked(basic)
            except LabextError as error:
                # `invalid_client` says more than that the other form is not understood.
                refused = error if refused is None or error.status == 401 else refused
                if not _may_need_other_method(error):
                    raise
            else:
                self._ways = [basic]
                return answer
        raise refused or SignInError(
            "This client cannot request a token.", _CHECK_CREDENTIALS, action=_SIGN_IN
        )

    def _asked(self, basic: bool) -> Any:
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


def parse_token(answer: Any) -> AccessToken:
    """Return the token in a response.

    One without a lifetime that makes sense is used until it is refused.

    Raises:
        ServiceError: there is none in it, or it is of a kind that is not `Bearer`.
    """
    fields = answer if isinstance(answer, dict) else {}
    value, kind = fields.get("access_token"), fields.get("token_type", "Bearer")
    if not isinstance(value, str) or not _is_sendable(value):
        raise ServiceError("The lab platform returned a response without a token.")
    register_secret(value)
    if not isinstance(kind, str) or kind.casefold() != "bearer":
        raise ServiceError("The lab platform returned a token of an unsupported type, not Bearer.")
    return AccessToken(value, _parse_seconds(fields.get("expires_in")))


def _is_sendable(value: str) -> bool:
    return bool(value) and value.isascii() and value.isprintable() and " " not in value


def _parse_seconds(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _may_need_other_method(error: LabextError) -> bool:
    """Return whether a refusal may mean that ID and secret were expected in another form."""
    words = error.server or ""
    return error.status == 401 or (error.status == 400 and "invalid_request" in words)


def map_token_error(failure: ErrorResponse) -> LabextError | None:
    """Return the error that a refusal of the token endpoint means (RFC 6749, section 5.2)."""
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
"""The header that names the person for whom an app acts.

A guess of ours: the contract has audit records name that person (method 2, rule 7), and not how
the platform learns who it is.
"""

_RENEWAL_FRACTION, _MAX_RENEWAL_SECONDS = 0.1, 60.0
"""A token is replaced when this part of its lifetime is left, and at most so many seconds."""


class ClientCredentials(RenewableBearerAuth):
    """An app's client ID and secret.

    A token is fetched when the first request needs it, replaced before it expires, and once after a
    401. `LabClient` tells where: ID, secret and token are sent to one tenant alone. With plain
    `requests` that is the tenant of the first request, unless `base_url` names it.

    Args:
        client_id: of the app.
        client_secret: of the app; blanks around it are left out.
        user: e-mail address of the person for whom the app acts.
        base_url: the tenant's address.
        basic: True where the server wants ID and secret as HTTP Basic, False where in the form;
            None finds out.
        verify: True, or the path of a CA bundle, for the token endpoint.
        clock: seconds, ever rising.

    Raises:
        InputError: an ID, a secret or an address that can't be one.
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
        super().__init__()
        self.client_id = _check_word(client_id, "client ID")
        self.user = None if user is None else _check_email(user)
        self._secret = _check_word(clean_secret(client_secret, "client secret"), "client secret")
        self._basic = basic
        self._verify = verify
        self._clock = clock
        self._endpoint: TokenEndpoint | None = None
        self._tenant = ""
        self._value, self._until = "", 0.0
        self._expires = float("inf")
        if base_url is not None:
            self.for_tenant(base_url)

    @property
    def identity(self) -> str:
        """Whose allowance its requests use: the app's, for whomever it acts (LAB-90)."""
        return f"app {self.client_id}"

    @property
    def expires_in(self) -> float | None:
        """Seconds until the token expires; None without one, or if unknown."""
        left = self._expires - self._clock()
        return left if self._value and left != float("inf") else None

    def __repr__(self) -> str:
        behalf = f", user={self.user!r}" if self.user else ""
        return f"ClientCredentials({self.client_id!r}{behalf})"

    def for_tenant(self, base_url: str, verify: bool | str | None = None) -> None:
        """Set the tenant of these credentials; called by `LabClient`.

        Raises:
            InputError: they belong to another tenant.
        """
        tenant = tenant_url(base_url)
        with self._lock:
            if self._tenant not in ("", tenant):
                raise InputError(
                    f"These client credentials are for {self._tenant}, not for {tenant}.",
                    "Make new ones for each tenant: `ClientCredentials(client_id, client_secret)`.",
                )
            self._tenant = tenant
            if verify is not None:
                self._verify = verify

    def ready(self) -> None:
        """Fetch a token if none is valid."""
        with self._lock:
            self._token(self._tenant)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the token, and the user for whom the app acts."""
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
                "Make others for another address.",
            )
        if not self._value or self._clock() >= self._until:
            requested_at = self._clock()  # it ages from the time of the request, at the earliest
            value, seconds = self._asked().token()
            self._value, self._until = value, float("inf")
            self._expires = self._until
            if seconds is not None:
                self._expires = requested_at + seconds
                self._until = self._expires - min(seconds * _RENEWAL_FRACTION, _MAX_RENEWAL_SECONDS)
        return self._value

    def _refused(self, token: str) -> None:
        if token == self._value:
            self._value = ""

    def _asked(self) -> TokenEndpoint:
        if self._endpoint is None:
            self._endpoint = TokenEndpoint(
                api_url(self._tenant),
                self.client_id,
                self._secret,
                basic=self._basic,
                verify=self._verify,
            )
        return self._endpoint


def _check_word(value: str, label: str) -> str:
    value = value.strip()
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise InputError(
            f"This is not a {label}: it is empty, or contains spaces or invalid characters.",
            f"Copy the {label} again from the developer console.",
        )
    return value


def _check_email(value: str) -> str:
    value = value.strip()
    if value.count("@") != 1 or not value.isascii() or not value.isprintable() or " " in value:
        raise InputError(
            f"{quote_value(value)} is not an email address.",
            "Give the address of the person's account.",
        )
    return value

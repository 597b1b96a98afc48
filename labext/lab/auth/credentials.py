"""An app's client credentials (contract, method 2): tokens fetched once and shared by threads."""

from __future__ import annotations

import time
from collections.abc import Callable

from requests import PreparedRequest

from labext.errors import InputError
from labext.lab.address import api_of, tenant_in, tenant_of
from labext.lab.auth.bearer import RenewedBearer
from labext.lab.auth.tokens import TokenEndpoint
from labext.transport.auth import clean_secret
from labext.transport.session import origin
from labext.wording import shown

ON_BEHALF_OF = "On-Behalf-Of"
"""The header that names the person for whom an app acts.

A guess of ours: the contract has audit records name that person (method 2, rule 7), and not how
the platform learns who it is.
"""

_EARLY, _EARLIEST = 0.1, 60.0
"""A token is replaced when this part of its lifetime is left, and at most so many seconds."""


class ClientCredentials(RenewedBearer):
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
        self.client_id = _word(client_id, "client ID")
        self.user = None if user is None else _email(user)
        self._secret = _word(clean_secret(client_secret, "client secret"), "client secret")
        self._basic = basic
        self._verify = verify
        self._clock = clock
        self._endpoint: TokenEndpoint | None = None
        self._tenant = ""
        self._value, self._until = "", 0.0
        self._expires = float("inf")
        if base_url is not None:
            self.at(base_url)

    @property
    def identity(self) -> str:
        """Whose allowance its requests use: the app's, for whomever it acts (contract, Limits)."""
        return f"app {self.client_id}"

    @property
    def expires_in(self) -> float | None:
        """Seconds until the token expires; None without one, or where it isn't told."""
        left = self._expires - self._clock()
        return left if self._value and left != float("inf") else None

    def __repr__(self) -> str:
        behalf = f", user={self.user!r}" if self.user else ""
        return f"ClientCredentials({self.client_id!r}{behalf})"

    def at(self, base_url: str, verify: bool | str | None = None) -> None:
        """Say which tenant they are for; `LabClient` does.

        Raises:
            InputError: they are for another one.
        """
        tenant = tenant_of(base_url)
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
        """Have a token."""
        with self._lock:
            self._token(self._tenant)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the token, and for whom the app acts."""
        super().__call__(request)
        if self.user is not None:
            request.headers[ON_BEHALF_OF] = self.user
        return request

    def _token(self, url: str) -> str:
        if not self._tenant:
            self.at(tenant_in(url))
        if origin(url) != origin(self._tenant):
            raise InputError(
                f"These client credentials are for {self._tenant} alone: nothing was sent.",
                "Make others for another address.",
            )
        if not self._value or self._clock() >= self._until:
            asked = self._clock()  # it ages from when it was asked for, at the earliest
            value, seconds = self._asked().token()
            self._value, self._until = value, float("inf")
            self._expires = self._until
            if seconds is not None:
                self._expires = asked + seconds
                self._until = self._expires - min(seconds * _EARLY, _EARLIEST)
        return self._value

    def _refused(self, token: str) -> None:
        if token == self._value:
            self._value = ""

    def _asked(self) -> TokenEndpoint:
        if self._endpoint is None:
            self._endpoint = TokenEndpoint(
                api_of(self._tenant),
                self.client_id,
                self._secret,
                basic=self._basic,
                verify=self._verify,
            )
        return self._endpoint


def _word(value: str, what: str) -> str:
    value = value.strip()
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise InputError(
            f"That is no {what}: it is empty, or holds blanks or characters that none has.",
            f"Copy the {what} again from the developer console.",
        )
    return value


def _email(value: str) -> str:
    value = value.strip()
    if value.count("@") != 1 or not value.isascii() or not value.isprintable() or " " in value:
        raise InputError(
            f"{shown(value)} is no e-mail address.", "Give the address of the person's account."
        )
    return value

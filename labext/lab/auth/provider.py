"""Get ID tokens from an OpenID provider that accepts a user's secret (RFC 6749, section 4.3)."""

from __future__ import annotations

import io
import re
from typing import Any
from urllib.parse import urlencode

from labext.config import clean_url
from labext.errors import InputError, LabextError, ServiceError, SignInError
from labext.redaction import keep_secret
from labext.transport import Failure, Operation, Repeat, Transport
from labext.transport.limits import DOCUMENT

_WELL_KNOWN = "/.well-known/openid-configuration"

_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)+")

_CONFIGURATION = Operation(
    "read the configuration of the identity provider",
    "GET",
    _WELL_KNOWN,
    Repeat.ALWAYS,
    answer="json",
)


class ProviderSignIn:
    """Sign in at an identity provider, once for each ID token that is needed.

    An instance is a function that returns a new ID token, as `IdToken` accepts one.

    Args:
        configuration_url: of the provider: HTTPS, ending in `/.well-known/openid-configuration`.
        client_id: the client that the tokens are for.
        user: the e-mail address of the user.
        secret: the user's secret; it is sent to the provider's own origin only.
        verify: True, or the path of a CA bundle.

    Attributes:
        identity: as `IdToken.identity`.

    Raises:
        InputError: the address can't be that of a configuration.
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
                "That is not the address of an OpenID configuration.",
                f"It starts with https:// and ends in {_WELL_KNOWN}.",
            )
        clean_url(configuration_url, secure=True)
        self.identity = f"user {user.casefold()}"
        self._issuer = configuration_url.removesuffix(_WELL_KNOWN)
        self._form = {
            "grant_type": "password",
            "client_id": client_id,
            "username": user,
            "password": secret,
            "scope": "openid email",
        }
        keep_secret(secret)
        self._verify = verify

    def __repr__(self) -> str:
        return f"ProviderSignIn({self._issuer!r})"

    def __call__(self) -> str:
        """Return a new ID token.

        Raises:
            SignInError: the provider does not accept the user's secret.
            ServiceError: its answer makes no sense.
        """
        transport = Transport(
            self._issuer,
            auth=None,
            rate=None,
            verify=self._verify,
            explain=explain,
            timeout=(5, 30),
            limits=DOCUMENT,
            service="identity provider",
        )
        try:
            configuration = transport.send(_CONFIGURATION).json()
            operation = Operation(
                "sign in", "POST", self._token_path(configuration), Repeat.ALWAYS, answer="json"
            )
            body = urlencode(self._form).encode()
            answer = transport.send(
                operation,
                content=lambda: io.BytesIO(body),
                headers={"Content-Type": "application/x-www-form-urlencoded"},
            ).json()
        finally:
            transport.close()
        token = answer.get("id_token") if isinstance(answer, dict) else None
        if not isinstance(token, str):
            raise ServiceError("The identity provider's answer contains no ID token.")
        keep_secret(token)
        return token

    def _token_path(self, configuration: Any) -> str:
        """Return the path of the token endpoint below the issuer, where the secret may be sent."""
        found = configuration.get("token_endpoint") if isinstance(configuration, dict) else None
        own = isinstance(found, str) and found.startswith(self._issuer)
        path = str(found).removeprefix(self._issuer) if own else ""
        if not _PATH.fullmatch(path):
            raise ServiceError(
                "The identity provider names no token endpoint at its own address.",
                "Check the address of its OpenID configuration.",
            )
        return path


def explain(failure: Failure) -> LabextError | None:
    """Return the error for a refusal of the token endpoint (RFC 6749, section 5.2), else None."""
    if failure.op.method == "POST" and failure.status in (400, 401, 403):
        words = failure.words.strip().rstrip(".")
        said = f" (“{words}”)" if words else ""
        return SignInError(
            f"The identity provider does not accept the user's secret{said}.",
            "Check the user and the secret, or get an ID token from the provider.",
        )
    return None

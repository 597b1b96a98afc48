"""Access tokens of an app: asking the tenant's token endpoint, and reading what it answers."""

from __future__ import annotations

import io
import math
from base64 import b64encode
from typing import Any, NamedTuple
from urllib.parse import urlencode

from labext.errors import AccessError, LabextError, ServiceError, SetupError, SignInError
from labext.lab.operations import TOKEN
from labext.redaction import keep_secret
from labext.transport import Failure, Transport
from labext.transport.limits import DOCUMENT

_CHECK = "Check both in the developer console, then `%lab login --method oauth`."


class Token(NamedTuple):
    """An access token, and for how many seconds it is good from now on; None where not told."""

    value: str
    seconds: float | None

    def __repr__(self) -> str:
        return f"Token(seconds={self.seconds})"


class TokenEndpoint:
    """Where one app gets its tokens.

    The contract has ID and secret in the form; real services want them as HTTP Basic and refuse
    the form. Both are tried, and the one that worked is kept to.

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
        self._transport = Transport(
            base_url,
            auth=None,
            rate=None,  # the token endpoint does not count for the limit
            verify=verify,
            explain=explain,
            timeout=(5, 30),
            limits=DOCUMENT,
            service="lab platform",
        )

    def token(self) -> Token:
        """Ask for a token.

        Raises:
            SignInError: the platform doesn't accept the ID and secret.
            AccessError: it does, and gives no tokens to the app or to this address.
            ServiceError: its answer makes no sense.
        """
        try:
            return token_of(self._answer())
        finally:
            self._transport.close()  # the next one is asked for when this one has aged

    def _answer(self) -> Any:
        """Ask in the way that is known to work, or else in each."""
        refused: LabextError | None = None
        for basic in self._ways:
            try:
                answer = self._asked(basic)
            except LabextError as error:
                # `invalid_client` says more than that the other form is not understood.
                refused = error if refused is None or error.status == 401 else refused
                if not _another_way(error):
                    raise
            else:
                self._ways = [basic]
                return answer
        raise refused or SignInError("There is no way to ask for a token.", _CHECK)

    def _asked(self, basic: bool) -> Any:
        client_id, client_secret = self._pair
        form = {"grant_type": "client_credentials"}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if basic:
            pair = b64encode(f"{client_id}:{client_secret}".encode()).decode("ascii")
            keep_secret(pair)
            headers["Authorization"] = f"Basic {pair}"
        else:
            form |= {"client_id": client_id, "client_secret": client_secret}
        body = urlencode(form).encode()
        return self._transport.send(TOKEN, content=lambda: io.BytesIO(body), headers=headers).json()


def token_of(answer: Any) -> Token:
    """Return the token out of an answer.

    One without a lifetime that makes sense is used until it is refused.

    Raises:
        ServiceError: there is none in it, or it is of a kind that is not `Bearer`.
    """
    fields = answer if isinstance(answer, dict) else {}
    value, kind = fields.get("access_token"), fields.get("token_type", "Bearer")
    if not isinstance(value, str) or not _is_sendable(value):
        raise ServiceError("The lab platform's answer to a question for a token holds none.")
    keep_secret(value)
    if not isinstance(kind, str) or kind.casefold() != "bearer":
        raise ServiceError("The lab platform gives tokens of a kind that is not Bearer.")
    return Token(value, _seconds(fields.get("expires_in")))


def _is_sendable(value: str) -> bool:
    return bool(value) and value.isascii() and value.isprintable() and " " not in value


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _another_way(error: LabextError) -> bool:
    """Say whether a refusal may mean that ID and secret were looked for elsewhere."""
    words = error.server or ""
    return error.status == 401 or (error.status == 400 and "invalid_request" in words)


def explain(failure: Failure) -> LabextError | None:
    """Return the error that a refusal of the token endpoint means (RFC 6749, section 5.2)."""
    said = f" ({failure.words})" if failure.words else ""
    match failure.status:
        case 400 if "unauthorized_client" in failure.words:
            return AccessError(
                f"The lab platform gives the app no token{said}: it is archived, or may not ask.",
                "Have an administrator unarchive the app in the developer console.",
            )
        case 400 if "unsupported_grant_type" in failure.words:
            return SignInError(
                f"The lab platform offers no sign-in for apps{said}.",
                "Use an API key: `%lab login --method key`.",
            )
        case 400 | 401:
            return SignInError(
                f"The lab platform does not accept the app's client ID and secret{said}.", _CHECK
            )
        case 403:
            return AccessError(
                f"The lab platform refuses the app a token from here{said}.",
                "Ask its administrator: API access may be restricted to certain IP addresses.",
            )
        case 404 | 405:
            return SetupError(
                f"No token endpoint is there (status {failure.status}).",
                "Check the tenant's address: the API is at its `/api/v2`.",
            )
    return None

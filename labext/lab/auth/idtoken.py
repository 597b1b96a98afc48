"""An ID token of the user's identity provider (contract, method 3)."""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson

from labext.errors import InputError, SignInError
from labext.lab.auth.bearer import RenewedBearer
from labext.transport.auth import clean_secret

_AHEAD = 10.0
"""Seconds before its expiry from which another token is asked for, where one can be."""

_STEP = "Get a new one from your identity provider: `%lab login --method oidc`."


class IdToken(RenewedBearer):
    """An ID token, or where to get one.

    Its claims are read and not verified: that is for the platform to do. But one that has expired,
    or that names nobody, is told before it is sent.

    Args:
        token: the token; or a function without arguments that gives one. It is asked when the first
            request needs a token, again when that expires, and once after a 401.
        clock: seconds since 1970.

    Raises:
        InputError: the token can't be one.
    """

    method = "oidc"

    def __init__(
        self, token: str | Callable[[], str], *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__()
        self._clock = clock
        self._give = None if isinstance(token, str) else token
        self._value, self._until = "", 0.0
        self._email: str | None = None
        if isinstance(token, str):
            self._take(token)

    @property
    def identity(self) -> str:
        """Whose allowance its requests use: the user's, by the token's e-mail address."""
        if self._give is None:
            return f"user {self._email}"
        return str(getattr(self._give, "identity", f"tokens of {id(self._give)}"))

    @property
    def expires_in(self) -> float | None:
        """Seconds until the token expires; None without one, or where it doesn't say."""
        left = self._until - self._clock()
        return left if self._value and left != float("inf") else None

    def ready(self) -> None:
        """Have a token."""
        with self._lock:
            self._token("")

    def _token(self, url: str) -> str:  # noqa: ARG002 - the same for every address
        if self._give is not None and self._clock() >= self._until - _AHEAD:
            self._take(self._give())
        if self._clock() >= self._until:
            raise SignInError(f"The ID token has expired ({_when(self._until)}).", _STEP)
        return self._value

    def _refused(self, token: str) -> None:
        if token == self._value and self._give is not None:
            self._until = 0.0

    def _take(self, token: str) -> None:
        value = clean_secret(token, "ID token") if isinstance(token, str) else ""
        claims = _claims(value)
        if claims is None:
            raise InputError("That is no ID token: one has three parts, parted by dots.", _STEP)
        email, expires = claims.get("email"), claims.get("exp")
        if not isinstance(email, str) or not email:
            raise InputError(
                "The ID token has no e-mail address, by which the platform finds its user.",
                "Ask your identity provider for the scopes `openid email`.",
            )
        self._value, self._email = value, email.casefold()
        self._until = float(expires) if isinstance(expires, int | float) else float("inf")


def _claims(token: str) -> dict[str, Any] | None:
    """Return what a token says, unverified; None where it can't be read."""
    parts = token.split(".")
    if len(parts) != 3 or not parts[2]:
        return None
    try:
        header, claims = (orjson.loads(_decoded(part)) for part in parts[:2])
    except ValueError:
        return None
    return claims if isinstance(header, dict) and isinstance(claims, dict) else None


def _decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _when(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return "long ago"

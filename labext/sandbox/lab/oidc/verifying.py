"""Whether an ID token holds at a tenant (contract, OpenID Connect; OpenID Connect Core 1.0, 2)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt

from labext.sandbox.lab.oidc.documents import Documents, Provider, ProviderFault

LEEWAY_SECONDS = 5
"""By how much clocks may differ."""

LONGEST = 16_384
"""Characters of a token."""

REQUIRED = ("iss", "sub", "aud", "exp", "iat")

_NOT_UNDERSTOOD = "The ID token is no JSON web token that is understood here."

_FAULTS: list[tuple[type[jwt.PyJWTError], str]] = [
    (jwt.ExpiredSignatureError, "The ID token has expired."),
    (jwt.ImmatureSignatureError, "The ID token is not valid yet."),
    (jwt.InvalidIssuerError, "The ID token is from another issuer."),
    (jwt.InvalidAudienceError, "The ID token is for another audience."),
    (jwt.InvalidSignatureError, "The ID token's signature does not fit."),
]


class Unverified(Exception):
    """An ID token does not hold; says why, never with anything of the token."""


class Verifier:
    """Verifies ID tokens of one provider; safe to use from threads.

    Args:
        configuration_url: where the provider's configuration is.
        audience: whom its tokens must be for.
        ca: PEM file of an authority to trust besides the system's.
        clock: seconds that never go back, for how long documents are kept; tests set it.
    """

    def __init__(
        self,
        configuration_url: str,
        audience: str,
        ca: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider = Provider(configuration_url, ca, clock)
        self._audience = audience

    def email(self, token: str) -> str:
        """The email claim of a token that holds.

        The provider is asked for its documents where they are not known: call it in a thread.

        Raises:
            Unverified: the token does not hold, or the provider can't be asked.
        """
        header = _header(token)
        kid = header.get("kid", "")
        try:
            documents = self._provider.documents_with(kid)
        except ProviderFault as fault:
            raise Unverified(str(fault)) from None
        claims = self._claims(token, _key(documents, kid, header.get("alg")), documents)
        self._check_audience(claims)
        return _email(claims)

    def _claims(self, token: str, key: jwt.PyJWK, documents: Documents) -> dict[str, Any]:
        try:
            found: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm_name],
                audience=self._audience,
                issuer=documents.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": [*REQUIRED]},
            )
        except jwt.MissingRequiredClaimError as error:
            raise Unverified(f"The ID token lacks the claim {error.claim}.") from None
        except jwt.PyJWTError as error:
            found_fault = next((says for kind, says in _FAULTS if isinstance(error, kind)), None)
            raise Unverified(found_fault or "The ID token's claims make no sense.") from None
        except (ValueError, OverflowError, TypeError, RecursionError):
            raise Unverified("The ID token's claims make no sense.") from None
        return found

    def _check_audience(self, claims: dict[str, Any]) -> None:
        """Who is not alone in the audience must be whom it was issued to (`azp`)."""
        others = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if others else self._audience) != self._audience:
            raise Unverified("The ID token was issued to another party.")


def _header(token: str) -> dict[str, Any]:
    """What a token says of itself; one with extensions that must be understood is refused."""
    try:
        if len(token) > LONGEST:
            raise ValueError
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise Unverified(_NOT_UNDERSTOOD) from None
    if not isinstance(header.get("kid", ""), str) or "crit" in header:
        raise Unverified(_NOT_UNDERSTOOD)
    return header


def _key(documents: Documents, kid: str, algorithm: Any) -> jwt.PyJWK:
    """The key that signs tokens so headed; the only one, where the token doesn't name it."""
    if algorithm not in documents.algorithms:
        raise Unverified("The ID token is signed with an algorithm that the provider doesn't use.")
    key = documents.keys.get(kid)
    if key is None and not kid and len(documents.keys) == 1:
        [key] = documents.keys.values()
    if key is None:
        raise Unverified("The ID token is signed with a key that the provider doesn't publish.")
    if key.algorithm_name != algorithm:
        raise Unverified("The ID token is signed with another algorithm than its key is for.")
    return key


def _email(claims: dict[str, Any]) -> str:
    email = claims.get("email")
    if not isinstance(email, str) or not email.strip():
        raise Unverified("The ID token lacks the claim email.")
    if claims.get("email_verified", True) is not True:
        raise Unverified("The ID token's email is not verified.")
    return email

"""Verify ID tokens of an OpenID provider (OpenID Connect Core 1.0, section 3.1.3.7)."""

from __future__ import annotations

import json
import ssl
import time
from collections import deque
from contextlib import closing
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt

WELL_KNOWN = "/.well-known/openid-configuration"
"""Path of a provider's configuration below its issuer (OpenID Connect Discovery 1.0, section 4)."""

CACHE_SECONDS = 300.0
MAX_REFRESHES = 5
REFRESH_WINDOW_SECONDS = 60.0
"""Period in which unknown key ids cause at most `MAX_REFRESHES` requests to the provider."""

RETRY_SECONDS = 5.0
"""Time for which the provider is not contacted again after a failure."""

TIMEOUT_SECONDS = 5.0
MAX_DOCUMENT_BYTES = 1 << 20
MAX_TOKEN_LENGTH = 16_384
LEEWAY_SECONDS = 5
"""Tolerated difference between the clocks of the provider and the platform."""

ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""Accepted signature algorithms: asymmetric ones only, neither shared secrets nor `none`."""

_MESSAGES: list[tuple[type[jwt.PyJWTError], str]] = [
    (jwt.ExpiredSignatureError, "The ID token has expired."),
    (
        jwt.ImmatureSignatureError,
        "The ID token is not valid yet; compare the clocks of its provider and this machine.",
    ),
    (jwt.InvalidIssuerError, "The ID token is from another issuer."),
    (jwt.InvalidAudienceError, "The ID token is for another audience."),
    (jwt.InvalidAlgorithmError, "The ID token's algorithm does not match its provider and key."),
    (jwt.InvalidSignatureError, "The ID token's signature is not valid."),
    (jwt.PyJWTError, "The ID token's claims are malformed."),
]


class VerificationError(Exception):
    """An ID token is refused; the message gives the reason and contains no part of the token."""


class Verifier:
    """Verify the ID tokens of one provider. Thread-safe.

    The authority in the PEM file `ca` is trusted besides those of the system.
    """

    def __init__(self, configuration_url: str, audience: str, ca: Path) -> None:
        self._provider = ProviderKeys(configuration_url, ca)
        self._audience = audience

    def email(self, token: str) -> str:
        """Return the email claim of a valid token.

        May request documents from the provider: do not call it on an event loop.

        Raises:
            VerificationError: the token is not valid, or the provider cannot be reached.
        """
        key = self._provider.get_signing_key(_key_id(token))
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=self._provider.algorithms,
                audience=self._audience,
                issuer=self._provider.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["iss", "sub", "aud", "exp", "iat"]},
            )
        except jwt.MissingRequiredClaimError as error:
            raise VerificationError(f"The ID token lacks the claim {error.claim}.") from None
        except jwt.PyJWTError as error:
            message = next(text for kind, text in _MESSAGES if isinstance(error, kind))
            raise VerificationError(message) from None
        # A token for several audiences must name its authorized party.
        has_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if has_several else self._audience) != self._audience:
            raise VerificationError("The ID token was issued to another party.")
        email = claims.get("email")
        if not isinstance(email, str) or not email.strip():
            raise VerificationError("The ID token lacks the claim email.")
        if claims.get("email_verified", True) is not True:
            raise VerificationError("The ID token's email is not verified.")
        return email


class ProviderKeys(jwt.PyJWKClient):
    """The signing keys of a provider, located by its configuration and cached by PyJWKClient.

    PyJWKClient itself follows proxy settings and reads responses of any size; this class fetches
    both documents over HTTPS without proxies and redirects, and within limits of size and time.

    Attributes:
        issuer: the provider's issuer, as its tokens must state it.
        algorithms: the accepted algorithms that the provider signs with.
    """

    issuer: str
    algorithms: list[str]

    def __init__(self, configuration_url: str, ca: Path) -> None:
        super().__init__(configuration_url, lifespan=CACHE_SECONDS, cooldown_duration=0)
        self._ca = ca
        self._refreshes: deque[float] = deque(maxlen=MAX_REFRESHES)
        self._failure = ""
        self._retry_at = 0.0

    def get_signing_key(self, kid: str | None) -> jwt.PyJWK:
        """Return the key with this id; without an id, the provider's only key."""
        if not kid:
            keys = self.get_jwk_set().keys
            if len(keys) == 1:
                return keys[0]
        try:
            return super().get_signing_key(kid or "")
        except jwt.PyJWKClientError:
            raise VerificationError(
                "The ID token is signed with a key that the provider doesn't publish."
            ) from None

    def fetch_data(self) -> jwt.PyJWKSet:
        """Fetch the configuration and the keys, unless the last attempts were too recent."""
        now = time.monotonic()
        if now < self._retry_at:
            raise VerificationError(self._failure)
        if self.jwk_set_cache and self.jwk_set_cache.get():
            # Requested for an unknown key id, which any client can invent.
            if len(self._refreshes) == MAX_REFRESHES and (
                now - self._refreshes[0] < REFRESH_WINDOW_SECONDS
            ):
                raise jwt.PyJWKClientError
            self._refreshes.append(now)
        try:
            return self._fetch()
        except VerificationError as error:
            self._failure, self._retry_at = str(error), time.monotonic() + RETRY_SECONDS
            raise

    def _fetch(self) -> jwt.PyJWKSet:
        context = ssl.create_default_context()
        try:
            context.load_verify_locations(self._ca)
        except OSError as error:
            raise VerificationError(f"The CA file can't be read: {error}.") from None
        configuration = _get_json(self.uri, context)
        issuer = configuration.get("issuer")
        if not isinstance(issuer, str) or issuer.removesuffix("/") + WELL_KNOWN != self.uri:
            raise VerificationError(
                "The identity provider's issuer does not match its configuration URL."
            )
        supported = configuration.get("id_token_signing_alg_values_supported", ["RS256"])
        algorithms = [
            name for name in ALGORITHMS if isinstance(supported, list) and name in supported
        ]
        if not algorithms:
            raise VerificationError("The identity provider signs with no accepted algorithm.")
        keys = _signing_keys(_get_json(str(configuration.get("jwks_uri")), context))
        self.issuer, self.algorithms = issuer, algorithms
        return keys


def _key_id(token: str) -> str | None:
    """Return the key id in the header of a token, if any."""
    try:
        if len(token) > MAX_TOKEN_LENGTH or not token.isascii():
            raise jwt.DecodeError
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise VerificationError("The ID token is not a JSON Web Token.") from None
    if header.get("alg") not in [*ALGORITHMS]:
        raise VerificationError("The ID token's algorithm is not accepted.")
    kid: str | None = header.get("kid")
    return kid


def _signing_keys(document: dict[str, Any]) -> jwt.PyJWKSet:
    """Return the signing keys of a JWKS document; malformed keys are ignored (RFC 7517)."""
    keys = document.get("keys")
    usable = [
        key
        for key in (keys if isinstance(keys, list) else [])
        if isinstance(key, dict)
        and key.get("use", "sig") == "sig"
        and key.get("kty") != "oct"
        # PyJWKSet raises a TypeError for an algorithm that is not a string.
        and key.get("alg") in [None, *ALGORITHMS]
    ]
    try:
        return jwt.PyJWKSet(usable)
    except jwt.PyJWKSetError:
        raise VerificationError("The identity provider publishes no signing key.") from None


def _get_json(url: str, context: ssl.SSLContext) -> dict[str, Any]:
    """Return the JSON object at an address."""
    try:
        parts = urlsplit(url)
        if parts.scheme != "https":
            raise VerificationError("The identity provider names an address without HTTPS.")
        target = parts._replace(scheme="", netloc="", fragment="").geturl()
        connection = HTTPSConnection(
            parts.hostname or "", parts.port, timeout=TIMEOUT_SECONDS, context=context
        )
        with closing(connection):
            connection.request("GET", target)
            with connection.getresponse() as response:
                content = _read_document(response)
    except (OSError, HTTPException, ValueError) as error:
        raise VerificationError(f"The identity provider can't be reached: {error}.") from None
    if response.status != 200:
        raise VerificationError(f"The identity provider returned status {response.status}.")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise VerificationError("The identity provider's response is not a JSON object.")
    return document


def _read_document(response: HTTPResponse) -> bytes:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    content = b""
    while chunk := response.read1(1 << 16):
        content += chunk
        if len(content) > MAX_DOCUMENT_BYTES or time.monotonic() > deadline:
            raise VerificationError("The identity provider's response is too large or too slow.")
    return content

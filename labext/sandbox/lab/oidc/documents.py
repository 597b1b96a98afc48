"""A provider's documents as a tenant sees them: its configuration and its keys, over HTTPS.

They are kept for a while. A key that isn't among them may be a new one, and is asked for again, but
only so often: anybody can make up the name of a key.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import jwt

WELL_KNOWN = "/.well-known/openid-configuration"
"""Where a provider's configuration stands below its issuer (OpenID Connect Discovery 1.0, 4)."""

KEPT_SECONDS = 300.0
AGAIN = 5
AGAIN_SECONDS = 60.0
"""At most so many looks for an unknown key in any so many seconds."""

FAILED_SECONDS = 5.0
"""How long a provider that failed is not asked again."""

TIMEOUT_SECONDS = 5.0
LARGEST = 1 << 20
"""Bytes of a document."""

ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""What a provider may sign with: a private key, never a secret that is shared (HS256) or `none`."""


class ProviderFault(Exception):
    """The provider doesn't answer, or says what makes no sense."""


@dataclass(frozen=True)
class Documents:
    """What a provider says of itself.

    Attributes:
        issuer: its name, as its tokens have it.
        algorithms: what it signs with.
        keys: by `kid`; one without is called by the empty string.
    """

    issuer: str
    algorithms: frozenset[str]
    keys: Mapping[str, jwt.PyJWK]


class Provider:
    """A provider by the address of its configuration; safe to use from threads.

    Args:
        configuration_url: HTTPS, and ends in `WELL_KNOWN`.
        ca: PEM file of an authority to trust besides the system's.
        clock: seconds that never go back; tests set it.
    """

    def __init__(
        self, configuration_url: str, ca: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._url = configuration_url
        self._ca = ca
        self._clock = clock
        self._lock = threading.Lock()
        self._found: Documents | None = None
        self._fetched = 0.0
        self._failure: tuple[float, str] | None = None
        self._again: deque[float] = deque(maxlen=AGAIN)

    def documents(self) -> Documents:
        """What the provider says; at most `KEPT_SECONDS` old.

        Raises:
            ProviderFault: it can't be asked, or its answer won't do.
        """
        with self._lock:
            if self._found is None or self._clock() - self._fetched >= KEPT_SECONDS:
                self._fetch()
            assert self._found is not None
            return self._found

    def documents_with(self, kid: str) -> Documents:
        """As `documents`, and asked for anew where they lack this key, if that is due."""
        found = self.documents()
        if kid in found.keys:
            return found
        with self._lock:
            now = self._clock()
            if self._found is found and self._may_look_again(now):
                self._again.append(now)
                self._fetch()
            return self._found or found

    def _may_look_again(self, now: float) -> bool:
        return len(self._again) < AGAIN or now - self._again[0] >= AGAIN_SECONDS

    def _fetch(self) -> None:
        if self._failure is not None and self._clock() < self._failure[0]:
            raise ProviderFault(self._failure[1])
        try:
            self._found = read(self._url, self._ca)
        except ProviderFault as fault:
            self._failure = self._clock() + FAILED_SECONDS, str(fault)
            raise
        self._fetched = self._clock()
        self._failure = None


def read(configuration_url: str, ca: Path) -> Documents:
    """Ask a provider for its configuration and its keys.

    Raises:
        ProviderFault: it can't be asked, or its answer won't do.
    """
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(ca)
    except OSError as error:
        raise ProviderFault(f"The authority to trust can't be read: {error}.") from None
    found = _json(configuration_url, context)
    issuer = found.get("issuer")
    if not isinstance(issuer, str) or issuer.rstrip("/") + WELL_KNOWN != configuration_url:
        raise ProviderFault("The identity provider's issuer does not fit its configuration URL.")
    named = found.get("id_token_signing_alg_values_supported", ["RS256"])
    algorithms = ALGORITHMS.intersection(each for each in named if isinstance(each, str))
    if not algorithms:
        raise ProviderFault("The identity provider signs with no algorithm that can be trusted.")
    keys = _json(str(found.get("jwks_uri")), context).get("keys")
    return Documents(issuer, algorithms, _keys(keys if isinstance(keys, list) else []))


def _keys(kept: list[Any]) -> dict[str, jwt.PyJWK]:
    """Those that sign; what nobody here understands is left out (RFC 7517, 5)."""
    found = {}
    for each in kept:
        if not isinstance(each, dict) or each.get("use", "sig") != "sig":
            continue
        try:
            key = jwt.PyJWK(each)
        except (jwt.PyJWTError, ValueError, TypeError):
            continue
        if key.algorithm_name in ALGORITHMS:
            found[key.key_id or ""] = key
    if not found:
        raise ProviderFault("The identity provider publishes no key that signs.")
    return found


def _json(url: str, context: ssl.SSLContext) -> dict[str, Any]:
    """The JSON object at an address: HTTPS, no redirect, no proxy, bounded."""
    if urlsplit(url).scheme != "https":
        raise ProviderFault("The identity provider names an address without HTTPS.")
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context), _NoRedirect()
    )
    try:
        with opener.open(url, timeout=TIMEOUT_SECONDS) as answer:
            content = answer.read(LARGEST + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise ProviderFault(f"The identity provider answers with {error.code}.") from None
    except (OSError, HTTPException, ValueError) as error:
        why = getattr(error, "reason", error)
        raise ProviderFault(f"The identity provider can't be reached: {why}.") from None
    try:
        found = json.loads(content) if len(content) <= LARGEST else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProviderFault("The identity provider's answer is no JSON object.")
    return found


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What a provider says of itself stands at its own address, or nowhere."""

    def redirect_request(
        self,
        req: urllib.request.Request,  # noqa: ARG002
        fp: IO[bytes],  # noqa: ARG002
        code: int,  # noqa: ARG002
        msg: str,  # noqa: ARG002
        headers: HTTPMessage,  # noqa: ARG002
        newurl: str,  # noqa: ARG002
    ) -> None:
        return None

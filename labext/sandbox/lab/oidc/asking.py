"""What a client asks of the authorization endpoint, and the codes that it is answered with.

Authorization code with PKCE (RFC 6749, 4.1; RFC 7636), S256 alone, as for a client that can keep
no secret. Clients are what runs on this machine (RFC 8252, 7.3) and the apps of `campus`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from sqlalchemy import select

from labext.sandbox.lab.doors import CAMPUS
from labext.sandbox.lab.oidc.issuing import expected_audience
from labext.sandbox.lab.store import App, Tenant
from labext.sandbox.service import Site

CODE_SECONDS = 60.0
MOST_CODES = 1000

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")


class BadClient(Exception):
    """Nobody who may be answered: there is no such client, or it isn't at that address."""


class Refused(Exception):
    """What the client is told instead of a code (RFC 6749, 4.1.2.1; OpenID Connect Core, 3.1.2.6).

    Attributes:
        error: `invalid_request`, `invalid_scope`, ….
    """

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error


@dataclass(frozen=True)
class Client:
    """Who asks, and where it is answered."""

    client_id: str
    redirect_uri: str
    state: str | None

    def address(self, **answer: str) -> str:
        """Its address with an answer."""
        parts = urlsplit(self.redirect_uri)
        named = {name: value for name, value in (("state", self.state),) if value is not None}
        query = urlencode(
            [*parse_qsl(parts.query, keep_blank_values=True), *(answer | named).items()]
        )
        return urlunsplit(parts._replace(query=query))


@dataclass(frozen=True)
class Asked:
    """What is asked: a token for a client, by whoever holds the secret of the challenge."""

    client: Client
    challenge: str
    nonce: str | None


def client_of(site: Site, query: Mapping[str, str]) -> Client:
    """Who asks.

    Raises:
        BadClient: nobody who may be answered; the person is told.
    """
    client_id, redirect_uri = query.get("client_id", ""), query.get("redirect_uri", "")
    if client_id != expected_audience(site):
        raise BadClient("There is no such client_id: it is the audience that the tenant expects.")
    if not (_is_local(redirect_uri) or redirect_uri in _registered(site)):
        raise BadClient(
            "The redirect_uri is neither on this machine nor registered with an app of the tenant."
        )
    return Client(client_id, redirect_uri, query.get("state"))


def asked(client: Client, query: Mapping[str, str]) -> Asked:
    """What it asks.

    Raises:
        Refused: it can't be had; the client is told.
    """
    if query.get("response_type") != "code":
        raise Refused("unsupported_response_type", "response_type must be code.")
    if query.get("response_mode", "query") != "query":
        raise Refused("invalid_request", "response_mode must be query.")
    if "openid" not in query.get("scope", "").split(" "):
        raise Refused("invalid_scope", "The scope must have openid.")
    if "request" in query or "request_uri" in query:
        raise Refused("request_not_supported", "The request must be in the query.")
    if query.get("prompt") == "none":
        raise Refused("login_required", "Somebody has to say who signs in.")
    challenge = query.get("code_challenge", "")
    if query.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise Refused("invalid_request", "PKCE with the method S256 is needed.")
    return Asked(client, challenge, query.get("nonce"))


class Codes:
    """The codes that are out, each good once and not for long; safe to use from threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._out: dict[str, tuple[float, Asked, str]] = {}

    def new(self, asked: Asked, email: str) -> str:
        """A code for what was asked, by the person who has signed in."""
        code = secrets.token_urlsafe(32)
        with self._lock:
            now = self._clock()
            alive = [(name, kept) for name, kept in self._out.items() if kept[0] > now]
            self._out = dict(alive[-MOST_CODES + 1 :])
            self._out[code] = now + CODE_SECONDS, asked, email
        return code

    def taken(self, form: Mapping[str, str]) -> tuple[Asked, str]:
        """What was asked, and who has signed in, for the form of a token request.

        Raises:
            Refused: the code is not good, not this client's, or the verifier is not its own.
        """
        with self._lock:
            until, asked, email = self._out.pop(form.get("code", ""), (0.0, None, ""))
        if asked is None or until <= self._clock():
            raise Refused("invalid_grant", "The code is not valid: used, expired or never given.")
        client = Client(form.get("client_id", ""), form.get("redirect_uri", ""), asked.client.state)
        if client != asked.client:
            raise Refused("invalid_grant", "The code was given to another client.")
        verifier = form.get("code_verifier", "")
        if not _VERIFIER.fullmatch(verifier) or challenge_of(verifier) != asked.challenge:
            raise Refused("invalid_grant", "The code_verifier does not fit.")
        return asked, email


def challenge_of(verifier: str) -> str:
    """What a client shows first of a secret that it tells later (RFC 7636, 4.2)."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _is_local(uri: str) -> bool:
    """Whether an address is on this machine, on any port."""
    try:
        parts = urlsplit(uri)
        local = parts.hostname in ("127.0.0.1", "::1", "localhost") and parts.port != 0
    except ValueError:
        return False
    plain = uri.isprintable() and " " not in uri and not parts.fragment and "@" not in parts.netloc
    return parts.scheme in ("http", "https") and local and plain


def _registered(site: Site) -> set[str]:
    with site.database.read() as session:
        lists = session.scalars(
            select(App.redirect_uris).join(Tenant).where(Tenant.name == CAMPUS, ~App.archived)
        )
        return {uri for uris in lists for uri in uris}

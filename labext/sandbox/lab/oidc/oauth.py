"""OAuth 2.0 form parsing, authorization requests and codes (RFC 6749), PKCE (RFC 7636)."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from sqlalchemy import delete, select
from starlette.requests import ClientDisconnect, Request

from labext.sandbox.core.database import Database
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.signing import hash_key
from labext.sandbox.lab.endpoints import CAMPUS
from labext.sandbox.lab.errors import OAuthError
from labext.sandbox.lab.oidc.service import expected_audience
from labext.sandbox.lab.tables import App, AuthorizationCode, Tenant

FORM_CONTENT_TYPE = "application/x-www-form-urlencoded"
MAX_FORM_BYTES = 16 << 10

NO_STORE_HEADERS = {"Cache-Control": "no-store", "Pragma": "no-cache"}
"""Headers of every response with a token (RFC 6749, section 5.1)."""


async def read_content(request: Request) -> bytes:
    """Return the body of a request, truncated one byte above the limit."""
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk[: MAX_FORM_BYTES + 1 - len(body)]
    except ClientDisconnect:
        return b""  # the client has disconnected
    return body


def parse_form(content_type: str, content: bytes) -> Mapping[str, str]:
    """Return the fields of a form; fields without a value count as missing."""
    if content_type.partition(";")[0].strip().lower() != FORM_CONTENT_TYPE:
        raise OAuthError("invalid_request", f"The content type must be {FORM_CONTENT_TYPE}.")
    if len(content) > MAX_FORM_BYTES:
        raise OAuthError("invalid_request", f"The form has more than {MAX_FORM_BYTES:,} bytes.")
    try:
        return parse_query_string(content.decode())
    except UnicodeDecodeError:
        raise OAuthError("invalid_request", "The form is not encoded in UTF-8.") from None
    except ValueError as error:
        raise OAuthError("invalid_request", str(error)) from None


def parse_query_string(text: str) -> Mapping[str, str]:
    """Return the fields of a query string as `parse_form`; ValueError if it is malformed."""
    try:
        fields = parse_qsl(text, errors="strict", max_num_fields=50)
    except ValueError:
        raise ValueError("The fields are malformed.") from None
    if len(dict(fields)) < len(fields):
        raise ValueError("A field occurs more than once.")
    return dict(fields)


CODE_SECONDS = 60.0
MAX_CODES = 1000

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")


@dataclass(frozen=True)
class AuthorizationRequest:
    """An authorization request, without the parameters that have only one accepted value."""

    client_id: str
    redirect_uri: str
    state: str | None
    nonce: str | None
    code_challenge: str

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> AuthorizationRequest:
        """Create a request from the parameters of a query, without validating them."""
        return cls(
            query.get("client_id", ""),
            query.get("redirect_uri", ""),
            query.get("state"),
            query.get("nonce"),
            query.get("code_challenge", ""),
        )

    def callback_url(self, **parameters: str) -> str:
        """Return the redirect address with the parameters of a response and the client's state."""
        if self.state is not None:
            parameters["state"] = self.state
        parts = urlsplit(self.redirect_uri)
        fields = [*parse_qsl(parts.query, keep_blank_values=True), *parameters.items()]
        return urlunsplit(parts._replace(query=urlencode(fields)))


def check_client(site: Site, request: AuthorizationRequest) -> None:
    """Check that the client exists and owns its redirect address.

    Raises:
        ValueError: the client is unknown or the address is not its own. Show the message to the
            user instead of redirecting.
    """
    if request.client_id != expected_audience(site):
        raise ValueError("Unknown client_id: it must be the audience that the tenant expects.")
    if not (_is_local(request.redirect_uri) or request.redirect_uri in _registered_uris(site)):
        raise ValueError(
            "The redirect_uri is neither on this machine nor registered with an app of the tenant."
        )


def check_parameters(query: Mapping[str, str]) -> None:
    """Check the parameters of an authorization request."""
    if query.get("response_type") != "code":
        raise OAuthError("unsupported_response_type", "response_type must be code.")
    if query.get("response_mode", "query") != "query":
        raise OAuthError("invalid_request", "response_mode must be query.")
    if "openid" not in query.get("scope", "").split(" "):
        raise OAuthError("invalid_scope", "The scope must include openid.")
    if "request" in query or "request_uri" in query:
        raise OAuthError("request_not_supported", "Request objects are not supported.")
    if query.get("prompt") == "none":
        raise OAuthError("login_required", "The user has to sign in.")
    challenge = query.get("code_challenge", "")
    if query.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise OAuthError("invalid_request", "PKCE with the method S256 is required.")


class Codes:
    """Issued authorization codes, each valid once and for a short time, in all processes."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def create(self, request: AuthorizationRequest, email: str) -> str:
        """Return a new code for a request and the user who has signed in."""
        code = secrets.token_urlsafe(32)
        now = self._clock()
        newest = select(AuthorizationCode.id).order_by(AuthorizationCode.id.desc())
        with self._database.write(durable=False) as session:
            session.execute(delete(AuthorizationCode).where(AuthorizationCode.expires <= now))
            if (last := session.scalar(newest.offset(MAX_CODES - 1).limit(1))) is not None:
                session.execute(delete(AuthorizationCode).where(AuthorizationCode.id <= last))
            fields = {"expires": now + CODE_SECONDS, "request": asdict(request), "email": email}
            session.add(AuthorizationCode(hash=hash_key(code), **fields))
        return code

    def redeem(self, form: Mapping[str, str]) -> tuple[AuthorizationRequest, str]:
        """Return the request and the user of a code; any attempt invalidates the code."""
        is_code = AuthorizationCode.hash == hash_key(form.get("code", ""))
        with self._database.write() as session:
            code = session.scalars(select(AuthorizationCode).where(is_code)).one_or_none()
            if code is not None:
                session.delete(code)
        if code is None or code.expires <= self._clock():
            raise OAuthError("invalid_grant", "The code is unknown, expired or already used.")
        request = AuthorizationRequest(**code.request)
        client = form.get("client_id"), form.get("redirect_uri")
        if client != (request.client_id, request.redirect_uri):
            raise OAuthError("invalid_grant", "The code was issued to another client.")
        verifier = form.get("code_verifier", "")
        if not _VERIFIER.fullmatch(verifier) or s256(verifier) != request.code_challenge:
            raise OAuthError("invalid_grant", "The code_verifier does not match.")
        return request, code.email


def s256(verifier: str) -> str:
    """Return the code challenge of a code verifier (RFC 7636, section 4.2)."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _is_local(uri: str) -> bool:
    """Return whether an address is on this machine, on any port."""
    try:
        parts = urlsplit(uri)
        local = parts.hostname in ("127.0.0.1", "::1", "localhost") and parts.port != 0
    except ValueError:
        return False
    plain = uri.isprintable() and " " not in uri and not parts.fragment and "@" not in parts.netloc
    return parts.scheme in ("http", "https") and local and plain


def _registered_uris(site: Site) -> set[str]:
    with site.database.read() as session:
        lists = session.scalars(
            select(App.redirect_uris).join(Tenant).where(Tenant.name == CAMPUS, ~App.archived)
        )
        return {uri for uris in lists for uri in uris}

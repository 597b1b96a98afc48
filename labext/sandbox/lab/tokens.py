"""Access tokens for apps (client credentials grant, RFC 6749, section 4.4)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import unquote_plus

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext.sandbox.core.signing import hash_key
from labext.sandbox.lab.access_control import Caller, check_address, parse_basic
from labext.sandbox.lab.dependencies import API_PREFIX, Call, CallResponse, log_call
from labext.sandbox.lab.errors import OAuthError
from labext.sandbox.lab.limits import LIMITS
from labext.sandbox.lab.oidc import oauth
from labext.sandbox.lab.tables import App, Secret, Token

TOKEN_RETENTION_SECONDS = 3600.0
"""Time for which expired tokens are kept, so that the log can name their app."""


@dataclass(frozen=True)
class ClientCredentials:
    """The client id and client secret of a request."""

    client_id: str
    secret: str = field(repr=False)


router = APIRouter(prefix=API_PREFIX)


@router.post("/token")
def post_token(
    request: Request, content: Annotated[bytes, Depends(oauth.read_content)]
) -> Response:
    """Return an access token for an app."""
    return log_call(request, lambda call: issue_access_token(call, content))


def issue_access_token(call: Call, content: bytes) -> CallResponse:
    """Return a new access token (client credentials grant, RFC 6749, section 4.4)."""
    form = oauth.parse_form(call.request.headers.get("content-type", ""), content)
    if "grant_type" not in form:
        raise OAuthError("invalid_request", "grant_type is missing.")
    if form["grant_type"] != "client_credentials":
        raise OAuthError("unsupported_grant_type", "grant_type must be client_credentials.")
    credentials = _client_credentials(call.request.headers.getlist("authorization"), form)
    secret = _find_secret(call, credentials)
    try:
        check_address(call.session, call.tenancy.tenant_id, call.entry.address)
    except HTTPException as error:
        raise OAuthError("access_denied", error.detail, 403) from None
    if secret.app.archived:
        raise OAuthError("unauthorized_client", "The app is archived.")
    seconds = LIMITS.value(call.session, "token_seconds")
    with call.tenancy.site.database.write(durable=False) as session:
        token = _create_token(session, secret, seconds)
    fields = {"access_token": token, "token_type": "Bearer", "expires_in": seconds}
    return CallResponse.json(fields, oauth.NO_STORE_HEADERS)


def _client_credentials(authorizations: list[str], form: Mapping[str, str]) -> ClientCredentials:
    if not authorizations:
        for name in ("client_id", "client_secret"):
            if name not in form:
                raise OAuthError("invalid_request", f"{name} is missing.")
        return ClientCredentials(form["client_id"], form["client_secret"])
    scheme, _, value = authorizations[0].strip().partition(" ")
    if len(authorizations) > 1 or scheme.lower() != "basic":
        raise _invalid_client("An app sends its id and secret in the form, or as HTTP Basic.")
    try:
        # Both parts are encoded as in a form (RFC 6749, section 2.3.1).
        client_id, secret = (unquote_plus(part) for part in parse_basic(value.strip()))
    except ValueError:
        raise _invalid_client("The Authorization header is malformed.") from None
    if "client_secret" in form or form.get("client_id", client_id) != client_id:
        raise OAuthError(
            "invalid_request", "An app sends its secret in the form or as HTTP Basic, not both."
        )
    return ClientCredentials(client_id, secret)


def _find_secret(call: Call, credentials: ClientCredentials) -> Secret:
    """Return the app's secret; the app is logged even if the secret was deleted."""
    row = call.session.execute(
        select(Secret, App)
        .join(App, App.id == Secret.app_id)
        .where(Secret.hash == hash_key(credentials.secret), App.tenant_id == call.tenancy.tenant_id)
    ).one_or_none()
    if row is None or row[1].client_id != credentials.client_id:
        raise _invalid_client("The client id or the client secret is not valid.")
    secret, app = row
    call.entry.caller = Caller(call.tenancy.tenant_id, None, app, f"secret {secret.name}")
    if secret.deleted is not None:
        raise _invalid_client("The client secret was deleted.")
    return secret


def _create_token(session: Session, secret: Secret, seconds: int) -> str:
    """Create a random token and store its hash; delete long expired tokens."""
    if session.get(Secret, secret.id) is None:
        raise _invalid_client("The app was removed.")
    token = secrets.token_urlsafe(32)
    now = time.time()
    session.execute(delete(Token).where(Token.expires < now - TOKEN_RETENTION_SECONDS))
    session.add(Token(secret_id=secret.id, hash=hash_key(token), expires=now + seconds))
    return token


def _invalid_client(message: str) -> OAuthError:
    return OAuthError("invalid_client", message, 401)

"""The token endpoint: an access token for an app's id and secret (contract, Authentication 2).

Both are fields of the form, or an HTTP Basic header beside a form with `grant_type` only. Errors
follow RFC 6749, section 5.2.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from labext.sandbox.keys import key_hash
from labext.sandbox.lab import access, forms
from labext.sandbox.lab.access import Caller
from labext.sandbox.lab.calls import Answer, Call
from labext.sandbox.lab.faults import TokenRefused
from labext.sandbox.lab.identity import basic_pair
from labext.sandbox.lab.limits import LIMITS
from labext.sandbox.lab.store import App, Secret, Token

RETENTION_SECONDS = 3600.0
"""Time for which expired tokens are kept, so that the log can name their app."""


@dataclass(frozen=True)
class Credentials:
    """The id and the secret of an app, as a request states them."""

    client_id: str
    secret: str = field(repr=False)


def issue(call: Call, content: bytes) -> Answer:
    """Return a new access token (client credentials grant, RFC 6749, section 4.4).

    Raises:
        TokenRefused: 400, 401, or 403 from an address outside the tenant's ranges.
    """
    form = _form(call.request.headers, content)
    if "grant_type" not in form:
        raise _invalid("grant_type is missing.")
    if form["grant_type"] != "client_credentials":
        raise TokenRefused(400, "unsupported_grant_type", "grant_type must be client_credentials.")
    credentials = _credentials(call.request.headers.getlist("authorization"), form)
    secret = _secret(call, credentials)
    try:
        access.check_address(call.session, call.tenancy.tenant_id, call.entry.address)
    except HTTPException as error:
        raise TokenRefused(403, "access_denied", error.detail) from None
    if secret.app.archived:
        raise TokenRefused(400, "unauthorized_client", "The app is archived.")
    seconds = LIMITS.value(call.session, "token_seconds")
    with call.tenancy.site.database.write(durable=False) as session:
        token = _new(session, secret, seconds)
    fields = {"access_token": token, "token_type": "Bearer", "expires_in": seconds}
    return Answer.json(fields, forms.NEVER_STORED)


def _form(headers: Headers, content: bytes) -> Mapping[str, str]:
    try:
        return forms.of_form(headers.get("content-type", ""), content)
    except ValueError as error:
        raise _invalid(str(error)) from None


def _credentials(authorizations: list[str], form: Mapping[str, str]) -> Credentials:
    if not authorizations:
        for name in ("client_id", "client_secret"):
            if name not in form:
                raise _invalid(f"{name} is missing.")
        return Credentials(form["client_id"], form["client_secret"])
    scheme, _, value = authorizations[0].strip().partition(" ")
    if len(authorizations) > 1 or scheme.lower() != "basic":
        raise _unknown("An app sends its id and secret in the form, or as HTTP Basic.")
    try:
        # Both parts are encoded as in a form (RFC 6749, section 2.3.1).
        client_id, secret = (unquote_plus(part) for part in basic_pair(value.strip()))
    except ValueError:
        raise _unknown("The Authorization header is malformed.") from None
    if "client_secret" in form or form.get("client_id", client_id) != client_id:
        raise _invalid("An app sends its secret in the form or as HTTP Basic, not both.")
    return Credentials(client_id, secret)


def _secret(call: Call, credentials: Credentials) -> Secret:
    """Return the app's secret; the app is logged even if the secret was deleted."""
    row = call.session.execute(
        select(Secret, App)
        .join(App, App.id == Secret.app_id)
        .where(Secret.hash == key_hash(credentials.secret), App.tenant_id == call.tenancy.tenant_id)
    ).one_or_none()
    if row is None or row[1].client_id != credentials.client_id:
        raise _unknown("The client id or the client secret is not valid.")
    secret, app = row
    call.entry.caller = Caller(call.tenancy.tenant_id, None, app, f"secret {secret.name}")
    if secret.deleted is not None:
        raise _unknown("The client secret was deleted.")
    return secret


def _new(session: Session, secret: Secret, seconds: int) -> str:
    """Return a random token, of which only the hash is stored; delete long expired tokens."""
    if session.get(Secret, secret.id) is None:
        raise _unknown("The app was removed.")
    token = secrets.token_urlsafe(32)
    moment = time.time()
    session.execute(delete(Token).where(Token.expires < moment - RETENTION_SECONDS))
    session.add(Token(secret_id=secret.id, hash=key_hash(token), expires=moment + seconds))
    return token


def _invalid(message: str) -> TokenRefused:
    return TokenRefused(400, "invalid_request", message)


def _unknown(message: str) -> TokenRefused:
    return TokenRefused(401, "invalid_client", message)

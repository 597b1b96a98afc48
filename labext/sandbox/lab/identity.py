"""Who asks: the contract's three ways to sign in, each for one tenant alone.

An API key as the username of HTTP Basic; a Bearer access token, which an app was given for its
secret; a Bearer ID token of the tenant's identity provider.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable, Sequence

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from labext.sandbox.keys import key_hash
from labext.sandbox.lab.access import Caller, user_by_email
from labext.sandbox.lab.faults import unauthenticated
from labext.sandbox.lab.store import ApiKey, App, Secret, Token, User

# Made once: to make one takes longer than to run it.
_BY_KEY = (
    select(ApiKey, User)
    .join(User, User.id == ApiKey.user_id)
    .where(ApiKey.hash == bindparam("hash"), User.tenant_id == bindparam("tenant_id"))
)
_BY_TOKEN = (
    select(Token, Secret, App)
    .join(Secret, Secret.id == Token.secret_id)
    .join(App, App.id == Secret.app_id)
    .where(Token.hash == bindparam("hash"), App.tenant_id == bindparam("tenant_id"))
)

EmailOf = Callable[[Session, str], str]
"""The email claim of an ID token that holds; raises 401 for one that doesn't."""


def caller_of(
    session: Session, tenant_id: int, authorizations: Sequence[str], email_of: EmailOf
) -> Caller:
    """The owner of the credentials; `ended` where they are good no more, so that the log can tell.

    `authorizations` are the values of the Authorization header; `email_of` verifies ID tokens.

    Raises:
        HTTPException: 401, they are nobody's.
    """
    if not authorizations:
        raise unauthenticated("The Authorization header is missing.")
    scheme, _, value = authorizations[0].strip().partition(" ")
    if len(authorizations) > 1 or scheme.lower() not in ("basic", "bearer") or not value.strip():
        raise unauthenticated(
            "The Authorization header is malformed: Basic with an API key and an empty password, "
            "or Bearer with a token."
        )
    if scheme.lower() == "basic":
        return _of_key(session, tenant_id, _key(value.strip()))
    if value.count(".") == 2:  # a JSON web token; access tokens have no full stop
        return _of_email(session, tenant_id, email_of(session, value.strip()))
    return _of_token(session, tenant_id, value.strip())


def basic_pair(value: str) -> tuple[str, str]:
    """Username and password of a Basic credential.

    Raises:
        ValueError: it is none.
    """
    try:
        pair = base64.b64decode(value.encode("ascii"), validate=True).decode()
    except (UnicodeError, binascii.Error):
        raise ValueError("It is not text in base64.") from None
    name, colon, password = pair.partition(":")
    if not colon:
        raise ValueError("It has no colon.")
    return name, password


def _key(value: str) -> str:
    try:
        key, password = basic_pair(value)
    except ValueError:
        key, password = "", ""
    if not key or password:
        raise unauthenticated(
            "The API key is malformed: it is the username of HTTP Basic, with an empty password."
        )
    return key


def _of_key(session: Session, tenant_id: int, key: str) -> Caller:
    found = session.execute(_BY_KEY, {"hash": key_hash(key), "tenant_id": tenant_id}).one_or_none()
    if found is None:
        raise unauthenticated("The API key is not valid.")
    kept, user = found
    ended = None if kept.deleted is None else "The API key was deleted."
    return Caller(tenant_id, user, None, f"key {kept.name}", ended)


def _of_token(session: Session, tenant_id: int, token: str) -> Caller:
    values = {"hash": key_hash(token), "tenant_id": tenant_id}
    found = session.execute(_BY_TOKEN, values).one_or_none()
    if found is None:
        raise unauthenticated("The access token is not valid.")
    kept, secret, app = found
    ended = None
    if secret.deleted is not None:
        ended = "The client secret of this access token was deleted."
    elif kept.expires <= time.time():
        ended = "The access token has expired."
    return Caller(tenant_id, None, app, f"secret {secret.name}", ended)


def _of_email(session: Session, tenant_id: int, email: str) -> Caller:
    user = user_by_email(session, tenant_id, email)
    if user is None:
        raise unauthenticated("No user has the email address of this ID token.")
    return Caller(tenant_id, user, None, "ID token")

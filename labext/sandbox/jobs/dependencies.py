"""Request dependencies: the authenticated account, the site and the body."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import Depends, Request
from fastapi.responses import Response
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from starlette.requests import ClientDisconnect

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.core.monitoring.request_log import set_account
from labext.sandbox.core.signing import hash_key
from labext.sandbox.core.web import SlidingWindowLimiter
from labext.sandbox.jobs import limits
from labext.sandbox.jobs.names import is_name, quote_value
from labext.sandbox.jobs.schemas import bad_request, forbidden, not_found, unauthorized
from labext.sandbox.jobs.tables import Account, Job, Key, find_job


def authenticate(session: Session, key: str | None) -> Account:
    """Return the account of a key; 401 if the key is missing or unknown (JOBS-1)."""
    if not key:
        raise unauthorized("The header x-api-key is missing.")
    account = session.scalars(
        select(Account).join(Key).where(Key.hash == hash_key(key))
    ).one_or_none()
    if account is None:
        raise unauthorized("The x-api-key is not valid.")
    return account


def reload_account(session: Session, caller: Account) -> Account:
    """Reload the caller's account in this transaction; 401 if it was removed meanwhile."""
    account = session.get(Account, caller.id)
    if account is None:
        raise unauthorized("The account of the x-api-key was removed.")
    return account


def find_teammate(
    session: Session, caller: Account, email: str | None, field: str = "jobEmail"
) -> Account:
    """Return the account with this email address; by default the caller's account.

    An owner may access the accounts of its organization. Other callers get 403 for any address, so
    that the existence of accounts is not revealed. `field` names the parameter in errors.
    """
    if email is None or email.lower() == caller.email.lower():
        return caller
    if not caller.owner:
        raise forbidden(f"{field}: only an owner of the organization may see a teammate's jobs.")
    matches = select(Account).where(
        func.lower(Account.email) == email.lower(),
        Account.organization_id == caller.organization_id,
    )
    # PostgreSQL refuses texts with NUL characters.
    teammate = None if "\0" in email else session.scalars(matches).first()
    if teammate is None:
        raise not_found(
            f"{field}: no account of your organization has the address {quote_value(email)}."
        )
    return teammate


def teammate_ids(account: Account) -> Select[Any]:
    """Return the query of the ids of all accounts of the organization."""
    return select(Account.id).where(Account.organization_id == account.organization_id)


def require_job(
    session: Session, account: Account, name: str, *, organization: bool = False
) -> Job:
    """Return the account's job, or with `organization` a teammate's latest job with the name.

    404 if it does not exist.
    """
    job = find_job(session, account.id, name)
    if job is None and organization and is_name(name):
        jobs = select(Job).where(Job.name == name, Job.account_id.in_(teammate_ids(account)))
        job = session.scalars(jobs.order_by(Job.id.desc()).limit(1)).one_or_none()
    if job is None:
        raise not_found(f"There is no job {quote_value(name)}.")
    return job


MAX_BODY_BYTES = 64 << 20
"""Size limit of a JSON body."""

JSON = "application/json"


def _caller(site: SiteDep, request: Request) -> Account:
    """Authenticate the caller; 401 without a valid key, 429 above the request limit."""
    with site.database.read(snapshot=False) as session:
        account = authenticate(session, request.headers.get("x-api-key"))
        set_account(request, account.id)
        limiter: SlidingWindowLimiter = request.app.state.limiter
        if site.rate == "named":
            limiter.requests = limits.limit_value(session, "flood_requests")
    limiter.check(str(account.id))
    return account


CallerDep = Annotated[Account, Depends(_caller)]


async def _content(request: Request, _caller: CallerDep) -> bytes:
    """Return the body of a request; 400 if it is too large."""
    parts, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise bad_request(f"The body is larger than {MAX_BODY_BYTES:,} bytes.")
            parts.append(chunk)
    except ClientDisconnect:
        raise bad_request("The body is incomplete.") from None  # no client receives this
    return b"".join(parts)


ContentDep = Annotated[bytes, Depends(_content)]


def json_response(value: Any) -> Response:
    """Return a JSON response; bytes are sent unchanged, other values are serialized."""
    return Response(value if isinstance(value, bytes) else orjson.dumps(value), media_type=JSON)


def message_response(text: str) -> Response:
    """Return a JSON response with a confirmation message."""
    return json_response({"message": text})

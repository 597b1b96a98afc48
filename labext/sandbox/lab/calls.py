"""The way of every call: who asks, how often, from where, what it may see; and the log.

In this order, so that nobody learns more than it may: identity (401), limit (429), state and
address (403); then what the route itself checks: permission and places (403), the query (400).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from fastapi.responses import Response
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException
from starlette.requests import Request

from labext.sandbox.lab import access, allowance, faults, identity
from labext.sandbox.lab.access import Caller
from labext.sandbox.lab.audit import AuditLog, Entry
from labext.sandbox.lab.idtokens import IdTokens
from labext.sandbox.service import Site
from labext.sandbox.web import FloodGuard

JSON = "application/json"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tenancy:
    """A tenant's side of the platform: `app.state.tenancy` of the application at its door.

    Attributes:
        origin: the tenant's address.
        guard: counts the calls of its users and apps; None where no limit is kept.
        id_tokens: verifies those of its identity provider.
        audit: the log of its calls.
    """

    site: Site
    tenant_id: int
    origin: str
    guard: FloodGuard | None
    id_tokens: IdTokens
    audit: AuditLog


@dataclass
class Answer:
    """What came of a call: how it is answered, and what the log says of a refusal."""

    status: int
    body: bytes
    headers: dict[str, str]
    reason: str | None = None

    @classmethod
    def json(cls, value: Any, headers: Mapping[str, str] | None = None) -> Answer:
        """A value as JSON; bytes are JSON already."""
        body = value if isinstance(value, bytes) else orjson.dumps(value)
        return cls(200, body, dict(headers or {}))

    @classmethod
    def refusal(cls, error: HTTPException) -> Answer:
        """What is refused, in the form that its endpoint has for it."""
        body = orjson.dumps(faults.body_of(error))
        return cls(error.status_code, body, dict(error.headers or {}), error.detail)


@dataclass
class Call:
    """A call while it is answered.

    Attributes:
        session: the transaction in which all is read that the answer depends on.
        entry: what the log will say.
        headers: what the answer says beside its own, be it a refusal or not.
    """

    request: Request
    tenancy: Tenancy
    session: Session
    entry: Entry
    headers: dict[str, str] = field(default_factory=dict)


Work = Callable[[Call, Caller], Answer]
"""What a route does for a caller; it may refuse with an HTTPException."""


Refusal = Callable[[HTTPException], Answer]
"""Makes the response to a refused request."""


def served(request: Request, work: Work, *, refusal: Refusal = Answer.refusal) -> Response:
    """Answer an authenticated request that only reads, and log it."""
    return logged(
        request,
        lambda call: work(call, _admitted(call)),
        refusal=refusal,
        log_required=False,
    )


def _admitted(call: Call) -> Caller:
    """Whoever asks, if it may ask now and from there."""
    session, tenancy, headers = call.session, call.tenancy, call.request.headers
    caller = identity.caller_of(
        session, tenancy.tenant_id, headers.getlist("authorization"), tenancy.id_tokens.email
    )
    call.entry.caller = caller
    if caller.ended is not None:
        raise faults.unauthenticated(caller.ended)
    acts_for = headers.getlist("on-behalf-of")
    call.entry.caller = caller = access.acting(session, caller, acts_for)
    if tenancy.guard is not None:
        left = allowance.count(session, tenancy.guard, caller)
        call.headers |= allowance.headers(left)
        if not left.allowed:
            raise faults.flooded(left.limit, tenancy.guard.seconds)
    access.check_state(caller)
    access.check_address(session, tenancy.tenant_id, call.entry.address)
    access.check_acting(caller, acts_for)
    return caller


def logged(
    request: Request,
    answer: Callable[[Call], Answer],
    *,
    refusal: Refusal = Answer.refusal,
    log_required: bool = True,
) -> Response:
    """Answer a request, and log it before the response is sent.

    Args:
        request: the request.
        answer: makes the response; it may refuse with an HTTPException.
        refusal: makes the response to a refused request.
        log_required: refuse the request if it cannot be logged.
    """
    tenancy: Tenancy = request.app.state.tenancy
    entry = Entry.of(request, tenancy.tenant_id)
    with tenancy.site.database.read() as session:
        call = Call(request, tenancy, session, entry)
        try:
            made = answer(call)
        except HTTPException as error:
            made = refusal(error)
        except Exception:  # logged, and told without details
            log.exception("%s failed.", entry.path)
            made = refusal(HTTPException(500, "The service failed; its log says how."))
    tenancy.audit.write(entry.values(made.status, made.reason), required=log_required)
    return Response(made.body, made.status, made.headers | call.headers, JSON)

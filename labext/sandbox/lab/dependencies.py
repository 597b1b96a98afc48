"""Authenticate, rate-limit, authorize and audit every request of the platform."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import orjson
from fastapi import APIRouter
from fastapi.responses import Response
from sqlalchemy import delete, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request

from labext.redaction import mask
from labext.sandbox.core.database import Database
from labext.sandbox.core.monitoring.request_log import set_account
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.web import SlidingWindowLimiter, unavailable
from labext.sandbox.lab import access_control, errors, limits
from labext.sandbox.lab.access_control import Caller, IdTokenVerifier
from labext.sandbox.lab.limits import LIMITS
from labext.sandbox.lab.tables import AuditEntry, current_timestamp

# Built once: building it would take half of the time of a call.
_TABLE = AuditEntry.__table__
_INSERT = insert(_TABLE).returning(_TABLE.c.id)  # type: ignore[arg-type]

MAX_PATH_LENGTH = 500
"""Maximum number of logged characters of a path."""

PRUNE_INTERVAL = 1000
"""Number of calls after which surplus entries are deleted."""

MAX_PENDING = 10_000
"""Entries kept in memory while the database cannot be written; then the oldest are dropped."""

log = logging.getLogger(__name__)


@dataclass
class PendingEntry:
    """The log entry of a call in progress.

    Attributes:
        caller: the owner of the credentials, even if these are no longer valid.
    """

    tenant_id: int
    method: str
    path: str
    address: str | None
    caller: Caller | None = None

    @classmethod
    def of(cls, request: Request, tenant_id: int) -> PendingEntry:
        """Create the entry of a request before it is authenticated."""
        path = quote(request.scope["path"], safe="/:@!$&'()*+,;=~")
        address = None if request.client is None else request.client.host
        return cls(tenant_id, request.method[:10], mask(path)[:MAX_PATH_LENGTH], address)

    def values(self, status: int, reason: str | None) -> dict[str, Any]:
        """Return the log row of the call with its result."""
        caller = self.caller
        return {
            "tenant_id": self.tenant_id,
            "time": current_timestamp(),
            "method": self.method,
            "path": self.path,
            "status": status,
            "user": None if caller is None or caller.user is None else caller.user.email,
            "app": None if caller is None or caller.app is None else caller.app.name,
            "credential": None if caller is None else caller.credential,
            "address": self.address,
            "reason": reason,
        }


class AuditLog:
    """Writer of log entries; keeps them in memory while it cannot write them. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pending: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def write(self, values: dict[str, Any], *, required: bool) -> None:
        """Write an entry after the pending ones, or keep it in memory.

        Raises:
            DBAPIError: the entry is required and the database cannot be written.
        """
        with self._lock:
            pending, self._pending = self._pending, []
        try:
            self._insert([*pending, values])
        except DBAPIError as error:
            unwritten = pending if required else [*pending, values]
            with self._lock:
                self._pending = [*unwritten, *self._pending][-MAX_PENDING:]
            if required:
                raise
            if not pending:
                log.error("The audit log cannot be written; its entries are kept: %s", error.orig)

    def _insert(self, rows: list[dict[str, Any]]) -> None:
        # Calls are read-only, so they need no disk sync, and need not wait for other writers.
        with self._database.write_concurrently() as session:
            connection = session.connection()
            for row in rows:
                number: int = connection.execute(_INSERT, row).scalar_one()
                if number % PRUNE_INTERVAL == 0:
                    max_entries = LIMITS.value(session, "audit_entries")
                    session.execute(delete(AuditEntry).where(AuditEntry.id <= number - max_entries))


JSON = "application/json"
API_PREFIX = "/api/v2"


@dataclass(frozen=True)
class TenantContext:
    """The context of a tenant's application: its `app.state.tenancy`."""

    site: Site
    tenant_id: int
    origin: str
    rate_limiter: SlidingWindowLimiter | None
    id_tokens: IdTokenVerifier
    audit: AuditLog


@dataclass
class CallResponse:
    """Response to a call, with the reason of a refusal for the log."""

    status: int
    body: bytes
    headers: dict[str, str]
    reason: str | None = None

    @classmethod
    def json(cls, value: Any, headers: Mapping[str, str] | None = None) -> CallResponse:
        """Return a value as a JSON response; bytes are already JSON."""
        body = value if isinstance(value, bytes) else orjson.dumps(value)
        return cls(200, body, dict(headers or {}))

    @classmethod
    def refusal(cls, error: HTTPException) -> CallResponse:
        """Return an error response in the format of the endpoint."""
        body: Any = errors.error_body(error.status_code, error.detail)
        if isinstance(error, errors.OAuthError):
            body = error.body
        headers = dict(error.headers or {})
        return cls(error.status_code, orjson.dumps(body), headers, error.detail)


@dataclass
class Call:
    """A call being processed.

    Attributes:
        session: the transaction that reads the data of the response.
        headers: additional headers of the response, also of an error.
    """

    request: Request
    tenancy: TenantContext
    session: Session
    entry: PendingEntry
    headers: dict[str, str] = field(default_factory=dict)


CallHandler = Callable[[Call, Caller], CallResponse]
"""Handle the call of an authenticated caller; may raise HTTPException."""


ErrorRenderer = Callable[[HTTPException], CallResponse]
"""Create the response to a refused request."""


def serve_call(
    request: Request, handler: CallHandler, *, refusal: ErrorRenderer = CallResponse.refusal
) -> Response:
    """Authenticate, handle and log a request that only reads."""
    return log_call(
        request,
        lambda call: handler(call, _authorize_caller(call)),
        refusal=refusal,
        log_required=False,
    )


def _authorize_caller(call: Call) -> Caller:
    """Return the authenticated caller after checking limits, state and address."""
    session, tenancy, headers = call.session, call.tenancy, call.request.headers
    caller = access_control.authenticate(
        session, tenancy.tenant_id, headers.getlist("authorization"), tenancy.id_tokens.email
    )
    call.entry.caller = caller
    if owner := caller.user or caller.app:
        set_account(call.request, owner.id)
    if caller.ended is not None:
        raise errors.unauthorized(caller.ended)
    acts_for = headers.getlist("on-behalf-of")
    call.entry.caller = caller = access_control.resolve_acting_user(session, caller, acts_for)
    if tenancy.rate_limiter is not None:
        allowance = limits.count_call(session, tenancy.rate_limiter, caller)
        call.headers |= limits.rate_limit_headers(allowance)
        if not allowance.allowed:
            raise errors.too_many_requests(allowance.limit, tenancy.rate_limiter.seconds)
    access_control.check_state(caller)
    access_control.check_address(session, tenancy.tenant_id, call.entry.address)
    access_control.check_on_behalf_of(caller, acts_for)
    return caller


def log_call(
    request: Request,
    handle: Callable[[Call], CallResponse],
    *,
    refusal: ErrorRenderer = CallResponse.refusal,
    log_required: bool = True,
) -> Response:
    """Handle a request, and log it before the response is sent.

    `handle` may refuse with an HTTPException, of which `refusal` makes the response. With
    `log_required` a request that cannot be logged is refused.
    """
    tenancy: TenantContext = request.app.state.tenancy
    entry = PendingEntry.of(request, tenancy.tenant_id)
    with tenancy.site.database.read() as session:
        call = Call(request, tenancy, session, entry)
        try:
            response = handle(call)
        except HTTPException as error:
            response = refusal(error)
        except Exception as error:  # logged, and reported without details
            refused = unavailable(error)
            if refused is None:
                log.exception("%s failed.", entry.path)
                refused = HTTPException(500, "The service failed; its log has the reason.")
            response = refusal(refused)
    tenancy.audit.write(entry.values(response.status, response.reason), required=log_required)
    return Response(response.body, response.status, response.headers | call.headers, JSON)


class CallRouter(APIRouter):
    """A router of authenticated GET requests."""

    def call(
        self, path: str, *, refusal: ErrorRenderer = CallResponse.refusal
    ) -> Callable[[CallHandler], CallHandler]:
        """Register a handler; it reads the path parameters from the request."""

        def register(handler: CallHandler) -> CallHandler:
            def endpoint(request: Request) -> Response:
                return serve_call(request, handler, refusal=refusal)

            self.add_api_route(path, endpoint)
            return handler

        return register


def register_convertor(name: str, pattern: str) -> None:
    """Define a type of path parameter by a pattern; a path that does not match it is unknown."""
    # A route's `$` also matches before a final line break.
    kind = type(name, (StringConvertor,), {"regex": rf"{pattern}(?!\n)"})
    register_url_convertor(name, kind())

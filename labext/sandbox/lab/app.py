"""The laboratory platform as a service, with an application per tenant."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from sqlalchemy import MetaData, select
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from labext.sandbox.core.rate_limits import rate_limiter
from labext.sandbox.core.service_protocol import Certificate, Service, Site
from labext.sandbox.core.web import handle_errors
from labext.sandbox.lab import endpoints, errors, folders, seed, tokens
from labext.sandbox.lab.access_control import Caller, IdTokenVerifier
from labext.sandbox.lab.dependencies import (
    API_PREFIX,
    AuditLog,
    Call,
    CallResponse,
    CallRouter,
    TenantContext,
    log_call,
    serve_call,
)
from labext.sandbox.lab.endpoints import ENDPOINTS, PROVIDER_ENDPOINT, TENANT_ENDPOINTS
from labext.sandbox.lab.oidc.router import create_provider_app
from labext.sandbox.lab.oidc.service import expected_audience, own_configuration_url
from labext.sandbox.lab.sequences import router as sequences
from labext.sandbox.lab.tables import Base, Tenant


class LabService(Service):
    """The laboratory platform for the host; all its data are in the database."""

    name = "lab"
    endpoints = ENDPOINTS
    metadata: MetaData = Base.metadata

    def seed(self, site: Site) -> None:
        """Create the initial tenants, users, apps, projects and sequences."""
        seed.seed(site)

    def has_sample_accounts(self, site: Site) -> bool:
        """Return whether an initial user exists."""
        return seed.has_sample_accounts(site)

    def certificate(self, folder: Path, secrets: Path) -> Certificate:
        """Return the certificate: the platform accepts HTTPS only (LAB-1)."""
        return endpoints.ensure_certificate(folder, secrets)

    def connection(self, site: Site) -> Mapping[str, Any]:
        """Return the address of `campus` and the student's credentials for each sign-in method.

        A server has no sample users, and so returns no credentials.
        """
        record = {
            "base_url": site.origin,
            "ca_bundle": str(endpoints.client_ca_bundle(site)),
            "oidc_configuration_url": own_configuration_url(site),
            "oidc_client_id": expected_audience(site),
        }
        if site.server is not None:
            return record
        client_id, client_secret = seed.seeded_client(site)
        return record | {
            "api_key": seed.student_key(site),
            "client_id": client_id,
            "client_secret": client_secret,
            "oidc_user": seed.student_email(),
            "oidc_secret": seed.student_secret(site),
            "tenants": {
                name: site.origins[endpoint] for name, endpoint in TENANT_ENDPOINTS.items()
            },
        }

    def apps(self, site: Site) -> Mapping[str, ASGIApp]:
        """Return the API of each tenant, and the identity provider."""
        tenants = {
            endpoint: _tenant_app(site, name, endpoint)
            for name, endpoint in TENANT_ENDPOINTS.items()
            if site.origins[endpoint]
        }
        return tenants | {PROVIDER_ENDPOINT: create_provider_app(site)}


service = LabService()

users = CallRouter(prefix=API_PREFIX)


@users.call("/users/me")
def get_me(_call: Call, caller: Caller) -> CallResponse:
    """Return the authenticated user."""
    if caller.user is None:
        raise errors.not_found("An app is not a user.")
    user = caller.user
    return CallResponse.json(
        {"id": user.id, "handle": user.handle, "name": user.name, "email": user.email}
    )


_ROUTERS = (sequences.router, sequences.web, folders.router, users, tokens.router)


class _FallbackRoute(BaseRoute):
    """Catch-all route for unknown paths and for methods that a path does not allow.

    These calls are authenticated like others: unauthenticated ones get 401.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match every HTTP request, including paths with a line break, which no pattern matches."""
        return Match.FULL if scope["type"] == "http" else Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request with 404 or 405, or 401 without valid credentials."""
        response = await run_in_threadpool(self._refuse, Request(scope))
        await response(scope, receive, send)

    def _refuse(self, request: Request) -> Response:
        methods = {
            method
            for router in _ROUTERS
            for route in router.routes
            if isinstance(route, APIRoute) and route.matches(request.scope)[0] is Match.PARTIAL
            for method in route.methods or ()
        }

        def refuse(*_call: object) -> CallResponse:
            if methods:
                raise errors.method_not_allowed(", ".join(methods))
            raise errors.unknown_address()

        # The token endpoint requires no credentials in the header.
        return log_call(request, refuse) if "POST" in methods else serve_call(request, refuse)


def _tenant_app(site: Site, name: str, endpoint: str) -> ASGIApp:
    with site.database.read() as session:
        tenant_id = session.scalars(select(Tenant.id).where(Tenant.name == name)).one()
    app = FastAPI(title=f"labext lab, {name}", openapi_url=None, redirect_slashes=False)
    app.state.tenancy = TenantContext(
        site=site,
        tenant_id=tenant_id,
        origin=site.origins[endpoint],
        rate_limiter=rate_limiter(site.database, f"lab {name}") if site.rate == "named" else None,
        id_tokens=IdTokenVerifier(tenant_id, endpoints.client_ca_bundle(site)),
        audit=AuditLog(site.database),
    )
    for router in _ROUTERS:
        app.include_router(router)
    app.router.routes.append(_FallbackRoute())
    handle_errors(app, errors.error_body)
    return app

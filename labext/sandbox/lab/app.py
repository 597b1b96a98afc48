"""The laboratory platform: its routes, and what the host needs to serve it.

Each tenant has an application of its own at a door of its own. The routes are plain functions, so
that they run beside the event loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import Response
from sqlalchemy import MetaData, select
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from labext.sandbox.lab import access, faults, forms, listing, oidc, query, seed, tls, tokens
from labext.sandbox.lab.access import Caller
from labext.sandbox.lab.calls import Answer, Call, Tenancy, logged, served
from labext.sandbox.lab.doors import DOORS, PROVIDER, TENANTS
from labext.sandbox.lab.idtokens import IdTokens
from labext.sandbox.lab.oidc.issuing import configuration_url
from labext.sandbox.lab.store import Base, Tenant
from labext.sandbox.queue import Kind
from labext.sandbox.service import Certificate, Site
from labext.sandbox.web import FloodGuard, handle_errors


class LabService:
    """The laboratory platform, as the host knows it (`labext.sandbox.service.Service`)."""

    name = "lab"
    doors = DOORS
    metadata: MetaData = Base.metadata
    preload: Sequence[str] = ()

    def kinds(self, site: Site) -> Sequence[Kind]:  # noqa: ARG002
        """None: it answers at once or not at all."""
        return []

    def seed(self, site: Site) -> None:
        """Tenants, people, apps, projects and sequences."""
        seed.seed(site)

    def certificate(self, folder: Path, secrets: Path) -> Certificate:
        """The platform speaks HTTPS alone (contract, Endpoints)."""
        return tls.certificate(folder, secrets)

    def connection(self, site: Site) -> Mapping[str, Any]:
        """The student's three ways to sign in at `campus`."""
        client_id, client_secret = seed.client(site)
        return {
            "base_url": site.origin,
            "ca_bundle": str(tls.bundle(site.folder)),
            "api_key": seed.student_key(site),
            "client_id": client_id,
            "client_secret": client_secret,
            "oidc_configuration_url": configuration_url(site),
            "tenants": {name: site.origins[door] for name, door in TENANTS.items()},
        }

    def apps(self, site: Site) -> Mapping[str, ASGIApp]:
        """The API for each tenant, and the identity provider."""
        tenants = {door: _tenant_app(site, name, door) for name, door in TENANTS.items()}
        return tenants | {PROVIDER: oidc.app(site)}


service = LabService()

api = APIRouter(prefix="/api/v2")


@api.get("/dna-sequences")
def get_sequences(request: Request) -> Response:
    """The DNA sequences that the caller may see."""
    return served(request, _sequences)


@api.get("/users/me")
def get_me(request: Request) -> Response:
    """The authenticated user."""
    return served(request, _me)


@api.post("/token")
def post_token(request: Request, content: Annotated[bytes, Depends(forms.content)]) -> Response:
    """An access token for an app."""
    return logged(request, lambda call: tokens.issue(call, content))


def _sequences(call: Call, caller: Caller) -> Answer:
    access.check_permission(caller)
    session, tenancy, asked = call.session, call.tenancy, call.request.query_params
    places = access.visible_places(session, caller)
    access.check_places(places, asked.get("folderId", ""), asked.get("projectId", ""))
    body, headers = listing.page(
        session,
        query.parse(asked),
        places.folders,
        tenant_id=tenancy.tenant_id,
        origin=tenancy.origin,
        signer=tenancy.site.signer,
    )
    return Answer.json(body, headers)


def _me(_call: Call, caller: Caller) -> Answer:
    if caller.user is None:
        raise faults.absent("An app is no user.")
    user = caller.user
    return Answer.json(
        {"id": user.id, "handle": user.handle, "name": user.name, "email": user.email}
    )


METHODS = {"/api/v2/dna-sequences": "GET", "/api/v2/users/me": "GET", "/api/v2/token": "POST"}


class _Elsewhere(BaseRoute):
    """Every address that there isn't, and every method that an address doesn't take.

    They are calls like others: only who may ask is told more than 401.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whatever no other route does; also a path with a line break, which no pattern matches."""
        return Match.FULL if scope["type"] == "http" else Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse it."""
        answer = await run_in_threadpool(self._answer, Request(scope))
        await answer(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        allowed = METHODS.get(request.scope["path"])
        if allowed is None:
            fault = faults.absent("There is nothing at this address.")
        else:
            fault = faults.wrong_method(allowed)

        def refuse(*_call: object) -> Answer:
            raise fault

        # The token endpoint asks for no credentials in the header.
        return logged(request, refuse) if allowed == "POST" else served(request, refuse)


def _tenant_app(site: Site, name: str, door: str) -> ASGIApp:
    with site.database.read() as session:
        tenant_id = session.scalars(select(Tenant.id).where(Tenant.name == name)).one()
    app = FastAPI(title=f"labext lab, {name}", openapi_url=None, redirect_slashes=False)
    app.state.tenancy = Tenancy(
        site=site,
        tenant_id=tenant_id,
        origin=site.origins[door],
        guard=FloodGuard(None) if site.rate == "named" else None,
        id_tokens=IdTokens(tenant_id, tls.bundle(site.folder)),
    )
    app.include_router(api)
    app.router.routes.append(_Elsewhere())
    handle_errors(app, faults.body)
    return app

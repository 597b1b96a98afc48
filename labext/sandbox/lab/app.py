"""The laboratory platform: its routes, and what the host needs to serve it.

Each tenant has an application of its own at a door of its own. The routes are plain functions, so
that they run in threads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import Response
from sqlalchemy import MetaData, select
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from labext.sandbox.lab import (
    access,
    faults,
    folders,
    forms,
    identifiers,
    listing,
    oidc,
    query,
    seed,
    tls,
    tokens,
    web_page,
)
from labext.sandbox.lab.access import Caller, Places
from labext.sandbox.lab.audit import AuditLog
from labext.sandbox.lab.calls import Answer, Call, Tenancy, logged, served
from labext.sandbox.lab.doors import DOORS, PROVIDER, TENANTS
from labext.sandbox.lab.idtokens import IdTokens
from labext.sandbox.lab.oidc.issuing import configuration_url, expected_audience
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
    data_folders: Sequence[str] = ()

    def kinds(self, site: Site) -> Sequence[Kind]:  # noqa: ARG002
        """None: it answers at once or not at all."""
        return []

    def seed(self, site: Site) -> None:
        """Tenants, people, apps, projects and sequences."""
        seed.seed(site)

    def orphans(self, site: Site) -> Sequence[Path]:  # noqa: ARG002
        """None: all its data are in the database."""
        return []

    def certificate(self, folder: Path, secrets: Path) -> Certificate:
        """The platform speaks HTTPS alone (contract, Endpoints)."""
        return tls.certificate(folder, secrets)

    def connection(self, site: Site) -> Mapping[str, Any]:
        """Return the address of `campus` and the student's three ways to sign in."""
        client_id, client_secret = seed.client(site)
        return {
            "base_url": site.origin,
            "ca_bundle": str(tls.bundle(site.folder)),
            "api_key": seed.student_key(site),
            "client_id": client_id,
            "client_secret": client_secret,
            "oidc_configuration_url": configuration_url(site),
            "oidc_client_id": expected_audience(site),
            "oidc_user": seed.student_email(),
            "oidc_secret": seed.student_secret(site),
            "tenants": {name: site.origins[door] for name, door in TENANTS.items()},
        }

    def apps(self, site: Site) -> Mapping[str, ASGIApp]:
        """The API for each tenant, and the identity provider."""
        tenants = {door: _tenant_app(site, name, door) for name, door in TENANTS.items()}
        return tenants | {PROVIDER: oidc.app(site)}


service = LabService()

api = APIRouter(prefix="/api/v2")
web = APIRouter()


@api.get("/dna-sequences")
def get_sequences(request: Request) -> Response:
    """List the DNA sequences that the caller may see."""
    return served(request, _sequences)


@api.get("/dna-sequences:bulk-get")
def bulk_get_sequences(request: Request) -> Response:
    """Return DNA sequences by their ids."""
    return served(request, _bulk_get)


@api.get("/dna-sequences/{sequence_id}")
def get_sequence(request: Request, sequence_id: str) -> Response:
    """Return a DNA sequence."""
    return served(request, lambda call, caller: _sequence(call, caller, sequence_id))


@api.get("/folders")
def get_folders(request: Request) -> Response:
    """List the folders that the caller may see."""
    return served(request, _folders)


@api.get("/folders/{folder_id}")
def get_folder(request: Request, folder_id: str) -> Response:
    """Return a folder."""
    return served(request, lambda call, caller: _folder(call, caller, folder_id))


@api.get("/users/me")
def get_me(request: Request) -> Response:
    """The authenticated user."""
    return served(request, _me)


@api.post("/token")
def post_token(request: Request, content: Annotated[bytes, Depends(forms.content)]) -> Response:
    """An access token for an app."""
    return logged(request, lambda call: tokens.issue(call, content))


@web.get("/{tenant}/f/{folder}/{sequence}/edit")
def get_page(request: Request, sequence: str) -> Response:
    """Return the web page of a DNA sequence, to whoever may see it."""
    sequence_id = sequence.partition("-")[0]
    return served(
        request, lambda call, caller: _page(call, caller, sequence_id), refusal=_refusal_page
    )


def _sequences(call: Call, caller: Caller) -> Answer:
    session, tenancy, given = call.session, call.tenancy, call.request.query_params
    places = _readable_places(call, caller)
    access.check_places(places, given.get("folderId", ""), given.get("projectId", ""))
    body, headers = listing.page(
        session,
        query.parse(given),
        places.folders,
        tenant_id=tenancy.tenant_id,
        origin=tenancy.origin,
        signer=tenancy.site.signer,
    )
    return Answer.json(body, headers)


def _bulk_get(call: Call, caller: Caller) -> Answer:
    visible, given = _readable_places(call, caller).folders, call.request.query_params
    query.check_known(given, ("dnaSequenceIds", "returning"))
    ids = query.identifiers(given, "dnaSequenceIds")
    if ids is None:
        raise faults.invalid("dnaSequenceIds is missing.")
    fields = query.returned_fields(given)
    return Answer.json(
        listing.several(call.session, ids, fields, visible, origin=call.tenancy.origin)
    )


def _sequence(call: Call, caller: Caller, sequence_id: str) -> Answer:
    _check_identifier("seq", sequence_id)
    visible, given = _readable_places(call, caller).folders, call.request.query_params
    query.check_known(given, ("returning",))
    fields = query.returned_fields(given, of_list=False)
    return Answer.json(
        listing.one(call.session, sequence_id, fields, visible, origin=call.tenancy.origin)
    )


def _folders(call: Call, caller: Caller) -> Answer:
    places, given = _readable_places(call, caller), call.request.query_params
    parent = given.get("parentFolderId", "")
    inside = "" if parent == folders.NO_PARENT else parent
    access.check_places(places, inside, given.get("projectId", ""), parameter="parentFolderId")
    signer = call.tenancy.site.signer
    return Answer.json(folders.page(call.session, given, places.folders, signer=signer))


def _folder(call: Call, caller: Caller, folder_id: str) -> Answer:
    _check_identifier("lib", folder_id)
    places = _readable_places(call, caller)
    query.check_known(call.request.query_params, ())
    return Answer.json(folders.one(call.session, folder_id, places.folders))


def _page(call: Call, caller: Caller, sequence_id: str) -> Answer:
    _check_identifier("seq", sequence_id)
    visible = _readable_places(call, caller).folders
    record = listing.one(call.session, sequence_id, None, visible, origin=call.tenancy.origin)
    return Answer(200, web_page.sequence(orjson.loads(record)), web_page.HEADERS | web_page.HTML)


def _refusal_page(error: HTTPException) -> Answer:
    refused = Answer.refusal(error)
    refused.body = web_page.refusal(error.detail, error.status_code)
    refused.headers |= web_page.HEADERS | web_page.HTML
    return refused


def _check_identifier(prefix: str, identifier: str) -> None:
    """Check that an id of an address could be one.

    Raises:
        HTTPException: 404, it could not. Whether there is one with this id is not said.
    """
    if not re.fullmatch(f"{prefix}_{identifiers.PATTERN}", identifier):
        raise faults.absent(NOTHING)


def _readable_places(call: Call, caller: Caller) -> Places:
    """Return the places whose sequences the caller may read.

    Raises:
        HTTPException: 403, it may read none.
    """
    access.check_permission(caller)
    return access.visible_places(call.session, caller)


def _me(_call: Call, caller: Caller) -> Answer:
    if caller.user is None:
        raise faults.absent("An app is no user.")
    user = caller.user
    return Answer.json(
        {"id": user.id, "handle": user.handle, "name": user.name, "email": user.email}
    )


METHODS = {
    rf"/api/v2/dna-sequences(?::bulk-get|/seq_{identifiers.PATTERN})?": "GET",
    rf"/api/v2/folders(?:/lib_{identifiers.PATTERN})?": "GET",
    r"/api/v2/users/me": "GET",
    r"/api/v2/token": "POST",
    rf"/[^/]+/f/[^/]+/seq_{identifiers.PATTERN}(?:-[^/]*)?/edit": "GET",
}
"""The method that each address takes; patterns of the whole path."""

NOTHING = "There is nothing at this address."


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
        path = request.scope["path"]
        allowed = next((METHODS[each] for each in METHODS if re.fullmatch(each, path)), None)
        fault = faults.absent(NOTHING) if allowed is None else faults.wrong_method(allowed)

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
        audit=AuditLog(site.database),
    )
    app.include_router(api)
    app.include_router(web)
    app.router.routes.append(_Elsewhere())
    handle_errors(app, faults.body)
    return app

"""Routes of the laboratory platform, its token endpoint and its service object."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote_plus

import orjson
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import Response
from sqlalchemy import MetaData, delete, select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from labext.sandbox.core.queue import TaskKind
from labext.sandbox.core.service_protocol import Certificate, Site
from labext.sandbox.core.signing import hash_key
from labext.sandbox.core.web import SlidingWindowLimiter, handle_errors
from labext.sandbox.lab import (
    access_control,
    endpoints,
    errors,
    folders,
    html_pages,
    oidc,
    seed,
    tables,
)
from labext.sandbox.lab.access_control import Caller, IdTokenVerifier, VisiblePlaces, parse_basic
from labext.sandbox.lab.dependencies import (
    AuditLog,
    Call,
    CallResponse,
    TenantContext,
    log_call,
    serve_call,
)
from labext.sandbox.lab.endpoints import ENDPOINTS, PROVIDER_ENDPOINT, TENANT_ENDPOINTS
from labext.sandbox.lab.errors import TokenEndpointError
from labext.sandbox.lab.limits import LIMITS
from labext.sandbox.lab.oidc import oauth
from labext.sandbox.lab.oidc.service import expected_audience, own_configuration_url
from labext.sandbox.lab.sequences import schemas
from labext.sandbox.lab.sequences.service import find_sequence, find_sequences, list_sequences
from labext.sandbox.lab.tables import App, Base, Secret, Tenant, Token

TOKEN_RETENTION_SECONDS = 3600.0
"""Time for which expired tokens are kept, so that the log can name their app."""


@dataclass(frozen=True)
class ClientCredentials:
    """The id and the secret of an app, as a request states them."""

    client_id: str
    secret: str = field(repr=False)


def issue_access_token(call: Call, content: bytes) -> CallResponse:
    """Return a new access token (client credentials grant, RFC 6749, section 4.4).

    Raises:
        TokenRefused: 400, 401, or 403 from an address outside the tenant's ranges.
    """
    form = _token_form(call.request.headers, content)
    if "grant_type" not in form:
        raise _invalid_request("grant_type is missing.")
    if form["grant_type"] != "client_credentials":
        raise TokenEndpointError(
            400, "unsupported_grant_type", "grant_type must be client_credentials."
        )
    credentials = _client_credentials(call.request.headers.getlist("authorization"), form)
    secret = _find_secret(call, credentials)
    try:
        access_control.check_address(call.session, call.tenancy.tenant_id, call.entry.address)
    except HTTPException as error:
        raise TokenEndpointError(403, "access_denied", error.detail) from None
    if secret.app.archived:
        raise TokenEndpointError(400, "unauthorized_client", "The app is archived.")
    seconds = LIMITS.value(call.session, "token_seconds")
    with call.tenancy.site.database.write(durable=False) as session:
        token = _create_token(session, secret, seconds)
    fields = {"access_token": token, "token_type": "Bearer", "expires_in": seconds}
    return CallResponse.json(fields, oauth.NO_STORE_HEADERS)


def _token_form(headers: Headers, content: bytes) -> Mapping[str, str]:
    try:
        return oauth.parse_form(headers.get("content-type", ""), content)
    except ValueError as error:
        raise _invalid_request(str(error)) from None


def _client_credentials(authorizations: list[str], form: Mapping[str, str]) -> ClientCredentials:
    if not authorizations:
        for name in ("client_id", "client_secret"):
            if name not in form:
                raise _invalid_request(f"{name} is missing.")
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
        raise _invalid_request("An app sends its secret in the form or as HTTP Basic, not both.")
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
    """Return a random token, of which only the hash is stored; delete long expired tokens."""
    if session.get(Secret, secret.id) is None:
        raise _invalid_client("The app was removed.")
    token = secrets.token_urlsafe(32)
    moment = time.time()
    session.execute(delete(Token).where(Token.expires < moment - TOKEN_RETENTION_SECONDS))
    session.add(Token(secret_id=secret.id, hash=hash_key(token), expires=moment + seconds))
    return token


def _invalid_request(message: str) -> TokenEndpointError:
    return TokenEndpointError(400, "invalid_request", message)


def _invalid_client(message: str) -> TokenEndpointError:
    return TokenEndpointError(401, "invalid_client", message)


class LabService:
    """The laboratory platform as a `Service` of the host."""

    name = "lab"
    endpoints = ENDPOINTS
    metadata: MetaData = Base.metadata
    preload: Sequence[str] = ()
    data_folders: Sequence[str] = ()

    def kinds(self, site: Site) -> Sequence[TaskKind]:  # noqa: ARG002
        """None: it answers at once or not at all."""
        return []

    def seed(self, site: Site) -> None:
        """Tenants, people, apps, projects and sequences."""
        seed.seed(site)

    def orphans(self, site: Site) -> Sequence[Path]:  # noqa: ARG002
        """None: all its data are in the database."""
        return []

    def certificate(self, folder: Path, secrets: Path) -> Certificate:
        """Return the certificate: the platform accepts HTTPS only (LAB-1)."""
        return endpoints.ensure_certificate(folder, secrets)

    def connection(self, site: Site) -> Mapping[str, Any]:
        """Return the address of `campus` and the student's three ways to sign in."""
        client_id, client_secret = seed.seeded_client(site)
        return {
            "base_url": site.origin,
            "ca_bundle": str(endpoints.ca_bundle_path(site.folder)),
            "api_key": seed.student_key(site),
            "client_id": client_id,
            "client_secret": client_secret,
            "oidc_configuration_url": own_configuration_url(site),
            "oidc_client_id": expected_audience(site),
            "oidc_user": seed.student_email(),
            "oidc_secret": seed.student_secret(site),
            "tenants": {name: site.origins[door] for name, door in TENANT_ENDPOINTS.items()},
        }

    def apps(self, site: Site) -> Mapping[str, ASGIApp]:
        """The API for each tenant, and the identity provider."""
        tenants = {door: _tenant_app(site, name, door) for name, door in TENANT_ENDPOINTS.items()}
        return tenants | {PROVIDER_ENDPOINT: oidc.create_provider_app(site)}


service = LabService()

api = APIRouter(prefix="/api/v2")
web = APIRouter()


@api.get("/dna-sequences")
def get_sequences(request: Request) -> Response:
    """List the DNA sequences that the caller may see."""
    return serve_call(request, _sequences)


@api.get("/dna-sequences:bulk-get")
def bulk_get_sequences(request: Request) -> Response:
    """Return DNA sequences by their ids."""
    return serve_call(request, _bulk_get)


@api.get("/dna-sequences/{sequence_id}")
def get_sequence(request: Request, sequence_id: str) -> Response:
    """Return a DNA sequence."""
    return serve_call(request, lambda call, caller: _sequence(call, caller, sequence_id))


@api.get("/folders")
def get_folders(request: Request) -> Response:
    """List the folders that the caller may see."""
    return serve_call(request, _folders)


@api.get("/folders/{folder_id}")
def get_folder(request: Request, folder_id: str) -> Response:
    """Return a folder."""
    return serve_call(request, lambda call, caller: _folder(call, caller, folder_id))


@api.get("/users/me")
def get_me(request: Request) -> Response:
    """The authenticated user."""
    return serve_call(request, _me)


@api.post("/token")
def post_token(
    request: Request, content: Annotated[bytes, Depends(oauth.read_content)]
) -> Response:
    """An access token for an app."""
    return log_call(request, lambda call: issue_access_token(call, content))


@web.get("/{tenant}/f/{folder}/{sequence}/edit")
def get_page(request: Request, sequence: str) -> Response:
    """Return the web page of a DNA sequence, to whoever may see it."""
    sequence_id = sequence.partition("-")[0]
    return serve_call(
        request, lambda call, caller: _page(call, caller, sequence_id), refusal=_refusal_page
    )


def _sequences(call: Call, caller: Caller) -> CallResponse:
    session, tenancy, params = call.session, call.tenancy, call.request.query_params
    places = _readable_places(call, caller)
    access_control.check_places(places, params.get("folderId", ""), params.get("projectId", ""))
    body, headers = list_sequences(
        session,
        schemas.parse_sequence_query(params),
        places.folders,
        tenant_id=tenancy.tenant_id,
        origin=tenancy.origin,
        signer=tenancy.site.signer,
    )
    return CallResponse.json(body, headers)


def _bulk_get(call: Call, caller: Caller) -> CallResponse:
    visible, params = _readable_places(call, caller).folders, call.request.query_params
    schemas.check_known_parameters(params, ("dnaSequenceIds", "returning"))
    ids = schemas.id_list_parameter(params, "dnaSequenceIds")
    if ids is None:
        raise errors.bad_request("dnaSequenceIds is missing.")
    fields = schemas.returning_parameter(params)
    return CallResponse.json(
        find_sequences(call.session, ids, fields, visible, origin=call.tenancy.origin)
    )


def _sequence(call: Call, caller: Caller, sequence_id: str) -> CallResponse:
    _check_identifier("seq", sequence_id)
    visible, params = _readable_places(call, caller).folders, call.request.query_params
    schemas.check_known_parameters(params, ("returning",))
    fields = schemas.returning_parameter(params, of_list=False)
    return CallResponse.json(
        find_sequence(call.session, sequence_id, fields, visible, origin=call.tenancy.origin)
    )


def _folders(call: Call, caller: Caller) -> CallResponse:
    places, params = _readable_places(call, caller), call.request.query_params
    parent = params.get("parentFolderId", "")
    inside = "" if parent == folders.NO_PARENT else parent
    access_control.check_places(
        places, inside, params.get("projectId", ""), parameter="parentFolderId"
    )
    signer = call.tenancy.site.signer
    return CallResponse.json(
        folders.list_folders(call.session, params, places.folders, signer=signer)
    )


def _folder(call: Call, caller: Caller, folder_id: str) -> CallResponse:
    _check_identifier("lib", folder_id)
    places = _readable_places(call, caller)
    schemas.check_known_parameters(call.request.query_params, ())
    return CallResponse.json(folders.find_folder(call.session, folder_id, places.folders))


def _page(call: Call, caller: Caller, sequence_id: str) -> CallResponse:
    _check_identifier("seq", sequence_id)
    visible = _readable_places(call, caller).folders
    record = find_sequence(call.session, sequence_id, None, visible, origin=call.tenancy.origin)
    return CallResponse(
        200,
        html_pages.sequence_page(orjson.loads(record)),
        html_pages.PAGE_HEADERS | html_pages.HTML_HEADERS,
    )


def _refusal_page(error: HTTPException) -> CallResponse:
    refused = CallResponse.refusal(error)
    refused.body = html_pages.error_page(error.detail, error.status_code)
    refused.headers |= html_pages.PAGE_HEADERS | html_pages.HTML_HEADERS
    return refused


def _check_identifier(prefix: str, identifier: str) -> None:
    """Check that an id of an address could be one.

    Raises:
        HTTPException: 404, it could not. Whether there is one with this id is not said.
    """
    if not re.fullmatch(f"{prefix}_{tables.IDENTIFIER_PATTERN}", identifier):
        raise errors.not_found(NOT_FOUND_MESSAGE)


def _readable_places(call: Call, caller: Caller) -> VisiblePlaces:
    """Return the places whose sequences the caller may read.

    Raises:
        HTTPException: 403, it may read none.
    """
    access_control.check_permission(caller)
    return access_control.visible_places(call.session, caller)


def _me(_call: Call, caller: Caller) -> CallResponse:
    if caller.user is None:
        raise errors.not_found("An app is no user.")
    user = caller.user
    return CallResponse.json(
        {"id": user.id, "handle": user.handle, "name": user.name, "email": user.email}
    )


ALLOWED_METHODS = {
    rf"/api/v2/dna-sequences(?::bulk-get|/seq_{tables.IDENTIFIER_PATTERN})?": "GET",
    rf"/api/v2/folders(?:/lib_{tables.IDENTIFIER_PATTERN})?": "GET",
    r"/api/v2/users/me": "GET",
    r"/api/v2/token": "POST",
    rf"/[^/]+/f/[^/]+/seq_{tables.IDENTIFIER_PATTERN}(?:-[^/]*)?/edit": "GET",
}
"""The method that each address takes; patterns of the whole path."""

NOT_FOUND_MESSAGE = "There is nothing at this address."


class _FallbackRoute(BaseRoute):
    """Catch-all route for unknown paths and for methods that a path does not allow.

    These calls are authenticated like others: unauthenticated ones get 401.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match every HTTP request, also paths with a line break, which no pattern matches."""
        return Match.FULL if scope["type"] == "http" else Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse it."""
        answer = await run_in_threadpool(self._answer, Request(scope))
        await answer(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        path = request.scope["path"]
        allowed = next(
            (
                ALLOWED_METHODS[pattern]
                for pattern in ALLOWED_METHODS
                if re.fullmatch(pattern, path)
            ),
            None,
        )
        fault = (
            errors.not_found(NOT_FOUND_MESSAGE)
            if allowed is None
            else errors.method_not_allowed(allowed)
        )

        def refuse(*_call: object) -> CallResponse:
            raise fault

        # The token endpoint asks for no credentials in the header.
        return log_call(request, refuse) if allowed == "POST" else serve_call(request, refuse)


def _tenant_app(site: Site, name: str, door: str) -> ASGIApp:
    with site.database.read() as session:
        tenant_id = session.scalars(select(Tenant.id).where(Tenant.name == name)).one()
    app = FastAPI(title=f"labext lab, {name}", openapi_url=None, redirect_slashes=False)
    app.state.tenancy = TenantContext(
        site=site,
        tenant_id=tenant_id,
        origin=site.origins[door],
        guard=SlidingWindowLimiter(None) if site.rate == "named" else None,
        id_tokens=IdTokenVerifier(tenant_id, endpoints.ca_bundle_path(site.folder)),
        audit=AuditLog(site.database),
    )
    app.include_router(api)
    app.include_router(web)
    app.router.routes.append(_FallbackRoute())
    handle_errors(app, errors.error_body)
    return app

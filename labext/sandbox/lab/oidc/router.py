"""Endpoints of the OpenID provider (OpenID Connect Core 1.0 and Discovery 1.0)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from labext.sandbox.core.dependencies import SiteDep, app_state
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.core.signing import InvalidSignatureError
from labext.sandbox.core.web import handle_errors
from labext.sandbox.lab import html_pages
from labext.sandbox.lab.errors import OAuthError
from labext.sandbox.lab.html_pages import PAGE_HEADERS
from labext.sandbox.lab.oidc import oauth
from labext.sandbox.lab.oidc.oauth import (
    AuthorizationRequest,
    Codes,
    check_client,
    check_parameters,
)
from labext.sandbox.lab.oidc.service import (
    ALGORITHM,
    GRANT_TYPE,
    TOKEN_SECONDS,
    SignInError,
    expected_audience,
    find_campus_user,
    issue_id_token,
    issuer_url,
    list_users,
    load_signing_keys,
    requires_secret,
    sign_in,
    subject_claim,
)
from labext.sandbox.lab.oidc.verifier import WELL_KNOWN

SIGN_IN_PAGE_SECONDS = 600.0
"""Time for which the sign-in page can be submitted."""


def create_provider_app(site: Site) -> FastAPI:
    """Return the provider's application."""
    application = FastAPI(openapi_url=None)
    application.state.site, application.state.codes = site, Codes(site.database)
    load_signing_keys(site.secrets)  # generated now, so that the first request does not wait
    application.get(WELL_KNOWN)(configuration)
    application.get("/jwks")(jwks)
    application.get("/authorize")(authorize)
    application.post("/authorize")(submit_sign_in)
    application.post("/token")(token)
    application.get("/userinfo")(userinfo)
    handle_errors(application, _error_body)
    application.add_exception_handler(OAuthError, _error_response)
    return application


CodesDep = Annotated[Codes, app_state("codes")]
BodyDep = Annotated[bytes, Depends(oauth.read_content)]


# Worker threads of the platform wait for these two endpoints, so they run on the event loop.
async def configuration(site: SiteDep) -> dict[str, Any]:
    """Return the provider's metadata (Discovery 1.0, section 3)."""
    base = issuer_url(site)
    return {
        "issuer": base,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/token",
        "userinfo_endpoint": f"{base}/userinfo",
        "jwks_uri": f"{base}/jwks",
        "scopes_supported": ["openid", "email", "profile"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", GRANT_TYPE],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [ALGORITHM],
        "token_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "claims_supported": [
            "iss", "sub", "aud", "iat", "exp", "nonce", "email", "email_verified", "name",
        ],
        "authorization_response_iss_parameter_supported": True,
        "request_uri_parameter_supported": False,
    }  # fmt: skip


async def jwks(site: SiteDep) -> dict[str, Any]:
    """Return the public keys."""
    return {"keys": [key.published for key in load_signing_keys(site.secrets)]}


def authorize(request: Request, site: SiteDep) -> Response:
    """Show the sign-in page."""
    try:
        query = oauth.parse_query_string(request.url.query)
        authorization = AuthorizationRequest.from_query(query)
        check_client(site, authorization)
    except ValueError as error:
        return html_pages.sign_in_error_page(str(error))
    try:
        check_parameters(query)
    except OAuthError as error:
        return _redirect(site, authorization, error.body)
    sealed = site.signer.seal(
        [time.time() + SIGN_IN_PAGE_SECONDS, asdict(authorization)], "lab-authorize"
    )
    return html_pages.sign_in_page(
        # The page of a server needs no credentials, so it must not tell who the users are.
        list_users(site) if site.server is None else None,
        sealed,
        authorization.redirect_uri,
        query.get("login_hint"),
        requires_secret=requires_secret(site),
    )


def submit_sign_in(request: Request, site: SiteDep, codes: CodesDep, body: BodyDep) -> Response:
    """Check the secret from the sign-in page, and redirect the user to the client with a code."""
    try:
        form = oauth.parse_form(request.headers.get("content-type", ""), body)
        expires, sealed = site.signer.unseal(form.get("request", ""), "lab-authorize")
    except (OAuthError, ValueError):
        return html_pages.sign_in_error_page("The request is invalid. Start again in your program.")
    if expires < time.time():
        return html_pages.sign_in_error_page(
            "The request has expired. Start again in your program."
        )
    try:
        user = sign_in(site, form.get("email", ""), form.get("secret", ""))
    except SignInError as error:
        return html_pages.sign_in_error_page(f"{error} Go back and try again.", 403)
    authorization = AuthorizationRequest(**sealed)
    return _redirect(site, authorization, {"code": codes.create(authorization, user.email)})


def token(request: Request, site: SiteDep, codes: CodesDep, body: BodyDep) -> Response:
    """Return an ID token for a code, or for a user's secret (OpenID Connect Core 1.0, 3.1.3)."""
    form = oauth.parse_form(request.headers.get("content-type", ""), body)
    audience, nonce = expected_audience(site), None
    match form.get("grant_type"):
        case "authorization_code":
            redeemed, email = codes.redeem(form)
            audience, nonce = redeemed.client_id, redeemed.nonce
        case grant if grant == GRANT_TYPE:
            email = _password_grant(site, form, audience)
        case _:
            message = f"grant_type must be authorization_code or {GRANT_TYPE}."
            raise OAuthError("unsupported_grant_type", message)
    content = {
        "access_token": site.signer.seal([time.time() + TOKEN_SECONDS, email], "lab-userinfo"),
        "token_type": "Bearer",
        "expires_in": TOKEN_SECONDS,
        "id_token": issue_id_token(site, email, audience=audience, nonce=nonce),
        "scope": "openid email profile",
    }
    return JSONResponse(content, headers=oauth.NO_STORE_HEADERS)


def _password_grant(site: Site, form: Mapping[str, str], client_id: str) -> str:
    """Return the e-mail address of the user who signs in by password (RFC 6749, section 4.3.2)."""
    if form.get("client_id") != client_id:
        raise OAuthError("invalid_client", "Unknown client_id.")
    if "openid" not in form.get("scope", "").split(" "):
        raise OAuthError("invalid_scope", "The scope must include openid.")
    try:
        return sign_in(site, form.get("username", ""), form.get("password", "")).email
    except SignInError as error:
        raise OAuthError("invalid_grant", str(error)) from None


def userinfo(request: Request, site: SiteDep) -> Response:
    """Return the claims about the owner of an access token (OpenID Connect Core 1.0, 5.3)."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    try:
        sealed = value if scheme.lower() == "bearer" else ""
        expires, email = site.signer.unseal(sealed, "lab-userinfo")
    except InvalidSignatureError:
        expires, email = 0.0, ""
    user = find_campus_user(site, email)
    if expires < time.time() or user is None:
        error = OAuthError("invalid_token", "The access token is not valid.")
        challenge = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
        return JSONResponse(error.body, 401, headers=challenge)
    claims = {
        "sub": subject_claim(email),
        "email": email,
        "email_verified": True,
        "name": user.name,
    }
    return JSONResponse(claims, headers=oauth.NO_STORE_HEADERS)


def _redirect(site: Site, request: AuthorizationRequest, parameters: Mapping[str, str]) -> Response:
    """Redirect to the client; the response names its issuer (RFC 9207)."""
    url = request.callback_url(**parameters, iss=issuer_url(site))
    return RedirectResponse(url, 303, PAGE_HEADERS)


def _error_body(status: int, message: str) -> dict[str, str]:
    return OAuthError("server_error" if status >= 500 else "invalid_request", message).body


def _error_response(_request: Request, error: Exception) -> Response:
    assert isinstance(error, OAuthError)
    return JSONResponse(error.body, 400, headers=oauth.NO_STORE_HEADERS)

"""The provider's routes (OpenID Connect Core 1.0 and Discovery 1.0)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from labext.sandbox.lab import forms
from labext.sandbox.lab.oidc import page
from labext.sandbox.lab.oidc.asking import (
    Asked,
    BadClient,
    Client,
    Codes,
    Refused,
    asked,
    client_of,
)
from labext.sandbox.lab.oidc.issuing import (
    SECONDS,
    expected_audience,
    issue,
    issuer,
    people,
    subject,
)
from labext.sandbox.lab.oidc.keys import ALGORITHM, signing_keys
from labext.sandbox.lab.oidc.sign_in import SCHEME, SignInRefused, requires_secret, sign_in
from labext.sandbox.lab.oidc.verifier import WELL_KNOWN
from labext.sandbox.lab.store import User
from labext.sandbox.lab.web_page import HEADERS
from labext.sandbox.service import Site
from labext.sandbox.signing import Forged
from labext.sandbox.web import handle_errors

PAGE_SECONDS = 600.0
"""How long somebody may think about who signs in."""


def app(site: Site) -> FastAPI:
    """The provider at its door."""
    made = FastAPI(openapi_url=None)
    made.state.site, made.state.codes = site, Codes()
    signing_keys(site.secrets)  # made before anybody waits for them
    made.get(WELL_KNOWN)(configuration)
    made.get("/jwks")(jwks)
    made.get("/authorize")(authorize)
    made.post("/authorize")(signed_in)
    made.post("/token")(token)
    made.get("/userinfo")(userinfo)
    handle_errors(made, _fault)
    return made


async def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


async def _codes(request: Request) -> Codes:
    codes: Codes = request.app.state.codes
    return codes


SiteOf = Annotated[Site, Depends(_site)]
CodesOf = Annotated[Codes, Depends(_codes)]
FormOf = Annotated[bytes, Depends(forms.content)]


# These two are waited for by the platform's own threads: they must need none of them.
async def configuration(site: SiteOf) -> dict[str, Any]:
    """What there is, and nothing else (Discovery 1.0, 3)."""
    base = issuer(site)
    return {
        "issuer": base,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/token",
        "userinfo_endpoint": f"{base}/userinfo",
        "jwks_uri": f"{base}/jwks",
        "scopes_supported": ["openid", "email", "profile"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", SCHEME],
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


async def jwks(site: SiteOf) -> dict[str, Any]:
    """The public halves of the keys, as they are now."""
    return {"keys": [key.published for key in signing_keys(site.secrets)]}


def authorize(request: Request, site: SiteOf) -> Response:
    """Ask the person who signs in."""
    try:
        query = forms.of_query(request.url.query)
        client = client_of(site, query)
    except (ValueError, BadClient) as error:
        return page.refusal(str(error))
    try:
        wanted = asked(client, query)
    except Refused as refused:
        return _back(site, client, **_error(refused.error, str(refused)))
    sealed = site.signer.seal([time.time() + PAGE_SECONDS, asdict(wanted)], "lab-authorize")
    return page.form(
        people(site),
        sealed,
        client.redirect_uri,
        query.get("login_hint"),
        asks_secret=requires_secret(site),
    )


def signed_in(request: Request, site: SiteOf, codes: CodesOf, content: FormOf) -> Response:
    """Send the person back to the client, with a code."""
    try:
        form = forms.of_form(request.headers.get("content-type", ""), content)
        until, wanted = site.signer.unseal(form.get("request", ""), "lab-authorize")
    except (ValueError, Forged):
        return page.refusal("The request can't be read. Begin again in your program.")
    if until < time.time():
        return page.refusal("The request has expired. Begin again in your program.")
    try:
        user = sign_in(site, form.get("email", ""), form.get("secret", ""))
    except SignInRefused as refused:
        return page.refusal(f"{refused} Go back and try again.", 403)
    found = Asked(Client(**wanted.pop("client")), **wanted)
    return _back(site, found.client, code=codes.new(found, user.email))


def token(request: Request, site: SiteOf, codes: CodesOf, content: FormOf) -> Response:
    """Return an ID token for a code, or for a user's secret (OpenID Connect Core 1.0, 3.1.3)."""
    try:
        form = forms.of_form(request.headers.get("content-type", ""), content)
    except ValueError as error:
        return _refusal("invalid_request", str(error))
    try:
        match form.get("grant_type"):
            case "authorization_code":
                found, email = codes.taken(form)
                client_id, nonce = found.client.client_id, found.nonce
            case scheme if scheme == SCHEME:
                client_id, nonce = expected_audience(site), None
                email = _user_of(site, form, client_id).email
            case _:
                sentence = f"grant_type must be authorization_code or {SCHEME}."
                return _refusal("unsupported_grant_type", sentence)
    except Refused as refused:
        return _refusal(refused.error, str(refused))
    answer = {
        "access_token": site.signer.seal([time.time() + SECONDS, email], "lab-userinfo"),
        "token_type": "Bearer",
        "expires_in": SECONDS,
        "id_token": issue(site, email, audience=client_id, nonce=nonce),
        "scope": "openid email profile",
    }
    return JSONResponse(answer, headers=forms.NEVER_STORED)


def _user_of(site: Site, form: Mapping[str, str], client_id: str) -> User:
    """Return the user whose secret a program sends (RFC 6749, 4.3.2).

    Raises:
        Refused: it is another client, does not ask for an ID token, or may not sign in.
    """
    if form.get("client_id") != client_id:
        raise Refused("invalid_client", "There is no such client_id.")
    if "openid" not in form.get("scope", "").split(" "):
        raise Refused("invalid_scope", "The scope must have openid.")
    try:
        return sign_in(site, form.get("username", ""), form.get("password", ""))
    except SignInRefused as refused:
        raise Refused("invalid_grant", str(refused)) from None


def userinfo(request: Request, site: SiteOf) -> Response:
    """Who an access token is for (OpenID Connect Core 1.0, 5.3)."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    try:
        until, email = site.signer.unseal(
            value if scheme.lower() == "bearer" else "", "lab-userinfo"
        )
    except Forged:
        until, email = 0.0, ""
    person = next((user for user in people(site) if user.email == email), None)
    if until < time.time() or person is None:
        challenge = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
        return JSONResponse(
            _error("invalid_token", "The access token is not valid."), 401, headers=challenge
        )
    claims = {"sub": subject(email), "email": email, "email_verified": True, "name": person.name}
    return JSONResponse(claims, headers=forms.NEVER_STORED)


def _back(site: Site, client: Client, **answer: str) -> Response:
    """To the client, which is told who answers (RFC 9207)."""
    return RedirectResponse(client.address(**answer, iss=issuer(site)), 303, HEADERS)


def _fault(status: int, message: str) -> dict[str, str]:
    return _error("server_error" if status >= 500 else "invalid_request", message)


def _refusal(error: str, sentence: str) -> Response:
    return JSONResponse(_error(error, sentence), 400, headers=forms.NEVER_STORED)


def _error(error: str, sentence: str) -> dict[str, str]:
    return {"error": error, "error_description": sentence}

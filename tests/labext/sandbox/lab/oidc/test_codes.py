"""Authorization codes: valid once, for a minute, and limited in number."""

from __future__ import annotations

import pytest

from labext.sandbox.lab.oidc.oauth import (
    CODE_SECONDS,
    MAX_CODES,
    AuthorizationRequest,
    Codes,
    OAuthError,
    s256,
)

VERIFIER = "v" * 43
REQUEST = AuthorizationRequest("ours", "http://localhost/", None, None, s256(VERIFIER))


def form(code: str) -> dict[str, str]:
    return {
        "code": code,
        "client_id": "ours",
        "redirect_uri": "http://localhost/",
        "code_verifier": VERIFIER,
    }


def test_challenge_matches_the_example_of_rfc_7636():
    """RFC 7636, appendix B."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert s256(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_code_expires_after_a_minute(clock):
    codes = Codes(clock)
    first, second = codes.create(REQUEST, "a@b.c"), codes.create(REQUEST, "d@e.f")
    clock.now += CODE_SECONDS - 0.1
    assert codes.redeem(form(first)) == (REQUEST, "a@b.c")
    clock.now += 0.1
    with pytest.raises(OAuthError) as refused:
        codes.redeem(form(second))
    assert refused.value.error == "invalid_grant"


def test_oldest_code_is_dropped_above_the_limit(clock):
    codes = Codes(clock)
    created = [codes.create(REQUEST, "a@b.c") for _ in range(MAX_CODES + 1)]
    with pytest.raises(OAuthError):
        codes.redeem(form(created[0]))
    assert codes.redeem(form(created[1])) == codes.redeem(form(created[-1]))


def test_callback_url_keeps_its_own_query():
    request = AuthorizationRequest("ours", "http://localhost/?a=1&b=", "s&t", None, "")
    assert request.callback_url(code="c") == "http://localhost/?a=1&b=&code=c&state=s%26t"

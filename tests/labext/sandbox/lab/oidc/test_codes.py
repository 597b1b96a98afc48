"""Authorization codes: valid once, for a minute, and limited in number."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import select

from labext.sandbox.core.database import Database
from labext.sandbox.lab.errors import OAuthError
from labext.sandbox.lab.oidc import oauth
from labext.sandbox.lab.oidc.oauth import (
    CODE_SECONDS,
    AuthorizationRequest,
    Codes,
    s256,
)
from labext.sandbox.lab.tables import AuthorizationCode, Base

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


@pytest.fixture
def database(each_database):
    each_database.create(Base.metadata)
    return each_database


def test_code_expires_after_a_minute(database, clock):
    codes = Codes(database, clock)
    first, second = codes.create(REQUEST, "a@b.c"), codes.create(REQUEST, "d@e.f")
    clock.now += CODE_SECONDS - 0.1
    assert codes.redeem(form(first)) == (REQUEST, "a@b.c")
    clock.now += 0.1
    with pytest.raises(OAuthError) as refused:
        codes.redeem(form(second))
    assert refused.value.error == "invalid_grant"


def test_oldest_code_is_dropped_above_the_limit(database, clock, monkeypatch):
    monkeypatch.setattr(oauth, "MAX_CODES", 5)
    codes = Codes(database, clock)
    created = [codes.create(REQUEST, "a@b.c") for _ in range(6)]
    with pytest.raises(OAuthError):
        codes.redeem(form(created[0]))
    assert codes.redeem(form(created[1])) == codes.redeem(form(created[-1]))


def test_code_of_one_process_is_redeemed_once_in_any_other(database, clock):
    code = Codes(database, clock).create(REQUEST, "a@b.c")
    with database.read() as session:
        assert code not in str(session.execute(select(AuthorizationCode.__table__)).all())
    others = [Database(database.url) for _ in range(4)]
    results = []

    def redeem(other):
        try:
            results.append(Codes(other, clock).redeem(form(code)))
        except OAuthError as error:
            results.append(error.error)

    threads = [threading.Thread(target=redeem, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    assert results.count((REQUEST, "a@b.c")) == 1
    assert results.count("invalid_grant") == 3


def test_callback_url_keeps_its_own_query():
    request = AuthorizationRequest("ours", "http://localhost/?a=1&b=", "s&t", None, "")
    assert request.callback_url(code="c") == "http://localhost/?a=1&b=&code=c&state=s%26t"

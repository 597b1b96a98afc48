"""Authorization codes are valid once; signing keys are rotated without notice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from labext.sandbox.core.database import Database
from labext.sandbox.lab.errors import OAuthError
from labext.sandbox.lab.oidc import oauth, service
from labext.sandbox.lab.oidc.oauth import CODE_SECONDS, AuthorizationRequest, Codes, s256
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

    def redeem(other):
        try:
            return Codes(other, clock).redeem(form(code))
        except OAuthError as error:
            return error.error

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(redeem, others))
    for other in others:
        other.close()
    assert results.count((REQUEST, "a@b.c")) == 1
    assert results.count("invalid_grant") == 3


def test_callback_url_keeps_its_own_query():
    request = AuthorizationRequest("ours", "http://localhost/?a=1&b=", "s&t", None, "")
    assert request.callback_url(code="c") == "http://localhost/?a=1&b=&code=c&state=s%26t"


FILE = "lab_oidc_keys.json"


def kids(folder: Path) -> list[str]:
    return [key.kid for key in service.load_signing_keys(folder)]


def test_key_is_generated_once_in_a_private_file(tmp_path):
    first = kids(tmp_path)
    assert kids(tmp_path) == first
    assert len(first) == 1
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_only_public_members_are_published(tmp_path):
    [key] = service.load_signing_keys(tmp_path)
    assert set(key.published) == {"kty", "n", "e", "kid", "use", "alg"}
    assert "private" not in repr(key).lower()


def test_rotated_keys_stay_published(tmp_path):
    first_kids = kids(tmp_path)
    for _ in range(service.MAX_KEYS):
        newest = service.rotate_signing_keys(tmp_path)[0].kid
        assert newest not in first_kids
        first_kids.insert(0, newest)
        assert kids(tmp_path) == first_kids[: service.MAX_KEYS]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"keys": [1]}', '{"keys": [{"kty": "RSA"}]}'])
def test_damaged_file_is_replaced(tmp_path, content):
    (tmp_path / FILE).write_text(content)
    assert len(kids(tmp_path)) == 1
    assert kids(tmp_path) == kids(tmp_path)


def test_concurrent_first_use_generates_one_key(tmp_path):
    with ThreadPoolExecutor(4) as threads:
        key_sets = list(threads.map(lambda _: kids(tmp_path), range(8)))
    assert key_sets == [key_sets[0]] * 8

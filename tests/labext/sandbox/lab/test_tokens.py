"""The token endpoint (LAB-39 to LAB-55; RFC 6749, 4.4 and 5.2)."""

from __future__ import annotations

import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from labext.sandbox.core.signing import hash_key
from labext.sandbox.lab.tables import App, IpRange, Limit, Token

FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def secret(world):
    """The secret of an app without permissions, which gets tokens nevertheless."""
    return world.app("app")


def _check_error(response, status: int, error: str) -> str:
    """Return the message of a refusal."""
    body = response.json()
    assert (response.status, body["error"]) == (status, error), body
    assert set(body) == {"error", "error_description"}
    challenge = 'Basic realm="lab"' if status == 401 else None
    assert response.headers.get("www-authenticate") == challenge
    return body["error_description"]


def _issued_token(response) -> str:
    """Return the access token of a valid response (LAB-41)."""
    assert response.status == 200
    body = response.json()
    assert set(body) == {"access_token", "token_type", "expires_in"}
    assert body["token_type"] == "Bearer"
    assert body["expires_in"] == 900
    assert response.headers["cache-control"] == "no-store"
    return body["access_token"]


def test_credentials_are_accepted_in_the_form_or_as_basic(world, kit, secret):
    by_form = _issued_token(world.campus.token(client_id="id-app", client_secret=secret))
    by_basic = _issued_token(world.campus.token(kit.basic("id-app", secret)))
    named = _issued_token(world.campus.token(kit.basic("id-app", secret), client_id="id-app"))
    escaped = kit.basic(quote("id-app", safe="").replace("-", "%2D"), secret.replace("_", "%5F"))
    assert len({by_form, by_basic, named, _issued_token(world.campus.token(escaped))}) == 4
    for token in (by_form, by_basic):
        # 404: it is an app's.
        assert world.campus.get("users/me", f"Bearer {token}").status == 404
        assert world.campus.get("users/me", f"bearer {token}").status == 404
        assert world.clinic.get("users/me", f"Bearer {token}").status == 401


def test_token_expires_after_its_lifetime(world, secret):
    token = _issued_token(world.campus.token(client_id="id-app", client_secret=secret))
    with world.database.read() as session:
        expires = session.scalars(select(Token.expires).where(Token.hash == hash_key(token))).one()
    assert time.time() + 890 < expires < time.time() + 910
    for seconds, status in ((-0.001, 401), (-1, 401), (5, 404)):
        response = world.campus.get("users/me", f"Bearer {world.token(secret, seconds=seconds)}")
        assert response.status == status
        assert (status == 401) == ("expired" in response.json()["error"]["message"])


def test_token_lifetime_is_configurable(make_world):
    world = make_world()
    secret = world.app("app")
    with world.database.write() as session:
        session.add(Limit(name="token_seconds", value=7))
    response = world.campus.token(client_id="id-app", client_secret=secret)
    assert response.json()["expires_in"] == 7
    with world.database.read() as session:
        assert session.scalars(select(Token.expires)).one() < time.time() + 7


def test_long_expired_tokens_are_deleted(world, secret):
    long_ago, lately = world.token(secret, seconds=-4000), world.token(secret, seconds=-600)
    _issued_token(world.campus.token(client_id="id-app", client_secret=secret))
    with world.database.read() as session:
        content = set(session.scalars(select(Token.hash)))
    assert hash_key(long_ago) not in content
    assert hash_key(lately) in content, "the log still names its owner"


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": ""}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code", "code": "x"}, "unsupported_grant_type"),
        ({"grant_type": "CLIENT_CREDENTIALS"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials "}, "unsupported_grant_type"),
        ({"client_id": ""}, "invalid_request"),
        ({"client_secret": ""}, "invalid_request"),
    ],
)
def test_token_endpoint_rejects_other_grant_types(world, secret, form, error):
    whole = {"client_id": "id-app", "client_secret": secret} | form
    _check_error(world.campus.token(**whole), 400, error)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (None, "{form}"),
        ("application/json", '{{"grant_type":"client_credentials"}}'),
        ("multipart/form-data; boundary=x", "{form}"),
        ("text/plain", "{form}"),
        ("", "{form}"),
        (FORM, ""),
        (FORM, "{form}&grant_type=client_credentials"),
        (FORM, "{form}&client_id=id-app"),
        (FORM, "{form}&client_secret=x"),
        (FORM, "{form}&x=%ff"),
        (FORM, "{form}" + "&x=1" * 30),
        (FORM, "{form}&x=" + "x" * 20_000),
        (FORM, "x" * 20_000 + "&{form}"),
    ],
)
def test_malformed_form_is_refused(world, secret, content_type, body):
    form = f"grant_type=client_credentials&client_id=id-app&client_secret={secret}"
    headers = [] if content_type is None else [("content-type", content_type)]
    response = world.campus.request(
        "POST", "/api/v2/token", headers=headers, body=body.format(form=form).encode()
    )
    _check_error(response, 400, "invalid_request")


@pytest.mark.parametrize("content_type", [FORM, FORM.upper(), f"{FORM}; charset=utf-8"])
def test_charset_and_unknown_fields_are_accepted(world, secret, content_type):
    form = f"grant_type=client_credentials&scope=all&client_id=id-app&client_secret={secret}"
    response = world.campus.request(
        "POST", "/api/v2/token", headers=[("content-type", content_type)], body=form.encode()
    )
    _issued_token(response)


def test_invalid_app_credentials_are_refused(world, kit, secret):
    other = world.app("other")
    deleted = world.secret("app", "deleted", deleted=True)
    ann = world.user("tok@x.y")
    wrong = [
        ("id-app", "x"),
        ("id-app", other),
        ("id-app", secret.upper()),
        ("id-app", f" {secret}"),
        ("id-app", deleted),
        ("id-other", secret),
        ("app", secret),
        ("\0", secret),
        (ann, ann),
    ]
    for client_id, client_secret in wrong:
        response = world.campus.token(client_id=client_id, client_secret=client_secret)
        _check_error(response, 401, "invalid_client")
        _check_error(world.campus.token(kit.basic(client_id, client_secret)), 401, "invalid_client")
    response = world.clinic.token(client_id="id-app", client_secret=secret)
    _check_error(response, 401, "invalid_client")


def test_malformed_authorization_header_is_refused(world, kit, secret):
    form = {"client_id": "id-app", "client_secret": secret}
    bearer = _issued_token(world.campus.token(**form))
    for value in (f"Bearer {bearer}", "Basic", "Basic x", "Basic eA==", "Digest x"):
        _check_error(world.campus.token(value), 401, "invalid_client")
        _check_error(world.campus.token(value, **form), 401, "invalid_client")
    good = kit.basic("id-app", secret)
    _check_error(world.campus.token(good, good), 401, "invalid_client")


def test_credentials_in_both_form_and_header_are_refused(world, kit, secret):
    good = kit.basic("id-app", secret)
    _check_error(world.campus.token(good, client_secret=secret), 400, "invalid_request")
    _check_error(world.campus.token(good, client_id="id-other"), 400, "invalid_request")


def test_archived_app_gets_no_token(world, secret):
    form = {"client_id": "id-app", "client_secret": secret}
    with world.database.write() as session:
        session.execute(update(App).where(App.name == "app").values(archived=True))
    _check_error(world.campus.token(**form), 400, "unauthorized_client")
    _check_error(world.campus.token(**form | {"client_secret": "x"}), 401, "invalid_client")
    with world.database.write() as session:
        session.execute(update(App).where(App.name == "app").values(archived=False))
    _issued_token(world.campus.token(**form))


def test_address_outside_the_ip_ranges_gets_no_token(make_world):
    world = make_world()
    form = {"client_id": "id-app", "client_secret": world.app("app")}
    with world.database.write() as session:
        session.add(IpRange(tenant_id=world.tenant_id(session), network="192.0.2.0/24"))
    _issued_token(world.campus.token(**form, address="192.0.2.1"))
    response = world.campus.token(**form, address="192.0.3.1")
    _check_error(response, 403, "access_denied")
    response = world.campus.token(**form | {"client_secret": "x"}, address="192.0.3.1")
    _check_error(response, 401, "invalid_client")
    with world.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Token)) == 1


@given(st.binary(max_size=80), st.one_of(st.none(), st.text(st.characters(max_codepoint=255))))
def test_arbitrary_token_requests_are_refused(world, secret, body, header):
    authorization, headers = [] if header is None else [header], [("content-type", FORM)]
    form = b"grant_type=client_credentials&" + body
    response = world.campus.request(
        "POST", "/api/v2/token", *authorization, headers=headers, body=form
    )
    assert response.status in (400, 401)
    errors = ("invalid_request", "invalid_client", "unsupported_grant_type")
    assert response.json()["error"] in errors

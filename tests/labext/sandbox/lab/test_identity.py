"""Accepted and refused credentials (LAB-31 to LAB-38, LAB-56 to LAB-77)."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from labext.sandbox.lab.tables import IpRange, Organization, User


@pytest.fixture(scope="module")
def ann(world):
    """Return the API key of a user."""
    return world.user("ann@x.y")


def test_key_is_accepted_as_basic_username(world, kit, ann):
    response = world.campus.get("users/me", kit.basic(ann))
    assert response.status == 200
    assert response.headers["content-type"] == "application/json"
    expected = {"id": "ent_ann@x.y", "handle": "ann", "name": "Ann", "email": "ann@x.y"}
    assert response.json() == expected


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        " ",
        "Basic",
        "Bearer",
        "Bearer ",
        "Basic {key}",  # not in base64
        "Basic {bare}",  # no colon
        "Basic {with_password}",
        "Basic {blank_padded}",
        "Basic {upper}",
        "Basic Og==",  # ":"
        "Basic /w==",  # not text
        "Basic ÿ",
        "Bearer {key}",
        "Digest {good}",
        "{good}",
        "{key}",
        "Basic {good} x",
        "Bearer a.b.c",
        "Bearer a.b",
    ],
)
def test_invalid_authorization_is_401_with_a_challenge(world, ann, authorization):
    # A token that looks like an ID token, at the tenant without a provider.
    client = world.clinic if authorization == "Bearer a.b.c" else world.campus
    value = authorization.format(
        key=ann,
        good=_encoded(f"{ann}:"),
        bare=_encoded(ann),
        with_password=_encoded(f"{ann}:x"),
        blank_padded=_encoded(f" {ann}:"),
        upper=_encoded(f"{ann.upper()}:"),
    )
    response = client.get("users/me", value)
    assert response.status == 401
    assert response.headers["www-authenticate"] == 'Basic realm="lab", Bearer realm="lab"'
    error = response.json()["error"]
    assert set(error) == {"type", "message", "userMessage"}
    assert error["type"] == "invalid_request_error"
    assert ann not in response.content.decode()


def test_missing_or_repeated_header_is_401(world, kit, ann):
    assert world.campus.get("users/me").status == 401
    assert world.campus.get("users/me", kit.basic(ann), kit.basic(ann)).status == 401


def test_scheme_is_case_insensitive(world, kit, ann):
    for scheme in ("basic", "BASIC", "bAsIc"):
        value = kit.basic(ann).replace("Basic", scheme)
        assert world.campus.get("users/me", value).status == 200


@given(st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=60))
def test_arbitrary_headers_are_401(world, value):
    assert world.campus.get("users/me", value).status == 401


@given(st.binary(max_size=40), st.booleans())
def test_arbitrary_keys_are_401(world, key, colon):
    value = base64.b64encode(key + (b":" if colon else b"")).decode()
    assert world.campus.get("users/me", f"Basic {value}").status == 401


def test_suspension_can_be_lifted(world, kit):
    credentials = [kit.basic(world.user("sus@x.y", suspended=True)), kit.id_token("sus@x.y")]
    for credential in credentials:
        response = world.campus.get("users/me", credential)
        assert response.status == 403
        assert "suspended" in response.json()["error"]["message"]
    with world.database.write() as session:
        session.execute(update(User).where(User.email == "sus@x.y").values(suspended=False))
    for credential in credentials:
        assert world.campus.get("users/me", credential).status == 200


def test_id_token_maps_to_user_by_email(world, kit, ann):
    assert world.campus.get("users/me", kit.id_token("ann@x.y")).json()["email"] == "ann@x.y"
    assert world.campus.get("users/me", kit.id_token("Ann@X.y")).json()["email"] == "ann@x.y"
    for email in ("nobody@x.y", "", " ann@x.y", "ann@x.y\n", "ann@x.y@x.y", "%"):
        response = world.campus.get("users/me", kit.id_token(email))
        assert (response.status, response.json()["error"]["message"]) == (
            401,
            "No user has the email address of this ID token.",
        )


def test_email_with_lookalike_characters_is_unknown(world, kit):
    """The lower case of the Kelvin sign is the letter k."""
    world.user("kim@x.y")
    assert world.campus.get("users/me", kit.id_token("KIM@x.y")).status == 200
    assert world.campus.get("users/me", kit.id_token("\u212aim@x.y")).status == 401


def test_same_email_at_two_tenants_is_two_users(world, kit):
    here = kit.basic(world.user("two@x.y"))
    there = kit.basic(world.user("there@x.y", tenant="clinic"))
    with world.database.write() as session:
        session.execute(update(User).where(User.email == "there@x.y").values(email="two@x.y"))
    assert world.campus.get("users/me", here).json()["id"] == "ent_two@x.y"
    assert world.clinic.get("users/me", there).json()["id"] == "ent_there@x.y"
    assert world.clinic.get("users/me", here).status == 401
    assert world.campus.get("users/me", there).status == 401
    # ID tokens are valid only for the tenant that trusts the provider.
    assert world.campus.get("users/me", kit.id_token("two@x.y")).json()["id"] == "ent_two@x.y"
    assert world.clinic.get("users/me", kit.id_token("two@x.y")).status == 401


def test_app_acts_as_a_user_only_on_behalf_of_one(world, ann):
    bearer = f"Bearer {world.token(world.app('me'))}"
    response = world.campus.get("users/me", bearer)
    assert (response.status, response.json()["error"]["message"]) == (404, "An app is not a user.")
    for email in ("ann@x.y", "ANN@x.y"):
        response = world.campus.get("users/me", bearer, on_behalf_of=email)
        assert response.json()["email"] == "ann@x.y"
    for email in ("", "nobody@x.y", "ann@x.y, ann@x.y"):
        assert world.campus.get("users/me", bearer, on_behalf_of=email).status == 403
    twice = [("on-behalf-of", "ann@x.y")] * 2
    assert world.campus.get("users/me", bearer, headers=twice).status == 403


def test_user_cannot_act_on_behalf_of_others(world, kit, ann):
    world.user("bob@x.y")
    for value in (kit.basic(ann), kit.id_token("ann@x.y")):
        for email in ("bob@x.y", "ann@x.y", ""):
            assert world.campus.get("users/me", value, on_behalf_of=email).status == 403


def test_grant_to_an_empty_organization_shows_nothing(world):
    bearer = f"Bearer {world.token(world.app('bare', organization_id=_organization(world)))}"
    response = world.campus.get("dna-sequences", bearer)
    assert (response.status, response.json()) == (200, {"dnaSequences": [], "nextToken": ""})


@pytest.fixture(scope="module")
def restricted(make_world):
    """A platform whose tenant `campus` accepts only some network addresses."""
    world = make_world()
    with world.database.write() as session:
        for network in ("192.0.2.0/24", "2001:db8::/32"):
            session.add(IpRange(tenant_id=world.tenant_id(session), network=network))
    world.user("ann@x.y")
    world.user("cleo@x.y", tenant="clinic")
    return world


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("192.0.2.1", 200),
        ("192.0.2.255", 200),
        ("::ffff:192.0.2.7", 200),  # the same address in IPv6 notation
        ("2001:db8::1", 200),
        ("192.0.3.1", 403),
        ("2001:db9::1", 403),
        ("::c000:207", 403),
        ("testclient", 403),
        (None, 403),
    ],
)
def test_ip_ranges_limit_the_client_address(restricted, kit, address, status):
    ann, cleo = kit.basic("sk_ann@x.y_first"), kit.basic("sk_cleo@x.y_first")
    response = restricted.campus.get("users/me", ann, address=address)
    assert response.status == status
    assert status == 200 or "IP address" in response.json()["error"]["message"]
    assert restricted.campus.get("users/me", kit.basic("wrong"), address=address).status == 401
    assert restricted.campus.get("users/me", address=address).status == 401
    # The other tenant is open to all addresses.
    assert restricted.clinic.get("users/me", cleo, address=address).status == 200


def _organization(world) -> str:
    """Add an empty organization to `campus`."""
    with world.database.write() as session:
        if session.get(Organization, "org_bare") is None:
            session.add(
                Organization(id="org_bare", tenant_id=world.tenant_id(session), name="bare")
            )
    return "org_bare"

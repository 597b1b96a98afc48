"""Ways to sign in: what is recognised before it is sent, and what never shows."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
import requests

from labext.config import Connection
from labext.errors import InputError, LabextError, SignInError
from labext.lab import ApiKey, ClientCredentials, IdToken, LabClient
from labext.lab.auth import choose_sign_in
from labext.redaction import mask

KEY = "sk_A1b2C3d4E5f6G7h8"


def jwt(**claims: Any) -> str:
    parts = [{"alg": "RS256"}, {"email": "ada@lab.example", **claims}]
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts]
    return ".".join([*(part.rstrip("=") for part in coded), "c2lnbmF0dXJl"])


def signed(auth: Any, url: str = "https://lab.example/api/v2/users/me") -> Any:
    return requests.Request("GET", url, auth=auth).prepare().headers


def test_a_key_is_the_user_of_basic_with_an_empty_password() -> None:
    coded = base64.b64encode(f"{KEY}:".encode()).decode()
    assert signed(ApiKey(f"  {KEY}\n"))["Authorization"] == f"Basic {coded}"


@pytest.mark.parametrize(
    "key",
    [
        "", "  ", "two words", "a\nb", "schlüssel", f"{KEY}:", f"user:{KEY}", f"Bearer {KEY}",
        f"basic {KEY}", f"Authorization: Basic {KEY}", f'"{KEY}"', f"<{KEY}>", jwt(),
    ],
)  # fmt: skip
def test_what_can_be_no_key_is_told_before_it_is_sent(key: str) -> None:
    with pytest.raises(InputError) as caught:
        ApiKey(key)
    assert KEY not in str(caught.value)
    assert caught.value.next_step


def test_no_secret_shows_anywhere() -> None:
    token = jwt(exp=1e12)
    ways: list[Any] = [
        ApiKey(KEY),
        ClientCredentials("notebook-app", "s3cret-of-the-app"),
        IdToken(token),
    ]
    for auth in ways:
        with LabClient("https://lab.example", auth, rate=None) as client:
            shown = repr(auth) + repr(client) + repr(client._http) + auth.identity
        for secret in (KEY, "s3cret-of-the-app", token, token.split(".")[1]):
            assert secret not in shown
    assert mask(f"{KEY} s3cret-of-the-app {token}").count("•") == 9
    assert "notebook-app" in repr(ways[1])  # which opens nothing


def test_who_counts_together_has_one_identity() -> None:
    assert ApiKey(KEY).identity == ApiKey(f" {KEY} ").identity != ApiKey(f"{KEY}1").identity
    one, other = ClientCredentials("a", "secret-1"), ClientCredentials("a", "secret-2", "b@c.de")
    assert one.identity == other.identity
    assert IdToken(jwt(exp=1)).identity == IdToken(jwt(exp=2, email="Ada@lab.example")).identity
    assert IdToken(jwt()).identity != IdToken(jwt(email="bob@lab.example")).identity


# --- ID tokens ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "token",
    ["", "opaque", "a.b", "a.b.c", "e30.e30.", f"{jwt()}.more.parts", f"Bearer {jwt()}", "ä.b.c"],
)
def test_what_is_no_id_token_is_told(token: str) -> None:
    with pytest.raises(InputError):
        IdToken(token)
    with pytest.raises(InputError):
        signed(IdToken(lambda: token))


@pytest.mark.parametrize("claims", [{"email": None}, {"email": ""}, {"email": ["a@b.c"]}])
def test_a_token_that_names_nobody_is_told(claims: Any) -> None:
    with pytest.raises(InputError, match="no e-mail address"):
        IdToken(jwt(**claims))


def test_an_expired_token_is_told_before_it_is_sent() -> None:
    now = 1_700_000_000.0
    auth = IdToken(jwt(exp=1_700_000_060), clock=lambda: now)
    assert signed(auth)["Authorization"].startswith("Bearer eyJ")
    assert auth.expires_in == 60
    now += 60
    with pytest.raises(SignInError, match=r"expired \(2023-11-14 22:14:20 UTC\)") as caught:
        signed(auth)
    assert '"id_token"' in caught.value.next_step


@pytest.mark.parametrize("exp", [None, "soon", [1], 1e300, -1e300])
def test_a_strange_expiry_stops_nothing_but_itself(exp: Any) -> None:
    auth = IdToken(jwt(exp=exp))
    if exp == -1e300:
        with pytest.raises(SignInError, match="long ago"):
            signed(auth)
    else:
        assert "Authorization" in signed(auth)


def test_who_gives_tokens_is_asked_again_when_one_expires() -> None:
    now, given = 1000.0, 0

    def give() -> str:
        nonlocal given
        given += 1
        return jwt(exp=now + 60, n=given)

    auth = IdToken(give, clock=lambda: now)
    assert given == 0
    first = signed(auth)["Authorization"]
    assert signed(auth)["Authorization"] == first
    now += 59
    assert signed(auth)["Authorization"] != first
    assert given == 2
    expired = IdToken(lambda: jwt(exp=1), clock=lambda: now)
    with pytest.raises(SignInError, match="expired"):
        signed(expired)


# --- client credentials ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client_id", "secret", "user"),
    [
        ("", "secret", None), ("id", "", None), ("an id", "secret", None), ("id", "a secret", None),
        ("id", "secret", "ada"), ("id", "secret", "a@b c"), ("id", "secret", "a@b\r\nX: 1"),
    ],
)  # fmt: skip
def test_what_can_be_no_credentials_is_told(client_id: str, secret: str, user: Any) -> None:
    with pytest.raises(InputError):
        ClientCredentials(client_id, secret, user)


def test_credentials_are_for_one_tenant() -> None:
    auth = ClientCredentials("id", "secret", base_url="https://campus.example/api/v2/")
    with pytest.raises(InputError, match=r"for https://campus\.example"):
        LabClient("https://clinic.example", auth)
    with pytest.raises(InputError, match="nothing was sent"):
        signed(auth, "https://clinic.example/api/v2/users/me")


def test_nothing_signs_in_but_by_https() -> None:
    for auth in (ApiKey(KEY), ClientCredentials("id", "secret"), IdToken(jwt())):
        with pytest.raises(InputError, match="nothing was sent"):
            signed(auth, "http://lab.example/api/v2/users/me")


# --- from a connection -------------------------------------------------------------------------

ALL = {"api_key": KEY, "client_id": "id", "client_secret": "secret", "id_token": jwt()}


def connection(secrets: dict[str, str], **options: str) -> Connection:
    return Connection("lab", None, "https://lab.example", secrets, options)


@pytest.mark.parametrize(
    ("secrets", "options", "kind"),
    [
        (ALL, {}, ApiKey),
        (ALL, {"method": "oauth"}, ClientCredentials),
        (ALL, {"method": "oidc"}, IdToken),
        ({"client_id": "id", "client_secret": "secret"}, {}, ClientCredentials),
        ({"client_id": "id", "id_token": jwt()}, {}, IdToken),
    ],
)
def test_the_way_that_is_named_or_the_first_there_is(secrets: Any, options: Any, kind: Any) -> None:
    found = choose_sign_in(connection(secrets, **options))
    assert type(found) is kind
    client = LabClient.from_connection(connection(secrets, **options))
    assert client.base_url == "https://lab.example"


def test_an_app_may_act_for_somebody() -> None:
    found = choose_sign_in(connection(ALL, method="oauth", user="ada@lab.example"))
    assert isinstance(found, ClientCredentials)
    assert found.user == "ada@lab.example"


@pytest.mark.parametrize(
    ("secrets", "options", "said"),
    [
        ({}, {}, "LABEXT_LAB_API_KEY"),
        ({"client_id": "id"}, {}, 'save_secret("lab"'),
        ({"client_id": "id"}, {"method": "oauth"}, "LABEXT_LAB_CLIENT_SECRET"),
        ({"api_key": KEY}, {"method": "oidc"}, '"id_token"'),
    ],
)
def test_nothing_to_sign_in_with_is_told(secrets: Any, options: Any, said: str) -> None:
    with pytest.raises(SignInError) as caught:
        LabClient.from_connection(connection(secrets, **options))
    assert said in caught.value.next_step


def test_a_way_that_there_is_not_is_told() -> None:
    with pytest.raises(InputError, match='did you mean "oauth"'):
        choose_sign_in(connection(ALL, method="oauht"))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://lab.example", "https://lab.example"),
        (" https://lab.example/api/v2/ ", "https://lab.example"),
        ("https://lab.example:8443/tenant/api/v2", "https://lab.example:8443/tenant"),
    ],
)
def test_an_address_is_the_same_with_the_api_s_path(given: str, kept: str) -> None:
    assert LabClient(given, ApiKey(KEY)).base_url == kept


@pytest.mark.parametrize(
    "given", ["http://lab.example", "lab.example", "ftp://lab.example", "https://u:p@lab.example"]
)
def test_an_address_that_will_not_do_is_told(given: str) -> None:
    with pytest.raises(LabextError):
        LabClient(given, ApiKey(KEY))


@pytest.mark.parametrize("auth", [KEY, (KEY, ""), {"api_key": KEY}])
def test_a_bare_key_is_no_way_to_sign_in(auth: Any) -> None:
    with pytest.raises(InputError, match="no way to sign in") as caught:
        LabClient("https://lab.example", auth)
    assert "ApiKey" in caught.value.next_step
    assert KEY not in str(caught.value)

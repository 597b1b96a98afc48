"""Sign-in methods: keys, app credentials and ID tokens."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import requests
from id_tokens import fake_id_token

from labext.config import Connection
from labext.errors import InputError, SignInError
from labext.lab import ApiKey, ClientCredentials, IdToken, LabClient
from labext.lab.auth import choose_sign_in
from labext.redaction import mask

KEY = "sk_A1b2C3d4E5f6G7h8"


def signed_headers(auth: Any, url: str = "https://lab.example/api/v2/users/me") -> Any:
    return requests.Request("GET", url, auth=auth).prepare().headers


def test_key_is_the_basic_user_with_an_empty_password() -> None:
    coded = base64.b64encode(f"{KEY}:".encode()).decode()
    assert signed_headers(ApiKey(f"  {KEY}\n"))["Authorization"] == f"Basic {coded}"


@pytest.mark.parametrize(
    "key",
    [
        None, "", "  ", "two words", "a\nb", "schlüssel", f"{KEY}:", f"user:{KEY}", f"Bearer {KEY}",
        f"basic {KEY}", f"Authorization: Basic {KEY}", f'"{KEY}"', f"<{KEY}>", fake_id_token(),
    ],
)  # fmt: skip
def test_malformed_key_is_refused(key: Any) -> None:
    with pytest.raises(InputError) as caught:
        ApiKey(key)
    assert KEY not in str(caught.value)
    assert caught.value.next_step


def test_repr_shows_no_secret() -> None:
    token = fake_id_token(exp=1e12)
    ways: list[Any] = [
        ApiKey(KEY),
        ClientCredentials("notebook-app", "s3cret-of-the-app"),
        IdToken(token),
    ]
    for auth in ways:
        with LabClient("https://lab.example", auth, rate=None) as client:
            rendered = repr(auth) + repr(client) + repr(client._http) + auth.identity
        for secret in (KEY, "s3cret-of-the-app", token, token.split(".")[1]):
            assert secret not in rendered
    assert mask(f"{KEY} s3cret-of-the-app {token}").count("•") == 9
    assert "notebook-app" in repr(ways[1])  # which gives no access


def test_identity_is_per_key_app_or_user() -> None:
    assert ApiKey(KEY).identity == ApiKey(f" {KEY} ").identity != ApiKey(f"{KEY}1").identity
    first, other = ClientCredentials("a", "secret-1"), ClientCredentials("a", "secret-2", "b@c.de")
    assert first.identity == other.identity
    assert (
        IdToken(fake_id_token(exp=1)).identity
        == IdToken(fake_id_token(exp=2, email="Ada@lab.example")).identity
    )
    assert (
        IdToken(fake_id_token()).identity
        != IdToken(fake_id_token(email="bob@lab.example")).identity
    )


@pytest.mark.parametrize(
    "token",
    [
        "",
        "opaque",
        "a.b",
        "a.b.c",
        "e30.e30.",
        f"{fake_id_token()}.more.parts",
        f"Bearer {fake_id_token()}",
        "ä.b.c",
    ],
)
def test_malformed_id_token_is_refused(token: str) -> None:
    with pytest.raises(InputError):
        IdToken(token)
    with pytest.raises(InputError):
        signed_headers(IdToken(lambda: token))


@pytest.mark.parametrize("claims", [{"email": None}, {"email": ""}, {"email": ["a@b.c"]}])
def test_id_token_without_email_is_refused(claims: Any) -> None:
    with pytest.raises(InputError, match="no email address"):
        IdToken(fake_id_token(**claims))


def test_expired_id_token_is_not_sent() -> None:
    now = 1_700_000_000.0
    auth = IdToken(fake_id_token(exp=1_700_000_060), clock=lambda: now)
    assert signed_headers(auth)["Authorization"].startswith("Bearer eyJ")
    assert auth.expires_in == 60
    now += 60
    with pytest.raises(SignInError, match=r"expired \(2023-11-14 22:14:20 UTC\)") as caught:
        signed_headers(auth)
    assert "by the clock of this computer (2023-11-14 22:14:20 UTC)" in caught.value.message
    assert '"id_token"' in caught.value.next_step


@pytest.mark.parametrize("exp", [None, "soon", [1], 1e300, -1e300])
def test_invalid_expiry_is_ignored(exp: Any) -> None:
    auth = IdToken(fake_id_token(exp=exp))
    if exp == -1e300:
        with pytest.raises(SignInError, match="long ago"):
            signed_headers(auth)
    else:
        assert "Authorization" in signed_headers(auth)


def test_token_provider_is_called_again_on_expiry() -> None:
    now, calls = 1000.0, 0

    def provide() -> str:
        nonlocal calls
        calls += 1
        return fake_id_token(exp=now + 60, n=calls)

    auth = IdToken(provide, clock=lambda: now)
    assert calls == 0
    first = signed_headers(auth)["Authorization"]
    assert signed_headers(auth)["Authorization"] == first
    now += 59
    assert signed_headers(auth)["Authorization"] != first
    assert calls == 2
    expired = IdToken(lambda: fake_id_token(exp=1), clock=lambda: now)
    with pytest.raises(SignInError, match="expired"):
        signed_headers(expired)


@pytest.mark.parametrize("hours_ahead", [0, 10])
def test_new_token_is_used_for_its_lifetime_by_a_clock_that_is_ahead(hours_ahead: int) -> None:
    now, calls = 1_700_000_000, 0

    def provide() -> str:
        nonlocal calls
        calls += 1
        return fake_id_token(iat=now, exp=now + 3600)

    auth = IdToken(provide, clock=lambda: now + hours_ahead * 3600)
    for elapsed, expected_calls in (0, 1), (3500, 1), (95, 2):
        now += elapsed
        signed_headers(auth)
        assert calls == expected_calls


@pytest.mark.parametrize(
    ("client_id", "secret", "user"),
    [
        (None, None, None),
        ("", "secret", None), ("id", "", None), ("an id", "secret", None), ("id", "a secret", None),
        ("id", "secret", "ada"), ("id", "secret", "a@b c"), ("id", "secret", "a@b\r\nX: 1"),
    ],
)  # fmt: skip
def test_malformed_credentials_are_refused(client_id: str, secret: str, user: Any) -> None:
    with pytest.raises(InputError):
        ClientCredentials(client_id, secret, user)


def test_credentials_are_sent_to_their_tenant_only() -> None:
    auth = ClientCredentials("id", "secret", base_url="https://campus.example/api/v2/")
    with pytest.raises(InputError, match=r"for https://campus\.example"):
        LabClient("https://clinic.example", auth)
    with pytest.raises(InputError, match="nothing was sent"):
        signed_headers(auth, "https://clinic.example/api/v2/users/me")


def test_sign_in_requires_https() -> None:
    for auth in (ApiKey(KEY), ClientCredentials("id", "secret"), IdToken(fake_id_token())):
        with pytest.raises(InputError, match="nothing was sent"):
            signed_headers(auth, "http://lab.example/api/v2/users/me")


ALL = {"api_key": KEY, "client_id": "id", "client_secret": "secret", "id_token": fake_id_token()}


def connection(secrets: dict[str, str], **options: str) -> Connection:
    return Connection("lab", None, "https://lab.example", secrets, options)


@pytest.mark.parametrize(
    ("secrets", "options", "kind"),
    [
        (ALL, {}, ApiKey),
        (ALL, {"method": "oauth"}, ClientCredentials),
        (ALL, {"method": "oidc"}, IdToken),
        ({"client_id": "id", "client_secret": "secret"}, {}, ClientCredentials),
        ({"client_id": "id", "id_token": fake_id_token()}, {}, IdToken),
    ],
)
def test_sign_in_method_is_the_named_or_first_available(
    secrets: Any, options: Any, kind: Any
) -> None:
    method = choose_sign_in(connection(secrets, **options))
    assert type(method) is kind
    client = LabClient.from_connection(connection(secrets, **options))
    assert client.base_url == "https://lab.example"


def test_app_can_act_for_a_user() -> None:
    method = choose_sign_in(connection(ALL, method="oauth", user="ada@lab.example"))
    assert isinstance(method, ClientCredentials)
    assert method.user == "ada@lab.example"


@pytest.mark.parametrize(
    ("secrets", "options", "message"),
    [
        ({}, {}, "LABEXT_LAB_API_KEY"),
        ({"client_id": "id"}, {}, 'save_secret("lab"'),
        ({"client_id": "id"}, {"method": "oauth"}, "LABEXT_LAB_CLIENT_SECRET"),
        ({}, {"method": "oauth"}, "LABEXT_LAB_CLIENT_ID and LABEXT_LAB_CLIENT_SECRET."),
        ({"api_key": KEY}, {"method": "oidc"}, '"id_token"'),
    ],
)
def test_missing_secrets_are_a_sign_in_error(secrets: Any, options: Any, message: str) -> None:
    with pytest.raises(SignInError) as caught:
        LabClient.from_connection(connection(secrets, **options))
    assert message in caught.value.next_step


def test_unknown_method_suggests_a_similar_one() -> None:
    with pytest.raises(InputError, match='did you mean "oauth"'):
        choose_sign_in(connection(ALL, method="oauht"))


@pytest.mark.parametrize(
    ("url", "base_url"),
    [
        ("https://lab.example", "https://lab.example"),
        (" https://lab.example/api/v2/ ", "https://lab.example"),
        ("https://lab.example:8443/tenant/api/v2", "https://lab.example:8443/tenant"),
    ],
)
def test_api_path_is_removed_from_the_base_url(url: str, base_url: str) -> None:
    assert LabClient(url, ApiKey(KEY)).base_url == base_url


@pytest.mark.parametrize(
    "url",
    [None, "http://lab.example", "lab.example", "ftp://lab.example", "https://u:p@lab.example"],
)
def test_invalid_base_url_is_refused(url: Any) -> None:
    with pytest.raises(InputError):
        LabClient(url, ApiKey(KEY))


@pytest.mark.parametrize("auth", [KEY, (KEY, ""), {"api_key": KEY}])
def test_bare_key_is_refused(auth: Any) -> None:
    with pytest.raises(InputError, match="cannot be used to sign in") as caught:
        LabClient("https://lab.example", auth)
    assert "ApiKey" in caught.value.next_step
    assert KEY not in str(caught.value)

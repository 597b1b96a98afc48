"""Tokens of apps and of users of an identity provider: lifetime, renewal and errors."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from id_tokens import fake_id_token

from labext.errors import (
    AccessError,
    InputError,
    LabextError,
    ServiceError,
    SetupError,
    SignInError,
)
from labext.http import Rate
from labext.lab import ClientCredentials, IdToken
from labext.lab.auth.id_token import ProviderSignIn
from labext.redaction import mask

pytestmark = pytest.mark.faults


def test_credentials_are_sent_in_the_form(tenant: Any) -> None:
    with tenant.client(tenant.app()) as lab:
        lab.whoami()
    token_request, request = tenant.received
    assert (token_request.method, token_request.path) == ("POST", "token")
    assert token_request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert token_request.form == {
        "grant_type": "client_credentials",
        "client_id": "notebook-app",
        "client_secret": "secret-of-the-test-0123456789",
    }
    assert "authorization" not in token_request.headers
    assert request.headers["authorization"] == "Bearer token-1-abcdefgh"


@pytest.mark.parametrize("refusal", [(401, "invalid_client"), (400, "invalid_request")])
def test_basic_is_used_after_the_form_is_refused(tenant: Any, refusal: tuple[int, str]) -> None:
    tenant.wants = "basic"
    tenant.fail("token", tenant.reply(refusal[0], {"error": refusal[1]}))
    auth = tenant.app()
    with tenant.client(auth) as lab:
        lab.whoami()
        assert [bool(request.form.get("client_id")) for request in tenant.received] == [
            True, False, False,
        ]  # fmt: skip
        assert tenant.received[1].form == {"grant_type": "client_credentials"}
        tenant.good.clear()
        lab.whoami()
    assert tenant.count("token") == 3


@pytest.mark.parametrize("basic", [True, False])
def test_basic_option_disables_the_fallback(tenant: Any, basic: bool) -> None:
    tenant.wants = "basic" if basic else "form"
    with tenant.client(tenant.app(basic=basic)) as lab:
        lab.whoami()
    assert tenant.count("token") == 1
    tenant.wants = "form" if basic else "basic"
    with tenant.client(tenant.app(basic=basic)) as lab, pytest.raises(SignInError):
        lab.whoami()
    assert tenant.count("token") == 2


def test_token_is_renewed_60_seconds_before_expiry(tenant: Any, clock: Any) -> None:
    auth = tenant.app(clock=clock)
    with tenant.client(auth) as lab:
        lab.whoami()
        assert auth.expires_in == 900
        clock.now += 839
        lab.whoami()
        assert tenant.count("token") == 1
        clock.now += 2  # 59 of 900 seconds are left
        lab.whoami()
        assert tenant.count("token") == 2
    assert tenant.received[-1].token == "token-2-abcdefgh"


@pytest.mark.parametrize("expires", ["missing", "soon", True, 0, "900", 900.0, 1e400])
def test_token_of_unknown_lifetime_is_renewed_on_401(tenant: Any, clock: Any, expires: Any) -> None:
    whole = tenant.answer
    tenant.answer = lambda token: {
        name: expires if name == "expires_in" else value
        for name, value in whole(token).items()
        if not (name == "expires_in" and expires == "missing")
    }
    auth = tenant.app(clock=clock)
    with tenant.client(auth) as lab:
        lab.whoami()
        clock.now += 10**6
        lab.whoami()
        is_valid = expires in ("900", 900.0)
        assert tenant.count("token") == (2 if is_valid else 1)
        assert (auth.expires_in is None) is not is_valid
        tenant.good.clear()
        lab.whoami()


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "token",
        {"access_token": "", "token_type": "Bearer", "expires_in": 900},
        {"access_token": 5, "token_type": "Bearer", "expires_in": 900},
        {"access_token": "two words", "token_type": "Bearer", "expires_in": 900},
        {"access_token": "a\r\nX: 1", "token_type": "Bearer", "expires_in": 900},
        {"access_token": "abcdefgh-secret", "token_type": "mac", "expires_in": 900},
        {"access_token": "abcdefgh-secret", "token_type": None, "expires_in": 900},
    ],
)
def test_invalid_token_response_is_a_service_error(tenant: Any, body: Any) -> None:
    tenant.fail("token", tenant.reply(body=body))
    with tenant.client(tenant.app()) as lab, pytest.raises(ServiceError) as caught:
        lab.whoami()
    assert "abcdefgh-secret" not in str(caught.value)
    assert tenant.count("users/me") == 0


@pytest.mark.parametrize("kind", ["bearer", "BEARER", "missing"])
def test_token_type_bearer_is_case_insensitive_and_optional(tenant: Any, kind: str) -> None:
    token = {"access_token": "token-of-kind-abcdefgh", "expires_in": 900}
    tenant.good.add(token["access_token"])
    if kind != "missing":
        token["token_type"] = kind
    tenant.fail("token", tenant.reply(body=token))
    with tenant.client(tenant.app()) as lab:
        assert lab.whoami().known


def test_token_is_requested_before_the_rate_limit_slot(tenant: Any, monkeypatch: Any) -> None:
    received: list[str] = []
    tenant.while_token = lambda: received.append("token")
    with tenant.client(tenant.app(), rate=Rate(50, 10)) as lab:
        pacer = lab._http._rate_limiter
        slot = pacer.slot
        monkeypatch.setattr(
            pacer, "slot", lambda patience: (received.append("turn"), slot(patience))[1]
        )
        lab.whoami()
    assert received == ["token", "turn"]


def test_threads_request_one_token(tenant: Any) -> None:
    tenant.add(3)
    together = threading.Barrier(8)
    auth = tenant.app()

    def ask(n: int) -> int:
        with tenant.client(auth) as lab:
            together.wait(10)
            return len(lab.sequences())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [3] * 8
        assert tenant.count("token") == 1
        tenant.good.clear()  # for example after a rotation of the secret
        assert list(pool.map(ask, range(8))) == [3] * 8
        assert tenant.count("token") == 2


def test_refused_token_is_renewed_once(tenant: Any) -> None:
    tenant.add(250)
    with tenant.client(tenant.app()) as lab:
        pages = lab.iter_sequences()
        next(pages)
        tenant.good.clear()
        assert len(list(pages)) == 249
        assert tenant.count("token") == 2
        assert tenant.count("dna-sequences") == 4
        tenant._is_signed = lambda request: False
        tenant.received.clear()
        with pytest.raises(SignInError, match="the app's token"):
            lab.whoami()
    assert [request.path for request in tenant.received] == ["users/me", "token", "users/me"]


def test_credentials_work_with_a_requests_session(tenant: Any) -> None:
    auth = tenant.app(verify=tenant.ca)
    url = f"{tenant.url}/api/v2/users/me"
    with requests.Session() as session:
        session.trust_env = False
        session.auth, session.verify = auth, tenant.ca
        assert session.get(url).json()["name"] == "Ada"
        tenant.good.clear()
        streamed = session.get(url, stream=True)
        assert streamed.json()["name"] == "Ada"
        assert [response.status_code for response in streamed.history] == [401]
        assert tenant.count("token") == 2
        # A request that changes data is not sent again; the next request has a new token.
        tenant.good.clear()
        assert session.post(url, data={"a": "1"}).status_code == 401
        assert tenant.count("users/me") == 4
        assert session.get(url).status_code == 200
    assert tenant.count("token") == 3


def test_requests_session_sends_no_token_to_another_origin(new_tenant: Any) -> None:
    tenant, other = new_tenant(), new_tenant()
    away = {"Location": f"{other.url}/api/v2/users/me"}
    auth = tenant.app(verify=tenant.ca)
    with requests.Session() as session:
        session.trust_env = False
        session.auth, session.verify = auth, tenant.ca
        tenant.fail("users/me", tenant.reply(302, headers=away))
        assert session.get(f"{tenant.url}/api/v2/users/me").status_code == 401
    assert [request.headers.get("authorization") for request in other.received] == [None]
    with pytest.raises(InputError, match="nothing was sent"):
        requests.get(f"{other.url}/api/v2/users/me", auth=auth)


@pytest.mark.parametrize(
    ("status", "error", "kind", "message"),
    [
        (401, "invalid_client", SignInError, "client ID and secret"),
        (400, "invalid_grant", SignInError, "client ID and secret"),
        (400, "unauthorized_client", AccessError, "archived"),
        (400, "unsupported_grant_type", SignInError, "not support sign-in by apps"),
        (403, "access_denied", AccessError, "from this network"),
        (404, "", SetupError, "no token endpoint"),
    ],
)
def test_token_endpoint_errors_are_explained(
    tenant: Any, status: int, error: str, kind: Any, message: str
) -> None:
    tenant.fail("token", *[tenant.reply(status, {"error": error})] * 2)
    with tenant.client(tenant.app()) as lab, pytest.raises(kind, match=message) as caught:
        lab.whoami()
    assert caught.value.status == status
    assert caught.value.next_step
    assert "•" not in str(caught.value)  # no part of it is masked as a secret
    assert tenant.count("users/me") == 0


def test_more_specific_of_two_refusals_is_reported(tenant: Any) -> None:
    refusal, not_read = {"error": "invalid_client"}, {"error": "invalid_request"}
    for answers in ([(401, refusal), (400, not_read)], [(400, not_read), (401, refusal)]):
        tenant.fail("token", *[tenant.reply(*answer) for answer in answers])
        with tenant.client(tenant.app()) as lab, pytest.raises(SignInError) as caught:
            lab.whoami()
        assert caught.value.status == 401
        assert "invalid_client" in str(caught.value)


def test_app_acts_for_a_user_by_header(tenant: Any) -> None:
    with tenant.client(tenant.app(user="ada@lab.example")) as lab:
        assert str(lab.whoami()) == "Ada <ada@lab.example> by the app notebook-app"
    assert tenant.received[-1].headers["on-behalf-of"] == "ada@lab.example"
    assert "on-behalf-of" not in tenant.received[0].headers


def test_errors_and_logs_show_no_secret(tenant: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    auth = ClientCredentials("notebook-app", "another-secret-0123456789")
    body = {"error": "invalid_client", "error_description": "another-secret-0123456789 is wrong"}
    tenant.fail("token", *[tenant.reply(401, body)] * 2)
    with tenant.client(auth) as lab, pytest.raises(SignInError) as caught:
        lab.whoami()
    text = f"{caught.value} {caught.value.server} {auth!r} {lab!r} {caplog.text}"
    assert "another-secret" not in text


def test_tokens_and_authorization_headers_are_masked(tenant: Any) -> None:
    tenant.wants = "basic"
    with tenant.client(tenant.app()) as lab:
        lab.whoami()
    pair = tenant.received[1].headers["authorization"].removeprefix("Basic ")
    token = tenant.received[-1].token
    assert mask(f"You sent {pair}, then {token}.") == "You sent •••, then •••."


CONFIGURATION = "/.well-known/openid-configuration"
SECRET = "secret-of-a-user-0123456789"


@pytest.fixture
def provider(tenant: Any) -> ProviderSignIn:
    url = f"{tenant.url}{CONFIGURATION}"
    return ProviderSignIn(url, "a-client", "Ada@lab.example", SECRET, verify=tenant.ca)


def configure(tenant: Any, endpoint: Any, times: int = 1) -> None:
    answer = tenant.reply(body={"token_endpoint": endpoint})
    tenant.fail(CONFIGURATION, *[answer] * times)


def test_secret_is_exchanged_for_an_id_token(tenant: Any, provider: ProviderSignIn) -> None:
    token = fake_id_token(exp=time.time() + 3600)
    configure(tenant, f"{tenant.url}/oauth/token")
    tenant.fail("/oauth/token", tenant.reply(body={"id_token": token}))
    assert provider() == token
    configuration, request = tenant.received
    assert SECRET not in str(configuration)
    assert request.method == "POST"
    assert request.form == {
        "grant_type": "password",
        "client_id": "a-client",
        "username": "Ada@lab.example",
        "password": SECRET,
        "scope": "openid email",
    }
    assert SECRET not in repr(provider)


def test_token_endpoint_may_have_another_path_than_the_issuer(tenant: Any) -> None:
    path, token = f"/tenant/v2.0{CONFIGURATION}", fake_id_token()
    tenant.fail(path, tenant.reply(body={"token_endpoint": f"{tenant.url}/tenant/oauth2/token"}))
    tenant.fail("/tenant/oauth2/token", tenant.reply(body={"id_token": token}))
    sign_in = ProviderSignIn(f"{tenant.url}{path}", "a", "b@lab.example", SECRET, verify=tenant.ca)
    assert sign_in() == token


def test_expired_id_token_is_replaced(tenant: Any, provider: ProviderSignIn) -> None:
    tenant.add(2)
    configure(tenant, f"{tenant.url}/token", times=2)
    now, first, second = (
        time.time(),
        fake_id_token(exp=time.time() + 600),
        fake_id_token(exp=time.time() + 3600),
    )
    tenant.fail("/token", *[tenant.reply(body={"id_token": item}) for item in (first, second)])
    with tenant.client(IdToken(provider, clock=lambda: now)) as lab:
        assert len(lab.sequences()) == 2
        now += 700
        assert len(lab.sequences()) == 2
    sent = [request.token for request in tenant.received if request.path == "dna-sequences"]
    assert sent == [first, second]
    assert IdToken(provider).identity == IdToken(fake_id_token()).identity


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://elsewhere.example/token",
        "{url}.elsewhere.example/token",
        "{url}@elsewhere.example/token",
        "{url}\\@elsewhere.example/token",
        "http{plain}/token",
        "{url}",
        "{url}/",
        "{url}//elsewhere.example/token",
        "{url}/token?x={{y}}",
        "{url}/{{token}}",
        "/token",
        None,
        3,
    ],
)
def test_token_endpoint_of_another_origin_is_refused(
    tenant: Any, provider: ProviderSignIn, endpoint: Any
) -> None:
    if isinstance(endpoint, str):
        endpoint = endpoint.format(url=tenant.url, plain=tenant.url.removeprefix("https"))
    configure(tenant, endpoint)
    with pytest.raises(ServiceError, match="token endpoint"):
        provider()
    assert [request.path for request in tenant.received] == [CONFIGURATION]


@pytest.mark.parametrize("status", [400, 401, 403])
def test_refused_secret_is_a_sign_in_error_without_the_secret(
    tenant: Any, provider: ProviderSignIn, status: int
) -> None:
    configure(tenant, f"{tenant.url}/token")
    body = {"error": "invalid_grant", "error_description": f"Wrong: {SECRET}."}
    tenant.fail("/token", tenant.reply(status, body))
    with pytest.raises(SignInError, match="identity provider rejected") as caught:
        provider()
    assert SECRET not in f"{caught.value!r} {caught.value.server}"


def test_refused_configuration_is_not_reported_as_a_refused_secret(
    tenant: Any, provider: ProviderSignIn
) -> None:
    tenant.fail(CONFIGURATION, tenant.reply(403, {}))
    with pytest.raises(LabextError) as caught:
        provider()
    assert "secret" not in str(caught.value)
    assert len(tenant.received) == 1


@pytest.mark.parametrize("body", [{}, [], {"id_token": None}, {"id_token": 3}, "token"])
def test_response_without_id_token_is_a_service_error(
    tenant: Any, provider: ProviderSignIn, body: Any
) -> None:
    configure(tenant, f"{tenant.url}/token")
    tenant.fail("/token", tenant.reply(body=body))
    with pytest.raises(ServiceError, match="ID token"):
        provider()


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/.well-known/openid-configuration",
        "https://localhost/",
        "",
        "https://[/.well-known/openid-configuration",
    ],
)
def test_configuration_url_must_be_https(url: str) -> None:
    with pytest.raises(InputError, match=r"OpenID configuration|not the address"):
        ProviderSignIn(url, "a-client", "ada@lab.example", SECRET)

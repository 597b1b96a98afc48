"""Sign-in at an identity provider with a user's secret."""

from __future__ import annotations

import time
from typing import Any

import pytest
from id_tokens import fake_id_token

from labext.errors import InputError, LabextError, ServiceError, SignInError
from labext.lab import IdToken
from labext.lab.auth.id_token import ProviderSignIn

pytestmark = pytest.mark.faults

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

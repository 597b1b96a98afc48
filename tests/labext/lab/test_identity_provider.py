"""Signing in at an identity provider with a user's secret: where it goes, and what is refused."""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from typing import Any

import orjson
import pytest

from labext.errors import InputError, LabextError, ServiceError, SignInError
from labext.lab import IdToken
from labext.lab.auth.id_token import ProviderSignIn

pytestmark = pytest.mark.faults

CONFIGURATION = "/.well-known/openid-configuration"
SECRET = "secret-of-a-user-0123456789"


def token(seconds: int = 3600) -> str:
    def part(value: Any) -> str:
        return urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")

    claims = {"email": "ada@lab.example", "exp": int(time.time()) + seconds}
    return f"{part({'alg': 'RS256'})}.{part(claims)}.c2ln"


@pytest.fixture
def provider(tenant: Any) -> ProviderSignIn:
    url = f"{tenant.url}{CONFIGURATION}"
    return ProviderSignIn(url, "a-client", "Ada@lab.example", SECRET, verify=tenant.ca)


def configure(tenant: Any, endpoint: Any, times: int = 1) -> None:
    answer = tenant.reply(body={"token_endpoint": endpoint})
    tenant.fail(CONFIGURATION, *[answer] * times)


def test_the_secret_gets_an_id_token(tenant: Any, provider: ProviderSignIn) -> None:
    made = token()
    configure(tenant, f"{tenant.url}/oauth/token")
    tenant.fail("/oauth/token", tenant.reply(body={"id_token": made}))
    assert provider() == made
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


def test_a_token_that_has_expired_is_replaced(tenant: Any, provider: ProviderSignIn) -> None:
    tenant.add(2)
    configure(tenant, f"{tenant.url}/token", times=2)
    now, first, second = time.time(), token(600), token(3600)
    tenant.fail("/token", *[tenant.reply(body={"id_token": each}) for each in (first, second)])
    with tenant.client(IdToken(provider, clock=lambda: now)) as lab:
        assert len(lab.sequences()) == 2
        now += 700
        assert len(lab.sequences()) == 2
    sent = [each.token for each in tenant.received if each.path == "dna-sequences"]
    assert sent == [first, second]
    assert IdToken(provider).identity == IdToken(token()).identity


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
def test_the_secret_goes_to_the_providers_own_origin_alone(
    tenant: Any, provider: ProviderSignIn, endpoint: Any
) -> None:
    if isinstance(endpoint, str):
        endpoint = endpoint.format(url=tenant.url, plain=tenant.url.removeprefix("https"))
    configure(tenant, endpoint)
    with pytest.raises(ServiceError, match="token endpoint"):
        provider()
    assert [request.path for request in tenant.received] == [CONFIGURATION]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("step", ["configuration", "token"])
def test_a_redirect_takes_the_secret_nowhere(
    tenant: Any, new_tenant: Any, provider: ProviderSignIn, status: int, step: str
) -> None:
    other = new_tenant()
    configure(other, f"{other.url}/token")
    away = tenant.reply(status, {}, {"Location": f"{other.url}/token"})
    if step == "configuration":
        tenant.fail(CONFIGURATION, away)
    else:
        configure(tenant, f"{tenant.url}/token")
        tenant.fail("/token", away)
    with pytest.raises(LabextError):
        provider()
    assert SECRET not in str(other.received)


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refusal_is_a_sign_in_error_without_the_secret(
    tenant: Any, provider: ProviderSignIn, status: int
) -> None:
    configure(tenant, f"{tenant.url}/token")
    body = {"error": "invalid_grant", "error_description": f"Wrong: {SECRET}."}
    tenant.fail("/token", tenant.reply(status, body))
    with pytest.raises(SignInError, match="identity provider does not accept") as caught:
        provider()
    assert SECRET not in f"{caught.value!r} {caught.value.server}"


def test_a_refused_configuration_is_not_taken_for_a_refused_secret(
    tenant: Any, provider: ProviderSignIn
) -> None:
    tenant.fail(CONFIGURATION, tenant.reply(403, {}))
    with pytest.raises(LabextError) as caught:
        provider()
    assert "secret" not in str(caught.value)
    assert len(tenant.received) == 1


@pytest.mark.parametrize("body", [{}, [], {"id_token": None}, {"id_token": 3}, "token"])
def test_an_answer_without_a_token_is_a_service_error(
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
def test_only_an_https_address_of_a_configuration_is_accepted(url: str) -> None:
    with pytest.raises(InputError, match=r"OpenID configuration|no address"):
        ProviderSignIn(url, "a-client", "ada@lab.example", SECRET)

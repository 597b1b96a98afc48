"""Errors of the lab client, from the address to the rate limit."""

from __future__ import annotations

from typing import Any

import pytest
from id_tokens import fake_id_token

import labext
from labext.errors import AccessError, BusyError, SetupError, SignInError
from labext.http import Rate
from labext.lab import ApiKey, IdToken, LabClient

pytestmark = pytest.mark.faults


def test_whoami_shows_name_and_address_without_control_characters(
    lab: LabClient, tenant: Any
) -> None:
    who = lab.whoami()
    assert (who.name, who.email, who.method, who.client_id) == (
        "Ada", "ada@lab.example", "key", None,
    )  # fmt: skip
    assert who.known
    assert str(who) == "Ada <ada@lab.example>"
    tenant.user = {"name": "\x1b[31mAda", "email": "ada@lab.example"}
    assert str(lab.whoami()) == "\ufffd[31mAda <ada@lab.example>"


def test_whoami_without_a_user_record(lab: LabClient, tenant: Any) -> None:
    tenant.user = None
    assert not lab.whoami().known
    assert str(lab.whoami()).startswith("unknown")
    with tenant.client(tenant.app()) as app:
        who = app.whoami()
    assert (who.known, who.client_id, str(who)) == (
        False, "notebook-app", "the app notebook-app, without a user",
    )  # fmt: skip
    tenant.user = {"handle": "ada", "name": 5, "email": ""}
    assert not lab.whoami().known


def test_redirect_from_https_to_http_is_refused(lab: LabClient, tenant: Any, faulty: Any) -> None:
    server = faulty(faulty.silence)
    tenant.fail("users/me", tenant.reply(302, headers={"Location": f"{server.url}users/me"}))
    with pytest.raises(labext.LabextError, match="from HTTPS to unencrypted HTTP"):
        lab.whoami()
    assert server.accepted == 0


def test_connect_reads_the_environment(tenant: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("LABEXT_LAB_BASE_URL", f"{tenant.url}/api/v2")
    monkeypatch.setenv("LABEXT_LAB_API_KEY", "key-of-the-test-0123456789")
    monkeypatch.setenv("LABEXT_LAB_CA_BUNDLE", tenant.ca)
    with labext.connect("lab") as lab:
        assert lab.base_url == tenant.url
        assert lab.whoami().known


def test_certificate_of_an_unknown_ca_is_a_setup_error(tenant: Any) -> None:
    for auth in (None, tenant.app()):
        with tenant.client(auth, verify=True) as lab, pytest.raises(SetupError) as caught:
            lab.whoami()
        assert "not trusted" in caught.value.message
        assert 'verify="FILE"' in caught.value.next_step
    assert tenant.received == []


@pytest.mark.parametrize(
    ("auth", "message", "step"),
    [
        (lambda: ApiKey("wrong-key-0123456789"), "the API key", '"lab", "PROFILE", "api_key"'),
        (lambda: None, "requires a sign-in", 'save_secret("lab"'),
    ],
)
def test_unknown_key_is_a_sign_in_error(tenant: Any, auth: Any, message: str, step: str) -> None:
    with LabClient(tenant.url, auth(), verify=tenant.ca) as lab:
        for ask in (lab.whoami, lab.sequences):
            with pytest.raises(SignInError, match=message) as caught:
                ask()
            assert step in caught.value.next_step
            assert "•" not in str(caught.value)
            assert "not valid" in str(caught.value)
            assert "wrong-key" not in str(caught.value)
    assert tenant.count("users/me") == 1


def test_refused_id_token_is_requested_again_once(tenant: Any) -> None:
    tenant._is_signed = lambda request: False
    with tenant.client(IdToken(fake_id_token(exp=1e11))) as lab:
        with pytest.raises(SignInError, match="the ID token"):
            lab.whoami()
        assert tenant.count("users/me") == 1
    tokens: list[str] = []

    def provide() -> str:
        tokens.append(fake_id_token(exp=1e11, n=len(tokens)))
        return tokens[-1]

    tenant._is_signed = lambda request: request.token == tokens[-1] and len(tokens) == 2
    with tenant.client(IdToken(provide)) as lab:
        assert lab.whoami().known
    assert len(tokens) == 2


@pytest.mark.parametrize("by_app", [True, False])
def test_403_shows_the_server_message_and_whom_to_ask(tenant: Any, by_app: bool) -> None:
    message = {"error": {"userMessage": "You may not."}}
    tenant.fail("dna-sequences", tenant.reply(403, message))
    lab = tenant.client(tenant.app() if by_app else None)
    with lab, pytest.raises(AccessError) as caught:
        lab.sequences(folder_id="lib_1")
    assert caught.value.message == "The lab platform refused to list sequences (“You may not”)."
    contact = (
        "an administrator to grant the app access"
        if by_app
        else "an administrator of the platform to grant you access"
    )
    assert caught.value.next_step == f"Ask {contact}, or check the IDs that you gave."
    assert tenant.count("dna-sequences") == 1


def test_403_without_a_message_names_possible_causes(lab: LabClient, tenant: Any) -> None:
    tenant.fail("dna-sequences", tenant.reply(403, b""))
    with pytest.raises(AccessError) as caught:
        lab.sequences(folder_id="lib_1")
    assert caught.value.message == "The lab platform refused to list sequences."
    for cause in ("organization or project", "does not exist", "IP addresses"):
        assert cause in caught.value.next_step


def test_address_without_the_api_is_an_error(tenant: Any) -> None:
    lab = LabClient(
        f"{tenant.url}/elsewhere", ApiKey("key-of-the-test-0123456789"), verify=tenant.ca
    )
    with lab, pytest.raises(labext.LabextError, match="no list of sequences") as caught:
        lab.sequences()
    assert "/api/v2" in caught.value.next_step


def test_429_is_retried_and_then_a_busy_error(tenant: Any, clock: Any) -> None:
    busy = tenant.reply(429, {"error": {"message": "Slow down."}}, {"Retry-After": "7"})
    tenant.fail("users/me", busy, None, *[busy] * 5)
    with tenant.client() as lab:
        lab._http._options.__dict__.update(clock=clock, sleep=clock.sleep)
        assert lab.whoami().known
        assert sum(clock.slept) >= 7
        with pytest.raises(BusyError, match="rate limit"):
            lab.whoami()


def test_clients_of_one_identity_share_a_rate_limiter(tenant: Any) -> None:
    clients = [tenant.client(tenant.app(), rate=Rate(100, 10)) for _ in range(2)]
    key = tenant.client(rate=Rate(100, 10))
    pacers = [client._http._rate_limiter for client in clients]
    assert pacers[0] is pacers[1] is not key._http._rate_limiter

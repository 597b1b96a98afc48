"""Whether an ID token holds: every fault has words of its own, and never the token's."""

from __future__ import annotations

import base64
import hmac
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labext.sandbox.lab.oidc import keys
from labext.sandbox.lab.oidc.documents import WELL_KNOWN
from labext.sandbox.lab.oidc.verifying import Unverified, Verifier

same_fixtures = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def refusal(verifier: Verifier, token: str) -> str:
    with pytest.raises(Unverified) as refused:
        verifier.email(token)
    said = str(refused.value)
    assert len(token) < 8 or token not in said
    assert not any(len(part) > 8 and part in said for part in token.split("."))
    return said


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_a_token_that_holds_tells_its_email(verifier, provider):
    assert verifier.email(provider.token()) == "student@sandbox.local"
    assert verifier.email(provider.token(email="Ö.Ä@b.c")) == "Ö.Ä@b.c"
    assert verifier.email(provider.token(email_verified=True, nonce="n")) == "student@sandbox.local"


def test_two_documents_are_fetched_once_for_many_tokens(verifier, provider, clock):
    for _ in range(5):
        verifier.email(provider.token())
    assert provider.asked == [WELL_KNOWN, "/jwks"]
    clock.now += 301
    verifier.email(provider.token())
    assert provider.asked == [WELL_KNOWN, "/jwks"] * 2


NOW = int(time.time())


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"exp": NOW - 60}, "has expired"),
        ({"exp": "soon"}, "make no sense"),
        ({"exp": float("inf")}, "make no sense"),
        ({"iat": NOW + 3600}, "not valid yet"),
        ({"nbf": NOW + 3600}, "not valid yet"),
        ({"iss": "https://elsewhere.example"}, "another issuer"),
        ({"iss": None}, "lacks the claim iss"),
        ({"sub": None}, "lacks the claim sub"),
        ({"iat": None}, "lacks the claim iat"),
        ({"exp": None}, "lacks the claim exp"),
        ({"aud": None}, "lacks the claim aud"),
        ({"aud": "another"}, "another audience"),
        ({"aud": []}, "lacks the claim aud"),
        ({"aud": ["the-tenant", "another"]}, "another party"),
        ({"azp": "another"}, "another party"),
        ({"email": None}, "lacks the claim email"),
        ({"email": ""}, "lacks the claim email"),
        ({"email": ["student@sandbox.local"]}, "lacks the claim email"),
        ({"email_verified": False}, "not verified"),
        ({"email_verified": "false"}, "not verified"),
    ],
)
def test_a_claim_that_does_not_hold_is_told(verifier, provider, changed, says):
    assert says in refusal(verifier, provider.token(**changed))


def test_one_of_an_audience_of_several_is_enough_for_whom_it_was_issued_to(verifier, provider):
    token = provider.token(aud=["the-tenant", "another"], azp="the-tenant")
    assert verifier.email(token) == "student@sandbox.local"


def test_clocks_may_differ_by_a_few_seconds(verifier, provider):
    now = int(time.time())
    assert verifier.email(provider.token(exp=now - 2)) == "student@sandbox.local"
    assert verifier.email(provider.token(iat=now + 2)) == "student@sandbox.local"
    assert "expired" in refusal(verifier, provider.token(exp=now - 6))


def shared_secret(claims: dict[str, Any], kid: str, secret: str) -> str:
    """A token signed with what everybody knows."""
    signed = part({"alg": "HS256", "typ": "JWT", "kid": kid}) + "." + part(claims)
    mac = hmac.digest(secret.encode(), signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def test_only_the_providers_algorithm_and_key_will_do(verifier, provider):
    claims, kid = provider.claims(), provider.key.kid
    curve = ec.generate_private_key(ec.SECP256R1())
    public = json.dumps(provider.key.published)
    for token, says in [
        (jwt.encode(claims, None, "none", headers={"kid": kid}), "algorithm"),
        (shared_secret(claims, kid, public), "algorithm"),
        (jwt.encode(claims, curve, "ES256", headers={"kid": kid}), "algorithm"),
        (jwt.encode(claims, provider.key.private, "RS512", headers={"kid": kid}), "algorithm"),
        (jwt.encode(claims, provider.key.private, "RS256", headers={"kid": "k"}), "publish"),
        (provider.token()[:-8] + "AAAAAAAA", "signature"),
        (provider.token(sub="x").rpartition(".")[0] + "." + provider.token().split(".")[2], "sign"),
        (provider.token().rpartition(".")[0] + ".", "signature"),
    ]:
        assert says in refusal(verifier, token)


def _curve_of(provider: Any) -> ec.EllipticCurvePrivateKey:
    """A key of another kind, which the provider publishes too."""
    curve = ec.generate_private_key(ec.SECP256R1())
    published = jwt.algorithms.ECAlgorithm.to_jwk(curve.public_key(), as_dict=True)
    provider.documents["/jwks"]["keys"].append(published | {"kid": "curve", "use": "sig"})
    return curve


def test_a_published_key_is_not_enough_for_an_algorithm_that_is_not_named(verifier, provider):
    token = jwt.encode(provider.claims(), _curve_of(provider), "ES256", headers={"kid": "curve"})
    assert "algorithm that the provider doesn't use" in refusal(verifier, token)


def test_a_key_of_another_kind_is_not_confused(verifier, provider):
    """Two keys of different kinds: each signs with its own algorithm alone."""
    curve = _curve_of(provider)
    provider.documents[WELL_KNOWN]["id_token_signing_alg_values_supported"] = ["RS256", "ES256"]
    claims = provider.claims()
    good = jwt.encode(claims, curve, "ES256", headers={"kid": "curve"})
    assert verifier.email(good) == claims["email"]
    wrong = jwt.encode(claims, provider.key.private, "RS256", headers={"kid": "curve"})
    assert "another algorithm" in refusal(verifier, wrong)


def test_a_token_without_a_kid_is_the_only_keys(verifier, provider):
    token = jwt.encode(provider.claims(), provider.key.private, "RS256")
    assert verifier.email(token) == "student@sandbox.local"


def test_extensions_that_must_be_understood_are_refused(verifier, provider):
    headers = {"kid": provider.key.kid, "crit": ["b64"], "b64": True}
    token = jwt.encode(provider.claims(), provider.key.private, "RS256", headers=headers)
    assert "understood" in refusal(verifier, token)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "..",
        "a.b.c",
        "eyJ",
        "é.é.é",
        part({"alg": "RS256", "kid": 5}) + "." + part({}) + ".",
        part({"alg": "RS256", "kid": {}}) + "." + part({}) + ".",
        part([]) + "." + part({}) + ".",
        part({"alg": "RS256"})[:-2] + "." + part({}) + ".",
        "[" * 5000 + "..",
        part("a" * 20_000) + "..",
    ],
)
def test_what_is_no_token_is_told(verifier, token):
    assert "no JSON web token" in refusal(verifier, token)


@same_fixtures
@given(st.one_of(st.text(), st.from_regex(r"[\w-]*\.[\w-]*\.[\w-]*", fullmatch=True)))
def test_whatever_comes_it_is_refused_in_one_way(verifier, token):
    with pytest.raises(Unverified):
        verifier.email(token)


@same_fixtures
@given(place=st.integers(0, 10_000), letter=st.sampled_from("AaZz09-_"))
def test_a_token_with_one_letter_changed_never_holds(verifier, provider, place, letter):
    token = provider.token(exp=2_000_000_000, iat=1)
    place %= len(token)
    changed = token[:place] + letter + token[place + 1 :]

    def meant(text: str) -> list[bytes]:  # the last letter of a part has bits that mean nothing
        return [base64.urlsafe_b64decode(each + "==") for each in text.split(".")]

    if token[place] == "." or meant(changed) != meant(token):
        with pytest.raises(Unverified):
            verifier.email(changed)


def test_a_new_key_is_seen_at_once_and_the_old_ones_tokens_hold(verifier, provider):
    old = provider.token()
    verifier.email(old)
    keys.rotate(provider.folder)
    provider.publish()
    assert verifier.email(provider.token()) == "student@sandbox.local"
    assert verifier.email(old) == "student@sandbox.local"


def test_made_up_keys_do_not_make_the_provider_busy(verifier, provider, clock):
    verifier.email(provider.token())
    asked = len(provider.asked)
    for number in range(50):
        headers = {"kid": f"made-up-{number}"}
        refusal(verifier, jwt.encode(provider.claims(), "s" * 64, "HS256", headers=headers))
    assert len(provider.asked) - asked <= 2 * 5
    clock.now += 61
    keys.rotate(provider.folder)
    provider.publish()
    assert verifier.email(provider.token()) == "student@sandbox.local"


@pytest.mark.parametrize(
    ("path", "document", "says"),
    [
        (WELL_KNOWN, 500, "answers with 500"),
        (WELL_KNOWN, 302, "answers with 302"),
        (WELL_KNOWN, b"<html>", "no JSON object"),
        (WELL_KNOWN, b"[1]", "no JSON object"),
        (WELL_KNOWN, b"[" * 100_000, "no JSON object"),
        (WELL_KNOWN, b" " * (1 << 20) + b"{}", "no JSON object"),
        (WELL_KNOWN, {}, "issuer does not fit"),
        (WELL_KNOWN, {"issuer": "https://elsewhere.example"}, "issuer does not fit"),
        ("/jwks", 404, "answers with 404"),
        ("/jwks", {}, "no key that signs"),
        ("/jwks", {"keys": {}}, "no key that signs"),
        ("/jwks", {"keys": [1, {}, {"kty": "oct", "k": "c2VjcmV0"}]}, "no key that signs"),
        ("/jwks", {"keys": [{"kty": "RSA", "n": "!", "e": "AQAB", "kid": "a"}]}, "no key that"),
    ],
)
def test_a_provider_that_makes_no_sense_is_told(verifier, provider, path, document, says):
    token = provider.token()
    provider.documents[path] = document
    assert says in refusal(verifier, token)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"jwks_uri": "http://localhost/jwks"}, "without HTTPS"),
        ({"jwks_uri": "file:///etc/passwd"}, "without HTTPS"),
        ({"jwks_uri": None}, "without HTTPS"),
        ({"id_token_signing_alg_values_supported": ["none", "HS256"]}, "no algorithm"),
        ({"id_token_signing_alg_values_supported": [["RS256"]]}, "no algorithm"),
        ({"id_token_signing_alg_values_supported": "RS256"}, "no algorithm"),
        ({"issuer": 5}, "issuer does not fit"),
    ],
)
def test_a_configuration_that_will_not_do_is_told(verifier, provider, changed, says):
    token = provider.token()
    provider.publish(**changed)
    assert says in refusal(verifier, token)


def test_a_provider_of_an_authority_that_is_not_trusted_is_not_asked(provider, tmp_path):
    import trustme

    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    verifier = Verifier(provider.configuration_url, "the-tenant", other)
    assert "can't be reached" in refusal(verifier, provider.token())
    assert provider.asked == []
    other.write_text("no authority")
    verifier = Verifier(provider.configuration_url, "the-tenant", other)
    assert "authority" in refusal(verifier, provider.token())


def test_a_provider_that_failed_is_asked_again_after_a_while(verifier, provider, clock):
    token, there = provider.token(), provider.documents["/jwks"]
    provider.documents["/jwks"] = 503
    for _ in range(5):
        assert "503" in refusal(verifier, token)
    assert provider.asked.count("/jwks") == 1
    provider.documents["/jwks"] = there
    clock.now += 5.1
    assert verifier.email(token) == "student@sandbox.local"


def test_no_proxy_of_the_environment_is_used(verifier, provider, monkeypatch):
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert verifier.email(provider.token()) == "student@sandbox.local"

"""Verification of ID tokens: each defect has its own message, without content of the token."""

from __future__ import annotations

import base64
import hmac
import itertools
import json
import time
from types import SimpleNamespace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labext.sandbox.lab.oidc import service
from labext.sandbox.lab.oidc import verifier as verifier_module
from labext.sandbox.lab.oidc.verifier import WELL_KNOWN, VerificationError, Verifier

same_fixtures = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def refusal(verifier: Verifier, token: str) -> str:
    with pytest.raises(VerificationError) as refused:
        verifier.email(token)
    message = str(refused.value)
    assert len(token) < 8 or token not in message
    assert not any(len(part) > 8 and part in message for part in token.split("."))
    return message


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_valid_token_returns_its_email(verifier, provider):
    assert verifier.email(provider.token()) == "student@sandbox.local"
    assert verifier.email(provider.token(email="Ö.Ä@b.c")) == "Ö.Ä@b.c"
    assert verifier.email(provider.token(email_verified=True, nonce="n")) == "student@sandbox.local"


def test_configuration_and_keys_are_cached_for_five_minutes(verifier, provider, clock):
    for _ in range(5):
        verifier.email(provider.token())
    assert provider.requests == [WELL_KNOWN, "/jwks"]
    clock.now += 301
    verifier.email(provider.token())
    assert provider.requests == [WELL_KNOWN, "/jwks"] * 2


NOW = int(time.time())


@pytest.mark.parametrize(
    ("changed", "expected_message"),
    [
        ({"exp": NOW - 60}, "has expired"),
        ({"exp": "soon"}, "malformed"),
        ({"exp": float("inf")}, "malformed"),
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
def test_invalid_claim_is_refused(verifier, provider, changed, expected_message):
    assert expected_message in refusal(verifier, provider.token(**changed))


def test_several_audiences_are_accepted_if_azp_names_the_tenant(verifier, provider):
    token = provider.token(aud=["the-tenant", "another"], azp="the-tenant")
    assert verifier.email(token) == "student@sandbox.local"


def test_clock_difference_of_a_few_seconds_is_accepted(verifier, provider):
    now = int(time.time())
    assert verifier.email(provider.token(exp=now - 2)) == "student@sandbox.local"
    assert verifier.email(provider.token(iat=now + 2)) == "student@sandbox.local"
    assert "expired" in refusal(verifier, provider.token(exp=now - 6))


def shared_secret(claims: dict[str, Any], kid: str, secret: str) -> str:
    """Return a token signed with public data as a shared secret."""
    signed = part({"alg": "HS256", "typ": "JWT", "kid": kid}) + "." + part(claims)
    mac = hmac.digest(secret.encode(), signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def test_other_algorithms_keys_and_signatures_are_refused(verifier, provider):
    claims, kid = provider.claims(), provider.key.kid
    curve = ec.generate_private_key(ec.SECP256R1())
    public = json.dumps(provider.key.published)
    for token, expected_message in [
        (jwt.encode(claims, None, "none", headers={"kid": kid}), "algorithm"),
        (shared_secret(claims, kid, public), "algorithm"),
        (jwt.encode(claims, curve, "ES256", headers={"kid": kid}), "algorithm"),
        (jwt.encode(claims, provider.key.private, "RS512", headers={"kid": kid}), "algorithm"),
        (jwt.encode(claims, provider.key.private, "RS256", headers={"kid": "k"}), "publish"),
        (provider.token()[:-8] + "AAAAAAAA", "signature"),
        (provider.token(sub="x").rpartition(".")[0] + "." + provider.token().split(".")[2], "sign"),
        (provider.token().rpartition(".")[0] + ".", "signature"),
    ]:
        assert expected_message in refusal(verifier, token)


def _curve_of(provider: Any) -> ec.EllipticCurvePrivateKey:
    """Publish an elliptic curve key beside the RSA key, and return it."""
    curve = ec.generate_private_key(ec.SECP256R1())
    published = jwt.algorithms.ECAlgorithm.to_jwk(curve.public_key(), as_dict=True)
    provider.documents["/jwks"]["keys"].append(published | {"kid": "curve", "use": "sig"})
    return curve


def test_algorithm_that_the_configuration_omits_is_refused(verifier, provider):
    token = jwt.encode(provider.claims(), _curve_of(provider), "ES256", headers={"kid": "curve"})
    assert "algorithm does not match its provider" in refusal(verifier, token)


def test_each_key_verifies_its_own_algorithm_only(verifier, provider):
    curve = _curve_of(provider)
    provider.documents[WELL_KNOWN]["id_token_signing_alg_values_supported"] = ["RS256", "ES256"]
    claims = provider.claims()
    good = jwt.encode(claims, curve, "ES256", headers={"kid": "curve"})
    assert verifier.email(good) == claims["email"]
    wrong = jwt.encode(claims, provider.key.private, "RS256", headers={"kid": "curve"})
    assert "algorithm does not match its provider and key" in refusal(verifier, wrong)


def test_token_without_key_id_is_verified_with_the_only_key(verifier, provider, bundle):
    token = jwt.encode(provider.claims(), provider.key.private, "RS256")
    assert verifier.email(token) == "student@sandbox.local"
    provider.documents["/jwks"]["keys"].append(provider.key.published | {"kid": "second"})
    several = Verifier(provider.configuration_url, "the-tenant", bundle)
    assert "doesn't publish" in refusal(several, token)


def test_issuer_with_trailing_slash_is_compared_whole(verifier, provider):
    provider.publish(issuer=f"{provider.origin}/")
    assert verifier.email(provider.token(iss=f"{provider.origin}/")) == "student@sandbox.local"
    assert "another issuer" in refusal(verifier, provider.token())


@pytest.mark.parametrize(
    "malformed",
    [
        None,
        {},
        {"kty": "RSA", "n": "!", "e": "AQAB", "kid": "a"},
        {"kty": "EC", "crv": "P-256", "x": "AQAB", "y": "AQAB"},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB", "alg": ["RS256"]},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB", "alg": "HS256"},
        {"kty": "oct", "k": "c2VjcmV0"},
    ],
)
def test_malformed_or_symmetric_key_is_ignored(verifier, provider, malformed):
    provider.documents["/jwks"]["keys"].insert(0, malformed)
    assert verifier.email(provider.token()) == "student@sandbox.local"
    token = jwt.encode(provider.claims(), provider.key.private, "RS256")
    assert verifier.email(token) == "student@sandbox.local"


def test_encryption_key_does_not_verify(verifier, provider):
    provider.documents["/jwks"]["keys"][0]["use"] = "enc"
    assert "no signing key" in refusal(verifier, provider.token())


def test_unaccepted_algorithm_causes_no_request(verifier, provider):
    header = {"kid": provider.key.kid}
    unsigned = jwt.encode(provider.claims(), None, "none", headers=header)
    for token in (unsigned, part({"alg": ["RS256"]}) + "." + part({}) + "."):
        assert "algorithm" in refusal(verifier, token)
    assert provider.requests == []


def test_slow_response_is_refused(verifier, provider, monkeypatch):
    """The time limit holds for the whole response, not only between two packets."""
    seconds = itertools.count(0, 3)
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr(verifier_module, "time", clock)
    provider.documents[WELL_KNOWN] = b"{" + b" " * 500_000 + b"}"
    assert "too slow" in refusal(verifier, provider.token())


def test_unknown_critical_header_is_refused(verifier, provider):
    headers = {"kid": provider.key.kid, "crit": ["x"], "x": True}
    token = jwt.encode(provider.claims(), provider.key.private, "RS256", headers=headers)
    assert "not a JSON Web Token" in refusal(verifier, token)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b.c",
        "é.é.é",
        part({"alg": "RS256", "kid": 5}) + "." + part({}) + ".",
        part({"alg": "RS256", "kid": {}}) + "." + part({}) + ".",
        part([]) + "." + part({}) + ".",
        part({"alg": "RS256"})[:-2] + "." + part({}) + ".",
        "[" * 5000 + "..",
        part("a" * 20_000) + "..",
    ],
)
def test_malformed_token_is_refused(verifier, token):
    assert "not a JSON Web Token" in refusal(verifier, token)


@same_fixtures
@given(st.one_of(st.text(), st.from_regex(r"[\w-]*\.[\w-]*\.[\w-]*", fullmatch=True)))
def test_arbitrary_text_raises_only_verification_errors(verifier, token):
    with pytest.raises(VerificationError):
        verifier.email(token)


@same_fixtures
@given(place=st.integers(0, 10_000), letter=st.sampled_from("AaZz09-_"))
def test_token_with_one_changed_character_is_refused(verifier, provider, place, letter):
    token = provider.token(exp=2_000_000_000, iat=1)
    place %= len(token)
    changed = token[:place] + letter + token[place + 1 :]

    if changed != token:
        with pytest.raises(VerificationError):
            verifier.email(changed)


def test_rotated_key_is_fetched_at_once_and_old_tokens_stay_valid(verifier, provider):
    old = provider.token()
    verifier.email(old)
    service.rotate_signing_keys(provider.folder)
    provider.publish()
    assert verifier.email(provider.token()) == "student@sandbox.local"
    assert verifier.email(old) == "student@sandbox.local"


def test_unknown_key_ids_cause_a_limited_number_of_requests(verifier, provider, clock):
    verifier.email(provider.token())
    before = len(provider.requests)
    for number in range(50):
        headers = {"kid": f"made-up-{number}"}
        token = jwt.encode(provider.claims(), provider.key.private, "RS256", headers=headers)
        assert "doesn't publish" in refusal(verifier, token)
    assert len(provider.requests) - before == 2 * 5
    clock.now += 61
    service.rotate_signing_keys(provider.folder)
    provider.publish()
    assert verifier.email(provider.token()) == "student@sandbox.local"


@pytest.mark.parametrize(
    ("path", "document", "expected_message"),
    [
        (WELL_KNOWN, 500, "status 500"),
        (WELL_KNOWN, 302, "status 302"),
        (WELL_KNOWN, b"<html>", "not a JSON object"),
        (WELL_KNOWN, b"[1]", "not a JSON object"),
        (WELL_KNOWN, b"[" * 100_000, "not a JSON object"),
        (WELL_KNOWN, b" " * (1 << 20) + b"{}", "too large"),
        (WELL_KNOWN, {"issuer": "https://elsewhere.example"}, "issuer does not match"),
        ("/jwks", 404, "status 404"),
        ("/jwks", {"keys": {}}, "no signing key"),
        ("/jwks", {"keys": [1, {}, {"kty": "oct", "k": "c2VjcmV0"}]}, "no signing key"),
        ("/jwks", {"keys": [{"kty": "RSA", "n": "!", "e": "AQAB", "kid": "a"}]}, "no signing key"),
    ],
)
def test_invalid_provider_document_is_refused(verifier, provider, path, document, expected_message):
    token = provider.token()
    provider.documents[path] = document
    assert expected_message in refusal(verifier, token)


@pytest.mark.parametrize(
    ("changed", "expected_message"),
    [
        ({"jwks_uri": "http://localhost/jwks"}, "without HTTPS"),
        ({"jwks_uri": "file:///etc/passwd"}, "without HTTPS"),
        ({"jwks_uri": None}, "without HTTPS"),
        ({"id_token_signing_alg_values_supported": ["none", "HS256"]}, "no accepted algorithm"),
        ({"id_token_signing_alg_values_supported": [["RS256"]]}, "no accepted algorithm"),
        ({"id_token_signing_alg_values_supported": "RS256"}, "no accepted algorithm"),
        ({"issuer": 5}, "issuer does not match"),
        ({"jwks_uri": "https://[::1"}, "can't be reached"),
        ({"jwks_uri": "https://localhost:x/jwks"}, "can't be reached"),
        ({"jwks_uri": "https://localhost:1/\r\nX: y"}, "can't be reached"),
    ],
)
def test_invalid_configuration_is_refused(verifier, provider, changed, expected_message):
    token = provider.token()
    provider.publish(**changed)
    assert expected_message in refusal(verifier, token)


def test_provider_with_untrusted_certificate_is_refused(provider, tmp_path):
    import trustme

    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    verifier = Verifier(provider.configuration_url, "the-tenant", other)
    assert "can't be reached" in refusal(verifier, provider.token())
    assert provider.requests == []
    other.write_text("no authority")
    verifier = Verifier(provider.configuration_url, "the-tenant", other)
    assert "CA file" in refusal(verifier, provider.token())


def test_failed_provider_is_retried_after_five_seconds(verifier, provider, clock):
    token, jwks = provider.token(), provider.documents["/jwks"]
    provider.documents["/jwks"] = 503
    for _ in range(5):
        assert "503" in refusal(verifier, token)
    assert provider.requests.count("/jwks") == 1
    provider.documents["/jwks"] = jwks
    clock.now += 5.1
    assert verifier.email(token) == "student@sandbox.local"


def test_proxy_settings_are_ignored(verifier, provider, monkeypatch):
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert verifier.email(provider.token()) == "student@sandbox.local"

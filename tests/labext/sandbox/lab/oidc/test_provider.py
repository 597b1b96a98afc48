"""The OpenID provider of the sandbox, tested as a client."""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jwt
import pytest
import requests

from labext.sandbox import Sandbox
from labext.sandbox.lab.administration import open_administration

pytestmark = pytest.mark.contract

STUDENT = "student@sandbox.local"
TEACHER = "teacher@sandbox.local"
VERIFIER = "a-verifier-of-at-least-forty-three-characters-0123456789"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=")


class Provider:
    """A client of the provider, with the steps of a sign-in."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = box.lab.ca_bundle
        self.lab = box.lab
        self.configuration = self.get(box.lab.oidc_configuration_url).json()

    def get(self, url: str, **options: Any) -> requests.Response:
        return self.session.get(url, timeout=30, allow_redirects=False, **options)

    def post(self, url: str, form: Any, **options: Any) -> requests.Response:
        return self.session.post(url, data=form, timeout=30, allow_redirects=False, **options)

    def page(self, **changed: Any) -> requests.Response:
        """Request the sign-in page; None omits a parameter."""
        query = {
            "client_id": "labext-campus",
            "redirect_uri": "http://127.0.0.1:4711/back?kept=1",
            "response_type": "code",
            "scope": "openid email",
            "state": "a state & more",
            "nonce": "n-1",
            "code_challenge": CHALLENGE.decode(),
            "code_challenge_method": "S256",
        } | changed
        return self.get(self.configuration["authorization_endpoint"], params=query)

    def secret(self, email: str) -> str:
        """Return the secret of a user."""
        with open_administration(self._box.data_dir) as admin:
            return str(admin.sign_in_secret(email)["secret"])

    def sign_in(
        self, page: requests.Response, email: str, secret: str | None = None
    ) -> requests.Response:
        """Sign in as a user, by default with her secret."""
        [sealed] = re.findall(r'name="request" value="([^"]+)"', page.text)
        if secret is None:
            secret = self.secret(email)
        form = {"request": unescape(sealed), "email": email, "secret": secret}
        return self.post(self.configuration["authorization_endpoint"], form)

    def code(self, email: str = STUDENT, **changed: Any) -> str:
        return callback(self.sign_in(self.page(**changed), email))["code"]

    def password_grant(self, email: str, secret: str, /, **changed: Any) -> requests.Response:
        """Request a token for a user's secret, as a program does."""
        form = {
            "grant_type": "password",
            "username": email,
            "password": secret,
            "client_id": "labext-campus",
            "scope": "openid email",
        } | changed
        return self.post(self.configuration["token_endpoint"], form)

    def redeem(self, code: str, /, **changed: Any) -> requests.Response:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": "labext-campus",
            "redirect_uri": "http://127.0.0.1:4711/back?kept=1",
            "code_verifier": VERIFIER,
        } | changed
        return self.post(self.configuration["token_endpoint"], form)


def callback(response: requests.Response) -> dict[str, str]:
    """Return the parameters of a redirect to the client."""
    assert response.status_code == 303
    return dict(parse_qsl(urlsplit(response.headers["Location"]).query))


@pytest.fixture(scope="module")
def provider(box: Sandbox) -> Provider:
    return Provider(box)


def test_user_signs_in_with_a_code_and_calls_the_platform(provider):
    page = provider.page()
    assert "sandbox" in page.text
    assert STUDENT in page.text
    redirect = provider.sign_in(page, STUDENT)
    assert redirect.headers["Location"].startswith("http://127.0.0.1:4711/back?kept=1&")
    assert callback(redirect)["state"] == "a state & more"
    assert callback(redirect)["iss"] == provider.configuration["issuer"]
    response = provider.redeem(callback(redirect)["code"])
    assert response.headers["Cache-Control"] == "no-store"
    token = response.json()["id_token"]
    claims = jwt.decode(token, options={"verify_signature": False})
    expected = {"email": STUDENT, "name": "Sam Student", "nonce": "n-1", "aud": "labext-campus"}
    assert {name: claims[name] for name in expected} == expected
    bearer = {"Authorization": f"Bearer {token}"}
    me = provider.get(f"{provider.lab.base_url}/api/v2/users/me", headers=bearer)
    assert me.json()["email"] == STUDENT
    bearer = {"Authorization": f"Bearer {response.json()['access_token']}"}
    known = provider.get(provider.configuration["userinfo_endpoint"], headers=bearer).json()
    assert known == {name: claims[name] for name in ("sub", "email", "email_verified", "name")}


def test_sign_in_page_requires_the_secret_of_the_user(provider):
    page = provider.page()
    assert re.search(r'<input id="secret" name="secret" type="password" required', page.text)
    for secret in ("", "x", provider.secret(TEACHER), provider.secret(STUDENT)[:-1], "ü\ud800"):
        response = provider.sign_in(page, STUDENT, secret.encode("utf-8", "surrogatepass"))
        assert response.status_code in (400, 403)
        assert "Location" not in response.headers
        assert 'role="alert"' in response.text
    assert "code" in callback(provider.sign_in(page, STUDENT, provider.secret(STUDENT)))


def test_password_grant_returns_an_id_token(provider):
    assert "password" in provider.configuration["grant_types_supported"]
    response = provider.password_grant(TEACHER.title(), provider.secret(TEACHER))
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "no-store"
    bearer = {"Authorization": f"Bearer {response.json()['id_token']}"}
    me = provider.get(f"{provider.lab.base_url}/api/v2/users/me", headers=bearer)
    assert me.json()["email"] == TEACHER
    claims = jwt.decode(response.json()["id_token"], options={"verify_signature": False})
    assert claims["email"] == TEACHER
    student = provider.password_grant(provider.lab.oidc_user, provider.lab.oidc_secret)
    assert student.status_code == 200
    claims = jwt.decode(student.json()["id_token"], options={"verify_signature": False})
    assert (claims["email"], claims["aud"]) == (STUDENT, provider.lab.oidc_client_id)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"password": "x"}, "invalid_grant"),
        ({"password": None}, "invalid_grant"),
        ({"username": TEACHER}, "invalid_grant"),
        ({"username": STUDENT.replace("s", "\u017f")}, "invalid_grant"),
        ({"username": "nobody@course.example"}, "invalid_grant"),
        ({"username": None}, "invalid_grant"),
        ({"client_id": "another"}, "invalid_client"),
        ({"client_id": None}, "invalid_client"),
        ({"scope": "email"}, "invalid_scope"),
        ({"scope": None}, "invalid_scope"),
    ],
)
def test_password_grant_refuses_wrong_parameters(provider, changed, error):
    response = provider.password_grant(STUDENT, provider.secret(STUDENT), **changed)
    assert (response.status_code, response.json()["error"]) == (400, error)
    assert "id_token" not in response.json()


def test_secrets_are_readable_by_their_owner_only(provider, box):
    provider.secret(TEACHER)
    files = [*(box.data_dir / "secrets").glob("lab_oidc_user_*")]
    assert len(files) >= 2
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert len({path.read_text() for path in files}) == len(files)
    connection = box.data_dir / "connection.json"
    assert connection.stat().st_mode & 0o777 == 0o600
    assert provider.lab.oidc_secret in connection.read_text()
    assert provider.lab.oidc_secret not in repr(provider.lab)


def test_secrets_can_be_switched_off(provider, command):
    lab = command("lab")
    assert lab.json("provider", "list")["user_secrets"] is True
    output = lab.output("provider", "secrets", "off")
    assert "everyone who can reach it can sign in as any of them" in output
    try:
        assert lab.json("provider", "list")["user_secrets"] is False
        page = provider.page()
        assert 'name="secret"' not in page.text
        assert "code" in callback(provider.sign_in(page, STUDENT, ""))
        assert provider.password_grant(TEACHER, "").status_code == 200
        assert provider.sign_in(page, "nobody@course.example", "").status_code == 403
    finally:
        assert "for their secrets" in lab.output("provider", "secrets", "required")
    assert provider.sign_in(provider.page(), STUDENT, "").status_code == 403


def test_configuration_names_existing_endpoints_and_claims(provider):
    for name, value in provider.configuration.items():
        if name.endswith(("_endpoint", "_uri")):
            assert value.startswith(provider.configuration["issuer"])
            assert provider.get(value).status_code in (200, 400, 401, 405)
    claims = jwt.decode(
        provider.redeem(provider.code()).json()["id_token"], options={"verify_signature": False}
    )
    assert set(claims) == set(provider.configuration["claims_supported"])


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"scope": "email"}, "invalid_scope"),
        ({"scope": None}, "invalid_scope"),
        ({"prompt": "none"}, "login_required"),
        ({"request": "eyJ"}, "request_not_supported"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
    ],
)
def test_invalid_authorization_request_is_reported_to_the_client(provider, changed, error):
    parameters = callback(provider.page(**changed))
    assert (parameters["error"], parameters["state"]) == (error, "a state & more")
    assert "code" not in parameters


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": "somebody"},
        {"client_id": None},
        {"client_id": ["labext-campus", "labext-campus"]},
        {"redirect_uri": None},
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": "http://127.0.0.1.evil.example/"},
        {"redirect_uri": "http://127.0.0.1@evil.example/"},
        {"redirect_uri": "http://localhost:0/"},
        {"redirect_uri": "http://localhost:x/"},
        {"redirect_uri": "http://[::1/"},
        {"redirect_uri": "http://localhost/#part"},
        {"redirect_uri": "javascript://localhost/%0aalert(1)"},
        {"redirect_uri": "http://localhost/\r\nSet-Cookie: a=b"},
        {"state": "\ud800".encode("utf-8", "surrogatepass")},
    ],
)
def test_unknown_client_or_address_causes_no_redirect(provider, changed):
    page = provider.page(**changed)
    assert page.status_code == 400
    assert "Location" not in page.headers
    assert 'role="alert"' in page.text


def test_registered_redirect_uri_of_an_app_is_accepted(provider, command):
    lab, uri = command("lab"), "https://app.example/back"
    assert provider.page(redirect_uri=uri).status_code == 400
    lab.output("redirects", "add", "notebook", uri)
    try:
        code = provider.code(redirect_uri=uri)
        assert provider.redeem(code, redirect_uri=uri).status_code == 200
        lab.output("apps", "archive", "notebook")
        assert provider.page(redirect_uri=uri).status_code == 400
    finally:
        lab.output("apps", "unarchive", "notebook")
        lab.output("redirects", "remove", "notebook", uri)
    assert provider.page(redirect_uri=uri).status_code == 400


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": None}, "unsupported_grant_type"),
        ({"code": "made-up"}, "invalid_grant"),
        ({"client_id": "another"}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:4711/back"}, "invalid_grant"),
        ({"code_verifier": VERIFIER[:-1] + "_"}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_grant"),
        ({"code_verifier": "short"}, "invalid_grant"),
    ],
)
def test_code_is_bound_to_client_redirect_uri_and_verifier(provider, changed, error):
    response = provider.redeem(provider.code(), **changed)
    assert (response.status_code, response.json()["error"]) == (400, error)
    assert response.headers["Cache-Control"] == "no-store"


def test_code_is_valid_once_even_if_refused(provider):
    code = provider.code()
    assert provider.redeem(code).status_code == 200
    assert provider.redeem(code).json()["error"] == "invalid_grant"
    code = provider.code()
    assert provider.redeem(code, code_verifier="x" * 43).status_code == 400
    assert provider.redeem(code).status_code == 400


def test_malformed_form_is_an_invalid_request(provider):
    url = provider.configuration["token_endpoint"]
    for content, kind in [
        (b"grant_type=authorization_code", "application/json"),
        (b"code=1&code=2", "application/x-www-form-urlencoded"),
        (b"\xff\xfe=%ff", "application/x-www-form-urlencoded"),
        (b"a=" + b"b" * 20_000, "application/x-www-form-urlencoded"),
        (b"&".join(b"a%d=1" % number for number in range(90)), "application/x-www-form-urlencoded"),
    ]:
        response = provider.post(url, content, headers={"Content-Type": kind})
        assert (response.status_code, response.json()["error"]) == (400, "invalid_request")


def test_sign_in_needs_a_known_user_and_a_sealed_request(provider):
    page = provider.page()
    for email in ("nobody@course.example", "", "clinician@sandbox.local"):
        assert provider.sign_in(page, email, provider.secret(STUDENT)).status_code == 403
    form = {"request": "made-up", "email": STUDENT}
    assert provider.post(provider.configuration["authorization_endpoint"], form).status_code == 400


def test_sign_in_page_escapes_names_and_loads_nothing(provider, command):
    lab, hostile = command("lab"), '"><script>alert(1)</script>'
    lab.output("users", "add", "mallory@course.example", "--name", hostile)
    try:
        page = provider.page(redirect_uri="http://localhost:1/'\"><script>")
    finally:
        lab.output("users", "remove", "mallory@course.example", "--yes")
    assert "<script" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert not re.search(r"(?:src|href)=", page.text)


def test_login_hint_preselects_the_user(provider):
    assert re.search(rf'value="{STUDENT}" selected', provider.page(login_hint=STUDENT).text)
    assert 'value="" selected disabled' in provider.page().text


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer made-up", "Basic eDp5"])
def test_userinfo_refuses_invalid_access_tokens(provider, value):
    response = provider.get(
        provider.configuration["userinfo_endpoint"], headers={"Authorization": value}
    )
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")


def test_userinfo_refuses_the_token_of_a_removed_user(provider, command):
    lab, email = command("lab"), "removed@course.example"
    lab.output("users", "add", email)
    token = provider.password_grant(email, provider.secret(email)).json()["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    endpoint = provider.configuration["userinfo_endpoint"]
    assert provider.get(endpoint, headers=headers).status_code == 200
    lab.output("users", "remove", email, "--yes")
    assert provider.get(endpoint, headers=headers).status_code == 401


def test_unknown_path_and_host_are_refused_in_json(provider):
    issuer = provider.configuration["issuer"]
    assert provider.get(f"{issuer}/nowhere").json()["error"] == "invalid_request"
    assert provider.get(f"{issuer}/openapi.json").status_code == 404
    assert provider.get(f"{issuer}/jwks", headers={"Host": "evil.example"}).status_code == 400

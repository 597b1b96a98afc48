"""Authentication over HTTPS and its audit log (LAB-31 to LAB-77, LAB-165 to LAB-174)."""

from __future__ import annotations

import http.client
import ssl
from urllib.parse import urlsplit

import jwt
import pytest
import requests
from databases import stored_content
from requests.auth import HTTPBasicAuth

pytestmark = pytest.mark.contract

VECTORS, CACTI, ORCHIDS = "Vectors", "Cactus rpl16 introns", "Orchid ITS regions"


def test_student_signs_in_with_the_key_of_the_sandbox(box, api, kit):
    response = api.session.get(
        f"{box.lab.base_url}/api/v2/users/me", auth=HTTPBasicAuth(box.lab.api_key, "")
    )
    assert response.status_code == 200
    assert response.json()["email"] == "student@sandbox.local"
    assert response.json()["name"]
    rows = api.rows(kit.basic(box.lab.api_key))
    assert rows
    assert "student@sandbox.local" not in box.lab.api_key


def test_plain_http_is_rejected(box, api, kit, runner):
    before = len(runner.logged(limit=None))
    with pytest.raises(requests.ConnectionError):
        requests.get(
            api.base.replace("https:", "http:") + "/api/v2/users/me",
            auth=HTTPBasicAuth(box.lab.api_key, ""),
            timeout=10,
        )
    assert len(runner.logged(limit=None)) == before


def test_client_that_does_not_trust_the_authority_rejects_the_certificate(api):
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(f"{api.base}/api/v2/users/me", timeout=10)


def test_certificate_is_valid_for_the_ip_address(box):
    port = urlsplit(box.lab.base_url).port
    context = ssl.create_default_context(cafile=box.lab.ca_bundle)
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
    connection.request("GET", "/api/v2/users/me")
    assert connection.getresponse().status == 401
    connection.close()


def test_keys_and_tokens_do_not_cross_tenants(box, api, clinic, kit, runner):
    email, key = runner.user()
    kit.message(clinic.get("users/me", kit.basic(key)), 401)
    response = api.token(box.lab.client_id, box.lab.client_secret)
    assert response.status_code == 200
    kit.message(clinic.get("users/me", f"Bearer {response.json()['access_token']}"), 401)
    refused = clinic.token(box.lab.client_id, box.lab.client_secret)
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    kit.message(clinic.get("users/me", f"Bearer {runner.id_token(email)}"), 401)
    assert {entry["user"] for entry in runner.logged(tenant="clinic", limit=3)} == {None}


def test_app_token_opens_the_granted_places(api, kit, runner):
    name, client_id, secret = runner.app(CACTI)
    form = api.token(client_id, secret)
    grant = {"grant_type": "client_credentials"}
    basic = api.request("POST", "token", data=grant, auth=HTTPBasicAuth(client_id, secret))
    received = []
    for response in (form, basic):
        assert response.status_code == 200, response.text
        body = response.json()
        assert (body["token_type"], body["expires_in"]) == ("Bearer", 900)
        received.append({row["name"] for row in api.rows(f"Bearer {body['access_token']}")})
    assert received[0] == received[1]
    assert len(received[0]) == 7
    assert {entry["app"] for entry in runner.logged(app=name)} == {name}
    assert {entry["path"] for entry in runner.logged(app=name)} == {
        "/api/v2/token",
        "/api/v2/dna-sequences",
    }


def test_hidden_and_missing_places_are_refused_alike(api, kit, runner):
    _, visible = runner.user(VECTORS)
    _, other = runner.user(CACTI)
    hidden = api.rows(kit.basic(other))[0]["folderId"]
    mine = api.rows(kit.basic(visible))[0]["folderId"]
    assert api.rows(kit.basic(visible), folderId=mine)
    answers = [
        kit.message(api.get("dna-sequences", kit.basic(visible), folderId=folder_id), 403)
        for folder_id in (hidden, "lib_nowhere", "x")
    ]
    assert len(set(answers)) == 1
    # The permission is checked before the rest of the query.
    kit.message(api.get("dna-sequences", kit.basic(visible), folderId=hidden, pageSize="many"), 403)
    kit.message(api.get("dna-sequences", kit.basic(visible), pageSize="many"), 400)


def test_id_token_is_verified_with_its_provider(api, kit, runner):
    email, _ = runner.user(VECTORS)
    good = runner.id_token(email)
    assert api.get("users/me", f"Bearer {good}").json()["email"] == email
    assert runner.logged(user=email, limit=1)[0]["credential"] == "ID token"
    head, claims, signature = good.split(".")
    other = runner.id_token("nobody@x.example")
    bad = {
        "expired": runner.id_token(email, seconds=-60),
        "another audience": runner.id_token(email, audience="another"),
        "No user": other,
        "signature": f"{head}.{other.split('.')[1]}.{signature}",
        "algorithm": jwt.encode({"email": email}, None, "none"),
        "not a JSON Web Token": f"{head[1:]}.{claims}.{signature}",
    }
    for reason, token in bad.items():
        assert reason in kit.message(api.get("users/me", f"Bearer {token}"), 401)
        (entry,) = runner.logged(limit=1)
        assert (entry["status"], entry["user"]) == (401, None)
        assert token not in str(entry)


def test_keys_secrets_and_tokens_are_stored_as_hashes(api, kit, runner):
    email, key = runner.user()
    _, client_id, secret = runner.app()
    token = api.token(client_id, secret).json()["access_token"]
    assert len(token) >= 43, "256 bits"
    id_token = runner.id_token(email)
    for authorization in (kit.basic(key), f"Bearer {token}", f"Bearer {id_token}"):
        api.get("users/me", authorization)
    folder = runner.box.data_dir
    content = stored_content(folder)
    content += b"".join(path.read_bytes() for path in folder.rglob("*.log"))
    assert email.encode() in content
    for secret_value in (key, secret, token, id_token.rpartition(".")[2]):
        assert secret_value.encode() not in content


def test_head_is_refused_without_a_body(api, kit, runner):
    _, key = runner.user()
    response = api.request("HEAD", "users/me", kit.basic(key))
    assert (response.status_code, response.headers["Allow"], response.content) == (405, "GET", b"")


def test_encoded_line_break_in_a_path_is_not_found(api, kit, runner):
    _, key = runner.user()
    kit.message(api.request("GET", "%0A", kit.basic(key)), 404)
    kit.message(api.request("GET", "%0A"), 401)

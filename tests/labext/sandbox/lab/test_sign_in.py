"""Authentication over HTTPS and its audit log (LAB-31 to LAB-77, LAB-165 to LAB-174)."""

from __future__ import annotations

import jwt
import pytest
import requests
from databases import stored_content
from requests.auth import HTTPBasicAuth

pytestmark = pytest.mark.contract

VECTORS, CACTI = "Vectors", "Cactus rpl16 introns"


def test_plain_http_is_rejected(box, api, kit, runner):
    before = len(runner.logged(limit=None))
    url = api.base.replace("https:", "http:") + "/api/v2/users/me"
    with pytest.raises(requests.ConnectionError):
        requests.get(url, auth=HTTPBasicAuth(box.lab.api_key, ""), timeout=10)
    assert len(runner.logged(limit=None)) == before


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


def test_forwarded_address_is_ignored(api, kit, runner):
    """Clients could forge the forwarding headers, since no proxy is in front of the sandbox."""
    email, key = runner.user()
    headers = {
        "X-Forwarded-For": "192.0.2.7",
        "X-Real-IP": "192.0.2.7",
        "Forwarded": "for=192.0.2.7",
    }
    with runner.open_to(["192.0.2.0/24"]):
        refused = api.request("GET", "users/me", kit.basic(key), headers=headers)
        assert "IP address" in kit.message(refused, 403)
    (entry,) = runner.logged(user=email, limit=1)
    assert (entry["status"], entry["address"]) == (403, "127.0.0.1")


def test_encoded_line_break_in_a_path_is_not_found(api, kit, runner):
    _, key = runner.user()
    kit.message(api.request("GET", "%0A", kit.basic(key)), 404)
    kit.message(api.request("GET", "%0A"), 401)

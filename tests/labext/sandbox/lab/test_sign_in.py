"""Authentication over HTTPS and its audit log (LAB-31 to LAB-77, LAB-165 to LAB-174)."""

from __future__ import annotations

import http.client
import ssl
from urllib.parse import urlsplit

import jwt
import pytest
import requests
from requests.auth import HTTPBasicAuth

pytestmark = pytest.mark.contract

VECTORS, CACTI, ORCHIDS = "Vectors", "Cactus rpl16 introns", "Orchid ITS regions"


def test_student_signs_in_with_the_key_of_the_sandbox(box, api, kit):
    answer = api.session.get(
        f"{box.lab.base_url}/api/v2/users/me", auth=HTTPBasicAuth(box.lab.api_key, "")
    )
    assert answer.status_code == 200
    assert answer.json()["email"] == "student@sandbox.local"
    assert answer.json()["name"]
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


def test_unknown_credentials_are_401_with_a_challenge(api, kit):
    for authorization in (None, "", "Basic x", "Bearer x", kit.basic("sk_x"), "Digest x"):
        answer = api.get("dna-sequences", authorization)
        kit.message(answer, 401)
        assert answer.headers["WWW-Authenticate"] == 'Basic realm="lab", Bearer realm="lab"'


def test_key_is_not_accepted_as_bearer_or_with_a_password(api, kit, runner):
    _, key = runner.user()
    kit.message(api.get("users/me", f"Bearer {key}"), 401)
    assert "empty password" in kit.message(api.get("users/me", kit.basic(key, "x")), 401)
    assert api.get("users/me", kit.basic(key)).status_code == 200


def test_keys_and_tokens_do_not_cross_tenants(box, api, clinic, kit, runner):
    email, key = runner.user()
    kit.message(clinic.get("users/me", kit.basic(key)), 401)
    answer = api.token(box.lab.client_id, box.lab.client_secret)
    assert answer.status_code == 200
    kit.message(clinic.get("users/me", f"Bearer {answer.json()['access_token']}"), 401)
    refused = clinic.token(box.lab.client_id, box.lab.client_secret)
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    kit.message(clinic.get("users/me", f"Bearer {runner.id_token(email)}"), 401)
    assert {entry["user"] for entry in runner.logged(tenant="clinic", limit=3)} == {None}


def test_audit_log_names_both_keys_of_a_rotation(api, kit, runner):
    email, old = runner.user()
    new = runner.key(email, "second")
    runner.end("key", email, "first")
    assert "deleted" in kit.message(api.get("users/me", kit.basic(old)), 401)
    assert api.get("users/me", kit.basic(new)).status_code == 200
    seen = [(entry["status"], entry["credential"]) for entry in runner.logged(user=email)]
    assert seen == [(200, "key second"), (401, "key first")]


def test_suspended_user_has_no_access(api, kit, runner):
    email, key = runner.user(VECTORS)
    token = f"Bearer {runner.id_token(email)}"
    runner.suspend(email)
    for authorization in (kit.basic(key), token):
        assert "suspended" in kit.message(api.get("dna-sequences", authorization), 403)
    runner.suspend(email, False)
    for authorization in (kit.basic(key), token):
        assert api.rows(authorization)


def test_app_token_opens_the_granted_places(api, kit, runner):
    name, client_id, secret = runner.app(CACTI)
    form = api.token(client_id, secret)
    grant = {"grant_type": "client_credentials"}
    basic = api.ask("POST", "token", data=grant, auth=HTTPBasicAuth(client_id, secret))
    seen = []
    for answer in (form, basic):
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert (body["token_type"], body["expires_in"]) == ("Bearer", 900)
        seen.append({row["name"] for row in api.rows(f"Bearer {body['access_token']}")})
    assert seen[0] == seen[1]
    assert len(seen[0]) == 7
    assert {entry["app"] for entry in runner.logged(app=name)} == {name}
    assert {entry["path"] for entry in runner.logged(app=name)} == {
        "/api/v2/token",
        "/api/v2/dna-sequences",
    }


def test_expired_token_is_replaced(api, kit, runner):
    from labext.sandbox.core.database import Database
    from labext.sandbox.core.signing import hash_key
    from labext.sandbox.lab.tables import Token

    name, client_id, secret = runner.app(CACTI)
    first = api.token(client_id, secret).json()["access_token"]
    database = Database.at(runner.box.data_dir / "sandbox.sqlite")
    with database.write() as session:
        kept = session.query(Token).filter(Token.hash == hash_key(first)).one()
        kept.expires -= 900.0
    database.close()
    assert "expired" in kit.message(api.get("dna-sequences", f"Bearer {first}"), 401)
    assert runner.logged(app=name, limit=1)[0]["status"] == 401
    second = api.token(client_id, secret).json()["access_token"]
    assert api.rows(f"Bearer {second}")


def test_tokens_end_with_their_rotated_secret(api, kit, runner):
    name, client_id, old = runner.app(CACTI)
    new = runner.secret(name, "second")
    tokens = [api.token(client_id, each).json()["access_token"] for each in (old, new)]
    runner.end("secret", name, "secret1")
    kit.message(api.get("dna-sequences", f"Bearer {tokens[0]}"), 401)
    assert api.rows(f"Bearer {tokens[1]}")
    answer = api.token(client_id, old)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="lab"'


def test_archived_app_has_no_access(api, kit, runner):
    name, client_id, secret = runner.app(CACTI)
    bearer = f"Bearer {api.token(client_id, secret).json()['access_token']}"
    runner.archive(name)
    assert "archived" in kit.message(api.get("dna-sequences", bearer), 403)
    answer = api.token(client_id, secret)
    assert (answer.status_code, answer.json()["error"]) == (400, "unauthorized_client")
    runner.archive(name, False)
    assert api.rows(bearer)


def test_app_without_grants_is_403_and_user_without_grants_sees_nothing(api, kit, runner):
    _, client_id, secret = runner.app()
    bearer = f"Bearer {api.token(client_id, secret).json()['access_token']}"
    kit.message(api.get("dna-sequences", bearer), 403)
    _, key = runner.user()
    assert api.get("dna-sequences", kit.basic(key)).json() == {"dnaSequences": [], "nextToken": ""}


def test_hidden_and_missing_places_are_refused_alike(api, kit, runner):
    _, seen = runner.user(VECTORS)
    _, other = runner.user(CACTI)
    hidden = api.rows(kit.basic(other))[0]["folderId"]
    mine = api.rows(kit.basic(seen))[0]["folderId"]
    assert api.rows(kit.basic(seen), folderId=mine)
    answers = [
        kit.message(api.get("dna-sequences", kit.basic(seen), folderId=each), 403)
        for each in (hidden, "lib_nowhere", "x")
    ]
    assert len(set(answers)) == 1
    # Permission comes before the rest of the query.
    kit.message(api.get("dna-sequences", kit.basic(seen), folderId=hidden, pageSize="many"), 403)
    kit.message(api.get("dna-sequences", kit.basic(seen), pageSize="many"), 400)


def test_app_on_behalf_of_a_user_sees_what_both_may_see(api, kit, runner):
    name, client_id, secret = runner.app(CACTI, VECTORS)
    email, _ = runner.user(CACTI, ORCHIDS)
    bearer = f"Bearer {api.token(client_id, secret).json()['access_token']}"
    headers = {"On-Behalf-Of": email}
    answer = api.ask("GET", "dna-sequences", bearer, headers=headers)
    assert answer.headers["Result-Count"] == "7"
    assert api.ask("GET", "users/me", bearer, headers=headers).json()["email"] == email
    assert "not a user" in kit.message(api.get("users/me", bearer), 404)
    seen = [(entry["user"], entry["app"]) for entry in runner.logged(app=name, limit=3)]
    assert seen == [(None, name), (email, name), (email, name)]
    runner.suspend(email)
    kit.message(api.ask("GET", "dna-sequences", bearer, headers=headers), 403)
    (entry,) = runner.logged(app=name, limit=1)
    assert (entry["status"], entry["user"]) == (403, email)


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
    for said, token in bad.items():
        assert said in kit.message(api.get("users/me", f"Bearer {token}"), 401)
        (entry,) = runner.logged(limit=1)
        assert (entry["status"], entry["user"]) == (401, None)
        assert token not in str(entry)


def test_unknown_path_is_404_and_other_method_is_405(api, kit, runner):
    email, key = runner.user()
    authorization = kit.basic(key)
    for method, path, status in [
        ("GET", "dna-sequences/seq_x", 404),
        ("GET", "teams", 404),
        ("GET", "%0A", 404),
        ("POST", "dna-sequences", 405),
        ("DELETE", "users/me", 405),
    ]:
        kit.message(api.ask(method, path, authorization), status)
        kit.message(api.ask(method, path), 401)
    answer = api.ask("HEAD", "users/me", authorization)
    assert (answer.status_code, answer.headers["Allow"], answer.content) == (405, "GET", b"")
    assert api.ask("GET", "token").status_code == 405
    statuses = [entry["status"] for entry in runner.logged(user=email)]
    assert statuses == [405, 405, 405, 404, 404, 404]


def test_keys_secrets_and_tokens_are_stored_as_hashes(api, kit, runner):
    email, key = runner.user()
    _, client_id, secret = runner.app()
    token = api.token(client_id, secret).json()["access_token"]
    id_token = runner.id_token(email)
    for authorization in (kit.basic(key), f"Bearer {token}", f"Bearer {id_token}"):
        api.get("users/me", authorization)
    folder = runner.box.data_dir
    kept = b"".join(path.read_bytes() for path in folder.rglob("*.sqlite*"))
    kept += b"".join(path.read_bytes() for path in folder.rglob("*.log"))
    assert email.encode() in kept
    for each in (key, secret, token, id_token.rpartition(".")[2]):
        assert each.encode() not in kept

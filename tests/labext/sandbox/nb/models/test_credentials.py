"""The operations of the group Credentials, against providers that record."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai_server
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.contract

PROVIDERS = {
    *("openai", "openai_compatible", "ollama", "groq", "mistral", "deepseek", "openrouter", "xai")
}


@contextmanager
def another_secret(nb: Any) -> Iterator[None]:
    """Whoever runs the service has lost the secret that encrypts keys."""
    path = nb.box.data_dir / "secrets" / "nb_encryption"
    before = path.read_text()
    path.unlink()
    try:
        yield
    finally:
        path.write_text(before)


def test_a_credential_is_made_listed_changed_and_deleted(nb: Any) -> None:
    made = nb.credential(name="lab")
    assert made == nb.told("GET", f"credentials/{made['id']}")
    assert re.fullmatch("credential:[a-z0-9]{20}", made["id"])
    assert made["has_api_key"] is True
    assert (made["model_count"], made["decryption_error"]) == (0, None)
    assert nb.told("GET", "credentials") == [made]
    assert nb.told("GET", "credentials?provider=openai_compatible") == [made]
    assert nb.told("GET", "credentials/by-provider/openai_compatible") == [made]
    assert nb.told("GET", "credentials?provider=openai") == []
    changed = nb.told("PUT", f"credentials/{made['id']}", {"name": "new"})
    assert changed == made | {"name": "new", "updated_at": changed["updated_at"]}
    nb.model(credential=made["id"])
    assert nb.told("GET", f"credentials/{made['id']}")["model_count"] == 1
    assert nb.told("DELETE", f"credentials/{made['id']}")["deleted_models"] == 1
    assert nb.told("GET", "models/by-provider/openai_compatible") == []
    nb.refused(404, "GET", f"credentials/{made['id']}")
    nb.refused(404, "PUT", f"credentials/{made['id']}", {"name": "x"})
    nb.refused(404, "DELETE", f"credentials/{made['id']}")


def test_an_empty_change_is_none(nb: Any) -> None:
    made = nb.credential()
    body = {"name": made["name"], "base_url": made["base_url"], "provider": made["provider"]}
    for same in ({}, body):
        assert nb.told("PUT", f"credentials/{made['id']}", same) == made


def test_the_key_is_used_changed_taken_away_and_never_shown(nb: Any, provider: Any) -> None:
    made = nb.credential("the-first-key-1234")
    model = nb.model(credential=made["id"])
    path = f"credentials/{made['id']}"
    assert nb.tested(model)["success"] is False
    nb.told("PUT", path, {"api_key": nb.KEY})
    assert nb.tested(model)["success"] is True
    assert nb.told("PUT", path, {"api_key": None})["has_api_key"] is False
    nb.tested(model)
    sent = [each.headers.get("authorization") for each in provider.asked]
    assert sent == ["Bearer the-first-key-1234", f"Bearer {nb.KEY}", None]


def test_the_key_is_encrypted_at_rest_and_in_no_log(nb: Any, provider: Any) -> None:
    made = nb.credential()
    provider.troubles = [openai_server.echoes_key(401)]
    assert nb.told("POST", f"credentials/{made['id']}/test")["success"] is False
    nb.refused(400, "POST", "credentials", {"provider": "openai", "api_key": nb.KEY, "name": 7})
    database = sqlite3.connect(nb.box.data_dir / "sandbox.sqlite")
    (stored,) = database.execute("select key from nb_credentials").fetchone()
    database.close()
    assert nb.KEY.encode() not in stored
    for path in nb.box.data_dir.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert nb.KEY.encode() not in content, path
            assert nb.ENVIRONMENT_KEY.encode() not in content, path


def test_a_lost_secret_is_told_by_every_use_in_one_line_with_the_next_step(
    nb: Any, provider: Any
) -> None:
    made = nb.credential(name="lab")
    model = nb.model(credential=made["id"])
    step = "Give it again."
    with another_secret(nb):
        found = nb.told("GET", f"credentials/{made['id']}")
        assert found["has_api_key"] is True
        assert step in found["decryption_error"]
        assert step in nb.tested(model)["message"]
        assert step in nb.told("POST", f"credentials/{made['id']}/test")["message"]
        for path in (f"credentials/{made['id']}/discover", "models/sync/openai_compatible"):
            assert step in nb.refused(422, "POST", path)
        assert step in nb.refused(422, "GET", "models/discover/openai_compatible")
        nb.told("PUT", "models/defaults", {"chat": model["id"]})
        nb.api.note("Arabinose is a sugar.")
        body = {"question": "What is arabinose?"}
        assert step in nb.refused(422, "POST", "search/ask/simple", body)
        status = nb.told("GET", "credentials/status")
        assert status["configured"]["openai_compatible"] is False
        assert status["source"]["openai_compatible"] == "database"
        assert provider.asked == []
        nb.told("PUT", f"credentials/{made['id']}", {"api_key": nb.KEY})
        assert nb.told("GET", f"credentials/{made['id']}")["decryption_error"] is None
        assert nb.tested(model)["success"] is True


def test_a_secret_that_is_none_is_told(nb: Any) -> None:
    path = nb.box.data_dir / "secrets" / "nb_encryption"
    before = path.read_text()
    path.write_text("nonsense")
    try:
        assert nb.told("GET", "credentials/status")["encryption_configured"] is False
        body = {"provider": "openai", "name": "x", "api_key": nb.KEY}
        assert "can't be encrypted" in nb.refused(422, "POST", "credentials", body)
    finally:
        path.write_text(before)
    assert nb.told("GET", "credentials/status")["encryption_configured"] is True


def test_status_and_the_environment_tell_the_truth(nb: Any) -> None:
    environment = nb.told("GET", "credentials/env-status")
    assert environment == dict.fromkeys(PROVIDERS, False) | {"openai": True}
    nb.credential(provider="groq")
    nb.credential(key=None, provider="mistral", base_url=None)  # of no use yet
    found = nb.told("GET", "credentials/status")
    assert {name for name, ready in found["configured"].items() if ready} == {"openai", "groq"}
    assert found["source"] == dict.fromkeys(PROVIDERS, "none") | {
        "openai": "environment",
        "groq": "database",
        "mistral": "database",
    }
    nb.credential(provider="openai")  # goes before the environment
    assert nb.told("GET", "credentials/status")["source"]["openai"] == "database"


def test_the_oldest_credential_is_the_first_and_is_used_where_a_model_names_none(
    nb: Any, provider: Any
) -> None:
    first, second = nb.credential(), nb.credential("another-key-1234")
    assert nb.told("GET", "credentials") == [first, second]
    model = nb.model(credential=None)
    assert nb.tested(model)["success"] is True
    nb.tested(nb.model(credential=second["id"]))  # names its own, which is not the first
    nb.told("DELETE", f"credentials/{first['id']}")
    assert nb.tested(model)["success"] is False
    sent = [each.headers["authorization"] for each in provider.chats()]
    assert sent == [f"Bearer {nb.KEY}", *["Bearer another-key-1234"] * 2]


def test_the_environments_key_is_used_until_there_is_a_credential(
    nb: Any, provider: Any, other: Any
) -> None:
    other.asked.clear()
    model = nb.model(name="gpt-4o", provider="openai", credential=None)
    assert nb.tested(model)["success"] is True
    (asked,) = other.chats()
    assert asked.headers["authorization"] == f"Bearer {nb.ENVIRONMENT_KEY}"
    assert asked.body["model"] == "gpt-4o"
    nb.credential(provider="openai")
    assert nb.tested(model)["success"] is True
    assert len(other.chats()) == len(provider.chats()) == 1


def test_the_environments_key_is_used_by_tasks_too(nb: Any, other: Any) -> None:
    other.asked.clear()
    model = nb.model("embedding", "text-embedder", provider="openai", credential=None)
    nb.told("PUT", "models/defaults", {"embedding": model["id"]})
    nb.api.told("POST", "sources", json={"text": "Lactose is a sugar.", "process_async": False})
    found = nb.told("POST", "search", {"query": "sugar", "search_type": "vector"})
    assert found["results"]
    sent = {each.headers["authorization"] for each in other.embeddings()}
    assert sent == {f"Bearer {nb.ENVIRONMENT_KEY}"}


@pytest.mark.parametrize(
    ("base_url", "told"),
    [
        ("ftp://models.example/v1", "address"),
        ("models.example", "address"),
        ("http://", "address"),
        ("http://user:secret@models.example/v1", "password"),
        ("http://models.example/v1?key=1", "query"),
        ("http://169.254.169.254/v1", "link-local"),
        ("http://2852039166/v1", "link-local"),
        ("http://0xa9.254.43518/", "link-local"),
        ("http://[fe80::1]/v1", "link-local"),
        ("http://[::ffff:169.254.169.254]/v1", "link-local"),
        ("http://[64:ff9b::a9fe:a9fe]/v1", "link-local"),
        ("http://[2002:a9fe:a9fe::]/v1", "link-local"),
        ("http://192.0.0.192/v1", "metadata"),
        ("http://168.63.129.16/v1", "metadata"),
        ("http://100.100.100.200/v1", "metadata"),
        ("http://[fd00:ec2::254]/v1", "metadata"),
    ],
)
def test_an_address_that_can_not_be_is_refused(nb: Any, base_url: str, told: str) -> None:
    body = {"provider": "openai_compatible", "name": "x", "base_url": base_url}
    said = nb.refused(400, "POST", "credentials", body)
    assert told in said
    assert "secret@" not in said
    made = nb.credential()
    assert told in nb.refused(400, "PUT", f"credentials/{made['id']}", {"base_url": base_url})
    assert nb.told("GET", f"credentials/{made['id']}") == made


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"provider": "nobody", "name": "x"}, "openrouter"),
        ({"provider": "built-in", "name": "x"}, "need no credential"),
        ({"provider": "openai"}, "name"),
        ({"provider": "openai", "name": " "}, "name"),
        ({"provider": "openai_compatible", "name": "x"}, "needs an address"),
        ({"provider": "openai", "name": "x", "api_key": ""}, "key is invalid"),
        ({"provider": "openai", "name": "x", "api_key": "two words 12"}, "key is invalid"),
        ({"provider": "openai", "name": "x", "api_key": "line\r\nend"}, "key is invalid"),
        ({"provider": "openai", "name": "x", "api_key": "k" * 10_001}, "key is invalid"),
        ({"provider": "openai", "name": "x", "api_key": 123456789}, "api_key"),
    ],
)
def test_a_credential_that_can_not_be_is_refused(nb: Any, body: Any, told: str) -> None:
    said = nb.refused(400, "POST", "credentials", body)
    assert told in said
    assert str(body.get("api_key") or "\0") not in said


def test_a_credentials_provider_stays(nb: Any) -> None:
    made = nb.credential()
    said = nb.refused(400, "PUT", f"credentials/{made['id']}", {"provider": "groq"})
    assert "Add another one." in said


def test_a_stored_key_goes_to_no_server_that_it_was_not_given_for(nb: Any, provider: Any) -> None:
    made = nb.credential(name="lab")
    path, other = f"credentials/{made['id']}", "http://models.example:8000/v1"
    here = provider.base_url
    for base_url in (
        other,
        here.replace("http:", "https:"),
        here.replace("127.0.0.1", "localhost"),
    ):
        said = nb.refused(400, "PUT", path, {"base_url": base_url, "name": "x"})
        assert "another server" in said
        assert "give it along with the address" in said
    assert nb.told("GET", path) == made
    assert nb.told("PUT", path, {"base_url": f"{here}/"})["base_url"] == here
    assert nb.told("PUT", path, {"base_url": f"{here}/more"})["has_api_key"] is True
    given = nb.told("PUT", path, {"base_url": other, "api_key": "another-key-1234"})
    assert (given["base_url"], given["has_api_key"]) == (other, True)
    without = nb.told("PUT", path, {"base_url": here, "api_key": None})
    assert (without["base_url"], without["has_api_key"]) == (here, False)
    assert nb.told("PUT", path, {"base_url": other})["base_url"] == other


def test_a_key_for_the_providers_own_server_stays_with_it(nb: Any) -> None:
    made = nb.credential(provider="groq", base_url=None)
    path = f"credentials/{made['id']}"
    nb.refused(400, "PUT", path, {"base_url": "http://127.0.0.1:1/v1"})
    own = "https://API.groq.com:443/openai/v1"
    assert nb.told("PUT", path, {"base_url": own})["base_url"] == own
    assert nb.told("PUT", path, {"base_url": None})["base_url"] is None


def test_an_address_of_its_own_may_be_taken_away_where_the_provider_has_one(nb: Any) -> None:
    made = nb.credential(provider="groq")
    path = f"credentials/{made['id']}"
    nb.refused(400, "PUT", path, {"base_url": None})
    assert nb.told("PUT", path, {"base_url": None, "api_key": None})["base_url"] is None
    path = f"credentials/{nb.credential()['id']}"
    assert "needs an address" in nb.refused(400, "PUT", path, {"base_url": None})


def test_a_test_of_a_credential_asks_its_server(nb: Any, provider: Any) -> None:
    made = nb.credential()
    said = nb.told("POST", f"credentials/{made['id']}/test")
    assert said["success"] is True
    assert "4 models: talker" in said["message"]
    assert provider.asked[0].path == "/models"
    assert provider.asked[0].headers["authorization"] == f"Bearer {nb.KEY}"


def test_a_server_that_is_not_to_be_reached_is_told(nb: Any) -> None:
    with openai_server.serving() as gone:
        base_url = gone.base_url
    made = nb.credential(base_url=base_url)
    said = nb.told("POST", f"credentials/{made['id']}/test")
    assert (said["success"], said["provider"]) == (False, "openai_compatible")
    assert "can't be reached" in said["message"]
    assert "can't be reached" in nb.refused(502, "POST", f"credentials/{made['id']}/discover")


def test_what_is_discovered_is_registered_once(nb: Any, provider: Any) -> None:
    made = nb.credential()
    path = f"credentials/{made['id']}"
    provider.models = ["talker", "bge-m3"]
    found = nb.told("POST", f"{path}/discover")
    assert (found["credential_id"], found["provider"]) == (made["id"], "openai_compatible")
    types = {each["name"]: each["model_type"] for each in found["discovered"]}
    assert types == {"talker": "llm", "bge-m3": "embedding"}
    body = {"models": [{"name": name, "model_type": kind} for name, kind in types.items()]}
    assert nb.told("POST", f"{path}/register-models", body) == {"created": 2, "existing": 0}
    assert nb.told("POST", f"{path}/register-models", body) == {"created": 0, "existing": 2}
    there = nb.told("GET", "models/by-provider/openai_compatible")
    assert {(each["name"], each["type"], each["credential"]) for each in there} == {
        (name, kind, made["id"]) for name, kind in types.items()
    }


@pytest.mark.parametrize(
    "models", [["talker"], [{"name": "talker"}], [{"name": "a", "model_type": "language"}], None, 7]
)
def test_what_is_no_list_of_models_is_refused(nb: Any, models: Any) -> None:
    made = nb.credential()
    nb.refused(400, "POST", f"credentials/{made['id']}/register-models", {"models": models})
    assert nb.told("GET", "models/by-provider/openai_compatible") == []


@given(
    key=st.text(max_size=40) | st.text("abc123-_/+= \r\n", max_size=40),
    base_url=st.text(max_size=30) | st.from_regex(r"https?://[a-z0-9.:\[\]@%-]{0,20}(/v1)?"),
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_key_and_address_are_stored_or_refused_in_one_sentence(
    nb: Any, key: str, base_url: str
) -> None:
    body = {"provider": "openai", "name": "any", "api_key": key, "base_url": base_url}
    response = nb.api.post("credentials", body)
    assert response.status_code in (200, 400)
    if response.status_code == 200:
        assert response.json()["base_url"].startswith("http")
        assert key == key.strip()
    elif len(key) > 12:
        assert key not in response.json()["detail"]

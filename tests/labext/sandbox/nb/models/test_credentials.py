"""The operations on credentials, with providers that record requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai_server
import pytest
from databases import stored_content
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.tables import Credential

pytestmark = pytest.mark.contract

PROVIDERS = {
    *("openai", "openai_compatible", "ollama", "groq", "mistral", "deepseek", "openrouter", "xai"),
    *("anthropic", "google", "azure", "elevenlabs", "piper", "lmstudio", "vllm"),
}


@contextmanager
def another_secret(nb: Any, text: str | None = None) -> Iterator[None]:
    """The secret that encrypts keys is lost, or it is this text."""
    path = nb.box.data_dir / "secrets" / "nb_encryption"
    before = path.read_text()
    path.unlink()
    if text is not None:
        path.write_text(text)
    try:
        yield
    finally:
        path.write_text(before)


def test_credential_create_list_update_delete(nb):
    created = nb.credential(name="lab")
    assert created == nb.call("GET", f"credentials/{created['id']}")
    assert re.fullmatch("credential:[a-z0-9]{20}", created["id"])
    assert created["has_api_key"] is True
    assert (created["model_count"], created["decryption_error"]) == (0, None)
    assert nb.call("GET", "credentials") == [created]
    assert nb.call("GET", "credentials?provider=openai_compatible") == [created]
    assert nb.call("GET", "credentials/by-provider/openai_compatible") == [created]
    assert nb.call("GET", "credentials?provider=openai") == []
    later = nb.credential(name="later")
    assert nb.call("GET", "credentials") == [created, later]
    nb.call("DELETE", f"credentials/{later['id']}")
    changed = nb.call("PUT", f"credentials/{created['id']}", {"name": "new"})
    assert changed == created | {"name": "new", "updated_at": changed["updated_at"]}
    nb.model(credential=created["id"])
    assert nb.call("GET", f"credentials/{created['id']}")["model_count"] == 1
    assert nb.call("DELETE", f"credentials/{created['id']}")["deleted_models"] == 1
    assert nb.call("GET", "models/by-provider/openai_compatible") == []
    nb.error(404, "GET", f"credentials/{created['id']}")
    nb.error(404, "PUT", f"credentials/{created['id']}", {"name": "x"})
    nb.error(404, "DELETE", f"credentials/{created['id']}")


def test_empty_update_changes_nothing(nb):
    created = nb.credential()
    for same in ({}, {name: created[name] for name in ("name", "base_url", "provider")}):
        assert nb.call("PUT", f"credentials/{created['id']}", same) == created


def test_key_can_be_replaced_and_removed(nb, provider):
    created = nb.credential("the-first-key-1234")
    model = nb.model(credential=created["id"])
    path = f"credentials/{created['id']}"
    assert nb.tested(model)["success"] is False
    nb.call("PUT", path, {"api_key": nb.KEY})
    assert nb.tested(model)["success"] is True
    assert nb.call("PUT", path, {"api_key": None})["has_api_key"] is False
    nb.tested(model)
    sent = [request.headers.get("authorization") for request in provider.requests]
    assert sent == ["Bearer the-first-key-1234", f"Bearer {nb.KEY}", None]


def test_key_is_encrypted_at_rest_and_not_logged(nb, provider):
    created = nb.credential()
    provider.faults = [openai_server.echoes_key(401)]
    assert nb.call("POST", f"credentials/{created['id']}/test")["success"] is False
    nb.error(400, "POST", "credentials", {"provider": "openai", "api_key": nb.KEY, "name": 7})
    with nb.database.read() as session:
        stored = session.scalars(select(Credential.key)).all()
    assert stored
    assert not any(nb.KEY.encode() in key for key in stored if key is not None)
    assert nb.KEY.encode() not in stored_content(nb.box.data_dir)
    for path in nb.box.data_dir.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert nb.KEY.encode() not in content, path
            assert nb.ENVIRONMENT_KEY.encode() not in content, path


def test_every_use_of_a_key_reports_a_lost_secret(nb, provider):
    created = nb.credential(name="lab")
    model = nb.model(credential=created["id"])
    step = "Give it again."
    with another_secret(nb):
        result = nb.call("GET", f"credentials/{created['id']}")
        assert result["has_api_key"] is True
        assert step in result["decryption_error"]
        assert step in nb.tested(model)["message"]
        assert step in nb.call("POST", f"credentials/{created['id']}/test")["message"]
        for path in (f"credentials/{created['id']}/discover", "models/sync/openai_compatible"):
            assert step in nb.error(422, "POST", path)
        assert step in nb.error(422, "GET", "models/discover/openai_compatible")
        nb.call("PUT", "models/defaults", {"chat": model["id"]})
        nb.note("Arabinose is a sugar.")
        body = {"question": "What is arabinose?"}
        assert step in nb.error(422, "POST", "search/ask/simple", body)
        status = nb.call("GET", "credentials/status")
        assert status["configured"]["openai_compatible"] is False
        assert status["source"]["openai_compatible"] == "database"
        assert provider.requests == []
        nb.call("PUT", f"credentials/{created['id']}", {"api_key": nb.KEY})
        assert nb.call("GET", f"credentials/{created['id']}")["decryption_error"] is None
        assert nb.tested(model)["success"] is True


def test_invalid_secret_is_reported(nb):
    with another_secret(nb, "nonsense"):
        assert nb.call("GET", "credentials/status")["encryption_configured"] is False
        body = {"provider": "openai", "name": "x", "api_key": nb.KEY}
        assert "can't be encrypted" in nb.error(422, "POST", "credentials", body)
    assert nb.call("GET", "credentials/status")["encryption_configured"] is True


def test_status_reports_credentials_and_environment(nb):
    environment = nb.call("GET", "credentials/env-status")
    assert environment == dict.fromkeys(PROVIDERS, False) | {"openai": True}
    nb.credential(provider="groq")
    nb.credential(key=None, provider="mistral", base_url=None)  # not usable yet
    result = nb.call("GET", "credentials/status")
    assert {name for name, ready in result["configured"].items() if ready} == {"openai", "groq"}
    sources = {"openai": "environment", "groq": "database", "mistral": "database"}
    assert result["source"] == dict.fromkeys(PROVIDERS, "none") | sources
    nb.credential(provider="openai")  # takes precedence over the environment
    assert nb.call("GET", "credentials/status")["source"]["openai"] == "database"


def test_model_without_credential_uses_the_oldest(nb, provider):
    first, second = nb.credential(), nb.credential("another-key-1234")
    assert nb.call("GET", "credentials") == [first, second]
    model = nb.model(credential=None)
    assert nb.tested(model)["success"] is True
    nb.tested(nb.model(credential=second["id"]))  # which is not the oldest
    nb.call("DELETE", f"credentials/{first['id']}")
    assert nb.tested(model)["success"] is False
    sent = [chat.headers["authorization"] for chat in provider.chats()]
    assert sent == [f"Bearer {nb.KEY}", *["Bearer another-key-1234"] * 2]


def test_credential_precedes_environment_key(nb, provider, other):
    other.requests.clear()
    model = nb.model(name="gpt-4o", provider="openai", credential=None)
    assert nb.tested(model)["success"] is True
    (request,) = other.chats()
    assert request.headers["authorization"] == f"Bearer {nb.ENVIRONMENT_KEY}"
    assert request.body["model"] == "gpt-4o"
    nb.credential(provider="openai")
    assert nb.tested(model)["success"] is True
    assert len(other.chats()) == len(provider.chats()) == 1


def test_tasks_use_the_environment_key(nb, other):
    other.requests.clear()
    model = nb.model("embedding", "text-embedder", provider="openai", credential=None)
    nb.call("PUT", "models/defaults", {"embedding": model["id"]})
    nb.call("POST", "sources", json={"text": "Lactose is a sugar.", "process_async": False})
    result = nb.call("POST", "search", {"query": "sugar", "search_type": "vector"})
    assert result["results"]
    sent = {embedding.headers["authorization"] for embedding in other.embeddings()}
    assert sent == {f"Bearer {nb.ENVIRONMENT_KEY}"}


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("ftp://models.example/v1", "address"),
        ("models.example", "address"),
        ("http://", "address"),
        ("http://user:secret@models.example/v1", "password"),
        ("http://models.example/v1?key=1", "query"),
        ("http://2852039166/v1", "link-local"),
        ("http://0xa9.254.43518/", "link-local"),
    ],
)
def test_invalid_base_url_is_refused(nb, base_url, expected):
    body = {"provider": "openai_compatible", "name": "x", "base_url": base_url}
    message = nb.error(400, "POST", "credentials", body)
    assert expected in message
    assert "secret@" not in message
    created = nb.credential()
    assert expected in nb.error(400, "PUT", f"credentials/{created['id']}", {"base_url": base_url})
    assert nb.call("GET", f"credentials/{created['id']}") == created


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"provider": "nobody", "name": "x"}, "openrouter"),
        ({"provider": "built-in", "name": "x"}, "need no credential"),
        ({"provider": "openai"}, "name"),
        ({"provider": "openai_compatible", "name": "x"}, "needs an address"),
        ({"provider": "openai", "name": "x", "api_key": "two words 12"}, "key is invalid"),
        ({"provider": "openai", "name": "x", "api_key": "line\r\nend"}, "key is invalid"),
        ({"provider": "openai", "name": "x", "api_key": "k" * 10_001}, "key is invalid"),
        ({"provider": "openai", "name": "x", "api_key": 123456789}, "api_key"),
    ],
)
def test_invalid_credential_is_refused(nb, body, expected):
    message = nb.error(400, "POST", "credentials", body)
    assert expected in message
    assert str(body.get("api_key") or "\0") not in message


def test_credential_provider_cannot_change(nb):
    created = nb.credential()
    message = nb.error(400, "PUT", f"credentials/{created['id']}", {"provider": "groq"})
    assert "Add another one." in message


def test_stored_key_is_not_sent_to_another_server(nb, provider):
    created = nb.credential(name="lab")
    path, other = f"credentials/{created['id']}", "http://models.example:8000/v1"
    provider_url = provider.base_url
    secure = provider_url.replace("http:", "https:")
    for base_url in (other, secure, provider_url.replace("127.0.0.1", "localhost")):
        message = nb.error(400, "PUT", path, {"base_url": base_url, "name": "x"})
        assert "another server" in message
        assert "send it together with the address" in message
    assert nb.call("GET", path) == created
    assert nb.call("PUT", path, {"base_url": f"{provider_url}/"})["base_url"] == provider_url
    assert nb.call("PUT", path, {"base_url": f"{provider_url}/more"})["has_api_key"] is True
    response = nb.call("PUT", path, {"base_url": other, "api_key": "another-key-1234"})
    assert (response["base_url"], response["has_api_key"]) == (other, True)
    without = nb.call("PUT", path, {"base_url": provider_url, "api_key": None})
    assert (without["base_url"], without["has_api_key"]) == (provider_url, False)
    assert nb.call("PUT", path, {"base_url": other})["base_url"] == other


def test_credential_of_vertex_ai_without_a_key_is_refused_when_it_is_used(nb):
    body = {"name": "Vertex", "provider": "google", "project": "p"}
    created = nb.call("POST", "credentials", body)
    test = nb.call("POST", f"credentials/{created['id']}/test")
    assert test["success"] is False
    assert "Vertex AI" in test["message"]
    assert "key of the Gemini API" in test["message"]


def test_credential_options_are_stored_and_cleared(nb):
    options = {"modalities": ["llm", "tts"], "api_version": "2024-10-21", "num_ctx": 16_384}
    options |= {"project": "p", "location": "europe-west1", "credentials_path": "/secrets/key.json"}
    created = nb.credential(**options)
    path = f"credentials/{created['id']}"
    assert {name: created[name] for name in options} == options
    assert created["endpoint_llm"] is None
    changed = nb.call("PUT", path, {"num_ctx": None, "location": "us"})
    assert (changed["num_ctx"], changed["location"], changed["project"]) == (None, "us", "p")
    nb.error(400, "PUT", path, {"num_ctx": 0})
    nb.error(400, "PUT", path, {"endpoint_stt": "no address"})
    assert nb.call("GET", path) == changed


@pytest.mark.parametrize("name", ["endpoint_llm", "endpoint_tts"])
def test_stored_key_is_not_sent_to_another_endpoint(nb, provider, name):
    path = f"credentials/{nb.credential(name='lab')['id']}"
    other = "http://models.example:8000/v1"
    assert "another server" in nb.error(400, "PUT", path, {name: other})
    assert nb.call("PUT", path, {name: f"{provider.base_url}/more"})["has_api_key"] is True
    assert nb.call("PUT", path, {name: other, "api_key": "another-key-1234"})[name] == other


def test_provider_key_is_bound_to_the_provider_server(nb):
    created = nb.credential(provider="groq", base_url=None)
    path = f"credentials/{created['id']}"
    nb.error(400, "PUT", path, {"base_url": "http://127.0.0.1:1/v1"})
    own = "https://API.groq.com:443/openai/v1"
    assert nb.call("PUT", path, {"base_url": own})["base_url"] == own
    assert nb.call("PUT", path, {"base_url": None})["base_url"] is None


def test_base_url_null_restores_the_provider_address(nb):
    created = nb.credential(provider="groq")
    path = f"credentials/{created['id']}"
    nb.error(400, "PUT", path, {"base_url": None})
    assert nb.call("PUT", path, {"base_url": None, "api_key": None})["base_url"] is None
    path = f"credentials/{nb.credential()['id']}"
    assert "needs an address" in nb.error(400, "PUT", path, {"base_url": None})


def test_credential_test_lists_models_of_its_server(nb, provider):
    created = nb.credential()
    result = nb.call("POST", f"credentials/{created['id']}/test")
    assert result["success"] is True
    assert "4 models: talker" in result["message"]
    assert provider.requests[0].path == "/models"
    assert provider.requests[0].headers["authorization"] == f"Bearer {nb.KEY}"


def test_unreachable_server_fails_the_test(nb):
    with openai_server.serving() as deleted:
        base_url = deleted.base_url
    created = nb.credential(base_url=base_url)
    result = nb.call("POST", f"credentials/{created['id']}/test")
    assert (result["success"], result["provider"]) == (False, "openai_compatible")
    assert "can't be reached" in result["message"]
    assert "can't be reached" in nb.error(502, "POST", f"credentials/{created['id']}/discover")


def test_discovered_models_are_registered_once(nb, provider):
    created = nb.credential()
    path = f"credentials/{created['id']}"
    provider.models = ["talker", "bge-m3"]
    result = nb.call("POST", f"{path}/discover")
    assert (result["credential_id"], result["provider"]) == (created["id"], "openai_compatible")
    types = {item["name"]: item["model_type"] for item in result["discovered"]}
    assert types == {"talker": "llm", "bge-m3": "embedding"}
    body = {"models": [{"name": name, "model_type": kind} for name, kind in types.items()]}
    assert nb.call("POST", f"{path}/register-models", body) == {"created": 2, "existing": 0}
    assert nb.call("POST", f"{path}/register-models", body) == {"created": 0, "existing": 2}
    existing = nb.call("GET", "models/by-provider/openai_compatible")
    assert {(item["name"], item["type"], item["credential"]) for item in existing} == {
        (name, kind, created["id"]) for name, kind in types.items()
    }


@pytest.mark.parametrize(
    ("name", "address"),
    [("lmstudio", "http://localhost:1234/v1"), ("vllm", "http://localhost:8000/v1")],
)
def test_local_servers_need_neither_address_nor_key(nb, provider, name, address):
    assert registry.PROVIDERS[name].base_url == address
    assert nb.credential(key=None, provider=name, base_url=None)["base_url"] is None
    provider.key = None
    created = nb.credential(key=None, provider=name)
    provider.models = ["qwen3-8b", "nomic-embed-text"]
    discovered = nb.call("POST", f"credentials/{created['id']}/discover")["discovered"]
    types = {item["name"]: item["model_type"] for item in discovered}
    assert types == {"qwen3-8b": "llm", "nomic-embed-text": "embedding"}
    for model, kind in types.items():
        identifier = nb.model(kind, model, provider=name, credential=created["id"])["id"]
        assert nb.call("POST", f"models/{identifier}/test")["success"] is True
    assert "authorization" not in provider.requests[-1].headers


@pytest.mark.parametrize(
    "models", [["talker"], [{"name": "talker"}], [{"name": "a", "model_type": "language"}], None, 7]
)
def test_invalid_model_list_is_refused(nb, models):
    created = nb.credential()
    nb.error(400, "POST", f"credentials/{created['id']}/register-models", {"models": models})
    assert nb.call("GET", "models/by-provider/openai_compatible") == []


@given(
    key=st.text(max_size=40) | st.text("abc123-_/+= \r\n", max_size=40),
    base_url=st.text(max_size=30) | st.from_regex(r"https?://[a-z0-9.:\[\]@%-]{0,20}(/v1)?"),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arbitrary_key_and_base_url_are_stored_or_refused(nb, key, base_url):
    body = {"provider": "openai", "name": "any", "api_key": key, "base_url": base_url}
    response = nb.post("credentials", body)
    assert response.status_code in (200, 400)
    if response.status_code == 200:
        assert response.json()["base_url"].startswith("http")
        assert key == key.strip()
    elif len(key) > 12:
        assert key not in response.json()["detail"]

"""Providers, and the registry of models, their slots and encrypted keys."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from starlette.exceptions import HTTPException

from labext.actions import Action
from labext.redaction import mask
from labext.sandbox.core.data_folder import DataFolder
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.host_process import host_environment
from labext.sandbox.nb import addresses
from labext.sandbox.nb.errors import ServiceError
from labext.sandbox.nb.models import service
from labext.sandbox.nb.providers import (
    calls,
    minilm,
    provider_keys,
    provider_variables,
    registry,
    servers,
    transport,
)
from labext.sandbox.nb.providers.provider_keys import decrypt_key
from labext.sandbox.nb.providers.registry import PROVIDERS, guess_model_type
from labext.sandbox.nb.tables import Credential, DefaultModel, Model, SeedMarker

KEY = "correct-horse-battery-staple"
METADATA = [IPv4Address(n) for n in ("192.0.0.192", "168.63.129.16", "100.100.100.200")]


def test_provider_table_matches_environment_variables():
    assert tuple(PROVIDERS) == provider_variables.PROVIDERS
    assert "GROQ_API_KEY" in provider_variables.provider_variables()
    for names in PROVIDERS.values():
        assert set(names.kinds) <= set(registry.MODEL_TYPES)
        if names.base_url is not None:
            assert addresses.check_base_url(names.base_url) == names.base_url


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gpt-4o-mini", "llm"),
        ("deepseek/deepseek-r1", "llm"),
        ("nomic-embed-text:v1.5", "embedding"),
        ("BAAI/bge-m3", "embedding"),
        ("intfloat/multilingual-e5-large", "embedding"),
        ("all-minilm:latest", "embedding"),
        ("whisper-large-v3-turbo", "stt"),
        ("gpt-4o-transcribe", "stt"),
        ("playai-tts-arabic", "tts"),
        ("omni-moderation-latest", None),
        ("mistral-ocr-latest", None),
        ("dall-e-3", None),
        ("gpt-image-1", None),
        ("", "llm"),
    ],
)
def test_model_type_is_guessed_from_the_name(name, kind):
    assert guess_model_type(name) == kind


@given(st.text(max_size=60))
def test_arbitrary_name_has_a_type_or_none(name):
    assert guess_model_type(name) in (*registry.MODEL_TYPES, None)


@given(
    st.ip_addresses(v=4) | st.sampled_from(METADATA),
    st.sampled_from(["{}", "[::ffff:{}]", "[64:ff9b::{}]"]),
)
def test_numeric_address_is_refused_if_link_local_or_metadata(address, form):
    url = f"http://{form.format(address)}/v1"
    if address.is_link_local or address in METADATA:
        with pytest.raises(HTTPException):
            addresses.check_base_url(url)
    else:
        assert addresses.check_base_url(f"{url}/") == url


def test_host_that_resolves_to_a_refused_address_gets_no_request(
    site, provider, add_model, monkeypatch
):
    by_name = provider.base_url.replace("127.0.0.1", "localhost")
    monkeypatch.setattr(transport, "is_refused_ip", lambda number: number == "127.0.0.1")
    with pytest.raises(HTTPException, match="metadata service"):
        calls.list_models(servers.server_of_model(site, add_model(key=KEY, base_url=by_name)))
    assert provider.requests == []


@pytest.mark.parametrize("proxied", [False, True])
def test_stored_metadata_address_gets_no_request(site, provider, add_model, monkeypatch, proxied):
    """An earlier version accepted it; it must not be sent to a proxy either."""
    if proxied:
        monkeypatch.setenv("http_proxy", provider.base_url.removesuffix("/v1"))
    model = add_model(key=KEY, base_url="http://100.100.100.200/v1")
    with pytest.raises(HTTPException, match="metadata service"):
        calls.list_models(servers.server_of_model(site, model))
    assert provider.requests == []


@pytest.mark.parametrize(
    ("message", "ready"),
    [
        ({"OPENAI_API_KEY": "sk-1234567"}, {"openai"}),
        ({"OPENAI_API_KEY": " "}, set()),
        ({"OPENAI_API_KEY": "two words 12"}, set()),
        ({"OPENAI_BASE_URL": "http://localhost:1/v1"}, set()),
        ({"OLLAMA_BASE_URL": "http://localhost:1/v1", "OLLAMA_API_KEY": "abcdef"}, {"ollama"}),
        ({"OPENAI_COMPATIBLE_API_KEY": "abcdef"}, set()),
        ({"OPENAI_COMPATIBLE_BASE_URL": "http://localhost:1/v1"}, {"openai_compatible"}),
        ({"OLLAMA_BASE_URL": "http://169.254.169.254/v1"}, set()),
        ({"SOME_OTHER_API_KEY": "abcdef"}, set()),
    ],
)
def test_environment_status_reports_usable_providers(site, message, ready):
    provider_keys.store_environment(site, message)
    status = provider_keys.environment_status(site)
    assert {name for name, names in status.items() if names} == ready


def test_environment_key_is_kept_encrypted_until_the_next_start(site):
    provider_keys.store_environment(site, {"OPENAI_API_KEY": KEY})
    stored = site.secrets / "nb_providers"
    assert KEY.encode() not in stored.read_bytes()
    assert stored.stat().st_mode & 0o077 == 0
    result = provider_keys.provider_from_environment(site, PROVIDERS["openai"])
    assert result is not None
    assert (result.base_url, result.key) == ("https://api.openai.com/v1", KEY)
    assert KEY not in repr(result)
    assert KEY not in mask(f"It is {KEY}.")
    (site.secrets / "nb_encryption").unlink()
    assert provider_keys.provider_from_environment(site, PROVIDERS["openai"]) is None
    provider_keys.store_environment(site, {})
    assert not stored.exists()


def test_host_environment_has_only_provider_keys(tmp_path, monkeypatch):
    monkeypatch.setenv("GROQ_API_KEY", "gsk-1")
    monkeypatch.setenv("CLOUD_SECRET_KEY", "of-no-use")
    result = host_environment(DataFolder(tmp_path))
    assert result["GROQ_API_KEY"] == "gsk-1"
    assert "CLOUD_SECRET_KEY" not in result


def test_auto_assign_names_slots_without_a_model(site):
    with site.database.write() as session:
        for slot in ("embedding", "text_to_speech"):
            session.delete(session.get_one(DefaultModel, slot))
        session.delete(session.get_one(Model, registry.ESPEAK))
        session.flush()
        result = service.assign_defaults(session, site)
    assert result["assigned"] == {"embedding": registry.MINILM}
    assert result["missing"] == ["text_to_speech"]


def test_missing_secrets_folder_is_reported(site, tmp_path):
    from labext.sandbox.nb.providers import provider_keys

    (tmp_path / "secrets").rmdir()
    assert provider_keys.is_encryption_configured(site) is False
    provider_keys.store_environment(site, {"OPENAI_API_KEY": KEY})
    assert provider_keys.provider_from_environment(site, PROVIDERS["openai"]) is None


def slots(site: Site) -> dict[str, str]:
    with site.database.read() as session:
        return {row.slot: row.model_id for row in session.scalars(select(DefaultModel))}


def seed_again(site: Site) -> None:
    with site.database.write() as session:
        registry.seed_models(session)


def _forget_everything(site: Site) -> None:
    """The state before the first start."""
    with site.database.write() as session:
        for table in (DefaultModel, Model, SeedMarker):
            for row in session.scalars(select(table)):
                session.delete(row)
            session.flush()


def test_built_in_models_fill_the_slots_at_first_start(site):
    texts = dict.fromkeys(("chat", "transformation", "podcast", "summary"), registry.EXTRACTIVE)
    assert slots(site) == {
        **texts,
        "embedding": registry.MINILM,
        "text_to_speech": registry.ESPEAK,
        "speech_to_text": registry.POCKETSPHINX,
    }
    with site.database.read() as session:
        assert all(registry.is_built_in(model) for model in session.scalars(select(Model)))
        extractive = registry.get_default_model(session, "chat")
        assert extractive is not None
        assert extractive.name == "extractive"


@pytest.mark.parametrize("late", [False, True])
def test_installed_flite_fills_the_speech_slot(site, monkeypatch, late):
    if not late:
        _forget_everything(site)
    monkeypatch.setattr("shutil.which", lambda _name: "/somewhere/flite")
    seed_again(site)
    assert slots(site)["text_to_speech"] == registry.FLITE


def test_missing_packages_leave_speech_slots_empty(site, monkeypatch):
    _forget_everything(site)
    monkeypatch.setattr(registry, "find_spec", lambda _name: None)
    monkeypatch.setattr("shutil.which", lambda _name: None)
    seed_again(site)
    assert not {"text_to_speech", "speech_to_text"} & set(slots(site))


def test_changed_slots_survive_the_next_start(site):
    with site.database.write() as session:
        session.delete(session.get_one(DefaultModel, "embedding"))
        session.flush()
        session.delete(session.get_one(Model, registry.MINILM))
        session.delete(session.get_one(DefaultModel, "chat"))
        session.merge(DefaultModel(slot="summary", model_id=registry.EXTRACTIVE))
    seed_again(site)
    assert "chat" not in slots(site)
    with site.database.read() as session:
        assert session.get(Model, registry.MINILM) is None


def test_embedding_slot_is_filled_once_minilm_is_installed(site, monkeypatch):
    _forget_everything(site)
    with monkeypatch.context() as patch:
        patch.setattr(minilm, "is_installed", lambda: False)
        seed_again(site)
    assert "embedding" not in slots(site)
    seed_again(site)
    assert slots(site)["embedding"] == registry.MINILM


def test_key_of_another_secret_is_422(site, add_model):
    model = add_model(key=KEY)
    (site.secrets / "nb_encryption").unlink()
    with site.database.read() as session:
        credential = session.get_one(Credential, model.credential_id)
    with pytest.raises(ServiceError) as caught:
        decrypt_key(site, credential)
    assert caught.value.status_code == 422
    assert caught.value.action == Action.set_key("the provider")

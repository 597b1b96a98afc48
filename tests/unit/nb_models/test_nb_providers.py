"""Providers: their table, types guessed from names, the environment, and addresses."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from labext.redaction import mask
from labext.sandbox.daemon import environment as host_environment
from labext.sandbox.nb.models import (
    environment,
    exchange,
    locating,
    openai,
    providers,
    ranking,
    registry,
    steps,
    variables,
)
from labext.sandbox.nb.models.guessing import kind_of
from labext.sandbox.nb.store import Default, Model
from labext.sandbox.service import Site

KEY = "correct-horse-battery-staple"
METADATA = [IPv4Address(n) for n in ("192.0.0.192", "168.63.129.16", "100.100.100.200")]


def test_the_table_has_those_that_the_environment_can_name() -> None:
    assert tuple(providers.PROVIDERS) == variables.PROVIDERS
    assert "GROQ_API_KEY" in variables.every()
    for known in providers.PROVIDERS.values():
        assert set(known.kinds) <= set(registry.KINDS)
        if known.base_url is not None:
            assert locating.checked(known.base_url) == known.base_url


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gpt-4o-mini", "llm"),
        ("mistral-small-latest", "llm"),
        ("llama3.2:3b", "llm"),
        ("deepseek/deepseek-r1", "llm"),
        ("text-embedding-3-small", "embedding"),
        ("nomic-embed-text:v1.5", "embedding"),
        ("mistral-embed", "embedding"),
        ("BAAI/bge-m3", "embedding"),
        ("intfloat/multilingual-e5-large", "embedding"),
        ("all-minilm:latest", "embedding"),
        ("whisper-large-v3-turbo", "stt"),
        ("gpt-4o-transcribe", "stt"),
        ("tts-1-hd", "tts"),
        ("gpt-4o-mini-tts", "tts"),
        ("playai-tts-arabic", "tts"),
        ("omni-moderation-latest", None),
        ("mistral-ocr-latest", None),
        ("dall-e-3", None),
        ("gpt-image-1", None),
        ("", "llm"),
    ],
)
def test_a_type_is_guessed_from_the_words_of_a_name(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


@given(st.text(max_size=60))
def test_every_name_has_a_type_or_none(name: str) -> None:
    assert kind_of(name) in (*registry.KINDS, None)


@given(
    st.ip_addresses(v=4) | st.sampled_from(METADATA),
    st.sampled_from(["{}", "[::ffff:{}]", "[64:ff9b::{}]"]),
)
def test_a_numeric_address_is_refused_if_link_local_or_metadata(address: Any, form: str) -> None:
    url = f"http://{form.format(address)}/v1"
    if address.is_link_local or address in METADATA:
        with pytest.raises(HTTPException):
            locating.checked(url)
    else:
        assert locating.checked(f"{url}/") == url


def test_a_name_that_resolves_to_a_refused_address_is_sent_nothing(
    site: Site, provider: Any, add_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = provider.base_url.replace("127.0.0.1", "localhost")
    monkeypatch.setattr(exchange, "is_refused", lambda number: number == "127.0.0.1")
    with pytest.raises(HTTPException, match="metadata service"):
        openai.listed(openai.provider_of(site, add_model(key=KEY, base_url=named)))
    assert provider.asked == []


@pytest.mark.parametrize("proxied", [False, True])
def test_a_stored_metadata_address_is_sent_nothing(
    site: Site, provider: Any, add_model: Any, monkeypatch: pytest.MonkeyPatch, proxied: bool
) -> None:
    """An earlier version accepted it; a proxy must not be asked for it either."""
    if proxied:
        monkeypatch.setenv("http_proxy", provider.base_url.removesuffix("/v1"))
    model = add_model(key=KEY, base_url="http://100.100.100.200/v1")
    with pytest.raises(HTTPException, match="metadata service"):
        openai.listed(openai.provider_of(site, model))
    assert provider.asked == []


@pytest.mark.parametrize(
    ("said", "ready"),
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
def test_the_environment_is_told_as_it_is(
    site: Site, said: dict[str, str], ready: set[str]
) -> None:
    environment.take(site, said)
    assert {name for name, known in environment.status(site).items() if known} == ready


def test_a_key_of_the_environment_is_kept_encrypted_until_the_next_start(site: Site) -> None:
    environment.take(site, {"OPENAI_API_KEY": KEY})
    kept = site.secrets / "nb_providers"
    assert KEY.encode() not in kept.read_bytes()
    assert kept.stat().st_mode & 0o077 == 0
    found = environment.given(site, providers.PROVIDERS["openai"])
    assert found is not None
    assert (found.base_url, found.key) == ("https://api.openai.com/v1", KEY)
    assert KEY not in repr(found)
    assert KEY not in mask(f"It is {KEY}.")
    (site.secrets / "nb_encryption").unlink()
    assert environment.given(site, providers.PROVIDERS["openai"]) is None
    environment.take(site, {})
    assert not kept.exists()


def test_of_keys_the_host_has_those_of_providers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-1")
    monkeypatch.setenv("CLOUD_SECRET_KEY", "of-no-use")
    found = host_environment()
    assert found["GROQ_API_KEY"] == "gsk-1"
    assert "CLOUD_SECRET_KEY" not in found


def test_auto_assign_names_slots_without_a_model(site: Site) -> None:
    with site.database.write() as session:
        for slot in ("embedding", "text_to_speech"):
            session.delete(session.get_one(Default, slot))
        session.delete(session.get_one(Model, registry.ESPEAK))
        session.flush()
        found = ranking.assigned(session, site)
    assert found["assigned"] == {"embedding": registry.WORDLLAMA}
    assert found["missing"] == ["text_to_speech"]


def test_a_name_stands_in_a_line_as_it_is_read_there() -> None:
    assert steps.set_slot("chat", "lab") == "`%nb models defaults --set chat=lab`"
    assert steps.new_key('my "own" lab') == "`%nb credentials edit 'my \"own\" lab' --new-key`"


def test_a_missing_secrets_folder_is_told(site: Site, tmp_path: Path) -> None:
    from labext.sandbox.nb.models import encryption

    (tmp_path / "secrets").rmdir()
    assert encryption.is_configured(site) is False
    environment.take(site, {"OPENAI_API_KEY": KEY})
    assert environment.given(site, providers.PROVIDERS["openai"]) is None

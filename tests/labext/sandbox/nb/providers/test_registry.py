"""The registry of models, their slots, and encrypted keys."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from labext.actions import Action
from labext.redaction import mask
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.errors import ServiceError
from labext.sandbox.nb.providers import minilm, registry
from labext.sandbox.nb.providers.provider_keys import decrypt_key, encrypt_key
from labext.sandbox.nb.tables import Credential, DefaultModel, Model, SeedMarker

KEY = "correct-horse-battery-staple"


def slots(site: Site) -> dict[str, str]:
    with site.database.read() as session:
        return {row.slot: row.model_id for row in session.scalars(select(DefaultModel))}


def seed_again(site: Site) -> None:
    with site.database.write() as session:
        registry.seed_models(session)


def _forget_everything(site: Site) -> None:
    """As before the first start."""
    with site.database.write() as session:
        for table in (DefaultModel, Model, SeedMarker):
            for row in session.scalars(select(table)):
                session.delete(row)
            session.flush()


def test_built_in_models_fill_the_slots_at_first_start(site: Site) -> None:
    assert slots(site) == {
        "chat": registry.EXTRACTIVE,
        "transformation": registry.EXTRACTIVE,
        "podcast": registry.EXTRACTIVE,
        "summary": registry.EXTRACTIVE,
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
def test_installed_flite_fills_the_speech_slot(
    site: Site, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    if not late:
        _forget_everything(site)
    monkeypatch.setattr("shutil.which", lambda _name: "/somewhere/flite")
    seed_again(site)
    assert slots(site)["text_to_speech"] == registry.FLITE


def test_missing_packages_leave_speech_slots_empty(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    _forget_everything(site)
    monkeypatch.setattr(registry, "find_spec", lambda _name: None)
    monkeypatch.setattr("shutil.which", lambda _name: None)
    seed_again(site)
    assert not {"text_to_speech", "speech_to_text"} & set(slots(site))


def test_changed_slots_survive_the_next_start(site: Site) -> None:
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


def test_embedding_slot_is_filled_once_minilm_is_installed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    _forget_everything(site)
    with monkeypatch.context() as patch:
        patch.setattr(minilm, "is_installed", lambda: False)
        seed_again(site)
    assert "embedding" not in slots(site)
    seed_again(site)
    assert slots(site)["embedding"] == registry.MINILM


def test_requested_model_precedes_the_slot(site: Site, add_model: Any) -> None:
    other = add_model()
    with site.database.read() as session:
        assert registry.select_model(session, "chat").id == registry.EXTRACTIVE
        assert registry.select_model(session, "chat", other.id).id == other.id


@pytest.mark.parametrize(
    ("requested", "status", "expected"),
    [("model:nobody", 404, "model:nobody"), (registry.MINILM, 422, "type embedding")],
)
def test_unknown_or_unsuitable_model_is_refused(
    site: Site, requested: str, status: int, expected: str
) -> None:
    with site.database.read() as session, pytest.raises(ServiceError) as caught:
        registry.select_model(session, "chat", requested)
    assert caught.value.status_code == status
    assert expected in caught.value.detail


def test_empty_slot_is_422_with_an_action(site: Site) -> None:
    with site.database.write() as session:
        session.delete(session.get_one(DefaultModel, "speech_to_text"))
    with site.database.read() as session, pytest.raises(ServiceError) as caught:
        registry.select_model(session, "speech_to_text")
    assert caught.value.status_code == 422
    assert caught.value.action == Action.set_model("speech_to_text")


def test_key_is_encrypted_at_rest_and_masked_once_read(
    site: Site, add_model: Any, tmp_path: Path
) -> None:
    model = add_model(key=KEY)
    with site.database.read() as session:
        credential = session.get_one(Credential, model.credential_id)
    assert decrypt_key(site, credential) == KEY
    assert KEY not in mask(f"It is {KEY}.")
    dump = "\n".join(sqlite3.connect(tmp_path / "db.sqlite").iterdump())
    assert credential.id in dump
    assert KEY not in dump
    assert KEY.encode().hex().upper() not in dump.upper()
    assert encrypt_key(site, KEY) != encrypt_key(site, KEY)


def test_key_of_another_secret_is_422(site: Site, add_model: Any) -> None:
    model = add_model(key=KEY)
    (site.secrets / "nb_encryption").unlink()
    with site.database.read() as session:
        credential = session.get_one(Credential, model.credential_id)
    with pytest.raises(ServiceError) as caught:
        decrypt_key(site, credential)
    assert caught.value.status_code == 422
    assert caught.value.action == Action.set_key("the provider")


def test_missing_key_is_none(site: Site, add_model: Any) -> None:
    model = add_model()
    with site.database.read() as session:
        assert decrypt_key(site, session.get_one(Credential, model.credential_id)) is None

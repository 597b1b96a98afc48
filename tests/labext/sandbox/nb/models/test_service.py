"""The operations on models, with a provider that records requests."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai_server
import pytest
import requests

pytestmark = pytest.mark.contract


def test_model_create_list_delete(nb: Any) -> None:
    created = nb.model("tts", "speaker")
    assert set(created) == {
        *("id", "name", "provider", "type", "credential", "created_at", "updated_at")
    }
    assert (created["name"], created["type"]) == ("speaker", "tts")
    assert created["provider"] == "openai_compatible"
    assert created in nb.call("GET", "models")
    assert created in nb.call("GET", "models?model_type=tts")
    assert created not in nb.call("GET", "models?model_type=llm")
    assert nb.call("GET", "models/by-provider/openai_compatible") == [created]
    counted = nb.call("GET", "models/count/openai_compatible")
    assert counted["counts"] == {"llm": 0, "embedding": 0, "stt": 0, "tts": 1}
    assert counted["total"] == 1
    assert "speaker" in nb.call("DELETE", f"models/{created['id']}")["message"]
    nb.error(404, "DELETE", f"models/{created['id']}")
    assert created not in nb.call("GET", "models")


def test_duplicate_model_of_a_credential_is_refused(nb: Any) -> None:
    created = nb.model(name="twin")
    same = {key: created[key] for key in ("name", "provider", "type", "credential")}
    assert "already" in nb.error(400, "POST", "models", same)
    nb.call("POST", "models", same | {"credential": nb.credential()["id"]})
    nb.call("POST", "models", same | {"type": "embedding"})
    nb.call("POST", "models", same | {"credential": None})
    assert "already" in nb.error(400, "POST", "models", same | {"credential": None})


@pytest.mark.parametrize(
    ("change", "status", "expected"),
    [
        ({"type": "language"}, 400, "type"),
        ({"name": " "}, 400, "name"),
        ({"provider": "nobody"}, 400, "openrouter"),
        ({"provider": "built-in"}, 400, "built-in"),
        ({"credential": "credential:nobody"}, 404, "credential:nobody"),
        ({"provider": "groq"}, 400, "is for openai_compatible"),
    ],
)
def test_invalid_model_is_refused(nb: Any, change: Any, status: int, expected: str) -> None:
    body = {"name": "m", "provider": "openai_compatible", "type": "llm"}
    if "credential" not in change:
        body["credential"] = nb.credential()["id"]
    assert expected in nb.error(status, "POST", "models", body | change)


def test_model_test_sends_key_model_and_prompt(nb: Any, provider: Any) -> None:
    result = {
        kind: nb.tested(nb.model(kind, f"a-{kind}")) for kind in ("llm", "embedding", "tts", "stt")
    }
    assert all(item["success"] for item in result.values()), result
    chat, embedding, speech, hearing = provider.requests
    assert [request.path for request in provider.requests] == [
        *("/chat/completions", "/embeddings", "/audio/speech", "/audio/transcriptions")
    ]
    sent = {request.headers["authorization"] for request in provider.requests}
    assert sent == {f"Bearer {nb.KEY}"}
    models = [request.body["model"] for request in provider.requests]
    assert models == ["a-llm", "a-embedding", "a-tts", "a-stt"]
    assert "Hello" in chat.text
    assert "Hello" in embedding.body["input"][0]
    assert "Hello" in speech.body["input"]
    assert hearing.files["file.wav"].startswith(b"RIFF")
    assert "Reply of a-llm" in result["llm"]["message"]
    assert result["embedding"]["details"]["dimensions"] == openai_server.DIMENSIONS
    assert "bytes of sound" in result["stt"]["message"]


@pytest.mark.parametrize("kind", ["llm", "embedding", "tts", "stt"])
def test_failed_model_test_reports_the_provider_message(nb: Any, provider: Any, kind: str) -> None:
    model = nb.model(kind)
    provider.faults = [openai_server.too_many("7")]
    result = nb.tested(model)
    assert result["success"] is False
    assert "429: “Too fast.”. Wait 7 seconds" in result["message"]
    assert "\n" not in result["message"]


def test_model_that_returns_silence_fails_its_test(nb: Any, provider: Any) -> None:
    sound = openai_server.tone("nova", "Hello")
    silence = sound[:44] + bytes(len(sound) - 44)  # all samples are zero
    provider.faults = [openai_server.respond_with(200, silence, "audio/wav")]
    result = nb.tested(nb.model("tts"))
    assert not result["success"]
    assert "returned no sound for “Hello" in result["message"]


def test_failed_test_has_the_next_step_as_an_action(nb: Any, provider: Any) -> None:
    credential = nb.credential()
    model = nb.model(credential=credential["id"])
    gone = openai_server.respond_with(404, {"error": {"message": "The model was not found."}})
    provider.faults = [gone]
    name = credential["name"]
    assert nb.tested(model)["action"] == {"kind": "discover_models", "credential": name}
    provider.faults = [openai_server.respond_with(401, {"error": {"message": "Wrong key."}})]
    result = nb.call("POST", f"credentials/{credential['id']}/test")
    assert result["action"] == {"kind": "set_key", "credential": name}
    assert nb.tested(model)["action"] is None


def test_disconnect_cancels_a_model_test(nb: Any, provider: Any) -> None:
    hold = provider.held()
    provider.faults = [hold]
    model = nb.model()

    def ask() -> None:
        with pytest.raises(requests.Timeout):
            nb.session.post(f"{nb.base}/models/{model['id']}/test", timeout=0.5)

    thread = threading.Thread(target=ask)
    thread.start()
    assert hold.entered.wait(30)
    thread.join()
    assert provider.client_left.wait(30)


@pytest.mark.parametrize("model", ["extractive", "all-minilm-l6-v2", "espeak-ng", "pocketsphinx"])
def test_built_in_models_pass_their_test(nb: Any, model: str) -> None:
    result = nb.call("POST", f"models/model:{model}/test")
    assert result["success"] is True, result
    assert result["details"]["seconds"] >= 0
    if model == "espeak-ng":
        assert result["details"]["spoken"] > 0.5


def test_service_answers_while_many_titles_of_notes_are_awaited(nb: Any, provider: Any) -> None:
    nb.call("PUT", "models/defaults", {"summary": nb.model()["id"]})
    held = [provider.held() for _ in range(45)]  # more than the threads for requests
    provider.faults = [*held]
    with ThreadPoolExecutor(len(held)) as pool:
        body = {"content": "Cells grew.", "note_type": "ai"}
        created = [pool.submit(nb.call, "POST", "notes", body) for _ in held]
        try:
            assert all(hold.entered.wait(30) for hold in held)
            assert requests.get(f"{nb.root}/api/config", timeout=30).ok
        finally:
            for hold in held:
                hold.release.set()
    notes = [item.result() for item in created]
    assert {note["title"] for note in notes} == {"Reply after a wait"}
    for note in notes:  # other tests count the vectors
        nb.call("DELETE", f"notes/{note['id']}")


def test_built_in_model_cannot_be_deleted(nb: Any) -> None:
    nb.call("PUT", "models/defaults", {"text_to_speech": None})
    assert "can't be deleted" in nb.error(400, "DELETE", "models/model:espeak-ng")


def test_defaults_are_updated_in_part_and_null_clears(nb: Any) -> None:
    before = nb.call("GET", "models/defaults")
    assert set(before) == set(nb.SLOTS)
    speaker = nb.model("tts")["id"]
    changed = nb.call("PUT", "models/defaults", {"text_to_speech": speaker, "chat": None})
    assert changed == before | {"text_to_speech": speaker, "chat": None}
    assert nb.call("GET", "models/defaults") == changed
    assert nb.call("PUT", "models/defaults", {}) == changed
    assert nb.call("PUT", "models/defaults", {"no_slot": "model:x"}) == changed


def test_wrong_type_or_unknown_model_changes_no_slot(nb: Any) -> None:
    before = nb.call("GET", "models/defaults")
    embedder = nb.model("embedding")["id"]
    body = {"summary": None, "chat": embedder}
    assert "type embedding" in nb.error(422, "PUT", "models/defaults", body)
    body = {"summary": None, "chat": "model:nobody"}
    assert "model:nobody" in nb.error(404, "PUT", "models/defaults", body)
    assert nb.call("GET", "models/defaults") == before


def test_model_in_a_slot_cannot_be_deleted(nb: Any) -> None:
    model = nb.model(name="talker")
    nb.call("PUT", "models/defaults", {"chat": model["id"], "summary": model["id"]})
    for path in (f"models/{model['id']}", f"credentials/{model['credential']}"):
        message = nb.error(400, "DELETE", path)
        assert "chat, summary" in message
        assert "set another model first" in message
    assert model in nb.call("GET", "models")


def test_new_embedding_model_embeds_in_the_background(nb: Any, provider: Any) -> None:
    from labext.sandbox.nb.embedding import passage_vectors
    from labext.sandbox.nb.text import passages

    length = passages.MAX_LENGTH * (passage_vectors.MAX_FOREGROUND_PASSAGES + 1)
    sentence = "Arabinose is a sugar. "
    note = nb.note(sentence * (length // len(sentence) + 1))["id"]
    model = nb.model("embedding", "embedder")
    call = threading.Event()
    provider.vector = lambda text: (call.set(), openai_server.bag_of_words(text))[1]
    nb.call("PUT", "models/defaults", {"embedding": model["id"]})
    assert call.wait(60)  # no search was made
    request = provider.embeddings()[0]
    assert request.headers["authorization"] == f"Bearer {nb.KEY}"
    assert request.body["model"] == "embedder"
    assert "Arabinose" in request.body["input"][0]
    nb.call("DELETE", f"notes/{note}")


def test_concurrent_updates_of_defaults_are_atomic(nb: Any) -> None:
    models = [nb.model()["id"] for _ in range(4)]
    slots = [slot for slot, kind in nb.SLOTS.items() if kind == "llm"]

    def put(model: str) -> Any:
        return nb.call("PUT", "models/defaults", dict.fromkeys(slots, model))

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(put, models * 3))
    for result in [*answers, nb.call("GET", "models/defaults")]:
        assert len({result[slot] for slot in slots}) == 1


def test_concurrent_creation_stores_one_model(nb: Any) -> None:
    body = {"name": "racer", "provider": "openai_compatible", "type": "llm"}
    body["credential"] = nb.credential()["id"]
    with ThreadPoolExecutor(4) as pool:
        result = [*pool.map(lambda _: nb.post("models", body).status_code, range(8))]
    assert sorted(result) == [200, *[400] * 7]
    assert len(nb.call("GET", "models/by-provider/openai_compatible")) == 1


def test_providers_report_which_are_available(nb: Any) -> None:
    result = nb.call("GET", "models/providers")
    assert result["available"] == ["openai", "built-in"]  # by the environment, and always
    assert set(result["supported_types"]) == {*result["available"], *result["unavailable"]}
    nb.credential()
    result = nb.call("GET", "models/providers")
    assert result["available"] == ["openai", "openai_compatible", "built-in"]
    assert result["supported_types"]["deepseek"] == ["llm"]


def test_discovery_guesses_types_from_names(nb: Any, provider: Any) -> None:
    nb.credential()
    provider.models = ["talker", "gpt-image-1"]
    result = nb.call("GET", "models/discover/openai_compatible")
    types = [(item["name"], item["model_type"]) for item in result]
    assert types == [("talker", "llm"), ("gpt-image-1", None)]
    assert provider.requests[0].headers["authorization"] == f"Bearer {nb.KEY}"
    assert nb.call("GET", "models/by-provider/openai_compatible") == []


def test_sync_adds_new_models_once_and_keeps_types(nb: Any, provider: Any) -> None:
    credential = nb.credential()["id"]
    nb.model("embedding", "talker", credential=credential)
    provider.models = ["talker", "tts-1", "gpt-image-1"]
    first = nb.call("POST", "models/sync/openai_compatible")
    assert first == {"provider": "openai_compatible", "discovered": 3, "new": 1, "existing": 1}
    again = nb.call("POST", "models/sync/openai_compatible")
    assert again == first | {"new": 0, "existing": 2}
    existing = nb.call("GET", "models/by-provider/openai_compatible")
    types = sorted((item["name"], item["type"]) for item in existing)
    assert types == [("talker", "embedding"), ("tts-1", "tts")]
    assert {item["credential"] for item in existing} == {credential}


def test_sync_of_all_reports_failures_per_provider(nb: Any, provider: Any, other: Any) -> None:
    nb.credential(provider="groq")
    provider.faults = [openai_server.respond_with(503, {"error": "Overloaded."})]
    other.models = ["gpt-4o"]
    result = nb.call("POST", "models/sync")
    assert set(result["results"]) == {"openai", "groq", "built-in"}
    assert "Overloaded." in result["results"]["groq"]["error"]
    assert result["results"]["openai"]["new"] == 1
    assert result["total_new"] == 1
    assert result["total_discovered"] == 1 + result["results"]["built-in"]["discovered"]


def test_provider_429_is_returned_with_retry_after(nb: Any, provider: Any) -> None:
    credential = nb.credential()["id"]
    provider.faults = [openai_server.too_many("7")]
    answer = nb.request("POST", f"credentials/{credential}/discover")
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "7"
    assert "Too fast." in answer.json()["detail"]


@pytest.mark.parametrize(("method", "path"), [("GET", "discover"), ("POST", "sync")])
def test_unusable_provider_is_refused(nb: Any, method: str, path: str) -> None:
    assert "Add a credential." in nb.error(422, method, f"models/{path}/mistral")


def test_unknown_provider_is_400(nb: Any) -> None:
    for path in ("count", "by-provider", "discover"):
        assert "no provider" in nb.error(400, "GET", f"models/{path}/nobody")
    assert "no provider" in nb.error(400, "POST", "models/sync/nobody")


def test_auto_assign_fills_empty_slots_by_rank(nb: Any) -> None:
    mine = nb.model(name="mine")["id"]
    groq = nb.credential(provider="groq")["id"]
    better = nb.model(name="better", provider="groq", credential=groq)["id"]
    nb.model(name="unreachable", provider="mistral", credential=None)
    empty = {"chat": None, "embedding": None, "text_to_speech": None, "summary": mine}
    before = nb.call("PUT", "models/defaults", empty)
    result = nb.call("POST", "models/auto-assign")
    assert result["assigned"]["chat"] == better
    assert result["assigned"]["embedding"] == "model:all-minilm-l6-v2"
    assert result["assigned"]["text_to_speech"] in ("model:flite", "model:espeak-ng")
    assert set(result["skipped"]) == {slot for slot, model in before.items() if model}
    assert result["missing"] == []
    assert nb.call("GET", "models/defaults") == before | result["assigned"]
    again = nb.call("POST", "models/auto-assign")
    assert again == {"assigned": {}, "skipped": list(nb.SLOTS), "missing": []}


def test_cli_sets_the_embedding_model_like_the_endpoint(nb: Any, provider: Any) -> None:
    from labext.sandbox.nb.administration import open_administration
    from labext.sandbox.nb.embedding import passage_vectors

    nb.note("Galactose is a sugar.")
    with open_administration(nb.box.data_dir) as admin:
        created = admin.add_model("by-hand", "embedding", provider.base_url, nb.KEY)
        assert nb.tested(created)["success"] is True
        calls: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                passage_vectors,
                "queue_if_due",
                lambda session, _site: calls.append(session.is_active),
            )
            admin.set_default("embedding", "by-hand")
        assert calls == [True]  # in its transaction
    assert nb.call("GET", "models/defaults")["embedding"] == created["id"]
    (credential,) = nb.call("GET", "credentials")
    assert credential["model_count"] == 1

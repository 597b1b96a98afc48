"""The operations of the group Models, against a provider that records."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai_server
import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.contract

SLOTS = {
    "chat": "llm",
    "transformation": "llm",
    "embedding": "embedding",
    "speech_to_text": "stt",
    "text_to_speech": "tts",
    "podcast": "llm",
    "summary": "llm",
}


def test_a_model_is_made_listed_by_its_type_and_deleted(nb: Any) -> None:
    made = nb.model("tts", "speaker")
    assert set(made) == {
        *("id", "name", "provider", "type", "credential", "created_at", "updated_at")
    }
    assert (made["name"], made["type"], made["provider"]) == ("speaker", "tts", "openai_compatible")
    assert made in nb.told("GET", "models")
    assert made in nb.told("GET", "models?model_type=tts")
    assert made not in nb.told("GET", "models?model_type=llm")
    assert nb.told("GET", "models/by-provider/openai_compatible") == [made]
    counted = nb.told("GET", "models/count/openai_compatible")
    assert counted["counts"] == {"llm": 0, "embedding": 0, "stt": 0, "tts": 1}
    assert counted["total"] == 1
    assert "speaker" in nb.told("DELETE", f"models/{made['id']}")["message"]
    nb.refused(404, "DELETE", f"models/{made['id']}")
    assert made not in nb.told("GET", "models")


def test_the_same_model_twice_is_refused_and_another_credentials_is_not(nb: Any) -> None:
    made = nb.model(name="twin")
    same = {key: made[key] for key in ("name", "provider", "type", "credential")}
    assert "already" in nb.refused(400, "POST", "models", same)
    nb.told("POST", "models", same | {"credential": nb.credential()["id"]})
    nb.told("POST", "models", same | {"type": "embedding"})
    nb.told("POST", "models", same | {"credential": None})
    assert "already" in nb.refused(400, "POST", "models", same | {"credential": None})


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        ({"type": "language"}, 400, "type"),
        ({"name": " "}, 400, "name"),
        ({"provider": "nobody"}, 400, "openrouter"),
        ({"provider": "built-in"}, 400, "built-in"),
        ({"credential": "credential:nobody"}, 404, "credential:nobody"),
        ({"provider": "groq"}, 400, "is for openai_compatible"),
    ],
)
def test_a_model_that_can_not_be_is_refused(nb: Any, change: Any, status: int, told: str) -> None:
    body = {"name": "m", "provider": "openai_compatible", "type": "llm"}
    if "credential" not in change:
        body["credential"] = nb.credential()["id"]
    assert told in nb.refused(status, "POST", "models", body | change)


def test_a_test_asks_each_type_by_the_stored_key_the_model_and_a_prompt(
    nb: Any, provider: Any
) -> None:
    said = {
        kind: nb.tested(nb.model(kind, f"a-{kind}")) for kind in ("llm", "embedding", "tts", "stt")
    }
    assert all(each["success"] for each in said.values()), said
    chat, embedding, speech, hearing = provider.asked
    assert [each.path for each in provider.asked] == [
        *("/chat/completions", "/embeddings", "/audio/speech", "/audio/transcriptions")
    ]
    assert {each.headers["authorization"] for each in provider.asked} == {f"Bearer {nb.KEY}"}
    models = [each.body["model"] for each in provider.asked]
    assert models == ["a-llm", "a-embedding", "a-tts", "a-stt"]
    assert "Hello" in chat.text
    assert "Hello" in embedding.body["input"][0]
    assert "Hello" in speech.body["input"]
    assert hearing.files["file.wav"].startswith(b"RIFF")
    assert "Reply of a-llm" in said["llm"]["message"]
    assert said["embedding"]["details"]["dimensions"] == openai_server.DIMENSIONS
    assert "bytes of sound" in said["stt"]["message"]


@pytest.mark.parametrize("kind", ["llm", "embedding", "tts", "stt"])
@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (openai_server.echoes_key(401), "401"),
        (openai_server.says(429, {"error": {"message": "Too fast."}}), "429: “Too fast.”. Wait"),
        (openai_server.says(500, {"error": "Out of memory."}), "Out of memory."),
        (openai_server.cut, "closed the connection"),
        (openai_server.says(200, "<html>Hi</html>", "text/html"), "OpenAI-compatible"),
    ],
    ids=["401", "429", "500", "cut", "nonsense"],
)
def test_a_test_that_fails_is_an_answer_with_the_providers_words(
    nb: Any, provider: Any, kind: str, trouble: Any, told: str
) -> None:
    model = nb.model(kind)
    provider.troubles = [trouble]
    said = nb.tested(model)
    assert said["success"] is False
    assert told in said["message"]
    assert "\n" not in said["message"]


def test_a_key_that_is_not_accepted_says_what_to_type(nb: Any) -> None:
    wrong = nb.credential("the-wrong-key-1234", name="my lab")
    said = nb.tested(nb.model(credential=wrong["id"]))
    assert "give it another" in said["message"]
    assert "the-wrong-key" not in said["message"]


def test_a_client_that_leaves_ends_the_test(nb: Any, provider: Any) -> None:
    held = provider.held()
    provider.troubles = [held]
    model = nb.model()

    def ask() -> None:
        with pytest.raises(requests.Timeout):
            nb.api.session.post(f"{nb.api.base}/models/{model['id']}/test", timeout=0.5)

    thread = threading.Thread(target=ask)
    thread.start()
    assert held.entered.wait(30)
    thread.join()
    assert provider.left.wait(30)


@pytest.mark.parametrize("model", ["extractive", "wordllama", "espeak-ng", "pocketsphinx"])
def test_the_built_in_models_are_tested_for_real(nb: Any, model: str) -> None:
    said = nb.told("POST", f"models/model:{model}/test")
    assert said["success"] is True, said
    assert said["details"]["seconds"] >= 0
    if model == "espeak-ng":
        assert said["details"]["spoken"] > 0.5


def test_a_built_in_model_stays(nb: Any) -> None:
    nb.told("PUT", "models/defaults", {"text_to_speech": None})
    assert "can't be deleted" in nb.refused(400, "DELETE", "models/model:espeak-ng")


def test_defaults_change_in_part_and_null_clears(nb: Any) -> None:
    before = nb.told("GET", "models/defaults")
    assert set(before) == set(SLOTS)
    speaker = nb.model("tts")["id"]
    changed = nb.told("PUT", "models/defaults", {"text_to_speech": speaker, "chat": None})
    assert changed == before | {"text_to_speech": speaker, "chat": None}
    assert nb.told("GET", "models/defaults") == changed
    assert nb.told("PUT", "models/defaults", {}) == changed
    assert nb.told("PUT", "models/defaults", {"no_slot": "model:x"}) == changed


def test_a_model_of_another_type_or_none_changes_no_slot(nb: Any) -> None:
    before = nb.told("GET", "models/defaults")
    embedder = nb.model("embedding")["id"]
    body = {"summary": None, "chat": embedder}
    assert "type embedding" in nb.refused(422, "PUT", "models/defaults", body)
    body = {"summary": None, "chat": "model:nobody"}
    assert "model:nobody" in nb.refused(404, "PUT", "models/defaults", body)
    assert nb.told("GET", "models/defaults") == before


def test_a_model_in_a_slot_is_not_deleted_and_the_refusal_says_what_to_do(nb: Any) -> None:
    model = nb.model(name="talker")
    nb.told("PUT", "models/defaults", {"chat": model["id"], "summary": model["id"]})
    for path in (f"models/{model['id']}", f"credentials/{model['credential']}"):
        said = nb.refused(400, "DELETE", path)
        assert "chat, summary" in said
        assert "set another model first" in said
    assert model in nb.told("GET", "models")


def test_another_embedding_model_gets_its_vectors_in_the_background(nb: Any, provider: Any) -> None:
    from labext.sandbox.nb.embedding import passage_vectors
    from labext.sandbox.nb.text import segmentation

    words = segmentation.MAX_WORDS * (passage_vectors.MAX_FOREGROUND_PASSAGES + 1)
    note = nb.api.note("Arabinose is a sugar. " * (words // 4 + 1))["id"]
    model = nb.model("embedding", "embedder")
    asked = threading.Event()
    provider.vector = lambda text: (asked.set(), openai_server.bag_of_words(text))[1]
    nb.told("PUT", "models/defaults", {"embedding": model["id"]})
    assert asked.wait(60)  # nobody has searched
    request = provider.embeddings()[0]
    assert request.headers["authorization"] == f"Bearer {nb.KEY}"
    assert request.body["model"] == "embedder"
    assert "Arabinose" in request.body["input"][0]
    nb.told("DELETE", f"notes/{note}")


def test_puts_at_once_leave_one_of_them_whole(nb: Any) -> None:
    models = [nb.model()["id"] for _ in range(4)]
    slots = [slot for slot, kind in SLOTS.items() if kind == "llm"]

    def put(model: str) -> Any:
        return nb.told("PUT", "models/defaults", dict.fromkeys(slots, model))

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(put, models * 3))
    for found in [*answers, nb.told("GET", "models/defaults")]:
        assert len({found[slot] for slot in slots}) == 1


def test_the_same_model_made_at_once_is_there_once(nb: Any) -> None:
    body = {"name": "racer", "provider": "openai_compatible", "type": "llm"}
    body["credential"] = nb.credential()["id"]
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda _: nb.api.post("models", body).status_code, range(8))]
    assert sorted(found) == [200, *[400] * 7]
    assert len(nb.told("GET", "models/by-provider/openai_compatible")) == 1


def test_providers_tell_which_can_be_asked(nb: Any) -> None:
    found = nb.told("GET", "models/providers")
    assert found["available"] == ["openai", "built-in"]  # by the environment, and always
    assert set(found["supported_types"]) == {*found["available"], *found["unavailable"]}
    nb.credential()
    found = nb.told("GET", "models/providers")
    assert found["available"] == ["openai", "openai_compatible", "built-in"]
    assert found["supported_types"]["deepseek"] == ["llm"]


def test_what_a_provider_has_is_told_with_types_by_its_names(nb: Any, provider: Any) -> None:
    nb.credential()
    provider.models = ["talker", "nomic-embed-text", "tts-1-hd", "whisper-1", "gpt-image-1"]
    found = nb.told("GET", "models/discover/openai_compatible")
    assert [(each["name"], each["model_type"]) for each in found] == [
        ("talker", "llm"),
        ("nomic-embed-text", "embedding"),
        ("tts-1-hd", "tts"),
        ("whisper-1", "stt"),
        ("gpt-image-1", None),
    ]
    assert provider.asked[0].headers["authorization"] == f"Bearer {nb.KEY}"
    assert nb.told("GET", "models/by-provider/openai_compatible") == []


def test_a_sync_adds_what_is_new_once_and_keeps_given_types(nb: Any, provider: Any) -> None:
    credential = nb.credential()["id"]
    nb.model("embedding", "talker", credential=credential)
    provider.models = ["talker", "tts-1", "gpt-image-1"]
    first = nb.told("POST", "models/sync/openai_compatible")
    assert first == {"provider": "openai_compatible", "discovered": 3, "new": 1, "existing": 1}
    again = nb.told("POST", "models/sync/openai_compatible")
    assert again == first | {"new": 0, "existing": 2}
    there = nb.told("GET", "models/by-provider/openai_compatible")
    assert {(each["name"], each["type"]) for each in there} == {
        ("talker", "embedding"),
        ("tts-1", "tts"),
    }
    assert {each["credential"] for each in there} == {credential}


def test_a_sync_of_all_tells_who_failed_and_keeps_the_others(
    nb: Any, provider: Any, other: Any
) -> None:
    nb.credential(provider="groq")
    provider.troubles = [openai_server.says(503, {"error": "Overloaded."})]
    other.models = ["gpt-4o"]
    found = nb.told("POST", "models/sync")
    assert set(found["results"]) == {"openai", "groq", "built-in"}
    assert "Overloaded." in found["results"]["groq"]["error"]
    assert found["results"]["openai"]["new"] == 1
    assert found["total_new"] == 1
    assert found["total_discovered"] == 1 + found["results"]["built-in"]["discovered"]


def test_a_429_of_the_provider_is_answered_with_its_retry_after(nb: Any, provider: Any) -> None:
    credential = nb.credential()["id"]
    provider.troubles = [openai_server.too_many("7")]
    answer = nb.api.ask("POST", f"credentials/{credential}/discover")
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "7"
    assert "Too fast." in answer.json()["detail"]


@pytest.mark.parametrize("path", ["discover/{}", "sync/{}"])
def test_a_provider_that_can_not_be_asked_is_refused(nb: Any, path: str) -> None:
    method = "GET" if path.startswith("discover") else "POST"
    said = nb.refused(422, method, f"models/{path.format('mistral')}")
    assert "Add a credential." in said
    assert "no provider" in nb.refused(400, method, f"models/{path.format('nobody')}")


@pytest.mark.parametrize("path", ["count/nobody", "by-provider/nobody"])
def test_an_unknown_provider_is_400(nb: Any, path: str) -> None:
    assert "no provider" in nb.refused(400, "GET", f"models/{path}")


def test_empty_slots_get_the_first_of_the_ranking(nb: Any) -> None:
    mine = nb.model(name="mine")["id"]
    groq = nb.credential(provider="groq")["id"]
    better = nb.model(name="better", provider="groq", credential=groq)["id"]
    nb.model(name="unreachable", provider="mistral", credential=None)
    empty = {"chat": None, "embedding": None, "text_to_speech": None, "summary": mine}
    before = nb.told("PUT", "models/defaults", empty)
    found = nb.told("POST", "models/auto-assign")
    assert found["assigned"]["chat"] == better
    assert found["assigned"]["embedding"] == "model:wordllama"
    assert found["assigned"]["text_to_speech"] in ("model:flite", "model:espeak-ng")
    assert set(found["skipped"]) == {slot for slot, model in before.items() if model}
    assert found["missing"] == []
    assert nb.told("GET", "models/defaults") == before | found["assigned"]
    again = nb.told("POST", "models/auto-assign")
    assert again == {"assigned": {}, "skipped": list(SLOTS), "missing": []}


@given(
    body=st.dictionaries(
        st.sampled_from(["name", "provider", "type", "credential", "x"]),
        st.one_of(
            st.none(), st.integers(), st.text(max_size=30), st.sampled_from(["openai", "llm"])
        ),
    )
)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_body_is_taken_or_refused_in_one_sentence(nb: Any, body: Any) -> None:
    response = nb.api.post("models", body)
    assert response.status_code in (200, 400, 404)


@given(body=st.dictionaries(st.sampled_from([*SLOTS, "x"]), st.none() | st.text(max_size=20)))
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_defaults_are_taken_or_refused_in_one_sentence(nb: Any, body: Any) -> None:
    before = nb.told("GET", "models/defaults")
    response = nb.api.put("models/defaults", body)
    after = nb.told("GET", "models/defaults")
    if response.status_code == 200:
        assert after == before | {slot: None for slot in body if slot in SLOTS}
    else:
        assert response.status_code in (400, 404)
        assert after == before


def test_the_command_line_sets_the_embedding_model_as_the_route_does(
    nb: Any, provider: Any
) -> None:
    from labext.sandbox.nb.administration import open_administration
    from labext.sandbox.nb.embedding import passage_vectors

    nb.api.note("Galactose is a sugar.")
    with open_administration(nb.box.data_dir) as admin:
        made = admin.add_model("by-hand", "embedding", provider.base_url, nb.KEY)
        assert nb.tested(made)["success"] is True
        asked: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                passage_vectors,
                "queue_if_due",
                lambda session, _site: asked.append(session.is_active),
            )
            admin.set_default("embedding", "by-hand")
        assert asked == [True]  # in its transaction
    assert nb.told("GET", "models/defaults")["embedding"] == made["id"]
    (credential,) = nb.told("GET", "credentials")
    assert credential["model_count"] == 1

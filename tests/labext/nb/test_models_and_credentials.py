"""Requests about models, credentials and profiles, and invalid ones that are not sent."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import InputError, NotFoundError, ServiceError
from labext.nb import NotebookClient
from labext.nb.models import validate_slot
from labext.nb.podcasts import validate_speakers

KEY = "a-key-like-no-other-1729"


class EchoService:
    """A service that echoes records as stored, and lists those in `listed`."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.listed: dict[str, Any] = {}
        self.failure: str | None = None

    def send(self, request: Any, on_bytes: Any = None) -> Any:
        if request.op.method == "GET":
            return self.listed.get(request.op.path, [])
        if self.failure is not None:
            raise ServiceError(self.failure, "Check it.")
        self.sent.append(request.json)
        return {"id": "thing:1", **(request.json or {})}


@pytest.fixture
def service() -> EchoService:
    return EchoService()


@pytest.fixture
def nb(service: EchoService, monkeypatch: pytest.MonkeyPatch) -> NotebookClient:
    client = NotebookClient("http://127.0.0.1:1/api", rate=None, backend="contract")
    monkeypatch.setattr(client._executor, "send", service.send)
    return client


def test_unknown_question_option_is_a_type_error(service, nb):
    with pytest.raises(TypeError, match="limt"):
        nb.ask("Why?", limt=5)
    assert service.sent == []


class TestKeys:
    def test_key_is_stripped(self, service, nb):
        nb.credentials.create("openai", "lab", f" {KEY}\n", "http://127.0.0.1:1/v1")
        assert service.sent == [
            {
                "provider": "openai",
                "name": "lab",
                "api_key": KEY,
                "base_url": "http://127.0.0.1:1/v1",
            }
        ]

    @pytest.mark.parametrize("key", ["", "  \n", 7, b"bytes"])
    def test_empty_key_is_rejected(self, service, nb, key):
        with pytest.raises(InputError, match="The key is empty"):
            nb.credentials.create("openai", "lab", key)
        assert service.sent == []

    def test_empty_value_clears_a_field(self, service, nb):
        nb.credentials.update("credential:1", api_key="", base_url="")
        nb.credentials.update("credential:1", name="home")
        assert service.sent == [{"api_key": None, "base_url": None}, {"name": "home"}]
        with pytest.raises(InputError, match="No changes to the credential"):
            nb.credentials.update("credential:1")

    @pytest.mark.parametrize("before", ["https://models.example/v1", None])
    def test_stored_key_is_never_sent_to_another_server(self, service, nb, before):
        stored = {"id": "credential:1", "name": "lab", "provider": "openai", "has_api_key": True}
        service.listed["credentials/{credential}"] = stored | {"base_url": before}
        for other in (
            "https://other.example/v1",
            "http://models.example/v1",
            "https://models.example:8/",
        ):
            with pytest.raises(InputError, match="another server") as caught:
                nb.credentials.update("credential:1", base_url=other)
            assert "api_key=" in caught.value.next_step
        assert service.sent == []
        nb.credentials.update("credential:1", base_url=other, api_key=KEY)
        nb.credentials.update("credential:1", base_url=other, api_key="")
        nb.credentials.update("credential:1", base_url=before and f"{before}/more", name="home")
        assert len(service.sent) == 3

    def test_url_of_a_credential_without_a_key_can_change(self, service, nb):
        stored = {"id": "credential:1", "name": "lab", "provider": "ollama", "has_api_key": False}
        service.listed["credentials/{credential}"] = stored
        nb.credentials.update("credential:1", base_url="http://localhost:1/v1")
        assert service.sent == [{"base_url": "http://localhost:1/v1"}]


class TestSlots:
    @pytest.mark.parametrize("slot", ["text_to_speech", "Text-to-Speech", " text_to_speech "])
    def test_slot_name_is_normalized(self, slot):
        assert validate_slot(slot) == "text_to_speech"

    def test_unknown_slot_suggests_the_known_ones(self):
        with pytest.raises(InputError, match='did you mean "embedding"') as caught:
            validate_slot("embeding")
        assert "chat, transformation, embedding" in caught.value.next_step

    def test_slot_takes_the_model_of_its_type(self, service, nb):
        models = [
            {"id": f"model:{type}", "name": "all", "provider": "ollama", "type": type}
            for type in ("llm", "tts")
        ]
        service.listed["models"] = models[1:]  # as `?model_type=tts` answers
        slots = nb.models.set_defaults({"text-to-speech": "all", "chat": None})
        assert service.sent == [{"text_to_speech": "model:tts", "chat": None}]
        assert slots["text_to_speech"] is not None
        assert slots["text_to_speech"]["name"] == "all"
        assert slots["podcast"] is None

    def test_deleted_model_remains_visible_in_its_slot(self, service, nb):
        slots = nb.models.set_defaults({"chat": "model:gone"})
        assert slots["chat"] == {"id": "model:gone"} | dict.fromkeys(
            ["name", "provider", "type", "credential", "created_at", "updated_at"]
        )

    def test_empty_requests_are_not_sent(self, service, nb):
        with pytest.raises(InputError, match="No slot"):
            nb.models.set_defaults({})
        with pytest.raises(NotFoundError, match="no model"):
            nb.models.set_defaults({"chat": "nobody"})
        with pytest.raises(InputError, match="No models were given"):
            nb.credentials.register_models("credential:1", [])
        with pytest.raises(InputError, match="text is empty"):
            nb.transformations.execute("transformation:1", " \n")
        assert service.sent == []


class TestSpeakers:
    def test_one_or_several_speakers(self, service, nb):
        nb.speaker_profiles.create("host", {"name": "Ada"})
        nb.speaker_profiles.create("pair", [{"name": "Ada"}, {"name": "Max"}])
        assert [request["speakers"] for request in service.sent] == [
            [{"name": "Ada"}],
            [{"name": "Ada"}, {"name": "Max"}],
        ]

    @pytest.mark.parametrize(
        ("speakers", "message"),
        [
            ([], "No speakers"),
            ([{}], "no name"),
            ([{"name": " "}], "no name"),
            (["Ada"], "no name"),
            ([{"name": "Ada", "voice": "x"}], "did you mean"),
        ],
    )
    def test_invalid_speaker_is_rejected(self, speakers, message):
        with pytest.raises(InputError, match=message) as caught:
            validate_speakers(speakers)
        assert caught.value.next_step

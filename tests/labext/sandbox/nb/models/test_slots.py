"""Each default slot is used for its own purpose only, as a provider sees it."""

from __future__ import annotations

import json
from typing import Any

import openai_server
import pytest
from waiting import wait_until

pytestmark = pytest.mark.contract

OUTLINE = {"segments": [{"name": "Sugars", "description": "Two of them.", "size": "short"}]}
DIALOGUE = {"transcript": [{"speaker": "Ada", "dialogue": "Lactose is a sugar."}]}


class Slots:
    """A service with a model for each slot, named like the slot."""

    def __init__(self, nb: Any, provider: Any) -> None:
        self.nb, self._provider = nb, provider
        credential = nb.credential()["id"]
        models = {name: nb.model(t, name, credential=credential) for name, t in nb.SLOTS.items()}
        nb.call("PUT", "models/defaults", {slot: item["id"] for slot, item in models.items()})
        provider.requests.clear()

    def used_models(self) -> list[str]:
        """Return the models requested since the last call, in order, after checking the key."""
        result, self._provider.requests = self._provider.requests, []
        assert {item.headers["authorization"] for item in result} <= {f"Bearer {self.nb.KEY}"}
        return [*dict.fromkeys(item.body["model"] for item in result)]


@pytest.fixture
def slots(nb: Any, provider: Any) -> Slots:
    return Slots(nb, provider)


def test_text_and_embedding_slots_use_their_models(slots: Slots) -> None:
    nb = slots.nb
    notebook = nb.notebook()
    assert nb.note("Lactose is a sugar.", note_type="ai", notebook_id=notebook)["title"]
    assert slots.used_models() == ["summary"]

    by_name = {item["name"]: item["id"] for item in nb.call("GET", "transformations")}
    body = {"transformation_id": by_name["Summary"], "input_text": "Lactose is a sugar."}
    assert nb.call("POST", "transformations/execute", body)["output"] == "Reply of transformation."
    assert slots.used_models() == ["transformation"]

    nb.call("POST", "search", {"query": "sugar", "search_type": "vector"})
    assert slots.used_models() == ["embedding"]

    session = nb.call("POST", "chat/sessions", {"notebook_id": notebook, "title": "Sugars"})["id"]
    context = {"include_sources": True, "include_notes": True}
    body = {"session_id": session, "message": "What is lactose?", "context": context}
    nb.call("POST", "chat/execute", body)
    assert set(slots.used_models()) - {"embedding"} == {"chat"}
    nb.call("POST", "search/ask/simple", {"question": "What is lactose?"})
    assert set(slots.used_models()) - {"embedding"} == {"chat"}


def test_speech_to_text_slot_transcribes_audio(slots: Slots, provider: Any) -> None:
    provider.transcribe = lambda _content: "Lactose is a sugar."
    file = ("talk.wav", openai_server.tone("alto", "Lactose."), "audio/wav")
    form = {"process_async": "false"}
    created = slots.nb.call("POST", "sources", files={"file": file}, data=form)
    assert created["status"] == "completed"
    assert "Lactose is a sugar." in created["full_text"]
    # Its insight is made by a transformation, and its passages have vectors.
    assert set(slots.used_models()) == {"speech_to_text", "transformation", "embedding"}


def test_podcast_slots_write_and_speak_an_episode(slots: Slots, provider: Any) -> None:
    nb, written = slots.nb, iter([OUTLINE, DIALOGUE])
    provider.replies = lambda _body: json.dumps(next(written))
    notebook = nb.notebook()
    nb.note("Lactose is a sugar.", title="Sugars", notebook_id=notebook)
    speakers = {"name": nb.name(), "speakers": [{"name": "Ada"}]}
    profile = {"name": nb.name(), "num_segments": 1}
    order = {
        "notebook_id": notebook,
        "episode_profile_id": nb.call("POST", "episode-profiles", profile)["id"],
        "speaker_profile_ids": [nb.call("POST", "speaker-profiles", speakers)["id"]],
    }
    job = nb.call("POST", "podcasts/generate", order)["job_id"]
    wait_until(lambda: nb.call("GET", f"podcasts/jobs/{job}")["status"] == "completed", 60)
    assert slots.used_models() == ["podcast", "text_to_speech"]

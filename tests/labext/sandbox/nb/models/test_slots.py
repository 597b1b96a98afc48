"""Each default slot is used by what it is for, and by nothing else: asked of a provider."""

from __future__ import annotations

import json
import time
from typing import Any

import openai_server
import pytest

pytestmark = pytest.mark.contract

TYPES = {
    "chat": "llm",
    "transformation": "llm",
    "embedding": "embedding",
    "speech_to_text": "stt",
    "text_to_speech": "tts",
    "podcast": "llm",
    "summary": "llm",
}
"""The seven slots (contract, Default models), and the type of model that each takes."""
OUTLINE = {"segments": [{"name": "Sugars", "description": "Two of them.", "size": "short"}]}
DIALOGUE = {"transcript": [{"speaker": "Ada", "dialogue": "Lactose is a sugar."}]}


class Slots:
    """A service of which every slot has a model of its own, which is called as the slot is."""

    def __init__(self, nb: Any, provider: Any) -> None:
        self.nb, self._provider = nb, provider
        credential = nb.credential()["id"]
        models = {slot: nb.model(kind, slot, credential=credential) for slot, kind in TYPES.items()}
        nb.told("PUT", "models/defaults", {slot: each["id"] for slot, each in models.items()})
        provider.asked.clear()

    def asked(self) -> list[str]:
        """The models that were asked since the last time, in their order; each with the key."""
        found, self._provider.asked = self._provider.asked, []
        assert {each.headers["authorization"] for each in found} <= {f"Bearer {self.nb.KEY}"}
        return [*dict.fromkeys(each.body["model"] for each in found)]


@pytest.fixture
def slots(nb: Any, provider: Any) -> Slots:
    return Slots(nb, provider)


def test_words_are_written_and_placed_by_the_models_of_their_slots(slots: Slots) -> None:
    nb = slots.nb
    notebook = nb.api.notebook()
    assert nb.api.note("Lactose is a sugar.", note_type="ai", notebook_id=notebook)["title"]
    assert slots.asked() == ["summary"]

    named = {each["name"]: each["id"] for each in nb.told("GET", "transformations")}
    body = {"transformation_id": named["Summary"], "input_text": "Lactose is a sugar."}
    assert nb.told("POST", "transformations/execute", body)["output"] == "Reply of transformation."
    assert slots.asked() == ["transformation"]

    nb.told("POST", "search", {"query": "sugar", "search_type": "vector"})
    assert slots.asked() == ["embedding"]

    session = nb.told("POST", "chat/sessions", {"notebook_id": notebook, "title": "Sugars"})["id"]
    context = {"include_sources": True, "include_notes": True}
    body = {"session_id": session, "message": "What is lactose?", "context": context}
    nb.told("POST", "chat/execute", body)
    assert set(slots.asked()) - {"embedding"} == {"chat"}
    nb.told("POST", "search/ask/simple", {"question": "What is lactose?"})
    assert set(slots.asked()) - {"embedding"} == {"chat"}


def test_a_sound_is_heard_by_the_model_of_its_slot(slots: Slots, provider: Any) -> None:
    provider.hears = lambda _content: "Lactose is a sugar."
    file = ("talk.wav", openai_server.tone("alto", "Lactose."), "audio/wav")
    form = {"process_async": "false"}
    made = slots.nb.api.told("POST", "sources", files={"file": file}, data=form)
    assert made["status"] == "completed"
    assert "Lactose is a sugar." in made["full_text"]
    # Its insight is a transformation's, and its passages have vectors.
    assert set(slots.asked()) == {"speech_to_text", "transformation", "embedding"}


def test_an_episode_is_written_and_spoken_by_the_models_of_their_slots(
    slots: Slots, provider: Any
) -> None:
    nb, written = slots.nb, iter([OUTLINE, DIALOGUE])
    provider.replies = lambda _body: json.dumps(next(written))
    notebook = nb.api.notebook()
    nb.api.note("Lactose is a sugar.", title="Sugars", notebook_id=notebook)
    speakers = {"name": nb.name(), "speakers": [{"name": "Ada"}]}
    profile = {"name": nb.name(), "num_segments": 1}
    order = {
        "notebook_id": notebook,
        "episode_profile_id": nb.told("POST", "episode-profiles", profile)["id"],
        "speaker_profile_ids": [nb.told("POST", "speaker-profiles", speakers)["id"]],
    }
    job = nb.told("POST", "podcasts/generate", order)["job_id"]
    deadline = time.monotonic() + 60
    while (found := nb.told("GET", f"podcasts/jobs/{job}"))["status"] in ("new", "running"):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    assert found["status"] == "completed", found
    assert slots.asked() == ["podcast", "text_to_speech"]

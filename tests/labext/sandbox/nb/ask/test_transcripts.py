"""Recognized speech in searches and answers: marked as rough, and cited only if it is certain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from labext.sandbox.nb.search import index
from labext.sandbox.nb.tables import COMPLETED, Source
from labext.sandbox.nb.text.passages import PassageText

pytestmark = pytest.mark.contract

SURE, UNSURE, UNKNOWN = "source:sure", "source:unsure", "source:unknown"
TEXTS = {
    SURE: ("The turbine was lubricated with sunflower oil.", 0.81),
    UNSURE: ("The harpsichord was tuned by really great irony.", 0.31),
    UNKNOWN: ("The telescope was polished with cerium oxide.", None),
}


@pytest.fixture(scope="module", autouse=True)
def _talks(admin: Any) -> Iterator[None]:
    with admin.database.write() as session:
        for identifier, (text, confidence) in TEXTS.items():
            recognized = {"full_text": text, "status": COMPLETED, "transcribed_by": "ear"}
            session.add(Source(id=identifier, kind="upload", title="Talk", **recognized))
            piece = PassageText(text, confidence=confidence)
            index.index_passages(session, identifier, "Talk", [piece])
    yield
    with admin.database.write() as session:
        index.remove_passages(session, TEXTS)
        for identifier in TEXTS:
            session.delete(session.get(Source, identifier))


def hit(api: Any, query: str, search_type: str) -> Any:
    body = {"query": query, "search_type": search_type, "limit": 1}
    return api.call("POST", "search", body)["results"][0]


@pytest.mark.parametrize("search_type", ["text", "hybrid"])
def test_search_marks_recognized_speech_with_its_confidence(api: Any, search_type: str) -> None:
    unsure = hit(api, "harpsichord tuned", search_type)
    assert (unsure["transcript"], unsure["confidence"]) == (True, 0.31)
    unknown = hit(api, "telescope polished", search_type)
    assert (unknown["transcript"], unknown["confidence"]) == (True, None)
    written = hit(api, "glucose is added to the uninduced culture", search_type)
    assert (written["transcript"], written["confidence"]) == (False, None)


def test_answers_mark_recognized_speech(api: Any) -> None:
    answer = api.simple("What was the turbine lubricated with?")
    assert "Talk (rough transcript, 81 % certain):" in answer["answer"]
    assert [(c["transcript"], c["confidence"]) for c in answer["citations"]] == [(True, 0.81)]
    answer = api.simple("What was the telescope polished with?")
    assert "Talk (rough transcript):" in answer["answer"]


def test_uncertain_speech_is_not_cited(api: Any, served: Any, kit: Any) -> None:
    assert api.simple("How was the harpsichord tuned?")["citations"] == []
    session = api.call("POST", "chat/sessions", {"notebook_id": kit.NOTEBOOK})["id"]
    api.call("POST", f"notebooks/{kit.NOTEBOOK}/sources/{UNSURE}")
    try:
        message = api.say(session, "How was the harpsichord tuned?")[-1]
        assert message["citations"] == []
        served.default("chat", served.add())
        api.say(session, "How was the harpsichord tuned by irony?")
    finally:
        api.call("DELETE", f"notebooks/{kit.NOTEBOOK}/sources/{UNSURE}")
    assert UNSURE not in served.provider.chats()[-1].text


def test_prompt_marks_passages_of_recognized_speech(api: Any, served: Any) -> None:
    served.default("chat", served.add())
    api.simple("What was the turbine lubricated with?")
    assert any("(rough transcript, 81 % certain)" in r.text for r in served.provider.chats())


def test_source_states_the_model_and_the_confidence(api: Any) -> None:
    source = api.call("GET", f"sources/{UNSURE}")
    assert (source["transcribed_by"], source["confidence"]) == ("ear", 0.31)
    written = api.call("GET", "sources/source:paper")
    assert (written["transcribed_by"], written["confidence"]) == (None, None)

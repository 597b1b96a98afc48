"""Words travel from the provider through the service to the client while they are written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import model_servers
import pytest

from labext import NotebookClient
from labext.errors import ServiceError
from labext.nb import Final, Words

pytestmark = pytest.mark.contract

WHY = "Why is glucose added to the uninduced culture?"
MAX_DELAY = 1.0
"""Seconds; about 10 ms are measured, but the machine of a test may be busy."""

Run = Callable[[NotebookClient, Any, Callable[[str], None]], Any]


@pytest.fixture
def talker(served: Any) -> Iterator[model_servers.ModelServer]:
    """A streaming server, whose model is in all slots for language models."""
    with model_servers.serving("openai") as server:
        server.words = ["Glucose ", "keeps expression low ", "[source:paper#1]."]
        server.pause = 0.3
        served.provider.base_url = server.base_url
        model = served.add("talker-1")
        for slot in ("chat", "transformation"):
            served.default(slot, model)
        yield server


@pytest.fixture
def client(box: Any) -> Iterator[NotebookClient]:
    with NotebookClient(box.nb.base_url, box.nb.password) as nb:
        yield nb


def chat(nb: NotebookClient, kit: Any, on_words: Callable[[str], None]) -> Any:
    session = nb.chat.create(kit.NOTEBOOK)["id"]
    return nb.chat.execute(session, WHY, on_words=on_words)


def transform(nb: NotebookClient, kit: Any, on_words: Callable[[str], None]) -> Any:
    prompt = nb.transformations.create("Short", "Shorten it.")["id"]
    return nb.transformations.execute(prompt, kit.TEXTS["source:paper"][1], on_words=on_words)


def ask(nb: NotebookClient, kit: Any, on_words: Callable[[str], None]) -> Any:
    for event in nb.ask_stream(WHY):
        if isinstance(event, Words):
            on_words(event.words)
        elif isinstance(event, Final):
            return event.answer
    return None


@pytest.mark.parametrize("run", [chat, transform, ask], ids=lambda run: run.__name__)
def test_first_words_arrive_when_the_provider_sends_them(
    client: NotebookClient, talker: Any, kit: Any, run: Run
) -> None:
    arrived: list[tuple[float, str]] = []
    result = run(client, kit, lambda words: arrived.append((time.time(), words)))
    delay = arrived[0][0] - talker.sent_at[0]
    print(f"{run.__name__}: {delay * 1000:.0f} ms")
    assert -0.05 < delay < MAX_DELAY
    assert arrived[-1][0] > talker.sent_at[-1] - 0.05
    words = "".join(words for _, words in arrived)
    assert words.startswith("Glucose keeps expression low")
    if run is not transform:
        assert "source:" not in words
        (citation,) = result.citations
        assert citation.id == "source:paper"
        assert result.usage.output_tokens == 3 * (2 if run is ask else 1)  # with the strategy


def test_usage_is_kept_with_the_message(
    client: NotebookClient, api: Any, talker: Any, kit: Any
) -> None:
    talker.pause = 0
    session = client.chat.create(kit.NOTEBOOK)["id"]
    client.chat.execute(session, WHY, on_words=lambda _words: None)
    human, reply = api.call("GET", f"chat/sessions/{session}")["messages"]
    assert human["usage"] is None
    assert reply["usage"] == {"input_tokens": 11, "output_tokens": 3, "cost": 0.002}


@pytest.mark.parametrize("run", [chat, ask], ids=lambda run: run.__name__)
def test_interrupt_ends_the_providers_call_and_stores_nothing(
    client: NotebookClient, talker: Any, kit: Any, run: Run
) -> None:
    talker.words = ["word "] * 1000
    talker.pause = 0.01

    def interrupt(_words: str) -> None:
        raise KeyboardInterrupt

    before = len(client.chat.sessions())
    with pytest.raises(KeyboardInterrupt):
        run(client, kit, interrupt)
    assert talker.client_left.wait(30)
    sessions = client.chat.sessions()
    if run is chat:
        assert len(sessions) == before + 1
        assert min(sessions["message_count"]) == 0


def test_cut_reply_is_an_error_and_stores_nothing(
    client: NotebookClient, talker: Any, kit: Any
) -> None:
    talker.fault = lambda handler: handler.stream(["Glucose "], cut=True)
    words: list[str] = []
    session = client.chat.create(kit.NOTEBOOK)["id"]
    with pytest.raises(ServiceError, match="closed the connection before the end") as caught:
        client.chat.execute(session, WHY, on_words=words.append)
    assert words == ["Glucose"]
    assert "Try again" in str(caught.value)
    assert client.chat.get(session)["messages"] == []


def test_failure_before_the_first_words_keeps_its_status(
    client: NotebookClient, talker: Any, kit: Any
) -> None:
    body = {"error": {"message": "Invalid key."}}
    talker.fault = lambda handler: handler.answer(401, body)
    with pytest.raises(ServiceError, match="Invalid key") as caught:
        chat(client, kit, lambda _words: None)
    assert caught.value.status == 502

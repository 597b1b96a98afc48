"""Operations of Open Notebook beyond the contract, through the client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from open_notebook import Replay, serving
from open_notebook.facts import recordings

from labext import progress
from labext.errors import InputError, JobFailedError, NotReadyError, ServiceError, SetupError
from labext.nb import NotebookClient

pytestmark = pytest.mark.contract

PAPER = "Analyze Paper"
"""A transformation whose insights are named by its title."""


@pytest.fixture(scope="module")
def replay() -> Iterator[Replay]:
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def nb(replay: Replay) -> Iterator[NotebookClient]:
    with NotebookClient(replay.base_url) as client:
        client.notebooks.create("Growth")
        client.sources.add_text(
            "The cell grows at 37 degrees.", "Growth", title="Bench notes", process_async=False
        )
        yield client


@pytest.fixture(autouse=True)
def without_pause_or_fault(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Poll without a pause, and check that no ignored request was sent."""
    monkeypatch.setattr(progress, "interval", lambda _: 0.0)
    yield
    assert replay.faults == []


def bodies(replay: Replay, method: str, path: str) -> list[Any]:
    return [request.body for request in replay.sent(method, path)]


# Settings


def test_settings_update_converts_names_and_types(nb, replay):
    before = nb.settings.get()
    assert before == recordings()["meta.settings"].answer
    after = nb.settings.update(
        {"docling-ocr": "no", "youtube_preferred_languages": "en, de", "auto_delete_files": "no"}
    )
    assert bodies(replay, "PUT", "/settings") == [
        {
            "docling_ocr": False,
            "youtube_preferred_languages": ["en", "de"],
            "auto_delete_files": "no",
        }
    ]
    assert after["youtube_preferred_languages"] == ["en", "de"]
    assert after["docling_formulas"] is before["docling_formulas"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "No changes"),
        ({"docling_oc": True}, 'did you mean "docling_ocr"'),
        ({"docling_ocr": "perhaps"}, "It takes yes or no."),
        ({"docling_ocr": None}, "can't clear the docling ocr"),
        ({"default_embedding_option": "sometimes"}, "It takes ask or always or never."),
        ({"youtube_preferred_languages": " , "}, "at least one value"),
        ({"default_content_processing_engine_doc": ""}, "It takes text."),
    ],
)
def test_invalid_setting_is_not_sent(nb, replay, changes, message):
    before = len(replay.sent("PUT", "/settings"))
    with pytest.raises(InputError) as caught:
        nb.settings.update(changes)
    assert message in str(caught.value)
    assert len(replay.sent("PUT", "/settings")) == before


# Insights


def test_insight_timeout_and_failure(nb, replay):
    replay.state.works = False
    try:
        with pytest.raises(NotReadyError, match=r"Paper Analysis is not ready .* unchanged for"):
            nb.insights.create("Bench notes", PAPER, timeout=0)
        started = nb.insights.start("Bench notes", PAPER)
        replay.state.jobs[started.job].update(status="failed", error_message="The model is away")
        with pytest.raises(JobFailedError, match="has failed: The model is away"):
            nb.insights.wait(started)
    finally:
        replay.state.works = True


# Vectors


def test_missing_embedding_model_prevents_embedding(nb, replay):
    before = replay.state.defaults["default_embedding_model"]
    replay.state.defaults["default_embedding_model"] = None
    count = len(replay.sent("POST", "/embed"))
    try:
        for start in (lambda: nb.embeddings.source("Bench notes"), nb.embeddings.rebuild):
            with pytest.raises(SetupError, match='"embedding": "NAME"'):
                start()
    finally:
        replay.state.defaults["default_embedding_model"] = before
    assert len(replay.sent("POST", "/embed")) == count


# Chats about a source


def test_reply_is_kept_if_the_title_of_its_source_cannot_be_read(nb, monkeypatch):
    source = nb.sources.find("Bench notes")
    chat = nb.source_chats.create(source, "Lost title")["id"]
    send = nb._executor.send

    def send_or_fail(request: Any, *rest: Any) -> Any:
        if request.op.path == "sources/{source}":
            raise ServiceError("The service failed.")
        return send(request, *rest)

    monkeypatch.setattr(nb._executor, "send", send_or_fail)
    reply = nb.source_chats.send(source, chat, "Which strain?")
    assert [(cited.id, cited.title) for cited in reply.citations] == [(source, "")]
    nb.source_chats.delete(source, chat)


# A server of the contract

UNSUPPORTED: list[Callable[[NotebookClient], Any]] = [
    lambda nb: nb.settings.get(),
    lambda nb: nb.settings.update({"docling_ocr": True}),
    lambda nb: nb.commands.list(),
    lambda nb: nb.commands.get("command:1"),
    lambda nb: nb.commands.run("embed_note", {"note_id": "note:1"}),
    lambda nb: nb.commands.run("embed_note", {"note_id": "note:1"}, "open_notebook"),
    lambda nb: nb.commands.cancel("command:1"),
    lambda nb: nb.commands.kinds(),
    lambda nb: nb.insights.delete("source_insight:1"),
    lambda nb: nb.source_chats.list("source:1"),
    lambda nb: nb.source_chats.get("source:1", "chat_session:1"),
    lambda nb: nb.source_chats.create("source:1"),
    lambda nb: nb.source_chats.update("source:1", "chat_session:1", title="It"),
    lambda nb: nb.source_chats.delete("source:1", "chat_session:1"),
    lambda nb: nb.source_chats.send("source:1", "chat_session:1", "Why?"),
    lambda nb: nb.embeddings.source("source:1"),
    lambda nb: nb.embeddings.rebuild(),
    lambda nb: nb.embeddings.status("command:1"),
]


@pytest.mark.parametrize("call", UNSUPPORTED)
def test_contract_server_gets_no_request_for_extensions(call):
    with (
        NotebookClient("http://127.0.0.1:9/api", backend="contract") as nb,
        pytest.raises(InputError, match=r"^This notebook service .*`nb\."),
    ):
        call(nb)

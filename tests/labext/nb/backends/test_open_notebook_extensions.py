"""Operations of Open Notebook beyond the contract, through the client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from open_notebook import Replay, serving
from open_notebook.facts import recordings

from labext import progress
from labext.errors import (
    InputError,
    JobFailedError,
    NotFoundError,
    NotReadyError,
    ServiceError,
    SetupError,
)
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


# Commands


def test_commands_include_source_processing(nb):
    row = nb.commands.list().iloc[0]
    assert (row["subject"], row["command"]) == ("Bench notes", "process_source")
    assert row["status"] == "completed"
    assert nb.commands.list(status="failed").empty
    assert nb.commands.list(command="embed_note").empty
    assert "process_source" in set(nb.commands.kinds()["command"])


def test_command_is_run_and_awaited(nb, replay):
    started = nb.commands.run("embed_note", {"note_id": "note:1"})
    assert bodies(replay, "POST", "/commands/jobs") == [
        {"command": "embed_note", "app": "open_notebook", "input": {"note_id": "note:1"}}
    ]
    assert started["status"] == "submitted"
    done = nb.commands.wait(started["job_id"])
    assert (done["status"], done["command"]) == ("completed", "embed_note")
    assert done["error_message"] is None
    with pytest.raises(InputError, match="did you mean"):
        nb.commands.run("embed_not", {"note_id": "note:1"})
    with pytest.raises(InputError, match="not the identifier of a command"):
        nb.commands.get("source:1")


def test_cancel_returns_the_actual_status(nb, replay):
    job = nb.commands.run("embed_note", {"note_id": "note:1"})["job_id"]
    replay.state.works = False
    try:
        assert nb.commands.cancel(job)["status"] == "new"
    finally:
        replay.state.works = True
    nb.commands.wait(job)
    sent = len(replay.sent("DELETE", f"/commands/jobs/{job}"))
    with pytest.raises(InputError, match="has ended already"):
        nb.commands.cancel(job)
    assert len(replay.sent("DELETE", f"/commands/jobs/{job}")) == sent == 1


# Insights


def test_insight_lifecycle(nb, replay):
    created = nb.insights.create("Bench notes", PAPER)
    assert created["insight_type"] == "Paper Analysis"
    again = nb.insights.create("Bench notes", PAPER, model="fake-chat")
    assert again["id"] != created["id"]
    path = f"/sources/{created['source_id']}/insights"
    transformation = nb.transformations.find(PAPER)
    assert bodies(replay, "POST", path) == [
        {"transformation_id": transformation},
        {"transformation_id": transformation, "model_id": nb.models.find("fake-chat")},
    ]
    frame = nb.insights.list("Growth")
    created_rows = frame[frame["insight_type"] == "Paper Analysis"]
    assert list(created_rows["id"]) == [created["id"], again["id"]]
    assert list(nb.insights.list(sources="Bench notes")["id"]) == list(frame["id"])
    assert {created["id"], again["id"]} <= {*nb.insights.names()}  # their type is not informative
    nb.insights.delete(again["id"])
    assert "Paper Analysis" in nb.insights.names()
    assert nb.insights.get("paper analysis") == created

    note = nb.insights.save("Paper Analysis", "Growth")
    assert note["title"] == "Paper Analysis from source Bench notes"
    assert note["note_type"] == "ai"  # which the server does not state
    assert note["content"] == created["content"]
    assert list(nb.notes.list("Growth")["id"]) == [note["id"]]
    nb.insights.delete("Paper Analysis")
    with pytest.raises(NotFoundError, match="There is no insight"):
        nb.insights.get("Paper Analysis")
    with pytest.raises(NotFoundError) as caught:
        nb.insights.get(created["id"])
    assert caught.value.next_step == "See `nb.insights.list()`."


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


def test_embed_one_record_or_all(nb, replay):
    source, note = nb.sources.find("Bench notes"), nb.notes.create("Warm.", notebook="Growth")["id"]
    for record, kind in (
        (nb.embeddings.source("Bench notes"), "source"),
        (nb.embeddings.note(note), "note"),
    ):
        assert record["item_type"] == kind
        assert nb.commands.wait(record["job_id"])["command"] == f"embed_{kind}"
    assert bodies(replay, "POST", "/embed") == [
        {"item_id": source, "item_type": "source", "async_processing": True},
        {"item_id": note, "item_type": "note", "async_processing": True},
    ]
    started = nb.embeddings.rebuild("all", insights=False)
    assert bodies(replay, "POST", "/embeddings/rebuild") == [
        {"mode": "all", "include_sources": True, "include_notes": True, "include_insights": False}
    ]
    assert nb.embeddings.status(started["job_id"])["completed_at"] is None
    done = nb.embeddings.wait(started["job_id"])
    assert (done["status"], done["processed"]) == ("completed", started["total_items"])
    with pytest.raises(InputError, match="all excluded"):
        nb.embeddings.rebuild(sources=False, notes=False, insights=False)


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


def test_source_chat_lifecycle(nb, replay):
    chat = nb.source_chats.create("Bench notes", "About it", model_override="fake-chat")
    source = chat["source_id"]
    assert nb.source_chats.send("Bench notes", "About it", "Which strain?").text.startswith(
        "Fake answer (fake-chat) to: 'Which strain?'"
    )
    second = nb.source_chats.send("Bench notes", chat["id"], "And then?")
    assert "'And then?'" in second.text  # preceded by the previous reply again
    assert [(citation.id, citation.title) for citation in second.citations] == [
        (source, "Bench notes")
    ]
    sent = bodies(replay, "POST", f"/sources/{source}/chat/sessions/{chat['id']}/messages")
    assert sent == [{"message": "Which strain?"}, {"message": "And then?"}]
    messages = nb.source_chats.messages("Bench notes", "About it")
    assert list(messages["type"]) == ["human", "ai"] * 2
    with pytest.raises(ServiceError, match="The reply failed: The AI provider is temporarily"):
        nb.source_chats.send("Bench notes", "About it", "x", model_override="fail-chat")
    assert nb.source_chats.update("Bench notes", "About it", title="It")["title"] == "It"
    assert list(nb.source_chats.list("Bench notes")["message_count"]) == [4]
    with pytest.raises(NotFoundError, match="no source chat"):
        nb.source_chats.get("Bench notes", "About it")
    with pytest.raises(InputError, match="No changes to the chat"):
        nb.source_chats.update("Bench notes", "It")
    nb.source_chats.delete("Bench notes", "It")
    assert nb.source_chats.list("Bench notes").empty


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

"""What Open Notebook has beyond the contract, through the client; the contract's server has none.

Where no recording shows an answer, the stand-in's has the fields of the server's schema.
"""

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
"""A transformation whose insights are called otherwise: by its title."""


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
def quickly_and_without_fault(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Look without a pause; see that the question was not sent that a real server would ignore."""
    monkeypatch.setattr(progress, "interval", lambda _: 0.0)
    yield
    assert replay.faults == []


def bodies(replay: Replay, method: str, path: str) -> list[Any]:
    return [each.body for each in replay.sent(method, path)]


# Settings


def test_settings_are_changed_by_the_names_and_types_they_have(nb, replay):
    now = nb.settings.get()
    assert now == recordings()["meta.settings"].answer
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
    assert after["docling_formulas"] is now["docling_formulas"]


@pytest.mark.parametrize(
    ("changes", "said"),
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
def test_a_setting_that_would_be_ignored_is_never_sent(nb, replay, changes, said):
    before = len(replay.sent("PUT", "/settings"))
    with pytest.raises(InputError) as caught:
        nb.settings.update(changes)
    assert said in str(caught.value)
    assert len(replay.sent("PUT", "/settings")) == before


# Commands


def test_commands_are_those_of_sources_too(nb):
    row = nb.commands.list().iloc[0]
    assert (row["subject"], row["command"], row["status"]) == (
        "Bench notes",
        "process_source",
        "completed",
    )
    assert nb.commands.list(status="failed").empty
    assert nb.commands.list(command="embed_note").empty
    assert "process_source" in set(nb.commands.kinds()["command"])


def test_a_command_is_begun_watched_and_told(nb, replay):
    begun = nb.commands.run("embed_note", {"note_id": "note:1"})
    assert bodies(replay, "POST", "/commands/jobs") == [
        {"command": "embed_note", "app": "open_notebook", "input": {"note_id": "note:1"}}
    ]
    assert begun["status"] == "submitted"
    done = nb.commands.wait(begun["job_id"])
    assert (done["status"], done["command"]) == ("completed", "embed_note")
    assert done["error_message"] is None
    with pytest.raises(InputError, match="did you mean"):
        nb.commands.run("embed_not", {"note_id": "note:1"})
    with pytest.raises(InputError, match="not the identifier of a command"):
        nb.commands.get("source:1")


def test_a_cancel_tells_what_became_of_it_and_not_what_the_server_says(nb, replay):
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


def test_an_insight_is_made_found_copied_and_deleted(nb, replay):
    made = nb.insights.create("Bench notes", PAPER)
    assert made["insight_type"] == "Paper Analysis"
    again = nb.insights.create("Bench notes", PAPER, model="fake-chat")
    assert again["id"] != made["id"]
    path = f"/sources/{made['source_id']}/insights"
    transformation = nb.transformations.find(PAPER)
    assert bodies(replay, "POST", path) == [
        {"transformation_id": transformation},
        {"transformation_id": transformation, "model_id": nb.models.find("fake-chat")},
    ]
    frame = nb.insights.list("Growth")
    of_it = frame[frame["insight_type"] == "Paper Analysis"]
    assert list(of_it["id"]) == [made["id"], again["id"]]
    assert list(nb.insights.list(sources="Bench notes")["id"]) == list(frame["id"])
    assert {made["id"], again["id"]} <= {*nb.insights.names()}  # their type tells nothing
    nb.insights.delete(again["id"])
    assert "Paper Analysis" in nb.insights.names()
    assert nb.insights.get("paper analysis") == made

    note = nb.insights.save("Paper Analysis", "Growth")
    assert (note["title"], note["note_type"], note["content"]) == (
        "Paper Analysis from source Bench notes",
        "ai",  # which the server leaves open
        made["content"],
    )
    assert list(nb.notes.list("Growth")["id"]) == [note["id"]]
    nb.insights.delete("Paper Analysis")
    with pytest.raises(NotFoundError, match="There is no insight"):
        nb.insights.get("Paper Analysis")
    with pytest.raises(NotFoundError) as caught:
        nb.insights.get(made["id"])
    assert caught.value.next_step == "See `nb.insights.list()`."


def test_an_insight_that_does_not_come_is_waited_for_and_told(nb, replay):
    replay.state.works = False
    try:
        with pytest.raises(NotReadyError, match=r"Paper Analysis is not ready .* unchanged for"):
            nb.insights.create("Bench notes", PAPER, timeout=0)
        begun = nb.insights.start("Bench notes", PAPER)
        replay.state.jobs[begun.job].update(status="failed", error_message="The model is away")
        with pytest.raises(JobFailedError, match="has failed: The model is away"):
            nb.insights.wait(begun)
    finally:
        replay.state.works = True


# Vectors


def test_vectors_of_one_thing_and_of_all(nb, replay):
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
    begun = nb.embeddings.rebuild("all", insights=False)
    assert bodies(replay, "POST", "/embeddings/rebuild") == [
        {"mode": "all", "include_sources": True, "include_notes": True, "include_insights": False}
    ]
    assert nb.embeddings.status(begun["job_id"])["completed_at"] is None
    done = nb.embeddings.wait(begun["job_id"])
    assert (done["status"], done["processed"]) == ("completed", begun["total_items"])
    with pytest.raises(InputError, match="all excluded"):
        nb.embeddings.rebuild(sources=False, notes=False, insights=False)


def test_without_an_embedding_model_nothing_is_begun(nb, replay):
    before = replay.state.defaults["default_embedding_model"]
    replay.state.defaults["default_embedding_model"] = None
    count = len(replay.sent("POST", "/embed"))
    try:
        for begin in (lambda: nb.embeddings.source("Bench notes"), nb.embeddings.rebuild):
            with pytest.raises(SetupError, match='"embedding": "NAME"'):
                begin()
    finally:
        replay.state.defaults["default_embedding_model"] = before
    assert len(replay.sent("POST", "/embed")) == count


# Chats about a source


def test_a_chat_about_a_source(nb, replay):
    chat = nb.source_chats.create("Bench notes", "About it", model_override="fake-chat")
    source = chat["source_id"]
    assert nb.source_chats.send("Bench notes", "About it", "Which strain?").text.startswith(
        "Fake answer (fake-chat) to: 'Which strain?'"
    )
    second = nb.source_chats.send("Bench notes", chat["id"], "And then?")
    assert "'And then?'" in second.text  # the reply before it comes again before it
    assert [(each.id, each.title) for each in second.citations] == [(source, "Bench notes")]
    sent = bodies(replay, "POST", f"/sources/{source}/chat/sessions/{chat['id']}/messages")
    assert sent == [{"message": "Which strain?"}, {"message": "And then?"}]
    messages = nb.source_chats.messages("Bench notes", "About it")
    assert list(messages["type"]) == ["human", "ai"] * 2
    with pytest.raises(ServiceError, match="The reply failed: AI service error"):
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

LACKING: list[Callable[[NotebookClient], Any]] = [
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


@pytest.mark.parametrize("asks", LACKING)
def test_a_server_of_the_contract_is_asked_nothing_of_it(asks):
    with (
        NotebookClient("http://127.0.0.1:9/api", backend="contract") as nb,
        pytest.raises(InputError, match=r"^This notebook service .*`nb\.|administrator"),
    ):
        asks(nb)

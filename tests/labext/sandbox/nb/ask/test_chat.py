"""Conversations: sessions, and messages answered from a notebook by the requested model."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai_server
import pytest

pytestmark = pytest.mark.contract

WHY = "Why is glucose added to the uninduced culture?"
FIELDS = {
    "id", "notebook_id", "title", "model_override", "created_at", "updated_at", "message_count",
}  # fmt: skip


def contents(messages: list[Any]) -> list[str]:
    return [message["content"] for message in messages]


def test_session_create_update_get_delete(api, served, kit):
    model = served.add()
    created = api.call("POST", "chat/sessions", {"notebook_id": kit.NOTEBOOK, "title": " Yields "})
    assert set(created) == FIELDS
    assert created["id"].startswith("chat_session:")
    assert (created["title"], created["notebook_id"]) == ("Yields", kit.NOTEBOOK)
    assert (created["model_override"], created["message_count"]) == (None, 0)
    path = f"chat/sessions/{created['id']}"
    changed = api.call("PUT", path, {"title": "Yields 2", "model_override": model})
    assert (changed["title"], changed["model_override"]) == ("Yields 2", model)
    assert changed["updated_at"] > changed["created_at"] == created["created_at"]
    assert api.call("PUT", path, {"title": "Yields 3"})["model_override"] == model
    assert api.call("PUT", path, {"model_override": None})["model_override"] is None
    displayed = api.call("GET", path)
    assert displayed == {**api.call("PUT", path, {"title": None}), "messages": []}
    assert displayed["title"] == "Yields 3"
    assert set(api.call("DELETE", path)) == {"message"}
    for method in ("GET", "PUT", "DELETE"):
        assert created["id"] in api.error(404, method, path, {})


def test_sessions_are_listed_by_notebook_last_used_first(api, kit):
    first, second = api.chat(), api.chat()
    other = api.call("POST", "chat/sessions", {"notebook_id": kit.OTHER})["id"]
    api.say(first, WHY)
    sessions = api.call("GET", f"chat/sessions?notebook_id={kit.NOTEBOOK}")
    assert [session["id"] for session in sessions][:2] == [first, second]
    assert sessions[0]["message_count"] == 2
    assert all(set(session) == FIELDS for session in sessions)
    assert other not in {session["id"] for session in sessions}
    assert {first, second, other} <= {item["id"] for item in api.call("GET", "chat/sessions")}
    names = {session["title"] for session in sessions}
    assert len(names) == len(sessions)
    api.call("DELETE", f"chat/sessions/{first}")
    third = api.call("POST", "chat/sessions", {"notebook_id": kit.NOTEBOOK})
    assert third["title"] not in names


def test_invalid_chat_requests_are_refused(api, kit):
    session = api.chat()
    in_notebook = {"notebook_id": kit.NOTEBOOK}
    api.error(404, "POST", "chat/sessions", {"notebook_id": "notebook:nobody"})
    api.error(404, "GET", "chat/sessions?notebook_id=notebook:nobody")
    api.error(404, "POST", "chat/sessions", {**in_notebook, "model_override": "model:nobody"})
    api.error(
        422, "POST", "chat/sessions", {**in_notebook, "model_override": "model:all-minilm-l6-v2"}
    )
    api.error(400, "POST", "chat/sessions", {})
    api.error(404, "PUT", f"chat/sessions/{session}", {"model_override": "model:nobody"})
    api.error(400, "PUT", f"chat/sessions/{session}", {"title": ""})
    api.error(404, "POST", "chat/execute", {"session_id": "chat_session:no", "message": "Hi"})
    for body in (
        {"session_id": session},
        {"session_id": session, "message": " "},
        {"session_id": session, "message": "Hi", "context": "all"},
    ):
        api.error(400, "POST", "chat/execute", body)
    unknown = {"session_id": session, "message": "Hi", "model_override": "model:nobody"}
    api.error(404, "POST", "chat/execute", unknown)
    assert api.call("GET", f"chat/sessions/{session}")["messages"] == []


def test_message_is_answered_with_citations_of_the_notebook(api, kit):
    session = api.chat()
    body = {"session_id": session, "message": WHY}
    response = api.call("POST", "chat/execute", body)
    assert response["session_id"] == session
    human, answer = response["messages"]
    assert (human["type"], human["content"], human["model"]) == ("human", WHY, None)
    assert human["citations"] == []
    assert (answer["type"], answer["model"]) == ("ai", "extractive")
    assert answer["citations"]
    assert human["timestamp"] <= answer["timestamp"]
    for citation in answer["citations"]:
        assert citation["quote"] in citation["passage"]
        assert citation["passage"] in kit.TEXTS["source:paper"][1]
        assert f"[{citation['id']}]" in answer["content"]
    full = api.call("GET", f"chat/sessions/{session}")
    assert full["messages"] == response["messages"]
    assert full["message_count"] == 2
    *before, _, unsupported = api.say(session, "Who won the football world cup in 1998?")
    assert before == response["messages"]
    assert unsupported["citations"] == []
    assert unsupported["content"] == "No passage matches well enough."


def test_conversation_is_limited_to_its_notebook(api, kit):
    question = "From whom is arabinose bought in Leipzig?"
    assert "Carl" not in api.say(api.chat(), question)[-1]["content"]
    other = api.call("POST", "chat/sessions", {"notebook_id": kit.OTHER})["id"]
    assert "Carl" in api.say(other, question)[-1]["content"]
    unsupported = api.say(other, WHY, context={"source_ids": ["source:paper"]})[-1]
    assert unsupported["citations"] == []


@pytest.mark.parametrize(
    ("context", "result"),
    [
        (None, {"source:paper", "note:plan"}),
        ({"include_sources": False}, {"note:plan"}),
        ({"include_notes": False}, {"source:paper"}),
        ({"note_ids": ["note:plan", "note:other"]}, {"note:plan"}),
    ],
)
def test_message_is_limited_to_its_context(api, kit, served, provider, context, result):
    question = "What about the arabinose concentration?"
    api.say(api.chat(), question, context=context, model_override=served.add())
    (request,) = provider.chats()
    assert kit.passages(request) == result


def test_earlier_messages_reach_the_model(api, served, provider):
    provider.replies = lambda body: (
        f"Glucose keeps it low, {len(body['messages'])} [source:paper] [note:no]."
    )
    session = api.chat(model_override=served.add())
    api.say(session, WHY)
    messages = api.say(session, "And in the plan?")
    said = [WHY, "Glucose keeps it low, 2 [source:paper].", "And in the plan?"]
    assert contents(messages) == [*said, "Glucose keeps it low, 4 [source:paper]."]
    system, *sent = provider.chats()[1].body["messages"]
    assert contents(sent) == said
    assert [item["role"] for item in sent] == ["user", "assistant", "user"]
    # A short message is searched together with the previous one.
    assert "[source:paper#" in system["content"]


@pytest.mark.parametrize(
    ("session", "call", "used"),
    [(None, None, "slot"), ("one", None, "one"), (None, "two", "two"), ("one", "two", "two")],
)
def test_model_of_message_precedes_session_and_slot(api, served, provider, session, call, used):
    ids = {name: served.add(name) for name in ("slot", "one", "two")}
    served.default("chat", ids["slot"])
    override = {"model_override": ids[session]} if session else {}
    more = {"model_override": ids[call]} if call else {}
    answer = api.say(api.chat(**override), "Hello there", **more)[-1]
    assert [chat.body["model"] for chat in provider.chats()] == [used]
    assert answer["model"] == used


def test_deleted_session_model_is_422(api, served):
    session = api.chat(model_override=served.add())
    served.undo()
    body = {"session_id": session, "message": WHY}
    assert "model_override" in api.error(422, "POST", "chat/execute", body)
    assert api.say(session, WHY, model_override="model:extractive")


def test_empty_chat_slot_is_422_with_an_action(api, served):
    session = api.chat()
    served.default("chat", None)
    body = {"session_id": session, "message": WHY}
    assert "Set the default slot chat" in api.error(422, "POST", "chat/execute", body)
    action = api.request("POST", "chat/execute", body).json()["action"]
    assert action == {"kind": "set_model", "slot": "chat"}


@pytest.mark.parametrize(
    ("fault", "response"),
    [
        (openai_server.echoes_key(401), "Incorrect API key provided: •••"),
        (openai_server.respond_with(429, {"error": {"message": "Slow down."}}), "Slow down."),
        (openai_server.cut, "closed the connection"),
    ],
)
def test_failed_message_stores_nothing_and_can_be_repeated(
    api, served, provider, kit, fault, response
):
    session = api.chat(model_override=served.add())
    provider.faults = [fault]
    status = 429 if response == "Slow down." else 502
    message = api.error(status, "POST", "chat/execute", {"session_id": session, "message": WHY})
    assert response in message
    assert kit.KEY not in message
    assert api.call("GET", f"chat/sessions/{session}")["messages"] == []
    assert contents(api.say(session, WHY)) == [WHY, "Reply of talker."]


def test_messages_of_a_session_are_answered_in_sequence(api, served, provider):
    provider.replies = lambda body: f"To {body['messages'][-1]['content']}"
    hold = provider.held()
    provider.faults = [hold]
    session, other = api.chat(model_override=served.add()), api.chat()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(api.say, session, "One")
        assert hold.entered.wait(30)
        second = pool.submit(api.say, session, "Two")
        assert len(api.say(other, WHY)) == 2  # other sessions don't wait
        assert len(provider.chats()) == 1
        hold.release.set()
        assert contents(first.result(30)) == ["One", "Reply after a wait."]
        assert contents(second.result(30)) == ["One", "Reply after a wait.", "Two", "To Two"]
    assert [message["content"] for message in provider.chats()[1].body["messages"]][1:] == [
        "One", "Reply after a wait.", "Two",
    ]  # fmt: skip


def test_session_deleted_during_an_answer_stays_deleted(api, served, provider):
    hold = provider.held()
    provider.faults = [hold]
    session = api.chat(model_override=served.add())
    with ThreadPoolExecutor() as pool:
        body = {"session_id": session, "message": WHY}
        waiting = pool.submit(api.error, 404, "POST", "chat/execute", body)
        assert hold.entered.wait(30)
        api.call("DELETE", f"chat/sessions/{session}")
        hold.release.set()
        assert session in waiting.result(30)


def test_context_contains_texts_and_size_of_the_notebook(api, kit):
    texts = kit.TEXTS
    expected = {
        "sources": [
            {"id": name, "title": texts[name][0], "full_text": texts[name][1]}
            for name in ("source:paper", "source:protocol")
        ],
        "notes": [{"id": "note:plan", "title": "Plan", "content": texts["note:plan"][1]}],
    }
    by_session = api.call("POST", "chat/context", {"session_id": api.chat()})
    (insight,) = by_session["context"]["sources"][0].pop("insights")
    assert insight["content"] == "Short."
    assert by_session["context"]["sources"][1].pop("insights") == []
    assert by_session["context"] == expected
    size = sum(
        len(part)
        for name in ("source:paper", "source:protocol", "note:plan")
        for part in texts[name]
    ) + len("Short.")
    assert by_session["char_count"] == size
    assert size / 5 < by_session["token_count"] < size / 3
    by_notebook = api.call("POST", "chat/context", {"notebook_id": kit.NOTEBOOK})
    assert by_notebook["char_count"] == size


@pytest.mark.parametrize(
    ("requested", "sources", "notes"),
    [
        ({"include_notes": False}, ["source:paper", "source:protocol"], []),
        ({"context_config": {"include_notes": False}}, ["source:paper", "source:protocol"], []),
        (
            {"context_config": {"sources": {"source:protocol": "full content",
                                            "source:paper": "not in context"}}},
            ["source:protocol"], [],
        ),
        ({"context_config": {"notes": {"note:plan": "full content", "note:other": "full content"}}},
         [], ["note:plan"]),
        ({"include_sources": False, "include_notes": False}, [], []),
    ],
)  # fmt: skip
def test_context_is_limited_to_its_configuration(api, kit, requested, sources, notes):
    response = api.call("POST", "chat/context", {"notebook_id": kit.NOTEBOOK, **requested})
    assert [source["id"] for source in response["context"]["sources"]] == sources
    assert [note["id"] for note in response["context"]["notes"]] == notes
    assert (response["char_count"] == 0) == (not sources and not notes)


def test_context_can_contain_only_insights_of_a_source(api, kit):
    config = {"sources": {"source:paper": "insights"}}
    response = api.call(
        "POST", "chat/context", {"notebook_id": kit.NOTEBOOK, "context_config": config}
    )
    (source,) = response["context"]["sources"]
    assert "full_text" not in source
    assert response["char_count"] == len("Tight control of pBAD30" + "Short.")


def test_invalid_context_request_is_refused(api):
    api.error(400, "POST", "chat/context", {})
    api.error(404, "POST", "chat/context", {"notebook_id": "notebook:nobody"})
    api.error(404, "POST", "chat/context", {"session_id": "chat_session:nobody"})
    wrong = {"notebook_id": "notebook:induction", "context_config": {"sources": {"a": "all"}}}
    api.error(400, "POST", "chat/context", wrong)

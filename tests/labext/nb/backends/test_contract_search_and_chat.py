"""Requests and records of search, answers and chats in the contract backend."""

from __future__ import annotations

import pytest

from labext.errors import ServiceError
from labext.http import RetryMode
from labext.nb import records
from labext.nb.backends.contract import ContractBackend, search
from labext.nb.records import (
    Answer,
    Citation,
    Final,
    MessageContext,
    Partial,
    Query,
    Question,
    Scope,
    Search,
    Strategy,
)
from labext.redaction import MASK

backend = ContractBackend()
EVERYTHING = {"include_sources": True, "include_notes": True}
CITATION_FIELDS = {
    "id": "source:1",
    "title": "Paper",
    "passage_id": 7,
    "page": 3,
    "quote": "Glucose represses.",
    "passage": "Glucose represses. So it is added.",
}
CITATION = Citation(
    "source:1", "Paper", "Glucose represses.", "Glucose represses. So it is added.", 3
)


def message_context(backend: ContractBackend, scope: Scope) -> MessageContext:
    """Context of a message, for which this backend sends no request."""
    with pytest.raises(StopIteration) as ended:
        next(backend.message_context("chat_session:1", scope))
    context: MessageContext = ended.value.value
    return context


def test_search_sends_only_given_options(drive):
    plain = drive(backend.search(Query("lac", Scope()), "text"), {"results": []})
    assert plain.line == ("POST", "/search")
    assert plain.only.json == {"query": "lac", "search_type": "text", **EVERYTHING}
    assert plain.only.op.repeat is RetryMode.ALWAYS
    assert plain.only.patient
    scope = Scope(sources=("source:1",), notes=("note:2",))
    query = Query("lac", scope, 5, 0.4, rewrite=True, rerank=False)
    full = drive(backend.search(query, "vector"), {"results": []})
    assert full.only.json == {
        "query": "lac",
        "search_type": "vector",
        **EVERYTHING,
        "source_ids": ["source:1"],
        "note_ids": ["note:2"],
        "limit": 5,
        "min_similarity": 0.4,
        "rewrite": True,
        "rerank": False,
    }


def test_hits_are_parsed(drive):
    response = [
        {
            "id": "source:1",
            "parent_id": "source:1",
            "title": "Paper",
            "matches": ["one", "two"],
            "page": 3,
            "similarity": 0.5,
        },
        {"id": "note:1", "title": "Plan", "relevance": 1.2},
    ]
    first, second = drive(
        backend.search(Query("lac", Scope()), "text"), {"results": response}
    ).result
    assert list(first) == list(records.HIT)
    assert (first["kind"], first["match"], first["page"]) == ("source", "one\n\ntwo", 3)
    assert (second["id"], second["kind"], second["match"]) == ("note:1", "note", None)


def test_hits_outside_the_scope_are_dropped(drive):
    response = [{"id": identifier} for identifier in ("source:1", "source:2", "note:1")]
    call = drive(
        backend.search(Query("lac", Scope(sources=("source:1",))), "text"), {"results": response}
    )
    assert [hit["id"] for hit in call.result] == ["source:1"]


@pytest.mark.parametrize(
    ("scope", "fields", "is_empty"),
    [
        (Scope(), EVERYTHING, False),
        (Scope(include_notes=False), {"include_sources": True, "include_notes": False}, False),
        (
            Scope(sources=("source:1",)),
            {"include_sources": True, "include_notes": False, "source_ids": ["source:1"]},
            False,
        ),
        (
            Scope(notes=("note:1",)),
            {"include_sources": False, "include_notes": True, "note_ids": ["note:1"]},
            False,
        ),
        (
            Scope(sources=(), notes=("note:1",)),
            {"include_sources": False, "include_notes": True, "note_ids": ["note:1"]},
            False,
        ),
        (Scope(sources=(), notes=()), {"include_sources": False, "include_notes": False}, True),
        (
            Scope(sources=("source:1",), include_sources=False),
            {"include_sources": False, "include_notes": False},
            True,
        ),
    ],
)
def test_scope_fields(scope, fields, is_empty):
    assert (search.scope_fields(scope), scope.is_empty) == (fields, is_empty)


QUESTION = Question(
    "Why?",
    Scope(),
    5,
    0.3,
    model_override="model:1",
    strategy_model="model:2",
    answer_model="model:3",
    final_answer_model="model:4",
    rewrite=True,
    rerank=False,
)
ASK_BODY = {
    "question": "Why?",
    **EVERYTHING,
    "limit": 5,
    "min_similarity": 0.3,
    "model_override": "model:1",
    "strategy_model": "model:2",
    "answer_model": "model:3",
    "final_answer_model": "model:4",
    "rewrite": True,
    "rerank": False,
}


def test_ask(drive):
    response = {
        "answer": "Because [source:1].",
        "question": "Why?",
        "citations": [CITATION_FIELDS],
        "model": "m",
    }
    call = drive(backend.ask(QUESTION), response)
    assert (call.line, call.only.json) == (("POST", "/search/ask/simple"), ASK_BODY)
    assert call.only.patient
    assert call.result == Answer("Because [source:1].", (CITATION,), "Why?", "m")
    assert str(call.result) == "Because [source:1]."
    request = drive(backend.ask_stream(QUESTION)).result
    assert (request.op.method, request.op.path) == ("POST", "search/ask")
    assert request.json == ASK_BODY


@pytest.mark.parametrize(
    ("response", "event"),
    [
        (
            {
                "type": "strategy",
                "reasoning": "Look.",
                "searches": [{"term": "lac", "instructions": "Say."}, {"term": "ara"}, "x"],
            },
            Strategy("Look.", (Search("lac", "Say."), Search("ara"))),
        ),
        ({"type": "strategy"}, Strategy("")),
        (
            {"type": "answer", "content": "Part.", "citations": [CITATION_FIELDS]},
            Partial("Part.", (CITATION,)),
        ),
        ({"type": "answer", "content": "Part."}, Partial("Part.")),
        ({"type": "final_answer", "content": "All."}, Final(Answer("All.", (), "Why?"))),
        (
            {
                "type": "complete",
                "final_answer": "All.",
                "citations": [CITATION_FIELDS],
                "model": "m",
            },
            Final(Answer("All.", (CITATION,), "Why?", "m")),
        ),
        ({"type": "heartbeat"}, None),
        ({"no": "type"}, None),
        (["a list"], None),
        (None, None),
    ],
)
def test_events_are_parsed(response, event):
    assert backend.parse_event(response, "Why?") == event


def test_error_event_masks_the_key():
    response = {
        "type": "error",
        "message": "401 of the provider: api_key='sk-abcdefghijklmnop1234'",
    }
    with pytest.raises(ServiceError) as caught:
        backend.parse_event(response, "Why?")
    error = caught.value
    assert "401 of the provider" in error.message
    assert MASK in error.message
    assert "sk-abc" not in f"{error}{error.message}{error.server}"
    with pytest.raises(ServiceError, match="the service gives no reason"):
        backend.parse_event({"type": "error"}, "Why?")
    with pytest.raises(ServiceError) as caught:
        backend.parse_event({"type": "error", "message": "word " * 10_000}, "Why?")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("citations", [None, "x", {}, [1], [{}], [{"title": "of nothing"}]])
def test_invalid_citations_are_ignored(citations):
    response = {"type": "final_answer", "content": "All.", "citations": citations}
    assert backend.parse_event(response, "Why?") == Final(Answer("All.", (), "Why?"))


def test_note_about_the_searches_is_kept(drive):
    note = "Searched by words alone."
    answer = drive(backend.ask(QUESTION), {"answer": "So.", "note": note}).result
    final = backend.parse_event({"type": "complete", "final_answer": "So.", "note": note}, "Why?")
    assert isinstance(final, Final)
    context = message_context(backend, Scope())
    steps = backend.execute("chat_session:1", "Why?", context, None)
    reply = drive(steps, {"messages": MESSAGES, "note": note}).result
    steps = backend.search(Query("lac", Scope()), "hybrid")
    hits = drive(steps, {"results": [], "note": note}).result
    assert {answer.note, final.answer.note, reply.note, hits.note} == {note}
    assert str(answer) == f"So.\n\n{note}"


SESSION = {"id": "chat_session:1", "title": "Talk", "notebook_id": "notebook:1"}
MESSAGES = [
    {"type": "human", "content": "Why?", "timestamp": "2026-11-20T13:23:23.768Z"},
    {"type": "ai", "content": "So.", "citations": [CITATION_FIELDS], "model": "model:1"},
]


class TestChat:
    def test_session_has_its_messages(self, drive):
        call = drive(backend.session("chat_session:1"), SESSION | {"messages": MESSAGES})
        assert call.line == ("GET", "/chat/sessions/chat_session%3A1")
        human, reply = call.result["messages"]
        assert list(human) == list(records.MESSAGE)
        assert (human["citations"], human["created_at"]) == ([], "2026-11-20T13:23:23.768Z")
        assert reply["citations"] == [CITATION_FIELDS]
        assert drive(backend.session("chat_session:1"), SESSION).result["messages"] == []

    def test_reply_to_a_message(self, drive):
        scope = Scope(sources=("source:1",))
        call = drive(
            backend.execute("chat_session:1", "Why?", message_context(backend, scope), "model:2"),
            {"messages": MESSAGES},
        )
        assert call.line == ("POST", "/chat/execute")
        assert call.only.json == {
            "session_id": "chat_session:1",
            "message": "Why?",
            "context": {
                "include_sources": True,
                "include_notes": False,
                "source_ids": ["source:1"],
            },
            "model_override": "model:2",
        }
        assert call.only.patient
        assert call.only.op.repeat is RetryMode.UNSENT
        assert call.result == Answer("So.", (CITATION,), "Why?", "model:1")

    @pytest.mark.parametrize("messages", [[], MESSAGES[:1]])
    def test_missing_reply_is_an_error(self, drive, messages):
        with pytest.raises(ServiceError, match="without a reply"):
            drive(
                backend.execute("chat_session:1", "Why?", message_context(backend, Scope()), None),
                {"messages": messages},
            )

    def test_context_has_the_requested_parts(self, drive):
        config = {"notes": {"note:1": "full content"}}
        response = {"context": {"sources": [], "notes": [{"id": "note:1"}]}, "char_count": 9}
        call = drive(backend.context(None, "notebook:1", Scope(), config), response)
        assert call.line == ("POST", "/chat/context")
        assert call.only.json == {
            "notebook_id": "notebook:1",
            "context_config": config,
            **EVERYTHING,
        }
        assert (call.result["notes"], call.result["char_count"]) == ([{"id": "note:1"}], 9)

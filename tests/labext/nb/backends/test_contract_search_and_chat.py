"""The contract's backend for search, answers and chats."""

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

talk = ContractBackend()
EVERYTHING = {"include_sources": True, "include_notes": True}
CITED = {
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


def prepared(talk: ContractBackend, scope: Scope) -> MessageContext:
    """What goes with a message, for which this backend asks for nothing."""
    with pytest.raises(StopIteration) as ended:
        next(talk.message_context("chat_session:1", scope))
    found: MessageContext = ended.value.value
    return found


def test_a_search_names_what_was_chosen_and_nothing_else(drive):
    plain = drive(talk.search(Query("lac", Scope()), "text"), {"results": []})
    assert plain.line == ("POST", "/search")
    assert plain.only.json == {"query": "lac", "search_type": "text", **EVERYTHING}
    assert plain.only.op.repeat is RetryMode.ALWAYS
    assert plain.only.patient
    scope = Scope(sources=("source:1",), notes=("note:2",))
    full = drive(talk.search(Query("lac", scope, 5, 0.4), "vector"), {"results": []})
    assert full.only.json == {
        "query": "lac",
        "search_type": "vector",
        **EVERYTHING,
        "source_ids": ["source:1"],
        "note_ids": ["note:2"],
        "limit": 5,
        "min_similarity": 0.4,
    }


def test_hits_are_read(drive):
    told = [
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
    first, second = drive(talk.search(Query("lac", Scope()), "text"), {"results": told}).result
    assert list(first) == list(records.HIT)
    assert (first["kind"], first["match"], first["page"]) == ("source", "one\n\ntwo", 3)
    assert (second["id"], second["kind"], second["match"]) == ("note:1", "note", None)


def test_hits_that_were_not_wanted_are_left_out(drive):
    told = [{"id": each} for each in ("source:1", "source:2", "note:1")]
    done = drive(talk.search(Query("lac", Scope(sources=("source:1",))), "text"), {"results": told})
    assert [hit["id"] for hit in done.result] == ["source:1"]


@pytest.mark.parametrize(
    ("scope", "named", "is_empty"),
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
def test_a_scope_says_what_counts(scope, named, is_empty):
    assert (search.scope_fields(scope), scope.is_empty) == (named, is_empty)


QUESTION = Question("Why?", Scope(), 5, 0.3, "model:1", "model:2", "model:3", "model:4")
ASKED = {
    "question": "Why?",
    **EVERYTHING,
    "limit": 5,
    "min_similarity": 0.3,
    "model_override": "model:1",
    "strategy_model": "model:2",
    "answer_model": "model:3",
    "final_answer_model": "model:4",
}


def test_a_question_is_answered(drive):
    told = {"answer": "Because [source:1].", "question": "Why?", "citations": [CITED], "model": "m"}
    done = drive(talk.ask(QUESTION), told)
    assert (done.line, done.only.json) == (("POST", "/search/ask/simple"), ASKED)
    assert done.only.patient
    assert done.result == Answer("Because [source:1].", (CITATION,), "Why?", "m")
    assert str(done.result) == "Because [source:1]."


def test_a_streamed_question_is_one_request(drive):
    request = drive(talk.ask_stream(QUESTION)).result
    assert (request.op.method, request.op.path) == ("POST", "search/ask")
    assert request.json == ASKED


@pytest.mark.parametrize(
    ("told", "event"),
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
            {"type": "answer", "content": "Part.", "citations": [CITED]},
            Partial("Part.", (CITATION,)),
        ),
        ({"type": "answer", "content": "Part."}, Partial("Part.")),
        ({"type": "final_answer", "content": "All."}, Final(Answer("All.", (), "Why?"))),
        (
            {"type": "complete", "final_answer": "All.", "citations": [CITED], "model": "m"},
            Final(Answer("All.", (CITATION,), "Why?", "m")),
        ),
        ({"type": "heartbeat"}, None),
        ({"no": "type"}, None),
        (["a list"], None),
        (None, None),
    ],
)
def test_events_are_read(told, event):
    assert talk.parse_event(told, "Why?") == event


def test_an_event_of_failure_is_an_error_without_the_key_in_it():
    told = {"type": "error", "message": "401 of the provider: api_key='sk-abcdefghijklmnop1234'"}
    with pytest.raises(ServiceError) as caught:
        talk.parse_event(told, "Why?")
    error = caught.value
    assert "401 of the provider" in error.message
    assert MASK in error.message
    assert "sk-abc" not in f"{error}{error.message}{error.server}"
    with pytest.raises(ServiceError, match="the service gives no reason"):
        talk.parse_event({"type": "error"}, "Why?")
    with pytest.raises(ServiceError) as caught:
        talk.parse_event({"type": "error", "message": "word " * 10_000}, "Why?")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("citations", [None, "x", {}, [1], [{}], [{"title": "of nothing"}]])
def test_citations_that_make_no_sense_are_none(citations):
    told = {"type": "final_answer", "content": "All.", "citations": citations}
    assert talk.parse_event(told, "Why?") == Final(Answer("All.", (), "Why?"))


SESSION = {"id": "chat_session:1", "title": "Talk", "notebook_id": "notebook:1"}
MESSAGES = [
    {"type": "human", "content": "Why?", "timestamp": "2026-11-20T13:23:23.768Z"},
    {"type": "ai", "content": "So.", "citations": [CITED], "model": "model:1"},
]


class TestChat:
    def test_sessions_are_listed(self, drive):
        done = drive(talk.sessions("notebook:1"), [SESSION])
        assert done.line == ("GET", "/chat/sessions")
        assert done.only.params == {"notebook_id": "notebook:1"}
        assert list(done.result[0]) == list(records.SESSION)

    def test_one_has_its_messages(self, drive):
        done = drive(talk.session("chat_session:1"), SESSION | {"messages": MESSAGES})
        assert done.line == ("GET", "/chat/sessions/chat_session%3A1")
        human, reply = done.result["messages"]
        assert list(human) == list(records.MESSAGE)
        assert (human["citations"], human["created_at"]) == ([], "2026-11-20T13:23:23.768Z")
        assert reply["citations"] == [CITED]
        assert drive(talk.session("chat_session:1"), SESSION).result["messages"] == []

    def test_one_is_begun_changed_and_deleted(self, drive):
        begun = drive(talk.new_session("notebook:1", "Talk", "model:1"), SESSION)
        assert begun.line == ("POST", "/chat/sessions")
        assert begun.only.json == {
            "notebook_id": "notebook:1",
            "title": "Talk",
            "model_override": "model:1",
        }
        bare = drive(talk.new_session("notebook:1", None, None), SESSION)
        assert bare.only.json == {"notebook_id": "notebook:1"}
        path = "/chat/sessions/chat_session%3A1"
        changed = drive(talk.change_session("chat_session:1", {"title": "T"}), SESSION)
        assert (changed.line, changed.only.json) == (("PUT", path), {"title": "T"})
        assert drive(talk.delete_session("chat_session:1"), None).line == ("DELETE", path)

    def test_a_message_is_replied_to(self, drive):
        scope = Scope(sources=("source:1",))
        done = drive(
            talk.execute("chat_session:1", "Why?", prepared(talk, scope), "model:2"),
            {"messages": MESSAGES},
        )
        assert done.line == ("POST", "/chat/execute")
        assert done.only.json == {
            "session_id": "chat_session:1",
            "message": "Why?",
            "context": {
                "include_sources": True,
                "include_notes": False,
                "source_ids": ["source:1"],
            },
            "model_override": "model:2",
        }
        assert done.only.patient
        assert done.only.op.repeat is RetryMode.UNSENT
        assert done.result == Answer("So.", (CITATION,), "Why?", "model:1")

    @pytest.mark.parametrize("messages", [[], MESSAGES[:1]])
    def test_no_reply_is_an_error(self, drive, messages):
        with pytest.raises(ServiceError, match="without a reply"):
            drive(
                talk.execute("chat_session:1", "Why?", prepared(talk, Scope()), None),
                {"messages": messages},
            )

    def test_a_context_is_built(self, drive):
        told = {
            "context": {"sources": [{"id": "source:1"}], "notes": []},
            "token_count": 12,
            "char_count": 60,
        }
        config = {"sources": {"source:1": "full content"}}
        done = drive(talk.context(None, "notebook:1", Scope(), config), told)
        assert done.line == ("POST", "/chat/context")
        assert done.only.json == {
            **EVERYTHING,
            "notebook_id": "notebook:1",
            "context_config": config,
        }
        assert done.result == {
            "sources": [{"id": "source:1"}],
            "notes": [],
            "token_count": 12,
            "char_count": 60,
        }


def test_the_open_routes_tell_the_status(drive):
    done = drive(talk.status(), {"version": "1.2", "dbStatus": "online"}, {"auth_enabled": True})
    assert [each.op.path for each in done.requests] == ["config", "auth/status"]
    assert done.result == {"version": "1.2", "database": "online", "password_needed": True}

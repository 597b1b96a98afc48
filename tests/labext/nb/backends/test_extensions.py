"""Operations beyond the contract, and hybrid search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_clock import Clock

from labext.errors import (
    BusyError,
    InputError,
    JobFailedError,
    LabextError,
    NotFoundError,
    ServiceError,
    SetupError,
)
from labext.nb.backends.contract import ContractBackend
from labext.nb.backends.contract.search import VECTORS_WEIGHT, WORDS_WEIGHT
from labext.nb.backends.open_notebook import OpenNotebookBackend
from labext.nb.commands import RESULT_GRACE_SECONDS, CommandWatch
from labext.nb.records import NOTEBOOK, Hits, Query, Record, Scope

INSIGHT = {"id": "source_insight:1", "insight_type": "Summary", "content": "Warm."}


class FakeCommand:
    """A command with scripted statuses; the last one repeats."""

    def __init__(self, *statuses: str | Exception, error: str = "") -> None:
        self.left = list(statuses)
        self.error = error

    def __call__(self) -> dict[str, Any]:
        now = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if isinstance(now, Exception):
            raise now
        return {"status": now, "error_message": self.error}


def watch_command(
    *statuses: str | Exception, error: str = "", **more: Any
) -> tuple[CommandWatch, Clock]:
    clock = Clock()
    return CommandWatch(FakeCommand(*statuses, error=error), "The work", clock=clock, **more), clock


def test_missing_command_ends_the_watch():
    command, clock = watch_command("new", NotFoundError("Gone.", "See.", status=404))
    with pytest.raises(NotFoundError):
        command.wait(sleep=clock.sleep)


@pytest.mark.parametrize(("status", "phase"), [("failed", "has failed"), ("canceled", "canceled")])
def test_failure_has_its_reason(status, phase):
    command, clock = watch_command(status, error="The worker was killed.")
    with pytest.raises(JobFailedError, match=rf"The work .*{phase}: The worker was killed\. Fix"):
        command.wait(sleep=clock.sleep)


def test_result_is_awaited_after_completion():
    results = [None, None, INSIGHT]
    command, clock = watch_command("completed", find_result=lambda: results.pop(0))
    snapshots = [*command.watch(sleep=clock.sleep)]
    assert command.record == INSIGHT
    assert [*dict.fromkeys(snapshot.phase for snapshot in snapshots)] == ["Running", "Complete"]

    without_result, clock = watch_command("completed", find_result=lambda: None)
    with pytest.raises(JobFailedError, match="there is no result"):
        without_result.wait(sleep=clock.sleep)
    assert clock.elapsed >= RESULT_GRACE_SECONDS


def parse_reply(*events: Any) -> Any:
    return OpenNotebookBackend().source_reply(iter(events), "Why?")


def test_reply_is_the_last_message_and_cites_known_sources():
    expected = "So. [source:a] [source:a] [insight:madeup] [source_insight:b]"
    answer = parse_reply(
        {"type": "user_message", "content": "Why?"},
        "noise",
        {"type": "ai_message", "content": "An older one. [source:a]"},
        {"type": "ai_message", "content": expected},
        {"type": "context_indicators", "data": {"sources": ["source:a"], "insights": None}},
        {"type": "complete"},
        {"type": "ai_message", "content": "No event is read after the end."},
    )
    assert (answer.text, answer.question) == (expected, "Why?")
    assert [citation.id for citation in answer.citations] == ["source:a"]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([{"type": "error", "message": "bad api_key='sk-live-0123456789'"}], "failed: bad .*•••"),
        ([{"type": "error"}], "the service gives no reason"),
        ([{"type": "ai_message", "content": "An older one."}], "without a reply"),
        ([{"type": "complete"}], "without a reply"),
        ([], "without a reply"),
    ],
)
def test_missing_reply_is_an_error(events, expected):
    with pytest.raises(ServiceError, match=expected):
        parse_reply(*events)


def test_status_500_means_an_unknown_command(drive):
    failed = ServiceError("It answered 500.", "Try again.", status=500)
    for steps in (
        OpenNotebookBackend().command("command:1"),
        OpenNotebookBackend().rebuild_status("command:1"),
    ):
        with pytest.raises(NotFoundError) as caught:
            drive(steps, failed)
        assert caught.value.status == 500
    with pytest.raises(ServiceError):
        drive(OpenNotebookBackend().command("command:1"), ServiceError("Bad.", "Try.", status=502))


def test_source_chat_sends_only_given_fields(drive):
    answer = {"id": "chat_session:1", "title": "Chat", "source_id": "source:1"}
    call = drive(OpenNotebookBackend().new_source_chat("source:1", None, None), answer)
    assert call.line == ("POST", "/sources/source%3A1/chat/sessions")
    assert call.only.json == {"source_id": "source:1"}
    with pytest.raises(InputError, match="can't clear the model override"):
        drive(OpenNotebookBackend().change_source_chat("source:1", "x", {"model_override": None}))


def test_contract_insight_is_searched_and_copied(drive):
    sources = [
        {"id": "source:1", "title": "Empty", "insights_count": 0},
        {"id": "source:2", "title": "Gone", "insights_count": 1},
        {"id": "source:3", "title": "Bench", "insights_count": 1},
    ]
    not_found = NotFoundError("Gone.", "See.", status=404)
    insight = drive(ContractBackend().insight("source_insight:1"), sources, not_found, [INSIGHT])
    assert insight.result["source_id"] == "source:3"
    with pytest.raises(NotFoundError, match="no insight source_insight:2"):
        drive(ContractBackend().insight("source_insight:2"), sources, not_found, [INSIGHT], [])
    copied = drive(
        ContractBackend().save_insight("source_insight:1", "notebook:1"),
        sources,
        not_found,
        [INSIGHT],
        sources[2],
        {"id": "note:1"},
    )
    assert copied.requests[-1].json == {
        "content": "Warm.",
        "note_type": "ai",
        "title": "Summary from source Bench",
        "notebook_id": "notebook:1",
    }
    for steps in (
        lambda: ContractBackend().new_insight("source:1", "transformation:1", None),
        lambda: ContractBackend().delete_insight("source_insight:1"),
    ):
        with pytest.raises(InputError, match=r"can't (create|delete) a single insight"):
            steps()


@pytest.mark.parametrize(
    ("backend", "name"),
    [(ContractBackend(), "chat"), (OpenNotebookBackend(), "default_chat_model")],
)
@pytest.mark.parametrize(("model", "parsed"), [("model:1", "model:1"), ("", None), ([1], None)])
def test_slot_has_a_model_or_none(backend: Any, name: str, model: object, parsed: object) -> None:
    assert backend.parse_slots({name: model})["chat"] == parsed


@pytest.mark.parametrize(
    ("time", "parsed"),
    [
        ("2026-11-20 13:23:23.76+00:00", "2026-11-20T13:23:23.760Z"),
        ("2026-11-20T15:23:23.760123456+02:00", "2026-11-20T13:23:23.760Z"),
        ("2026-11-20T13:23:23", "2026-11-20T13:23:23.000Z"),
        ("9999-12-31T23:59:59-05:00", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_time_of_open_notebook_is_in_utc(time: str | None, parsed: str | None) -> None:
    record = OpenNotebookBackend().build_record(NOTEBOOK, {"created": time})
    assert record["created_at"] == parsed


QUERY = Query("lac", Scope(), 3)


def hit(number: int, **score: Any) -> dict[str, Any]:
    return {"id": f"source:{number}", "title": "T", "matches": [f"text {number}"], **score}


WORDS = {"results": [hit(1, relevance=8.0), hit(2, relevance=4.0)]}
VECTORS = {"results": [hit(n, similarity=value) for n, value in ((2, 0.8), (3, 0.4), (4, 0.2))]}


def run(backend: Any, *replies: object) -> tuple[Hits, list[str]]:
    """Return the hits of a hybrid search and the types of the requests."""
    steps = backend.search(QUERY, "hybrid")
    types = []
    request = next(steps)
    for reply in replies:
        types.append(request.json.get("search_type") or request.json["type"])
        try:
            request = steps.throw(reply) if isinstance(reply, Exception) else steps.send(reply)
        except StopIteration as stop:
            return stop.value, types
    raise AssertionError("The search sent another request.")


def assert_merged(hits: list[Record]) -> None:
    assert [hit["id"] for hit in hits] == ["source:2", "source:3", "source:1"]
    assert [hit["relevance"] for hit in hits] == pytest.approx(
        [WORDS_WEIGHT / 2 + VECTORS_WEIGHT, VECTORS_WEIGHT / 2, WORDS_WEIGHT]
    )
    assert [hit["similarity"] for hit in hits] == [0.8, 0.4, None]


def test_server_with_hybrid_search_gets_one_search() -> None:
    hits, types = run(ContractBackend(), {"results": [hit(1, relevance=0.5, similarity=0.4)]})
    assert types == ["hybrid"]
    assert (hits[0]["relevance"], hits[0]["similarity"]) == (0.5, 0.4)


@pytest.mark.parametrize("error", [InputError("No hybrid.", ""), SetupError("No hybrid.", "")])
def test_server_without_hybrid_search_gets_two_searches(error: Exception) -> None:
    hits, types = run(ContractBackend(), error, WORDS, VECTORS)
    assert types == ["hybrid", "text", "vector"]
    assert_merged(hits)


@pytest.mark.parametrize("error", [ServiceError("No model.", ""), BusyError("Too fast.", "")])
def test_failed_search_by_meaning_leaves_the_hits_by_words_with_a_note(error: LabextError) -> None:
    hits, types = run(OpenNotebookBackend(), WORDS, error)
    assert types == ["text", "vector"]
    assert [hit["id"] for hit in hits] == ["source:1", "source:2"]
    assert hits.note == (
        f"Searched by words alone, as the search by meaning failed: {error.message}"
    )


def test_hit_without_a_passage_is_merged_with_the_passages_of_its_record() -> None:
    """Open Notebook's search by words names records only."""
    words = {"results": [{"id": f"source:{n}", "relevance": r} for n, r in ((1, 8.0), (2, 4.0))]}
    hits, types = run(OpenNotebookBackend(), words, VECTORS)
    assert types == ["text", "vector"]
    assert_merged(hits)
    assert [hit["match"] for hit in hits] == ["text 2", "text 3", None]


@pytest.mark.parametrize("score", ["high", True, float("nan"), 10**400, None, [1]])
def test_hit_with_an_invalid_score_has_none(score: object) -> None:
    words = {"results": [hit(1, relevance=score), hit(2, relevance=4.0)]}
    hits, _ = run(OpenNotebookBackend(), words, {"results": [hit(3, similarity=score)]})
    assert [(hit["id"], hit["relevance"]) for hit in hits] == [
        ("source:2", pytest.approx(WORDS_WEIGHT)),
        ("source:1", 0.0),
        ("source:3", 0.0),
    ]


@pytest.mark.parametrize("options", [{"rewrite": True}, {"rerank": True}])
def test_open_notebook_refuses_to_rewrite_and_rerank_searches(options: dict[str, bool]) -> None:
    with pytest.raises(InputError, match="reranks no passages"):
        next(OpenNotebookBackend().search(replace(QUERY, **options), "text"))


@pytest.mark.parametrize("backend", [ContractBackend(), OpenNotebookBackend()])
def test_server_without_embedding_model_searches_by_words(backend: Any) -> None:
    none = SetupError("No embedding model.", "")
    replies = [WORDS, none] if isinstance(backend, OpenNotebookBackend) else [none, WORDS, none]
    hits, _ = run(backend, *replies)
    assert [(hit["id"], hit["relevance"]) for hit in hits] == [("source:1", 8.0), ("source:2", 4.0)]


def test_invalid_query_is_refused() -> None:
    error = InputError("limit is invalid.", "")
    with pytest.raises(InputError, match="limit"):
        run(ContractBackend(), error, error)


backend = OpenNotebookBackend()
FILE = {"file_path": "/data/uploads/plan.txt", "url": None}
LINK = {"file_path": None, "url": "https://example.org/page"}


def source(**fields: Any) -> dict[str, Any]:
    return {"id": "source:1", "title": "Plan", "asset": None, "embedded_chunks": 0, **fields}


@pytest.mark.parametrize("type", ["text", "vector"])
def test_vector_search_is_patient(drive, type):
    assert drive(backend.search(Query("lac", Scope()), type), {"results": []}).only.patient


@pytest.mark.parametrize(
    ("title", "asset", "expected"),
    [
        ("Processing...", FILE, "plan.txt"),
        ("Processing...", LINK, "https://example.org/page"),
        ("Processing...", None, None),
        ("[no-title]", LINK, "https://example.org/page"),
        ("My plan", FILE, "My plan"),
        ("Processing plant", None, "Processing plant"),
    ],
)
def test_placeholder_title_is_replaced_by_file_or_url(title, asset, expected):
    assert backend.parse_source(source(title=title, asset=asset))["title"] == expected


def test_only_a_single_source_has_a_passage_count(drive):
    (listed_source,) = drive(backend.sources(None, 10, 0, None), [source()]).result
    assert listed_source["passages"] is None
    assert drive(backend.source("source:1"), source(embedded_chunks=3)).result["passages"] == 3

"""What is beyond the contract: the client does it itself, or bears what a server does there."""

from __future__ import annotations

from typing import Any

import pytest
from fake_clock import Clock

from labext.errors import InputError, JobFailedError, NotFoundError, ServiceError, UnreachableError
from labext.nb.backends.contract import ContractBackend
from labext.nb.backends.open_notebook import OpenNotebookBackend
from labext.nb.commands import RESULT_GRACE_SECONDS, CommandWatch
from labext.nb.polling import MAX_OUTAGE_SECONDS
from labext.progress import Outcome

GONE = UnreachableError("No notebook service answers.", "Start it.")
DOWN = NotFoundError("There is no command.", "See.", status=500)
INSIGHT = {"id": "source_insight:1", "insight_type": "Summary", "content": "Warm."}


class Worker:
    """A command that is at each look as a test says; the last word stays."""

    def __init__(self, *told: str | Exception, error: str = "") -> None:
        self.left = list(told)
        self.error = error

    def __call__(self) -> dict[str, Any]:
        now = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if isinstance(now, Exception):
            raise now
        return {"status": now, "error_message": self.error}


def followed(*told: str | Exception, error: str = "", **more: Any) -> tuple[CommandWatch, Clock]:
    clock = Clock()
    return CommandWatch(Worker(*told, error=error), "The work", clock=clock, **more), clock


@pytest.mark.parametrize("away", [GONE, DOWN])
def test_a_watch_goes_on_where_there_is_no_answer_for_a_while(away):
    work, clock = followed("new", away, away, "running", "completed")
    seen = [*work.watch(sleep=clock.sleep)]
    assert any(each.reason.startswith("No answer now") for each in seen)
    assert (seen[-1].outcome, seen[-1].reason) == (Outcome.COMPLETE, "")
    assert [*dict.fromkeys(each.phase for each in seen)] == ["In Queue", "Running", "Complete"]


@pytest.mark.parametrize("away", [GONE, DOWN])
def test_it_does_not_go_on_for_ever(away):
    with pytest.raises(type(away)):
        followed(away)[0].poll()
    work, clock = followed("new", away)
    with pytest.raises(type(away)):
        work.wait(sleep=clock.sleep)
    assert clock.elapsed >= MAX_OUTAGE_SECONDS


def test_one_that_is_gone_ends_the_watch():
    work, clock = followed("new", NotFoundError("Gone.", "See.", status=404))
    with pytest.raises(NotFoundError):
        work.wait(sleep=clock.sleep)


def test_a_word_unheard_of_ends_nothing():
    work, clock = followed("pondering", "completed")
    seen = [*work.watch(sleep=clock.sleep)]
    assert seen[0].phase == "pondering"
    assert seen[-1].outcome is Outcome.COMPLETE


@pytest.mark.parametrize(("status", "word"), [("failed", "has failed"), ("canceled", "canceled")])
def test_a_bad_end_tells_its_reason(status, word):
    work, clock = followed(status, error="The worker was killed.")
    with pytest.raises(JobFailedError, match=rf"The work .*{word}: The worker was killed\. Fix"):
        work.wait(sleep=clock.sleep)


def test_what_comes_after_the_end_is_waited_for():
    results = [None, None, INSIGHT]
    work, clock = followed("completed", find_result=lambda: results.pop(0))
    seen = [*work.watch(sleep=clock.sleep)]
    assert work.result == INSIGHT
    assert [*dict.fromkeys(each.phase for each in seen)] == ["Running", "Complete"]

    never, clock = followed("completed", find_result=lambda: None)
    with pytest.raises(JobFailedError, match="there is no result"):
        never.wait(sleep=clock.sleep)
    assert clock.elapsed >= RESULT_GRACE_SECONDS


def reply(*events: Any) -> Any:
    return OpenNotebookBackend().source_reply(iter(events), "Why?")


def test_the_reply_is_the_last_one_and_cites_what_was_given():
    said = "So. [source:a] [source:a] [insight:madeup] [source_insight:b]"
    answer = reply(
        {"type": "user_message", "content": "Why?"},
        "noise",
        {"type": "ai_message", "content": "An older one. [source:a]"},
        {"type": "ai_message", "content": said},
        {"type": "context_indicators", "data": {"sources": ["source:a"], "insights": None}},
        {"type": "complete"},
        {"type": "ai_message", "content": "Nothing is read after the end."},
    )
    assert (answer.text, answer.question) == (said, "Why?")
    assert [each.id for each in answer.citations] == ["source:a"]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([{"type": "error", "message": "The provider is away."}], "failed: The provider is away"),
        ([{"type": "error"}], "the service gives no reason"),
        ([{"type": "ai_message", "content": "An older one."}], "without a reply"),
        ([{"type": "complete"}], "without a reply"),
        ([], "without a reply"),
    ],
)
def test_no_reply_is_an_error(events, said):
    with pytest.raises(ServiceError, match=said):
        reply(*events)


def test_a_key_in_a_failed_reply_is_masked():
    with pytest.raises(ServiceError) as caught:
        reply({"type": "error", "message": "bad api_key='sk-live-0123456789abcdef'"})
    assert "0123456789" not in str(caught.value)


def test_a_job_that_can_not_be_told_of_is_none(drive):
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


def test_a_body_names_only_what_is_given(drive):
    answer = {"id": "chat_session:1", "title": "Chat", "source_id": "source:1"}
    done = drive(OpenNotebookBackend().new_source_chat("source:1", None, None), answer)
    assert done.line == ("POST", "/sources/source%3A1/chat/sessions")
    assert done.only.json == {"source_id": "source:1"}
    with pytest.raises(InputError, match="can't clear the model override"):
        drive(OpenNotebookBackend().change_source_chat("source:1", "x", {"model_override": None}))


def test_on_a_server_of_the_contract_an_insight_is_looked_for_and_copied(drive):
    sources = [
        {"id": "source:1", "title": "Empty", "insights_count": 0},
        {"id": "source:2", "title": "Gone", "insights_count": 1},
        {"id": "source:3", "title": "Bench", "insights_count": 1},
    ]
    gone = NotFoundError("Gone.", "See.", status=404)
    found = drive(ContractBackend().insight("source_insight:1"), sources, gone, [INSIGHT])
    assert found.result["source_id"] == "source:3"
    with pytest.raises(NotFoundError, match="no insight source_insight:2"):
        drive(ContractBackend().insight("source_insight:2"), sources, gone, [INSIGHT], [])
    copied = drive(
        ContractBackend().save_insight("source_insight:1", "notebook:1"),
        sources,
        gone,
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

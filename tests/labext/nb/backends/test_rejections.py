"""Each refusal of Open Notebook becomes one line that a user understands, and a line of `%nb`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from open_notebook.facts import Recording, recordings
from open_notebook.proof import derived, operation_of
from open_notebook.scripted import Script
from open_notebook.unproved import NEVER_ASKED

from labext.errors import (
    BusyError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    SetupError,
    SignInError,
)
from labext.http import Operation
from labext.nb.backends import Request, RequestExecutor, contract
from labext.nb.backends.contract import podcasts
from labext.nb.backends.open_notebook import OpenNotebookBackend
from labext.nb.records import Question, Scope

pytestmark = pytest.mark.contract

QUESTION = "What yield do minipreps give?"
MODEL = "model:rvpfihowbm3ibqv9glxg"
NOWHERE = derived("meta.config", answer={"version": "1.14.0", "dbStatus": "offline"})


def _operations() -> Iterator[Operation]:
    modules = [m for name, m in sys.modules.items() if name.startswith(contract.__name__)]
    for module in modules:
        yield from (value for value in vars(module).values() if isinstance(value, Operation))
    for kind in (podcasts.EPISODE_PROFILES, podcasts.SPEAKER_PROFILES):
        yield from (each for each in vars(kind).values() if isinstance(each, Operation))


def operation(told: Recording) -> Operation:
    """What the client calls the operation that was refused."""
    wanted = _bare(operation_of(told).template.removeprefix("/api/"))
    return next(
        each for each in _operations() if each.method == told.method and _bare(each.path) == wanted
    )


def _bare(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)


REFUSALS = [
    each for each in recordings().values() if each.status >= 400 and each.name not in NEVER_ASKED
]


def refused(script: Script, wire: RequestExecutor, *answers: Recording, does: Any) -> LabextError:
    """What is raised when the service answers so."""
    script.plays(answers)
    with pytest.raises(LabextError) as raised:
        list(each) if isinstance(each := does(wire), Iterator) else each
    return raised.value


@pytest.mark.parametrize("told", REFUSALS, ids=lambda each: each.name)
def test_rejection_has_one_line_and_an_action(told, script, wire):
    asked = operation(told)
    path = dict.fromkeys(re.findall(r"\{(\w+)\}", asked.path), "x")
    error = refused(script, wire, told, does=lambda w: w.send(Request(asked, path)))
    expected = {
        400: (InputError,),
        401: (SignInError if told.told.get("www-authenticate") else SetupError,),
        404: (NotFoundError,),
        415: (InputError,),
        422: (InputError, SetupError),
        429: (BusyError,),
        500: (ServiceError,),
        502: (ServiceError,),
    }[told.status]
    assert type(error) in expected
    assert (error.action is None) == (error.next_step == "Correct the input.")
    assert error.next_step.endswith(".")
    assert error.message.endswith((".", "…"))
    assert not re.search(r"Settings|api_key='sk|sk-fake|\n|\[\{|Object with id", str(error))
    if told.answer and isinstance(told.answer["detail"], list):
        for each in told.answer["detail"]:
            assert each["msg"] in error.message
    assert error.status == told.status


@pytest.mark.parametrize(
    ("name", "kind", "what", "step"),
    [
        (
            "chat.execute_no_model_configured",
            SetupError,
            "No model is set for chat",
            '"chat": "NAME"',
        ),
        (
            "notes.create_ai_no_title_no_model",
            SetupError,
            "for transformation",
            '"transformation": ',
        ),
        ("search.vector_no_embedding_model", InputError, "embedding model", '"embedding": "NAME"'),
        ("chat.execute.badkey-chat", SetupError, "rejected the key", "api_key="),
        ("models.defaults_put_clear_required", InputError, "can't be cleared", '"chat": "NAME"'),
        ("credentials.create_no_encryption_key", InputError, "no key", "OPEN_NOTEBOOK_ENCRYPTION"),
        ("search.ask_embed_as_model", SetupError, "not a language model", 'list(type="llm")'),
        ("notes.list_missing_nb", NotFoundError, "Notebook not found", "nb.notebooks.list()"),
        ("notebooks.get_no_prefix", ServiceError, "identifier is invalid", "nb.notebooks.list()"),
        ("credentials.create_bad_provider", InputError, "'openai'", "nb.credentials.list()"),
        (
            "episode_profiles.get_by_id_404",
            NotFoundError,
            "not found",
            "nb.episode_profiles.list()",
        ),
        ("transformations.execute.limit-chat", BusyError, "rate limit", "nb.models.list("),
    ],
)
def test_what_mends_it_is_told(name, kind, what, step, script, wire):
    told = recordings()[name]
    asked = operation(told)
    path = dict.fromkeys(re.findall(r"\{(\w+)\}", asked.path), "x")
    error = refused(script, wire, told, does=lambda w: w.send(Request(asked, path)))
    assert isinstance(error, kind)
    assert what in error.message
    assert step in error.next_step


@pytest.mark.parametrize(
    ("name", "what", "step"),
    [
        ("badkey-chat", "Authentication failed", "api_key="),
        ("fail-chat", "temporarily unavailable", "nb.models.test("),
        ("limit-chat", "Rate limit exceeded", "nb.models.list("),
        ("junk-chat", "required format", 'list(type="llm")'),
    ],
)
def test_a_failure_within_a_stream_is_told(name, what, step):
    *_, last = recordings()[f"search.ask_sse.{name}"].events
    with pytest.raises(ServiceError) as raised:
        OpenNotebookBackend().parse_event(last, QUESTION)
    assert what in raised.value.message
    assert step in raised.value.next_step


@pytest.mark.parametrize(
    ("name", "before", "what"),
    [
        ("search.ask_sse_final_fails_midstream", 2, "temporarily unavailable"),
        ("search.ask_sse_no_searches", 1, "planned no search"),
    ],
)
def test_a_stream_that_fails_after_it_began_is_a_failure(name, before, what):
    *good, last = recordings()[name].events
    assert len([OpenNotebookBackend().parse_event(each, QUESTION) for each in good]) >= before
    with pytest.raises(ServiceError, match=what):
        OpenNotebookBackend().parse_event(last, QUESTION)


@pytest.mark.parametrize("name", ["podcasts.job_missing", "podcasts.job_bare"])
def test_a_job_that_it_does_not_know_is_not_found(name, script, wire):
    told = recordings()[name]
    job = told.path.rpartition("/")[2]
    alive = recordings()["meta.config"]
    does = lambda w: w.run(OpenNotebookBackend().podcast_job(job))  # noqa: E731
    error = refused(script, wire, told, alive, does=does)
    assert isinstance(error, NotFoundError)
    assert job in error.message
    assert error.next_step == "See `nb.podcasts.episodes()`."
    assert "database is offline" in refused(script, wire, told, NOWHERE, does=does).message


DOWN = derived("podcasts.job_missing", answer={"detail": "Error fetching notebooks"})


@pytest.mark.parametrize(
    ("answer", "does"),
    [
        (DOWN, lambda d: d.notebooks()),
        (DOWN, lambda d: d.notebook("notebook:abc")),
        ("notes.get_missing", lambda d: d.note("note:abc")),
        ("notes.delete_missing", lambda d: d.delete_note("note:abc")),
        ("notes.get_missing", lambda d: d.change_note("note:abc", {"title": "t"})),
        ("notes.list_missing_nb", lambda d: d.notes("notebook:abc")),
    ],
    ids=["notebooks", "notebook", "note", "delete_note", "change_note", "notes"],
)
def test_without_its_database_nothing_is_said_to_be_gone(answer, does, script, wire):
    told = answer if isinstance(answer, Recording) else recordings()[answer]
    run = lambda w: w.run(does(OpenNotebookBackend()))  # noqa: E731
    error = refused(script, wire, told, NOWHERE, does=run)
    assert isinstance(error, ServiceError)
    assert "database is offline" in error.message
    assert "`nb.status()`" in error.next_step
    # With the database there, it is what it was said to be.
    again = refused(script, wire, told, recordings()["meta.config"], does=run)
    assert again.status == told.status


def test_notes_are_not_left_out_when_the_database_goes_on_the_way(script, wire):
    listed, gone = recordings()["notes.list"], recordings()["notes.get_missing"]
    notes = OpenNotebookBackend().notes
    error = refused(script, wire, listed, gone, NOWHERE, does=lambda w: w.run(notes()))
    assert "database is offline" in error.message


def test_a_key_in_the_words_is_masked(script, wire):
    told = recordings()["search.ask_embed_as_model"]
    assert "api_key='sk-fake'" in told.answer["detail"]
    ask = OpenNotebookBackend().ask
    question = Question(QUESTION, Scope(), model_override=MODEL)
    error = refused(script, wire, told, does=lambda w: w.run(ask(question)))
    assert "sk-fake" not in f"{error} {error.server} {error!r} {error.__dict__}"


def test_too_large_a_file_is_told(script, wire):
    # No recording has one: the words are those of the server in front of it.
    large = derived("sources.upload_unsupported_415", status=413, answer={"detail": "Too large"})
    asked = operation(recordings()["sources.upload_unsupported_415"])
    error = refused(script, wire, large, does=lambda w: w.send(Request(asked)))
    assert "too large for the notebook service" in error.message
    assert "smaller file" in error.next_step


def test_a_command_that_is_not_there_is_not_found(script, wire):
    script.plays([recordings()["commands.job_missing"]])
    with pytest.raises(NotFoundError) as caught:
        wire.run(OpenNotebookBackend().command("command:nope"))
    assert "`nb.commands.list()`" in caught.value.next_step

"""Each error of Open Notebook has one line of text and a next step."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from open_notebook.facts import Recording, recordings
from open_notebook.proof import derived, operation_of
from open_notebook.scripted import Script

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

pytestmark = pytest.mark.contract

QUESTION = "What yield do minipreps give?"
MODEL = "model:rvpfihowbm3ibqv9glxg"
DATABASE_OFFLINE = derived("meta.config", answer={"version": "1.14.0", "dbStatus": "offline"})


def _operations() -> Iterator[Operation]:
    modules = [m for name, m in sys.modules.items() if name.startswith(contract.__name__)]
    for module in modules:
        yield from (value for value in vars(module).values() if isinstance(value, Operation))
    for kind in (podcasts.EPISODE_PROFILES, podcasts.SPEAKER_PROFILES):
        yield from (var for var in vars(kind).values() if isinstance(var, Operation))


def operation(recording: Recording) -> Operation:
    """Return the client's name of the rejected operation."""
    template = _bare(operation_of(recording).template.removeprefix("/api/"))
    return next(
        item
        for item in _operations()
        if item.method == recording.method and _bare(item.path) == template
    )


def _bare(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)


NEVER_REQUESTED = {
    "auth.docs_slash",
    "auth.unknown_path_needs_auth",
    "commands.job_missing",  # a 500 that means not found; tested separately
    "meta.method_not_allowed",
    "meta.unknown_path",
    "podcasts.audio_head_405",
    "sources.create_both_notebook_fields",
}
REJECTIONS = [
    recording
    for recording in recordings().values()
    if recording.status >= 400 and recording.name not in NEVER_REQUESTED
]


def error_of(script: Script, wire: RequestExecutor, *answers: Recording, call: Any) -> LabextError:
    """Return the exception for a response."""
    script.load(answers)
    with pytest.raises(LabextError) as raised:
        list(result) if isinstance(result := call(wire), Iterator) else result
    return raised.value


@pytest.mark.parametrize("recording", REJECTIONS, ids=lambda result: result.name)
def test_rejection_has_one_line_and_an_action(recording, script, wire):
    operation_asked = operation(recording)
    path = dict.fromkeys(re.findall(r"\{(\w+)\}", operation_asked.path), "x")
    error = error_of(script, wire, recording, call=lambda w: w.send(Request(operation_asked, path)))
    expected = {
        400: (InputError, SetupError),
        401: (SignInError if recording.response_headers.get("www-authenticate") else SetupError,),
        404: (NotFoundError,),
        415: (InputError,),
        422: (InputError, SetupError),
        429: (BusyError,),
        500: (ServiceError,),
        502: (ServiceError,),
    }[recording.status]
    assert type(error) in expected
    assert (error.action is None) == (error.next_step == "Correct the input.")
    assert error.next_step.endswith(".")
    assert error.message.endswith((".", "…"))
    assert not re.search(r"Settings|api_key='sk|sk-fake|\n|\[\{|Object with id", str(error))
    if recording.answer and isinstance(recording.answer["detail"], list):
        for entry in recording.answer["detail"]:
            assert entry["msg"] in error.message
    assert error.status == recording.status


@pytest.mark.parametrize(
    ("name", "kind", "message", "step"),
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
        ("search.vector_no_embedding_model", SetupError, "embedding model", '"embedding": "NAME"'),
        ("chat.execute.badkey-chat", SetupError, "rejected the key", "api_key="),
        ("models.defaults_put_clear_required", InputError, "can't be cleared", '"chat": "NAME"'),
        ("credentials.create_no_encryption_key", SetupError, "no key", "OPEN_NOTEBOOK_ENCRYPTION"),
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
        ("sources.retry_completed", InputError, "neither a file nor an address", "add_text("),
        ("podcasts.retry_completed", InputError, "has not failed", "nb.podcasts.episodes()"),
    ],
)
def test_error_has_its_next_step(name, kind, message, step, script, wire):
    recording = recordings()[name]
    operation_asked = operation(recording)
    path = dict.fromkeys(re.findall(r"\{(\w+)\}", operation_asked.path), "x")
    error = error_of(script, wire, recording, call=lambda w: w.send(Request(operation_asked, path)))
    assert isinstance(error, kind)
    assert message in error.message
    assert step in error.next_step


@pytest.mark.parametrize(
    ("name", "message", "step"),
    [
        ("badkey-chat", "Authentication failed", "api_key="),
        ("fail-chat", "temporarily unavailable", "nb.models.test("),
        ("limit-chat", "Rate limit exceeded", "nb.models.list("),
        ("junk-chat", "required format", 'list(type="llm")'),
    ],
)
def test_error_event_has_its_next_step(name, message, step):
    *_, last = recordings()[f"search.ask_sse.{name}"].events
    with pytest.raises(ServiceError) as raised:
        OpenNotebookBackend().parse_event(last, QUESTION)
    assert message in raised.value.message
    assert step in raised.value.next_step


@pytest.mark.parametrize(
    ("name", "before", "message"),
    [
        ("search.ask_sse_final_fails_midstream", 2, "temporarily unavailable"),
        ("search.ask_sse_no_searches", 1, "planned no search"),
    ],
)
def test_failure_in_a_stream_is_an_error(name, before, message):
    *events, last = recordings()[name].events
    assert len([OpenNotebookBackend().parse_event(event, QUESTION) for event in events]) >= before
    with pytest.raises(ServiceError, match=message):
        OpenNotebookBackend().parse_event(last, QUESTION)


@pytest.mark.parametrize("name", ["podcasts.job_missing", "podcasts.job_bare"])
def test_unknown_job_is_not_found(name, script, wire):
    recording = recordings()[name]
    job = recording.path.rpartition("/")[2]
    online = recordings()["meta.config"]
    call = lambda w: w.run(OpenNotebookBackend().podcast_job(job))  # noqa: E731
    error = error_of(script, wire, recording, online, call=call)
    assert isinstance(error, NotFoundError)
    assert job in error.message
    assert error.next_step == "See `nb.podcasts.episodes()`."
    assert (
        "database is offline"
        in error_of(script, wire, recording, DATABASE_OFFLINE, call=call).message
    )


DOWN = derived("podcasts.job_missing", answer={"detail": "Error fetching notebooks"})


@pytest.mark.parametrize(
    ("answer", "call"),
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
def test_offline_database_is_not_reported_as_not_found(answer, call, script, wire):
    recording = answer if isinstance(answer, Recording) else recordings()[answer]
    run = lambda w: w.run(call(OpenNotebookBackend()))  # noqa: E731
    error = error_of(script, wire, recording, DATABASE_OFFLINE, call=run)
    assert isinstance(error, ServiceError)
    assert "database is offline" in error.message
    assert "`nb.status()`" in error.next_step
    # With a running database, the recorded error is raised.
    known_error = error_of(script, wire, recording, recordings()["meta.config"], call=run)
    assert known_error.status == recording.status


def test_outage_while_listing_notes_is_an_error(script, wire):
    listing, not_found = recordings()["notes.list"], recordings()["notes.get_missing"]
    notes = OpenNotebookBackend().notes
    error = error_of(
        script, wire, listing, not_found, DATABASE_OFFLINE, call=lambda w: w.run(notes())
    )
    assert "database is offline" in error.message


def test_too_large_file_is_reported(script, wire):
    # Not recorded: the text is that of a reverse proxy.
    large = derived("sources.upload_unsupported_415", status=413, answer={"detail": "Too large"})
    operation_asked = operation(recordings()["sources.upload_unsupported_415"])
    error = error_of(script, wire, large, call=lambda w: w.send(Request(operation_asked)))
    assert "too large for the notebook service" in error.message
    assert "smaller file" in error.next_step

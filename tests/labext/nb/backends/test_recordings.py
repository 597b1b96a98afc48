"""Client and simulated server match the recorded requests and responses of Open Notebook."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from open_notebook import Replay, facts, serving
from open_notebook.facts import Recording, recordings
from open_notebook.proof import Proof, check_result, check_sent
from open_notebook.proved import PROOFS

from labext.errors import BusyError, NotFoundError, ServiceError, UnreachableError
from labext.nb import NotebookClient
from labext.nb.backends import RecordParser, Request, RequestExecutor
from labext.nb.backends.contract.podcasts import SPEAKER_PROFILES
from labext.nb.backends.open_notebook import OpenNotebookBackend
from labext.nb.records import Answer, Citation, Final, MessageContext, Query, Question, Scope

pytestmark = pytest.mark.contract


@pytest.mark.parametrize("proof", PROOFS, ids=str)
def test_request_equals_the_recorded_one(proof, script, wire, tmp_path, monkeypatch):
    if proof.method == "add_file":
        monkeypatch.chdir(tmp_path)
        folder = tmp_path / "FOLDER"
        folder.mkdir()
        (folder / str(proof.recordings[-1].files["file"][0])).write_text("text")
    script.load(proof.recordings)
    result = outcome(proof, wire, tmp_path)
    check_sent(proof, script.received)
    check_result(proof, result)


def outcome(proof: Proof, wire: RequestExecutor, folder: Path) -> Any:
    """Return the result of a call: a record, the size of a file, or the request's events."""
    steps = proof.call(OpenNotebookBackend())
    request = steps if isinstance(steps, Request) else wire.run(steps)
    if not isinstance(request, Request):
        return request
    if proof.recordings[-1].events:
        return [OpenNotebookBackend().parse_event(event, "?") for event in wire.events(request, 10)]
    return wire.download(request, folder / "file").stat().st_size


def test_every_recording_is_used():
    used = {name for proof in PROOFS for name in proof.names}
    simulation = "".join(path.read_text() for path in Path(facts.__file__).parent.rglob("*.py"))
    for recording in recordings().values():
        is_read_by_name = recording.status >= 400 or recording.events
        assert recording.name in used or is_read_by_name or f'"{recording.name}"' in simulation


# The simulated server follows the server's schema for these.
UNRECORDED = {
    *("change_source_chat", "delete_insight", "delete_source_chat", "new_source_chat", "rebuild"),
    *("rebuild_status", "run_command", "set_settings", "source_chat", "source_chats"),
    *("source_message", "source_reply", "sources_awaiting_vectors"),
}


def test_every_method_has_a_proof_or_is_listed_as_unrecorded():
    methods = {
        name
        for name, _ in inspect.getmembers(OpenNotebookBackend, inspect.isfunction)
        if not name.startswith(("_", "parse_")) and name not in vars(RecordParser)
    }
    assert methods - {proof.method for proof in PROOFS} == UNRECORDED


@pytest.mark.parametrize("in_context", [True, False])
def test_citations_are_limited_to_the_context(in_context):
    """A reply marks identifiers of its context; models invent identifiers too."""
    recording = recordings()["chat.execute"]
    context = recording.json["context"] if in_context else {}
    steps = OpenNotebookBackend().execute("chat_session:x", "?", MessageContext(context), None)
    next(steps)
    with pytest.raises(StopIteration) as ended:
        steps.send(recording.answer)
    cited = [citation.id for citation in ended.value.value.citations]
    marked = ["note:rh4bk8rexnua5a5c6tt3", "source:iv8t6jwqw9lo4amjyr0f"]
    assert cited == ([*marked, "source:tyu15omdv02ep90uauvu"] if context else [])


def test_marks_of_an_answer_become_citations_if_the_records_exist(drive):
    text = (
        "A [note:a]. B [source:b; source:b2], [source_insight:c] [source:d/e] [source:b] "
        "[insight:copied]."
    )
    call = drive(
        OpenNotebookBackend().with_citations(Answer(text)),
        {"id": "note:a", "title": "Yields"},
        {"id": "source:b", "title": "Processing...", "asset": {"file_path": "/up/b.pdf"}},
        ServiceError("The service failed."),
        {"id": "source_insight:c", "insight_type": "Summary"},
    )
    cited = [(citation.id, citation.title) for citation in call.result.citations]
    assert cited == [("note:a", "Yields"), ("source:b", "b.pdf"), ("source_insight:c", "Summary")]


def test_replies_of_a_session_have_citations(nb):
    notebook = nb.notebooks.create("Talked")["id"]
    note = nb.notes.create("Ten micrograms.", "Yield", notebook=notebook)["id"]
    session = nb.chat.create(notebook, "Talk")["id"]
    reply = nb.chat.execute(session, "What yield?")
    question, answer = nb.chat.get(session)["messages"]
    assert reply.citations == (Citation(note, "Yield"),)
    assert (question["citations"], answer["citations"]) == ([], [vars(reply.citations[0])])
    nb.notebooks.delete(notebook)


@pytest.mark.parametrize("answer", [{}, {"answer": None}, {"answer": " "}])
def test_empty_answer_is_an_error(drive, answer):
    question = Question("Why?", Scope(), model_override="model:1")
    with pytest.raises(ServiceError, match="There is no answer"):
        drive(OpenNotebookBackend().ask(question), answer)


def test_streamed_answer_has_citations(nb, replay):
    marked = "note:zy9r1128fhjvvv67zn43"  # in the recorded stream
    created = nb.notes.create("Ten micrograms.", "Yield")["id"]
    replay.state.notes[marked] = {**replay.state.notes.pop(created), "id": marked}
    *_, final = nb.ask_stream("What yield do minipreps give?")
    assert isinstance(final, Final)
    assert final.answer.citations == (Citation(marked, "Yield"),)
    nb.notes.delete(marked)


def test_best_passages_by_meaning_are_the_context_of_a_restricted_question(drive):
    scope = Scope(sources=("source:1", "source:2"))
    question = Question("Why?", scope, limit=1, model_override="model:1")
    hits = [{"id": f"source:{n}", "matches": ["So."], "similarity": n / 5} for n in (1, 2)]
    call = drive(
        OpenNotebookBackend().ask(question),
        {"results": []},
        {"results": hits},
        [{"id": "notebook:1"}],
        {"id": "chat_session:1"},
        {"context": {"sources": [{"id": "source:2", "title": "B"}], "notes": []}},
        {"messages": [{"type": "ai", "content": "So [source:2]."}]},
        None,
    )
    assert call.requests[4].json["context_config"]["sources"] == {"source:2": "full content"}
    assert call.result.citations == (Citation("source:2", "B"),)


def test_insights_found_by_words_are_kept_to_the_sources_in_scope(drive):
    found = [
        {"id": "source_insight:other", "parent_id": "source_insight:other", "relevance": 3.0},
        {"id": "source_insight:own", "parent_id": "source_insight:own", "relevance": 2.0},
        {"id": "source:1", "parent_id": "source:1", "relevance": 1.0},
        {"id": "source_insight:gone", "parent_id": "source_insight:gone", "relevance": 0.5},
    ]
    call = drive(
        OpenNotebookBackend().search(Query("lac", Scope(sources=("source:1",))), "text"),
        {"results": found},
        {"id": "source_insight:other", "source_id": "source:2"},
        {"id": "source_insight:own", "source_id": "source:1"},
        NotFoundError("It was deleted."),
    )
    hits = [(hit["id"], hit["kind"], hit["relevance"]) for hit in call.result]
    assert hits == [("source:1", "source", 2.0)]


@pytest.mark.parametrize("error", [ServiceError("It failed."), BusyError("Too many requests.")])
def test_context_is_chosen_by_words_if_the_search_by_meaning_fails(drive, error):
    question = Question("Why?", Scope(sources=("source:1", "source:2")), limit=1)
    call = drive(
        OpenNotebookBackend().ask(question),
        {"results": [{"id": "source:2", "relevance": 1.0}]},
        error,
        [{"id": "notebook:1"}],
        {"id": "chat_session:1"},
        {"context": {"sources": [{"id": "source:2", "title": "B"}], "notes": []}},
        {"messages": [{"type": "ai", "content": "So."}]},
        None,
    )
    config = call.requests[4].json["context_config"]
    assert config == {"sources": {"source:2": "full content"}, "notes": {}}
    assert error.message in str(call.result.note)


def test_change_of_a_speaker_profile_keeps_further_fields_of_its_speakers(drive):
    speaker = {"name": "Ada", "voice_id": "nova", "backstory": "", "personality": "Calm"}
    row = {"id": "speaker_profile:1", "name": "duo", "speakers": [speaker | {"voice_model": "m"}]}
    changes = {"description": "Two."}
    steps = OpenNotebookBackend().change_profile(SPEAKER_PROFILES, row["id"], changes)
    call = drive(steps, [{"name": "no identifier"}, row], row)
    assert call.requests[-1].json["speakers"] == row["speakers"]


@pytest.mark.parametrize("response", [{}, {"job_id": None}, []])
def test_started_episode_without_a_job_is_an_error(drive, response):
    models = {"outline_llm": "model:1", "transcript_llm": "model:1", "default_briefing": "Talk."}
    speakers = {"id": "speaker_profile:1", "name": "duo", "voice_model": "model:2", "speakers": []}
    profile = {"id": "episode_profile:1", "name": "talk", "speaker_config": speakers["id"]}
    steps = OpenNotebookBackend().generate("notebook:1", profile["id"], None, "Ep 1", None)
    with pytest.raises(ServiceError, match="response about the episode"):
        drive(steps, [profile | models], [speakers], response)


def test_error_of_a_topic_says_that_the_source_was_added(drive):
    options = {"notebook": None, "title": None, "topic": "plasmids", "process_async": True}
    steps = OpenNotebookBackend().add_text("A text.", **options)
    with pytest.raises(ServiceError, match="source:1 was added, but without its topic: It failed"):
        drive(steps, {}, [], {"id": "source:1", "title": "T"}, ServiceError("It failed."))


def test_error_of_a_type_says_that_the_note_was_created(drive):
    steps = OpenNotebookBackend().save_insight("source_insight:1", "notebook:1")
    with pytest.raises(ServiceError, match="note:1 was created, but without its type: It failed"):
        drive(steps, {"id": "note:1"}, ServiceError("It failed."))


@pytest.mark.parametrize("row", [{}, {"id": None}, {"id": []}])
@pytest.mark.parametrize("responses", [([],), ()], ids=["note", "source"])
def test_record_without_an_identifier_is_not_put_into_a_context(drive, row, responses):
    steps = OpenNotebookBackend().message_context("chat_session:1", Scope())
    with pytest.raises(ServiceError, match="has no id"):
        drive(steps, {"notebook_id": "notebook:1"}, *responses, [row])


OTHER_SETUP = {
    # Recorded with another setup: without models, a key for encryption, or an index.
    "chat.execute_no_model_configured",
    "credentials.create_no_encryption_key",
    "notes.create_ai_no_title_no_model",
    "search.vector_no_embedding_model",
}


@pytest.fixture(scope="module")
def replay() -> Iterator[Replay]:
    with serving() as server:
        yield server


@pytest.fixture
def nb(replay: Replay) -> Iterator[NotebookClient]:
    with NotebookClient(replay.base_url, rate=None) as client:
        yield client


def independent(recording: Recording) -> bool:
    """Return whether a request names only objects that never existed."""
    request_text = f"{recording.path} {recording.query} {recording.json} {recording.form}"
    identifiers = re.findall(r"\b[a-z_]+:([a-z0-9]{20})\b", request_text)
    return not identifiers and not recording.files and not recording.name.startswith("auth.")


REJECTIONS = [
    recording
    for recording in recordings().values()
    if recording.status >= 400 and independent(recording) and recording.name not in OTHER_SETUP
]


@pytest.mark.parametrize("recording", REJECTIONS, ids=lambda item: item.name)
def test_rejection_equals_the_recorded_one(replay, recording):
    body: dict[str, Any] = {"json": recording.json} if recording.json is not None else {}
    if recording.form:
        body = {"files": {name: (None, value) for name, value in recording.form.items()}}
    if recording.name == "meta.bad_json":
        body = {"data": "{bad", "headers": dict(recording.headers)}
    url = replay.base_url.removesuffix("/api") + recording.path
    answer = requests.request(recording.method, url, params=recording.query, timeout=10, **body)
    assert answer.status_code == recording.status
    if recording.method != "HEAD" and recording.answer is not None:
        actual, expected = answer.json()["detail"], recording.answer["detail"]
        if isinstance(expected, str):
            assert actual == expected
        else:
            assert {(row["type"], *row["loc"]) for row in actual} == {
                (row["type"], *row["loc"]) for row in expected
            }


def test_file_name_survives_renaming_by_the_server(nb, replay, tmp_path):
    file = tmp_path / "yield.tar.gz"
    file.write_bytes(b"Not really an archive.")
    for name in ("One", "Two"):
        notebook = nb.notebooks.create(name)["id"]
        added = nb.sources.add_file(file, notebook, process_async=False)
        (listed_source,) = nb.sources.iter(notebook)
        for record in (added, listed_source, nb.sources.get(added["id"])):
            assert (record["title"], record["file_name"]) == (file.name, file.name)
    path = replay.state.sources[added["id"]]["asset"]["file_path"]
    assert path == "/data/uploads/yield.tar (1).gz"
    assert nb.sources.download(added["id"], tmp_path / "back").read_bytes() == file.read_bytes()


def test_files_are_compared_by_content_and_very_large_ones_by_size(nb, tmp_path, monkeypatch):
    file = tmp_path / "scan.txt"
    file.write_text("One scan.")
    added = nb.sources.add_file(file, process_async=False)["id"]
    assert nb.sources.has_content(added, file) is True
    file.write_text("Two scan.")
    assert nb.sources.has_content(added, file) is False
    file.write_text("ACGT" * 2**19)
    long = nb.sources.add_file(file, process_async=False)["id"]
    assert nb.sources.has_content(long, file) is True
    file.write_text("ACGT" * (2**19 - 1) + "ACGA")
    assert nb.sources.has_content(long, file) is False
    file.write_text("Two scan.")
    monkeypatch.setattr("labext.nb.uploads.MAX_COMPARED_BYTES", 8)
    assert nb.sources.has_content(added, file) is True
    file.write_text("Two scans.")
    assert nb.sources.has_content(added, file) is False
    text = nb.sources.add_text("Two scans.", process_async=False)["id"]
    assert nb.sources.has_content(text, file) is None


def test_add_keeps_existing_sources_unless_added_again(nb, tmp_path):
    notebook = nb.notebooks.create("Kept")["id"]
    paper, page = tmp_path / "culture.txt", tmp_path / "culture.md"
    paper.write_text("Glucose represses the promoter.")
    page.write_text("Arabinose induces it.")
    (first,) = nb.sources.add(paper, notebook)["id"]
    added: list[Any] = []
    frame = nb.sources.add([page, paper, str(paper)], notebook, on_added=added.append)
    assert list(frame["file_name"]) == ["culture.md", "culture.txt"]
    assert frame["id"][1] == first
    assert [record["id"] for record in added] == [frame["id"][0]]
    (again,) = nb.sources.add(paper, notebook, again=True)["id"]
    assert again != first


def test_file_without_a_stored_original_is_added_again(nb, replay, tmp_path):
    file = tmp_path / "plan.txt"
    file.write_text("Vary arabinose.")
    (first,) = nb.sources.add(file)["id"]
    assert list(nb.sources.add(file)["id"]) == [first]
    replay.state.files.clear()
    assert list(nb.sources.add(file)["id"]) != [first]


def test_note_titles_need_no_content(nb, replay):
    notebook = nb.notebooks.create("Titles")["id"]
    for title in ("One", "Two"):
        nb.notes.create("Something.", title, notebook=notebook)
    replay.requests.clear()
    assert nb.notes.names(notebook) == ["Two", "One"]
    assert nb.notes.find("One", notebook)
    assert {request.path for request in replay.requests} == {"/api/notes"}
    assert list(nb.notes.list(notebook)["content"]) == ["Something.", "Something."]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, UnreachableError, None])
def test_ask_deletes_its_temporary_session(nb, replay, monkeypatch, failure):
    notebook = nb.notebooks.create("Asked")["id"]
    nb.notes.create("Warm water elutes more plasmid.", "Elution", notebook=notebook)
    send = nb._executor.send

    def send_or_fail(request: Any, *rest: Any) -> Any:
        if failure is not None and request.op.path == "chat/execute":
            raise failure("cut off")
        return send(request, *rest)

    monkeypatch.setattr(nb._executor, "send", send_or_fail)
    if failure is None:
        assert nb.ask("What elutes plasmid?", notebook).citations
    else:
        with pytest.raises(failure):
            nb.ask("What elutes plasmid?", notebook)
    assert replay.sent("POST", "/chat/sessions")
    assert nb.chat.sessions().empty

"""The client against the local notebook service."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai_server import serving

from labext.errors import InputError, NotFoundError, NotReadyError, SignInError
from labext.frames.views import frame_text
from labext.nb import Final, NotebookClient, Partial, Strategy, records
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

PAPER = """Glucose is added to the uninduced culture because it represses the araBAD promoter.

Arabinose induces expression of the gene. The plasmid is pBAD30."""
PAGE = """<html><head><title>Catabolites</title></head><body><p>Catabolite repression lowers the
leaky expression of genes in cells that are grown with sugar.</p></body></html>"""


@pytest.fixture(scope="module")
def nb(box: Sandbox) -> Iterator[NotebookClient]:
    with NotebookClient(box.nb.base_url, box.nb.password) as client:
        yield client


@pytest.fixture
def name(nb: NotebookClient) -> str:
    """The name of a notebook for one test."""
    return str(nb.notebooks.create(f"n{uuid.uuid4().hex[:8]}", "pBAD30 notes")["name"])


@pytest.fixture(scope="module")
def library(nb: NotebookClient, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A notebook with two processed files, a text and a note."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "paper.txt").write_text(PAPER)
    (folder / "page.html").write_text(PAGE)
    nb.notebooks.create("Shelf")
    nb.sources.add([folder / "paper.txt", folder / "page.html"], "Shelf")
    nb.sources.add_text("Cells grew at 37 °C.", "Shelf", title="Bench", process_async=False)
    nb.notes.create("Check the leaky expression.", title="Plan", notebook="Shelf")
    nb.sources.wait(list(nb.sources.list("Shelf")["id"]), timeout=60)
    return "Shelf"


@pytest.mark.parametrize("limit", [0, -1, True, "5", 2.5])
def test_invalid_limit_is_refused_by_every_method(client_of, faulty, limit):
    server = faulty(faulty.answer("[]"))
    client = client_of(server)
    for act in (
        client.search,
        client.ask,
        client.ask_stream,
        lambda _, limit: client.sources.list(limit=limit),
        lambda _, limit: client.commands.list(limit=limit),
    ):
        with pytest.raises(InputError, match=f"The limit is {limit!r}"):
            act("Why?", limit=limit)
    with pytest.raises(InputError, match="The offset is '1'"):
        client.sources.list(offset="1")
    assert server.received == []


def test_unknown_option_is_named_with_the_similar_one(client_of, faulty):
    client = client_of(faulty(faulty.answer("[]")))
    for act in (client.search, client.ask, client.ask_stream):
        with pytest.raises(TypeError, match=r"^unexpected .*'notes_ids' \(did you mean .note_ids"):
            act("Why?", notes_ids=["a"])
    with pytest.raises(TypeError, match=r"^unexpected .*'model_override'"):
        client.search("glucose", model_override="gpt-4o")
    with pytest.raises(TypeError, match=r"^unexpected .*'limit'"):
        client.chat.execute("session", "Why?", limit=3)
    with pytest.raises(TypeError, match=r"^unexpected .*'segments' \(did you mean .num_segments"):
        client.episode_profiles.create("short", segments=2)


def test_status_and_password(nb, box):
    status = nb.status()
    assert status["password_needed"] is True
    assert status["signed_in"] is True
    assert status["database"] == "online"
    assert status["version"]
    with NotebookClient(box.nb.base_url, "a wrong password") as stranger:
        assert stranger.status()["signed_in"] is False
        with pytest.raises(SignInError, match="does not accept the password"):
            stranger.notebooks.list()
    with (
        NotebookClient(box.nb.base_url) as unauthenticated,
        pytest.raises(SignInError, match="requires a password"),
    ):
        unauthenticated.notebooks.list()


LISTS: dict[str, tuple[Callable[[NotebookClient], Any], Any]] = {
    "notebooks": (lambda nb: nb.notebooks.list(), records.NOTEBOOK),
    "sources": (lambda nb: nb.sources.list(), records.SOURCE),
    "insights": (lambda nb: nb.sources.insights("Bench"), records.INSIGHT),
    "hits": (lambda nb: nb.search("araBAD"), records.HIT),
    "transformations": (lambda nb: nb.transformations.list(), records.TRANSFORMATION),
    "models": (lambda nb: nb.models.list(), records.MODEL),
    "providers": (lambda nb: nb.models.providers(), records.PROVIDER),
    "sync": (lambda nb: nb.models.sync(), records.SYNC_RESULT),
    "credentials": (lambda nb: nb.credentials.status(), records.CREDENTIAL_STATUS),
    "episodes": (lambda nb: nb.podcasts.episodes(), records.EPISODE),
}


@pytest.mark.parametrize("name", LISTS)
def test_list_has_the_fields_of_its_records(nb, library, name):
    list_records, fields = LISTS[name]
    assert set(list_records(nb).columns) == set(fields)


def test_add_keeps_existing_sources_unless_added_again(nb, name, tmp_path):
    paper, page = tmp_path / "culture.txt", tmp_path / "culture.html"
    paper.write_text(PAPER)
    page.write_text(PAGE)
    (first,) = nb.sources.add(paper, name)["id"]
    added: list[Any] = []
    frame = nb.sources.add([page, paper, str(paper)], name, on_added=added.append)
    assert list(frame["file_name"]) == ["culture.html", "culture.txt"]
    assert frame["id"][1] == first
    assert [record["id"] for record in added] == [frame["id"][0]]
    paper.write_text(PAPER.upper())
    assert nb.sources.find_existing(paper, name)[paper].other["id"] == first
    (changed,) = nb.sources.add(paper, name)["id"]
    (again,) = nb.sources.add(paper, name, again=True)["id"]
    assert len({first, changed, again}) == 3


def test_file_upload_and_download(nb, name, tmp_path):
    path = tmp_path / f"{name} über.txt"
    path.write_text(PAPER)
    progress: list[tuple[int, int | None]] = []
    record = nb.sources.add_file(
        path, name, topic="plasmids", on_bytes=lambda *transferred: progress.append(transferred)
    )
    assert list(record) == list(records.SOURCE_DETAIL)
    assert progress[-1][0] == progress[-1][1]
    assert list(nb.sources.wait(path.name, timeout=60)["status"]) == ["completed"]
    detail = nb.sources.get(path.name)
    assert "araBAD promoter" in detail["full_text"]
    assert (detail["topic"], detail["kind"]) == ("plasmids", "upload")
    (tmp_path / "there").mkdir()
    back = nb.sources.download(path.name, tmp_path / "there")
    assert back == tmp_path / "there" / path.name
    assert back.read_text() == PAPER
    assert nb.sources.exists(path.name)
    nb.sources.delete(path.name)
    assert not nb.sources.exists(record["id"])


def test_text_is_processed_synchronously(nb, name):
    record = nb.sources.add_text(PAPER, name, title=f"{name} text", process_async=False)
    assert (record["status"], record["kind"]) == ("completed", "text")
    assert list(nb.sources.status(record["id"])) == list(records.STATUS)
    changed = nb.sources.update(record["id"], title=f"{name} new", topic="t")
    assert (changed["title"], changed["topic"]) == (f"{name} new", "t")
    assert not nb.sources.exists(record["id"])
    with pytest.raises(NotFoundError, match="has no file"):
        nb.sources.download(record["id"])
    with pytest.raises(InputError):
        nb.sources.retry(record["id"])


def test_streamed_answer_equals_the_simple_one(nb, library):
    question = "Why is glucose added to the uninduced culture?"
    answer = nb.ask(question, notebook=library)
    assert "represses" in answer.text
    assert answer.citations
    first, *between, last = nb.ask_stream(question, notebook=library)
    assert isinstance(first, Strategy)
    assert all(isinstance(entry, Partial) for entry in between)
    assert last == Final(answer)


def test_empty_notebook_has_no_answer(nb, name):
    assert len(nb.search("araBAD", notebook=name)) == 0
    with pytest.raises(InputError, match="scope is empty"):
        nb.ask("Why?", notebook=name)


def test_chat_lifecycle(nb, library):
    created = nb.chat.create(library, "Talk")
    assert list(created) == list(records.SESSION)
    reply = nb.chat.execute("Talk", "What does arabinose do?", source_ids=["paper.txt"])
    assert {cited.title for cited in reply.citations} == {"paper.txt"}
    assert list(nb.chat.messages("Talk")["content"])[1] == reply.text
    changed = nb.chat.update("Talk", title="Talked", model_override="model:extractive")
    assert (changed["title"], changed["model_override"]) == ("Talked", "model:extractive")
    assert nb.chat.update("Talked", model_override="")["model_override"] is None
    assert list(nb.chat.sessions(library)["title"]) == ["Talked"]
    context = nb.chat.context("Talked", include_notes=False)
    assert list(context) == list(records.CONTEXT)
    assert (len(context["sources"]), context["notes"]) == (3, [])
    config = {"notes": {nb.notes.find("Plan", library): "full content"}}
    assert len(nb.chat.context(notebook=library, config=config)["notes"]) == 1
    nb.chat.delete("Talked")
    assert len(nb.chat.sessions(library)) == 0


def test_models_and_credentials(nb):
    with serving() as server:
        created = nb.credentials.create(
            "openai_compatible", "lab", "sk-labext-4711", server.base_url
        )
        assert list(created) == list(records.CREDENTIAL)
        assert "talker" in set(nb.credentials.discover("lab")["name"])
        assert nb.credentials.register_models("lab", [("tts-1", "tts")])["created"] == 1
        assert "tts-1" in nb.models.names("tts")
        assert "tts-1" not in nb.models.names("llm")
        assert nb.credentials.update("lab", api_key="")["has_api_key"] is False
        status = nb.credentials.status()
        assert status.set_index("provider")["source"]["openai_compatible"] == "database"
        assert status.attrs["encryption_configured"] is True
        assert nb.credentials.env_status()["groq"] is False
        assert nb.credentials.delete("lab") == {"id": created["id"], "deleted_models": 1}


def test_profiles(nb):
    created = nb.episode_profiles.create("short", ["host", "guest"], num_segments=2)
    assert list(created) == list(records.EPISODE_PROFILE)
    assert created["speaker_profile_ids"] == [
        nb.speaker_profiles.find(name) for name in ("host", "guest")
    ]
    assert nb.episode_profiles.update("short", speakers="expert")["num_segments"] == 2
    assert {"short", "interview"} <= set(nb.episode_profiles.list()["name"])
    assert "Alex" in frame_text(nb.speaker_profiles.list())
    nb.episode_profiles.delete("short")
    ada = {"name": "Ada", "backstory": "A biologist."}
    created = nb.speaker_profiles.create("ada", ada)
    assert created["speakers"] == [dict.fromkeys(records.SPEAKER) | {"personality": ""} | ada]
    copy = nb.speaker_profiles.duplicate("ada")
    assert copy["id"] != created["id"]
    assert copy["speakers"] == created["speakers"]


def test_episode(nb, library, tmp_path):
    sent = nb.podcasts.generate(library, "interview", name="Episode 1")
    assert list(sent) == list(records.EPISODE_SUBMISSION)
    with pytest.raises(NotReadyError, match="unchanged for"):
        nb.podcasts.wait("Episode 1", 0)
    assert nb.podcasts.wait(sent["job_id"], 60)["id"] == sent["episode_id"]
    job = nb.podcasts.job(sent["job_id"])
    assert list(job) == list(records.JOB)
    assert job["result"]["episode_id"] == sent["episode_id"]
    record = nb.podcasts.episode("Episode 1")
    assert list(record) == list(records.EPISODE_DETAIL)
    lines = record["transcript"]["transcript"]
    assert all(line["start"] < line["end"] <= record["duration"] for line in lines)
    written = nb.podcasts.audio("Episode 1", tmp_path)
    assert written == tmp_path / "Episode 1.mp3"
    assert written.read_bytes() == nb.podcasts.sound("Episode 1")

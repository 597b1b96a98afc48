"""The client against the local notebook service."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from labext.errors import InputError, NotFoundError, SignInError
from labext.nb import ExpectedAnswer, Final, NotebookClient, Partial, Strategy, records
from labext.nb.backends.contract import ContractBackend
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

PAPER = """Glucose is added to the uninduced culture because it represses the araBAD promoter.

Arabinose induces expression of the gene. The plasmid is pBAD30."""


@pytest.fixture(scope="module")
def nb(box: Sandbox) -> Iterator[NotebookClient]:
    with NotebookClient(box.nb.base_url, box.nb.password) as client:
        yield client


@pytest.fixture
def name(nb: NotebookClient) -> str:
    """The name of a notebook for one test."""
    return str(nb.notebooks.create(f"n{uuid.uuid4().hex[:8]}", "pBAD30 notes")["name"])


@pytest.fixture(scope="module")
def library(nb: NotebookClient) -> str:
    """A notebook with a processed text and a note."""
    nb.notebooks.create("Shelf")
    nb.sources.add_text(PAPER, "Shelf", title="Paper", process_async=False)
    nb.notes.create("Check the leaky expression.", title="Plan", notebook="Shelf")
    return "Shelf"


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


def test_sources_may_be_deleted_while_they_are_iterated(nb, name, monkeypatch):
    monkeypatch.setattr(ContractBackend, "PAGE", 2)
    for number in range(5):
        nb.sources.add_text(PAPER, name, title=f"text {number}")
    for source in nb.sources.iter(name):
        nb.sources.delete(source["id"])
    assert nb.sources.names(name) == []


def test_names_are_lists_like_those_of_the_other_clients(nb: NotebookClient, library: str) -> None:
    resources = nb.notebooks, nb.sources, nb.notes, nb.chat, nb.models, nb.podcasts
    names: list[list[str]] = [resource.names() for resource in resources]
    assert library in names[0]
    unprocessed: list[records.Record] = nb.sources.unprocessed(library)
    assert unprocessed == []


def test_models_are_given_by_name_or_identifier(nb, library):
    session = nb.chat.create(library, model_override="extractive")
    assert session["model_override"] == nb.models.find("extractive")
    question = "What represses the promoter?"
    assert nb.ask(question, library, final_answer_model="extractive").citations
    assert nb.chat.execute(session["id"], question, model_override="extractive").citations
    expected = [ExpectedAnswer(question, "plasmids", (("glucose",),))]
    assert list(nb.evaluate(expected, library, model="extractive")["right"]) == [True]
    with pytest.raises(NotFoundError, match=r'no model "extractiv" \(did you mean "extractive"'):
        nb.chat.update(session["id"], model_override="extractiv")


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
    with pytest.raises(InputError, match="no sources and no notes to answer from"):
        nb.ask("Why?", notebook=name)


def test_context_has_the_requested_sources_and_notes(nb, library):
    session = nb.chat.create(library)["id"]
    context = nb.chat.context(session, include_notes=False)
    assert ([source["title"] for source in context["sources"]], context["notes"]) == (["Paper"], [])
    config = {"notes": {nb.notes.find("Plan", library): "full content"}}
    (note,) = nb.chat.context(notebook=library, config=config)["notes"]
    assert note["title"] == "Plan"

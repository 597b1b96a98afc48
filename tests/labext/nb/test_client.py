"""The client against the local notebook service: notebooks, sources, notes, chat and search."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from databases import open_database

from labext.errors import (
    ConflictError,
    InputError,
    JobFailedError,
    NotFoundError,
    SetupError,
    SignInError,
)
from labext.nb import Answer, Final, NotebookClient, Partial, Strategy, records
from labext.progress import Outcome
from labext.sandbox import Sandbox
from labext.sandbox.nb.limits import LIMITS

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


class TestNotebooks:
    def test_lifecycle(self, nb):
        created = nb.notebooks.create("Arabinose induction", "pBAD30 notes")
        assert list(created) == list(records.NOTEBOOK)
        assert nb.notebooks.get("arabinose induction") == created
        changed = nb.notebooks.update("Arabinose induction", name="Induction", archived=True)
        assert (changed["id"], changed["archived"]) == (created["id"], True)
        assert changed["description"] == "pBAD30 notes"
        assert created["id"] in set(nb.notebooks.list(archived=True)["id"])
        assert created["id"] not in set(nb.notebooks.list(archived=False)["id"])
        by_name = list(nb.notebooks.list(order_by="name asc")["name"])
        assert by_name == sorted(by_name, key=str.casefold)
        assert "Induction" in nb.notebooks.names()
        assert nb.notebooks.delete("Induction")["id"] == created["id"]
        with pytest.raises(NotFoundError, match="no notebook"):
            nb.notebooks.get("Induction")
        with pytest.raises(NotFoundError, match=r"nb\.notebooks\.list"):
            nb.notebooks.get(created["id"])

    def test_ambiguous_name_lists_both_notebooks(self, nb, name):
        other = nb.notebooks.create(name)
        with pytest.raises(ConflictError) as caught:
            nb.notebooks.get(name)
        assert other["id"] in caught.value.message
        assert nb.notebooks.get(other["id"])["name"] == name

    def test_delete_preview_matches_the_deletion(self, nb, name):
        other = nb.notebooks.create(f"{name} other")["id"]
        own = nb.sources.add_text("Own.", name, title=f"{name} own")
        shared = nb.sources.add_text("Shared.", name, title=f"{name} shared")
        nb.notebooks.link(other, f"{name} shared")
        nb.notebooks.link(other, f"{name} shared")
        nb.notes.create("A note.", notebook=name)
        nb.chat.create(name, "Talk")
        preview = nb.notebooks.preview(name)
        counts = [preview[field] for field in list(records.PREVIEW)[2:]]
        assert counts == [1, 1, 1, 1]
        deletion = nb.notebooks.delete(name, delete_sources=True)
        assert [deletion[field] for field in list(records.NOTEBOOK_DELETION)[1:]] == [1, 1, 1, 1]
        with pytest.raises(NotFoundError):
            nb.sources.get(own["id"])
        assert nb.sources.get(shared["id"])["notebooks"] == [other]
        nb.notebooks.unlink(other, shared["id"])
        assert nb.sources.get(shared["id"])["notebooks"] == []


class TestSources:
    def test_add_keeps_existing_sources_unless_added_again(self, nb, name, tmp_path):
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

    def test_file_upload_and_download(self, nb, name, tmp_path):
        path = tmp_path / f"{name} über.txt"
        path.write_text(PAPER)
        progress: list[tuple[int, int | None]] = []
        record = nb.sources.add_file(
            path, name, topic="plasmids", on_bytes=lambda *transferred: progress.append(transferred)
        )
        assert list(record) == list(records.SOURCE_DETAIL)
        assert progress[-1][0] == progress[-1][1]
        frame = nb.sources.wait(path.name, timeout=60)
        assert set(frame.columns) == set(records.SOURCE)
        assert list(frame["status"]) == ["completed"]
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

    def test_text_is_processed_synchronously(self, nb, name):
        record = nb.sources.add_text(PAPER, name, title=f"{name} text", process_async=False)
        assert (record["status"], record["kind"]) == ("completed", "text")
        assert nb.sources.status(record["id"])["status"] == "completed"
        assert list(nb.sources.status(record["id"])) == list(records.STATUS)
        changed = nb.sources.update(record["id"], title=f"{name} new", topic="t")
        assert (changed["title"], changed["topic"]) == (f"{name} new", "t")
        assert not nb.sources.exists(record["id"])
        with pytest.raises(NotFoundError, match="has no file"):
            nb.sources.download(record["id"])
        insights = nb.sources.insights(record["id"])
        assert set(insights.columns) == set(records.INSIGHT)
        with pytest.raises(InputError):
            nb.sources.retry(record["id"])

    def test_url_that_cannot_be_fetched_fails(self, nb, name):
        record = nb.sources.add_url("http://127.0.0.1:9/page", name, title=f"{name} page")
        *_, last = nb.sources.watch(record["id"])
        assert last.outcome is Outcome.FAILED
        (row,) = last.rows
        assert (row.title, row.status) == (f"{name} page", "failed")
        assert row.reason
        with pytest.raises(JobFailedError, match=f"{name} page: "):
            nb.sources.wait(f"{name} page")
        again = nb.sources.retry(f"{name} page")
        assert again["id"] == record["id"]
        assert again["status"] != "failed"
        *_, last = nb.sources.watch(record["id"])
        assert last.outcome is Outcome.FAILED

    def test_list_is_limited_ordered_and_filtered(self, nb, name):
        for title in ("c", "a", "b"):
            nb.sources.add_text(PAPER, name, title=f"{name} {title}")
        by_title = nb.sources.list(name, order_by="title asc")
        assert list(by_title["title"]) == [f"{name} {title}" for title in "abc"]
        cut = nb.sources.list(name, limit=1, offset=1, order_by="title asc")
        assert list(cut["title"]) == [f"{name} b"]
        assert sorted(nb.sources.names(name)) == [f"{name} {title}" for title in "abc"]
        assert len(list(nb.sources.iter(limit=2))) == 2
        with pytest.raises(InputError, match="order"):
            nb.sources.list(order_by="nonsense")

    def test_file_over_the_limit_is_rejected_during_upload(self, nb, limit, tmp_path):
        path = tmp_path / "film.txt"
        with path.open("wb") as file:
            file.truncate(24 << 20)
        small = limit("upload_bytes", 1 << 20), limit("text_bytes", 1 << 10)
        with small[0], small[1], pytest.raises(InputError) as caught:
            nb.sources.add_file(path)
        assert caught.value.status == 413
        assert "too large" in caught.value.message

    def test_unsupported_file_type_fails(self, nb, tmp_path):
        path = tmp_path / "archive.zip"
        path.write_bytes(b"PK\x03\x04" + bytes(100))
        with pytest.raises((InputError, JobFailedError)) as caught:
            nb.sources.wait(nb.sources.add_file(path)["id"], timeout=60)
        assert "archive.zip" in str(caught.value) or "kind" in str(caught.value)


@pytest.fixture
def limit(box: Sandbox) -> Callable[..., Any]:
    """Change one of the service's limits during the block."""

    @contextmanager
    def set_limit(name: str, value: int) -> Iterator[None]:
        database = open_database(box.data_dir)
        try:
            with database.write() as session:
                LIMITS.change(session, name, value)
            yield
            with database.write() as session:
                LIMITS.change(session, name, None)
        finally:
            database.close()

    return set_limit


def test_note_lifecycle(nb, name):
    title = f"{name} plan"
    created = nb.notes.create("Check leaky expression.", title=title, notebook=name)
    assert list(created) == list(records.NOTE)
    assert nb.notes.get(title) == created
    changed = nb.notes.update(title, content="Check it twice.", note_type="ai")
    assert (changed["content"], changed["note_type"]) == ("Check it twice.", "ai")
    named = nb.notes.create("Glucose represses the promoter.", note_type="ai", notebook=name)
    assert named["title"]
    assert set(nb.notes.list(name)["id"]) == {created["id"], named["id"]}
    assert title in nb.notes.names(name)
    with pytest.raises(InputError) as caught:
        nb.notes.create("By whom?", note_type="robot", notebook=name)
    assert caught.value.status == 400
    nb.notes.delete(title)
    assert list(nb.notes.list(name)["id"]) == [named["id"]]


class TestAnswers:
    def test_text_search(self, nb, library):
        hits = nb.search("araBAD", notebook=library)
        assert set(hits.columns) == set(records.HIT)
        assert list(hits["title"]) == ["paper.txt"]
        assert "araBAD promoter" in hits["match"][0]

    def test_vector_search(self, nb, library):
        hits = nb.search("catabolite repression", type="vector", notebook=library, limit=1)
        assert len(hits) == 1
        assert hits["similarity"][0] > 0.2
        none = nb.search("catabolite", type="vector", notebook=library, min_similarity=0.999)
        assert len(none) == 0

    def test_search_scope(self, nb, library):
        def titles(**chosen: Any) -> set[str]:
            hits = nb.search("expression", notebook=library, **chosen)
            return set(hits["title"])

        assert "Plan" in titles()
        assert titles(include_sources=False) == {"Plan"}
        assert "Plan" not in titles(include_notes=False)
        assert titles(source_ids=["paper.txt"]) == {"paper.txt"}
        assert titles(note_ids=["Plan"]) == {"Plan"}
        assert titles(include_sources=False, include_notes=False) == set()

    def test_streamed_answer_equals_the_simple_one(self, nb, library):
        question = "Why is glucose added to the uninduced culture?"
        answer = nb.ask(question, notebook=library)
        assert "represses" in answer.text
        assert answer.citations
        for cited in answer.citations:
            assert cited.quote in cited.passage
        first, *between, last = nb.ask_stream(question, notebook=library)
        assert isinstance(first, Strategy)
        assert all(isinstance(entry, Partial) for entry in between)
        assert last == Final(answer)

    def test_empty_notebook_has_no_answer(self, nb, name):
        assert len(nb.search("araBAD", notebook=name)) == 0
        with pytest.raises(InputError, match="scope is empty"):
            nb.ask("Why?", notebook=name)

    @pytest.mark.parametrize("model", ["model:none", "model:all-minilm-l6-v2"])
    def test_unusable_model_is_an_error(self, nb, library, model):
        for slot in ("model_override", "strategy_model", "answer_model", "final_answer_model"):
            with pytest.raises((NotFoundError, SetupError)) as caught:
                next(nb.ask_stream("Why?", **{slot: model}))
            assert caught.value.status in (404, 422)

    def test_chat_lifecycle(self, nb, library):
        created = nb.chat.create(library, "Talk")
        assert list(created) == list(records.SESSION)
        reply = nb.chat.execute("Talk", "What does arabinose do?", source_ids=["paper.txt"])
        assert isinstance(reply, Answer)
        assert {cited.title for cited in reply.citations} == {"paper.txt"}
        detail = nb.chat.get("Talk")
        assert [message["type"] for message in detail["messages"]] == ["human", "ai"]
        assert list(nb.chat.messages("Talk")["content"])[1] == reply.text
        changed = nb.chat.update("Talk", title="Talked", model_override="model:extractive")
        assert (changed["title"], changed["model_override"]) == ("Talked", "model:extractive")
        assert nb.chat.update("Talked", model_override="")["model_override"] is None
        assert list(nb.chat.sessions(library)["title"]) == ["Talked"]
        assert "Talked" in nb.chat.names()
        context = nb.chat.context("Talked", include_notes=False)
        assert list(context) == list(records.CONTEXT)
        assert len(context["sources"]) == 3
        assert context["notes"] == []
        assert context["token_count"] > 0
        config = {"notes": {nb.notes.find("Plan", library): "full content"}}
        assert len(nb.chat.context(notebook=library, config=config)["notes"]) == 1
        nb.chat.delete("Talked")
        assert len(nb.chat.sessions(library)) == 0

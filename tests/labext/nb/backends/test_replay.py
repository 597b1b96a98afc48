"""The stand-in for Open Notebook refuses what the recorded server refused, in its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from open_notebook import Replay, serving
from open_notebook.facts import Recording, recordings

from labext.errors import UnreachableError
from labext.nb import NotebookClient

pytestmark = pytest.mark.contract

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


def independent(told: Recording) -> bool:
    """Whether what it asks names nothing but what was never there."""
    asked = f"{told.path} {told.query} {told.json} {told.form}"
    named = re.findall(r"\b[a-z_]+:([a-z0-9]{20})\b", asked)
    return not named and not told.files and not told.name.startswith("auth.")


REFUSALS = [
    each
    for each in recordings().values()
    if each.status >= 400 and independent(each) and each.name not in OTHER_SETUP
]


@pytest.mark.parametrize("told", REFUSALS, ids=lambda each: each.name)
def test_a_refusal_is_the_recorded_one(replay, told):
    body: dict[str, Any] = {"json": told.json} if told.json is not None else {}
    if told.form:
        body = {"files": {name: (None, value) for name, value in told.form.items()}}
    if told.name == "meta.bad_json":
        body = {"data": "{bad", "headers": dict(told.headers)}
    url = replay.base_url.removesuffix("/api") + told.path
    answer = requests.request(told.method, url, params=told.query, timeout=10, **body)
    assert answer.status_code == told.status
    if told.method != "HEAD" and told.answer is not None:
        said, recorded = answer.json()["detail"], told.answer["detail"]
        if isinstance(recorded, str):
            assert said == recorded
        else:
            assert {(each["type"], *each["loc"]) for each in said} == {
                (each["type"], *each["loc"]) for each in recorded
            }


def test_one_folder_holds_the_uploads_of_all_notebooks(replay, tmp_path):
    """As recorded: `protocol v1 (1).txt` is the second upload of `protocol v1.txt`."""
    url, stored = f"{replay.base_url}/sources", []
    for _ in range(3):
        file = {"file": ("protocol v1.txt", b"A text.")}
        answer = requests.post(url, data={"type": "upload"}, files=file, timeout=10).json()
        stored.append((answer["title"], answer["asset"]["file_path"]))
    assert stored == [
        (name, f"/data/uploads/{name}")
        for name in ("protocol v1.txt", "protocol v1 (1).txt", "protocol v1 (2).txt")
    ]


def test_a_file_keeps_its_name_where_the_server_renames_it(replay, tmp_path):
    file = tmp_path / "yield.tar.gz"
    file.write_bytes(b"Not really an archive.")
    with NotebookClient(replay.base_url) as nb:
        for name in ("One", "Two"):
            notebook = nb.notebooks.create(name)["id"]
            added = nb.sources.add_file(file, notebook, process_async=False)
            (listed,) = nb.sources.iter(notebook)
            for record in (added, listed, nb.sources.get(added["id"])):
                assert (record["title"], record["file_name"]) == (file.name, file.name)
        path = replay.state.sources[added["id"]]["asset"]["file_path"]
        assert path == "/data/uploads/yield.tar (1).gz"
        assert nb.sources.download(added["id"], tmp_path / "back").read_bytes() == file.read_bytes()


def test_of_a_large_file_only_the_size_is_compared(replay, tmp_path, monkeypatch):
    file = tmp_path / "scan.txt"
    file.write_text("One scan.")
    with NotebookClient(replay.base_url) as nb:
        added = nb.sources.add_file(file, process_async=False)["id"]
        assert nb.sources.has_content(added, file) is True
        file.write_text("Two scan.")
        assert nb.sources.has_content(added, file) is False
        monkeypatch.setattr("labext.nb.uploads.MAX_COMPARED_BYTES", 8)
        assert nb.sources.has_content(added, file) is True
        file.write_text("Two scans.")
        assert nb.sources.has_content(added, file) is False
        text = nb.sources.add_text("Two scans.", process_async=False)["id"]
        assert nb.sources.has_content(text, file) is None


def test_a_notes_title_is_found_without_its_content(replay):
    with NotebookClient(replay.base_url) as nb:
        notebook = nb.notebooks.create("Titles")["id"]
        for title in ("One", "Two"):
            nb.notes.create("Something.", title, notebook=notebook)
        replay.asked.clear()
        assert nb.notes.names(notebook) == ["Two", "One"]
        assert nb.notes.find("One", notebook)
        assert {each.path for each in replay.asked} == {"/api/notes"}
        assert list(nb.notes.list(notebook)["content"]) == ["Something.", "Something."]


@pytest.mark.parametrize("end", [KeyboardInterrupt, UnreachableError, None])
def test_a_question_about_a_notebook_leaves_no_session(replay, monkeypatch, end):
    with NotebookClient(replay.base_url, rate=None) as nb:
        notebook = nb.notebooks.create("Asked")["id"]
        nb.notes.create("Warm water elutes more plasmid.", "Elution", notebook=notebook)
        send = nb._executor.send

        def cut(request: Any, *rest: Any) -> Any:
            if end is not None and request.op.path == "chat/execute":
                raise end("cut off")
            return send(request, *rest)

        monkeypatch.setattr(nb._executor, "send", cut)
        if end is None:
            assert nb.ask("What elutes plasmid?", notebook).citations
        else:
            with pytest.raises(end):
                nb.ask("What elutes plasmid?", notebook)
        assert replay.sent("POST", "/chat/sessions")
        assert nb.chat.sessions().empty

"""Errors of `%nb`: one line, a next step, and the end of Run All."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from labext_test_shell import RefusedLines, Run, check_refused

from labext.errors import (
    ConflictError,
    InputError,
    JobFailedError,
    LabextError,
    NotFoundError,
    StorageError,
)

pytestmark = pytest.mark.contract


KEY = "sk-proj-4f9b2c7d8e1a6035"

LINES: RefusedLines = [
    ("%nb notebooks foo", InputError, "it has show, new, edit"),
    ("%nb notebooks shwo", InputError, "Did you mean `%nb notebooks show`"),
    ("%nb sources 'Bench notes'", InputError, "has no subcommand `Bench notes`"),
    ("%nb notbooks", InputError, "Did you mean `%nb notebooks`"),
    ("%%nb notes\ntext", InputError, "takes no cell body"),
    ("%nb notebooks --order-by size", InputError, "updated_at, created_at or name"),
    ("%nb use Wrnog", NotFoundError, 'did you mean "Wrong"'),
    ("%nb use Nowhere", NotFoundError, "`%nb use Nowhere --create` creates it"),
    ("%nb use notebook:nosuch --create", NotFoundError, "nosuch"),
    ("%nb use Wrong --description other", InputError, "Add `--create`"),
    ("%nb new Wrong --description other", ConflictError, "with another description"),
    ("%nb notebooks edit Wrong", InputError, "`--name`, `--description` or `--archived`"),
    ("%nb notebooks show Twin", ConflictError, "2 notebooks are called"),
    ("%nb delete Gone --yes", NotFoundError, 'no notebook "Gone"'),
    ("%nb delete Wrong", InputError, "Add --yes to confirm"),
    ("%nb delete Wrong --yes --preview", InputError, "Keep one of them"),
    ("%nb sources --all --notebook Wrong", InputError, "Keep one of them"),
    ("%nb sources --limit 0", InputError, "an integer from 1"),
    ("%nb sources --offset -1", InputError, "an integer from 0"),
    ("%nb sources show Nothing", NotFoundError, 'no source "Nothing"'),
    ("%nb sources show source:nosuch", NotFoundError, "source:nosuch"),
    ("%nb sources edit Text", InputError, "`--title` or `--topic`"),
    ("%nb sources retry Text", InputError, "failed"),
    ("%nb sources download Text", NotFoundError, "no file"),
    ("%nb sources download Text --check --to x", InputError, "Keep one of them"),
    ("%nb add", InputError, "There is nothing to add"),
    ("%nb add data/papr.pdf data/page.html", InputError, 'did you mean "paper.pdf"'),
    ("%nb add data/*.xyz", InputError, "No file matches data/*.xyz"),
    ("%nb add data", InputError, "is a folder"),
    (f"%nb add {'n' * 300}.pdf", InputError, "There is no file"),
    ("%nb export data", InputError, '"data" is a folder'),
    ("%nb export .", InputError, '"." is a folder'),
    (f"%nb export {'n' * 300}.md", StorageError, "(File name too long). Choose a shorter name"),
    (f"%nb connect http://h/api --ca-bundle {'n' * 300}", InputError, "There is no file"),
    (
        f"%nb source '{'The rate doubled. ' * 30}' --title Rate",
        InputError,
        "contains a text, not a file",
    ),
    ("%nb add empty.pdf data/page.html", InputError, "empty.pdf is empty"),
    ("%nb add 'Fig. 1. Growth at 37.pdf'", InputError, "Growth at 37.pdf is empty"),
    (
        "%nb add empty.pdf data 'Fig. 1. Growth at 37.pdf' data/papr.pdf",
        InputError,
        "37.pdf is empty. There is no file",
    ),
    ("%nb add data/paper.pdf data/page.html --title Both", InputError, "there are 2 sources"),
    ("%nb add data/paper.pdf --sync --async", InputError, "Keep one of them"),
    ("%nb source --url ftp://example.org/x", InputError, "is not a URL"),
    ("%%nb source --url http://example.org\ntext", InputError, "the cell also has a body"),
    ("%%nb source --title Text\nanother", ConflictError, "with another text"),
    ("%nb note", InputError, 'The note has no text. Write it in quotes, `%nb note "…"`'),
    ("%%nb note one\ntwo", InputError, "is given both on the line and in the cell body"),
    ("%nb note x --type robot", InputError, "human or ai, not `robot`"),
    ("%nb note other --title Plan", ConflictError, "with another text"),
    ("%nb notes show Plna", NotFoundError, 'did you mean "Plan"'),
    ("%nb notes edit Plan", InputError, "`--title` or `--type`"),
    ("%nb notes edit Plan", InputError, "or write the new text below `%%nb notes edit Plan`."),
    ("%nb notes delete Plan Nothing --yes", NotFoundError, 'no note "Nothing"'),
    ("%nb search x --type vektor", InputError, "hybrid, text or vector"),
    ("%nb search x --min-similarity 2", InputError, "a number from -1 to 1"),
    ("%nb search x --limit 5000", InputError, "1000"),
    ("%nb search x --note Plan --no-notes", InputError, "`--no-notes` exclude each other"),
    ("%nb search x --source Nothing", NotFoundError, 'no source "Nothing"'),
    ("%nb ask", InputError, "The question has no text"),
    ("%nb ask why --no-sources --no-notes", InputError, "no sources and no notes"),
    ("%nb ask why --model model:nosuch", LabextError, "model:nosuch"),
    ("%nb chat hello --session Nothing", NotFoundError, 'no session "Nothing"'),
    ("%nb chat hello --session Nothing --new", InputError, "Keep one of them"),
    ("%nb sessions edit Nothing --title x", NotFoundError, 'no session "Nothing"'),
    ("%nb sessions context Nothing --notebook Wrong", InputError, "Omit `--notebook`"),
    (f"%nb connect {KEY}", InputError, "a key-like string"),
    (f"%nb connect http://localhost:1/api {KEY}", InputError, "more than an address"),
    (f"%nb login --password {KEY}", InputError, "it was not used"),
    (f"%nb sources --api-key {KEY}", InputError, "it was not used"),
    (f"%nb connect http://user:{KEY}@localhost/api", InputError, "it was not used"),
    (f"%nb add https://user:{KEY}@example.org/x", InputError, "it was not used"),
]


@pytest.fixture
def wrong(run: Run, tmp_path: Path) -> Iterator[None]:
    """A notebook in use, and two others with the same name."""
    for name in ("empty.pdf", "Fig. 1. Growth at 37.pdf"):
        (tmp_path / name).touch()
    run("%nb use Wrong --create --description 'of the tests'")
    run("%nb note 'Check the plasmid.' --title Plan")
    run("%%nb source --title Text\nThe plasmid is checked.")
    run("from labext import connect\nnb = connect('nb')")
    run("duplicates = [nb.notebooks.create('Twin')['id'] for _ in range(2)]")
    yield
    run("for each in duplicates: nb.notebooks.delete(each)")
    run("%nb delete Wrong --yes --delete-sources")


def test_wrong_lines_do_nothing(wrong, run, refused):
    assert KEY not in check_refused(refused, LINES)
    assert list(run("%nb sources")["title"]) == ["Text"]
    assert list(run("%nb notes")["title"]) == ["Plan"]
    assert run("%nb sessions").empty


def test_missing_current_notebook_has_a_next_step(refused):
    for line in ("%nb sources", "%nb note x", "%nb search x", "%nb ask x", "%nb chat x"):
        assert "`%nb use NAME`" in refused(line).next_step


def test_failed_sources_are_named_after_the_others_finished(run, refused, tmp_path, capsys):
    run("%nb use Failing --create")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    (tmp_path / "odd.bin").write_bytes(bytes(range(256)) * 4)
    error = refused("%nb add broken.pdf odd.bin data/page.html --wait", JobFailedError)
    assert "2 of 3 sources failed" in error.message
    assert "broken.pdf: " in error.message
    assert "odd.bin: " in error.message
    sources = run("%nb sources").set_index("file_name")
    assert sources.loc["page.html", "status"] == "completed"
    assert sources.loc["broken.pdf", "error"].rstrip(".") in error.message
    output = capsys.readouterr().out
    assert "Sources: Failed, 1 of 3 complete" in output
    assert "  broken.pdf, odd.bin: Failed\n" in output, "the reason is in the error, once"
    error = refused("%nb sources retry broken.pdf --wait", JobFailedError)
    assert sources.loc["broken.pdf", "error"].rstrip(".") in error.message
    assert "broken.pdf: Failed (ingestion" in capsys.readouterr().out
    run("%nb delete Failing --yes --delete-sources")


def test_deleted_current_notebook_is_reported(run, refused, shell):
    run("%nb use Short --create")
    run("from labext import connect\nconnect('nb').notebooks.delete('Short')")
    refused("%nb note x --title y", NotFoundError)

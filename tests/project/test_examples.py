"""Example notebooks are copied into a folder, and files that the user changed are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labext.cli import examples
from labext.errors import SetupError, StorageError


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source of our own, so that a newer version can be made."""
    folder = tmp_path / "ours"
    (folder / "data").mkdir(parents=True)
    (folder / "jobs.ipynb").write_text("first version")
    (folder / "data" / "table.csv").write_text("a,b")
    (folder / "conftest.py").write_text("for the tests alone")
    (folder / "out").mkdir()
    (folder / "out" / "old.csv").write_text("an output")
    monkeypatch.setattr(examples, "examples_folder", lambda: folder)
    return folder


def test_an_empty_folder_gets_everything_but_tests_and_outputs(ours: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "demo"
    placed = examples.copy_examples(target)
    assert placed.written == ["data/table.csv", "jobs.ipynb"]
    assert {path.name for path in target.rglob("*") if path.is_file()} == {
        *("jobs.ipynb", "table.csv", examples.MANIFEST)
    }


def test_a_second_time_writes_nothing(ours: Path, tmp_path: Path) -> None:
    examples.copy_examples(tmp_path / "demo")
    placed = examples.copy_examples(tmp_path / "demo")
    assert (placed.written, placed.kept) == ([], [])
    assert placed.same == ["data/table.csv", "jobs.ipynb"]


def test_newer_version_replaces_unchanged_examples(ours: Path, tmp_path: Path) -> None:
    examples.copy_examples(tmp_path / "demo")
    (ours / "jobs.ipynb").write_text("second version")
    assert examples.copy_examples(tmp_path / "demo").written == ["jobs.ipynb"]
    assert (tmp_path / "demo" / "jobs.ipynb").read_text() == "second version"


def test_a_changed_file_is_kept_also_when_ours_is_newer(ours: Path, tmp_path: Path) -> None:
    examples.copy_examples(tmp_path / "demo")
    mine = tmp_path / "demo" / "jobs.ipynb"
    mine.write_text("my own work")
    for _ in range(2):
        (ours / "jobs.ipynb").write_text((ours / "jobs.ipynb").read_text() + ", newer")
        assert examples.copy_examples(tmp_path / "demo").kept == ["jobs.ipynb"]
        assert mine.read_text() == "my own work"


def test_a_file_that_was_there_before_us_is_kept(ours: Path, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "jobs.ipynb").write_text("from elsewhere")
    assert examples.copy_examples(tmp_path / "demo").kept == ["jobs.ipynb"]


def test_a_missing_file_comes_back(ours: Path, tmp_path: Path) -> None:
    examples.copy_examples(tmp_path / "demo")
    (tmp_path / "demo" / "data" / "table.csv").unlink()
    assert examples.copy_examples(tmp_path / "demo").written == ["data/table.csv"]


@pytest.mark.parametrize("manifest", ["", "[]", "{", '{"jobs.ipynb": 3}', "\x00"])
def test_a_damaged_manifest_costs_no_work(ours: Path, tmp_path: Path, manifest: str) -> None:
    examples.copy_examples(tmp_path / "demo")
    (tmp_path / "demo" / "jobs.ipynb").write_text("my own work")
    (tmp_path / "demo" / examples.MANIFEST).write_text(manifest)
    assert examples.copy_examples(tmp_path / "demo").kept == ["jobs.ipynb"]
    known = json.loads((tmp_path / "demo" / examples.MANIFEST).read_text())
    assert "data/table.csv" in known


def test_a_folder_that_cannot_be_is_one_clear_line(ours: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="--folder DIR"):
        examples.copy_examples(tmp_path / "file" / "demo")


def test_the_notebooks_are_found_in_the_checkout() -> None:
    assert (examples.examples_folder() / "data").is_dir()


def test_all_that_the_notebooks_read_goes_along() -> None:
    folder = examples.examples_folder()
    read = {f"data/{path.name}" for path in (folder / "data").iterdir()}
    assert read <= set(examples.read_examples(folder))


def test_no_notebooks_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "__file__", str(tmp_path / "labext" / "examples.py"))
    with pytest.raises(SetupError, match="not part of this installation"):
        examples.examples_folder()

"""Committed notebooks contain no data of a machine; copies keep the changes of the user."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import nbformat
import pytest

from labext.cli import examples
from labext.errors import SetupError, StorageError

FOLDER = Path(__file__).parents[2] / "example_notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MACHINE_DATA = re.compile(
    r"/(home|root|tmp|work|Users|private|var)/|127\.0\.0\.1|localhost(?!:PORT)"
    # A key: a long run of letters of both cases and digits. Job names consist of short words.
    r"|(?<![\w-])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)(?=[\w-]*[a-zA-Z\d]{12})[\w-]{40,}"
)
KEY = "q7RkZp2mWvT9_xLc4hJ8nBsD1fGy-6uAe3oKi5tPzM0"


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.name)
def notebook(request: pytest.FixtureRequest) -> Any:
    return nbformat.read(request.param, as_version=4)


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def readable(text: str) -> str:
    """Return a text with embedded SVG images decoded and PNG images removed."""
    text = re.sub(r"data:image/png;base64,[\w+/=]+", "", text)
    return re.sub(r"base64,([\w+/=]+)", lambda data: readable(b64decode(data[1]).decode()), text)


def test_notebook_is_valid_and_executed_in_order(notebook: Any) -> None:
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


def test_no_output_needs_a_kernel(notebook: Any) -> None:
    for output in outputs(notebook):
        assert set(output.get("data", {})) <= {"text/plain", "text/html"}
    assert "widgets" not in notebook.metadata


def test_outputs_contain_no_data_of_the_machine(notebook: Any) -> None:
    for output in outputs(notebook):
        texts = [output.get("text", ""), *output.get("data", {}).values()]
        for text in map(readable, texts):
            assert MACHINE_DATA.search(text) is None, text[:300]


def test_check_finds_a_key() -> None:
    assert MACHINE_DATA.search(f"key: {KEY}")
    hidden = b64encode(f"<svg><!-- {KEY} --></svg>".encode()).decode()
    assert MACHINE_DATA.search(readable(f'<img src="data:image/svg+xml;base64,{hidden}">'))
    assert MACHINE_DATA.search("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b93") is None


def test_no_cell_is_left_out_of_the_comparison(notebook: Any) -> None:
    for cell in notebook.cells:
        assert "NBVAL" not in cell.source
        assert not [tag for tag in cell.metadata.get("tags", []) if "nbval" in tag]


def test_files_that_the_notebook_reads_are_in_its_folder(notebook: Any) -> None:
    for cell in notebook.cells:
        for name in re.findall(r"data/[\w.-]+", cell.source):
            assert (FOLDER / name).is_file(), name


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Examples of a version that the test can change."""
    folder = tmp_path / "bundled"
    (folder / "data").mkdir(parents=True)
    (folder / "jobs.ipynb").write_text("first version")
    (folder / "data" / "table.csv").write_text("a,b")
    (folder / "conftest.py").write_text("for the tests alone")
    (folder / "out").mkdir()
    (folder / "out" / "old.csv").write_text("an output")
    monkeypatch.setattr(examples, "examples_folder", lambda: folder)
    return folder


def test_missing_and_unchanged_older_files_are_copied(bundled: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "demo"
    placed = examples.copy_examples(target)
    assert placed.written == ["data/table.csv", "jobs.ipynb"]
    assert {path.name for path in target.rglob("*") if path.is_file()} == {
        *("jobs.ipynb", "table.csv", examples.MANIFEST)
    }
    placed = examples.copy_examples(target)
    assert (placed.written, placed.kept) == ([], [])
    assert placed.same == ["data/table.csv", "jobs.ipynb"]
    (bundled / "jobs.ipynb").write_text("second version")
    assert examples.copy_examples(target).written == ["jobs.ipynb"]
    assert (target / "jobs.ipynb").read_text() == "second version"
    (target / "data" / "table.csv").unlink()
    assert examples.copy_examples(target).written == ["data/table.csv"]


def test_changed_file_is_kept_if_the_bundled_version_is_newer(
    bundled: Path, tmp_path: Path
) -> None:
    examples.copy_examples(tmp_path / "demo")
    mine = tmp_path / "demo" / "jobs.ipynb"
    mine.write_text("my own work")
    for _ in range(2):
        (bundled / "jobs.ipynb").write_text((bundled / "jobs.ipynb").read_text() + ", newer")
        assert examples.copy_examples(tmp_path / "demo").kept == ["jobs.ipynb"]
        assert mine.read_text() == "my own work"


def test_file_that_existed_before_the_first_copy_is_kept(bundled: Path, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "jobs.ipynb").write_text("from elsewhere")
    assert examples.copy_examples(tmp_path / "demo").kept == ["jobs.ipynb"]


@pytest.mark.parametrize("manifest", ["", "[]", "{", '{"jobs.ipynb": 3}', "\x00"])
def test_damaged_manifest_keeps_the_changes_of_the_user(
    bundled: Path, tmp_path: Path, manifest: str
) -> None:
    examples.copy_examples(tmp_path / "demo")
    (tmp_path / "demo" / "jobs.ipynb").write_text("my own work")
    (tmp_path / "demo" / examples.MANIFEST).write_text(manifest)
    assert examples.copy_examples(tmp_path / "demo").kept == ["jobs.ipynb"]
    known = json.loads((tmp_path / "demo" / examples.MANIFEST).read_text())
    assert "data/table.csv" in known


def test_invalid_folder_is_reported_in_one_line(bundled: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="--folder DIR"):
        examples.copy_examples(tmp_path / "file" / "demo")


def test_all_data_files_are_copied() -> None:
    folder = examples.examples_folder()
    read = {f"data/{path.name}" for path in (folder / "data").iterdir()}
    assert read <= set(examples.read_examples(folder))


def test_missing_notebooks_are_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examples, "__file__", str(tmp_path / "labext" / "examples.py"))
    with pytest.raises(SetupError, match="not part of this installation"):
        examples.examples_folder()

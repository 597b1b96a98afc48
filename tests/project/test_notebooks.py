"""The committed notebooks are executed, and hold nothing of the machine that executed them."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "example_notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
OF_A_MACHINE = re.compile(
    r"/(home|root|tmp|work|Users|private|var)/|127\.0\.0\.1|localhost(?!:PORT)"
    # A key: many letters of both cases and digits without a break. In a job's name of many words
    # no word is long.
    r"|(?<![\w-])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)(?=[\w-]*[a-zA-Z\d]{12})[\w-]{40,}"
)
KEY = "q7RkZp2mWvT9_xLc4hJ8nBsD1fGy-6uAe3oKi5tPzM0"


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.name)
def notebook(request: pytest.FixtureRequest) -> Any:
    return nbformat.read(request.param, as_version=4)


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def readable(text: str) -> str:
    """A text with the vector pictures in it as texts too, and without pixels."""
    text = re.sub(r"data:image/png;base64,[\w+/=]+", "", text)
    return re.sub(r"base64,([\w+/=]+)", lambda data: readable(b64decode(data[1]).decode()), text)


def test_it_is_valid_and_executed_from_top_to_bottom(notebook: Any) -> None:
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


def test_no_output_is_an_error_or_needs_a_kernel(notebook: Any) -> None:
    for output in outputs(notebook):
        assert output.output_type != "error"
        assert set(output.get("data", {})) <= {"text/plain", "text/html"}
    assert "widgets" not in notebook.metadata


def test_no_output_tells_of_the_machine(notebook: Any) -> None:
    for output in outputs(notebook):
        texts = [output.get("text", ""), *output.get("data", {}).values()]
        for text in map(readable, texts):
            assert OF_A_MACHINE.search(text) is None, text[:300]


def test_a_key_would_be_found() -> None:
    assert OF_A_MACHINE.search(f"key: {KEY}")
    hidden = b64encode(f"<svg><!-- {KEY} --></svg>".encode()).decode()
    assert OF_A_MACHINE.search(readable(f'<img src="data:image/svg+xml;base64,{hidden}">'))
    assert OF_A_MACHINE.search("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b93") is None


def test_no_cell_is_left_out_of_the_comparison(notebook: Any) -> None:
    for cell in notebook.cells:
        assert "NBVAL" not in cell.source
        assert not [tag for tag in cell.metadata.get("tags", []) if "nbval" in tag]


def test_what_the_notebook_reads_is_beside_it(notebook: Any) -> None:
    for cell in notebook.cells:
        for name in re.findall(r"data/[\w.-]+", cell.source):
            assert (FOLDER / name).is_file(), name

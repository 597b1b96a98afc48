"""The notebook of pipelines, stopping and usage, executed twice: the second run sends nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.notebooks

NOTEBOOK = "jobs_in_depth.ipynb"
ROUND = 240
"""Maximum seconds of all cells."""


def execute(notebook_folder: Path) -> dict[str, str]:
    """Run all cells; return the text output of each by its id."""
    notebook = nbformat.read(notebook_folder / NOTEBOOK, as_version=4)
    NotebookClient(
        notebook, timeout=ROUND, resources={"metadata": {"path": str(notebook_folder)}}
    ).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return {cell.id: "\n".join(map(_text, cell.outputs)) for cell in code}


def _text(output: Any) -> str:
    return str(output.get("text") or output.get("data", {}).get("text/plain", ""))


@pytest.fixture(scope="module")
def first(notebook_folder: Path) -> dict[str, str]:
    return execute(notebook_folder)


@pytest.fixture(scope="module")
def second(first: dict[str, str], notebook_folder: Path) -> dict[str, str]:
    return execute(notebook_folder)


def test_first_run_succeeds(first: dict[str, str], notebook_folder: Path) -> None:
    assert "relax1 is stopped." in first["stop"]
    assert "p1: Complete, 3 of 3 complete (pipeline" in first["watch"]
    assert "p2: Complete, 2 of 2 complete (pipeline" in first["watch-saved"]
    assert "big: Complete, 120 of 120 complete" in first["watch-big"]
    assert (notebook_folder / "out" / "p1" / "metrics.csv").is_file()


def test_second_run_uses_existing_objects(second: dict[str, str]) -> None:
    assert "relax1 already exists" in second["submit"]
    assert "relax1 is already Stopped." in second["stop"]
    for cell in ("pipeline", "saved", "batch", "resume"):
        assert "nothing was sent" in second[cell]
    assert "are already complete" in second["results"]

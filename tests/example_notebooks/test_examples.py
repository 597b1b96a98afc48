"""Example notebooks executed by nbclient twice, and converted by nbconvert."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

pytestmark = pytest.mark.notebooks

NOTEBOOK = "jobs.ipynb"
ROUND = 240
"""Maximum seconds of all cells."""


def execute(notebook_folder: Path) -> Any:
    notebook = nbformat.read(notebook_folder / NOTEBOOK, as_version=4)
    client = NotebookClient(
        notebook, timeout=ROUND, resources={"metadata": {"path": str(notebook_folder)}}
    )
    client.execute()
    return notebook


def output_text(notebook: Any, start: str) -> str:
    """Return the text output of the cell that begins with `start`."""
    (cell,) = (cell for cell in notebook.cells if cell.source.startswith(start))
    outputs = (
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    )
    return "\n".join(outputs)


@pytest.fixture(scope="module")
def first(notebook_folder: Path) -> Any:
    return execute(notebook_folder)


@pytest.fixture(scope="module")
def second(first: Any, notebook_folder: Path) -> Any:
    return execute(notebook_folder)


def test_every_cell_ran(first: Any) -> None:
    code = [cell for cell in first.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


def test_the_results_are_on_disk(first: Any, notebook_folder: Path) -> None:
    import pandas as pd

    assert list((notebook_folder / "out" / "helix1").rglob("*.pdb"))
    assert any((notebook_folder / "out" / "cut").rglob("*"))
    (metrics,) = (notebook_folder / "out" / "folds").rglob("metrics.csv")
    frame = pd.read_csv(notebook_folder / "data" / "hairpins.csv")
    assert len(frame) == 250
    assert list(pd.read_csv(metrics)["job"]) == list(frame["name"])


def test_split_batch_is_displayed_as_one(first: Any) -> None:
    assert "folds: Complete, 250 of 250 complete" in output_text(first, "%jobs watch folds")
    assert "[250 rows x" in output_text(first, "%jobs batch folds")


def test_outputs_are_plain(first: Any) -> None:
    kinds = {
        kind
        for cell in first.cells
        for output in cell.get("outputs", [])
        for kind in output.get("data", {})
    }
    assert kinds <= {"text/plain", "text/html"}


def test_second_run_uses_existing_objects(second: Any) -> None:
    assert re.search(r"already|taken as", output_text(second, "%jobs submit peptide_build"))
    assert re.search(r"already|taken as", output_text(second, "%jobs batch folds"))
    assert "already" in output_text(second, "%jobs results folds")


def test_a_second_run_submits_nothing_new(first: Any, second: Any) -> None:
    assert (
        output_text(first, "%jobs list").splitlines()[-1]
        == output_text(second, "%jobs list").splitlines()[-1]
    )


def test_nbconvert_shows_it_without_a_kernel(first: Any) -> None:
    html, _ = HTMLExporter().from_notebook_node(first)
    assert "folds" in html
    assert "Loading widget" not in html
    assert "application/vnd.jupyter.widget-view" not in html

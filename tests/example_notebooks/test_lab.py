"""The notebook of sequences, executed by papermill and then by nbclient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from Bio import SeqIO
from nbclient import NotebookClient

pytestmark = pytest.mark.notebooks

NOTEBOOK = "lab.ipynb"
ROUND = 240
"""Maximum seconds of all cells."""


def output_text(notebook: Any, cell: str) -> str:
    """Return the text output of a cell."""
    (matching_cell,) = (item for item in notebook.cells if item.id == cell)
    outputs = (output.get("data", {}).get("text/plain", "") for output in matching_cell.outputs)
    return "\n".join(outputs)


@pytest.fixture(scope="module")
def first(notebook_folder: Path) -> Any:
    return papermill.execute_notebook(
        notebook_folder / NOTEBOOK,
        notebook_folder / "papermill.ipynb",
        cwd=notebook_folder,
        progress_bar=False,
    )


@pytest.fixture(scope="module")
def second(first: Any, notebook_folder: Path) -> Any:
    notebook = nbformat.read(notebook_folder / NOTEBOOK, as_version=4)
    NotebookClient(
        notebook, timeout=ROUND, resources={"metadata": {"path": str(notebook_folder)}}
    ).execute()
    return notebook


def test_the_sequences_become_files_and_jobs(first: Any, notebook_folder: Path) -> None:
    code = [cell for cell in first.cells if cell.cell_type == "code"]
    assert {cell.metadata.papermill.status for cell in code} == {"completed"}
    plasmid = SeqIO.read(notebook_folder / "out" / "pBAD30.gb", "genbank")
    assert (len(plasmid), plasmid.annotations["topology"]) == (4923, "circular")
    with (notebook_folder / "out" / "all.fasta").open() as file:
        count = len(list(SeqIO.parse(file, "fasta")))
    assert f"digests was submitted with {count} jobs. " in output_text(first, "batch")
    assert "names were adapted: " in output_text(first, "batch")


def test_second_run_uses_existing_objects(second: Any) -> None:
    for cell in ("export-one", "export-all", "batch"):
        assert "already" in output_text(second, cell)

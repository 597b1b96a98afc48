"""Second runs of example notebooks, after nbval has executed them and compared their outputs.

`CHECKS` maps the name of a notebook to its check, which gets the path of the executed copy. It
looks at the files that the first run has written, and runs the notebook again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd

Check = Callable[[Path], None]


def read(path: Path) -> Any:
    """Return a notebook."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def execute(path: Path) -> Any:
    """Run all cells in a new kernel, at most 240 seconds each; return the notebook."""
    from nbclient import NotebookClient

    notebook = read(path)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=240, resources=resources).execute()
    return notebook


def text_of(notebook: Any, cell_id: str) -> str:
    """Return the text output of a cell."""
    (cell,) = (cell for cell in notebook.cells if cell.id == cell_id)
    texts = (
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    )
    return "\n".join(map(str, texts))


def results_of_jobs_are_on_disk_and_used_again(path: Path) -> None:
    """Check the files of each job, and that no job is submitted or downloaded again."""
    from nbconvert import HTMLExporter

    out = path.parent / "out"
    assert list((out / "helix1").rglob("*.pdb"))
    assert any((out / "cut").rglob("*"))
    (metrics,) = (out / "folds").rglob("metrics.csv")
    frame = pd.read_csv(path.parent / "data" / "hairpins.csv")
    assert len(frame) == 250
    assert list(pd.read_csv(metrics)["job"]) == list(frame["name"])
    first = read(path)
    second = execute(path)
    assert re.search(r"already|taken as", text_of(second, "submit"))
    assert re.search(r"already|taken as", text_of(second, "batch"))
    assert "already" in text_of(second, "results-batch")
    last_rows = [text_of(run, "list").splitlines()[-1] for run in (first, second)]
    assert last_rows[0] == last_rows[1]  # with the number of jobs
    outputs = [output for cell in second.cells for output in cell.get("outputs", ())]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert kinds <= {"text/plain", "text/html"}  # no widget, which would need a kernel
    html, _ = HTMLExporter().from_notebook_node(second)  # type: ignore[no-untyped-call]
    assert "folds" in html
    assert "Loading widget" not in html


def stopped_jobs_pipelines_and_batches_are_found_again(path: Path) -> None:
    """Check the files of a pipeline, and that nothing is submitted or downloaded again."""
    assert (path.parent / "out" / "p1" / "metrics.csv").is_file()
    second = execute(path)
    assert "relax1 already exists" in text_of(second, "submit")
    assert "relax1 is already Stopped." in text_of(second, "stop")
    for cell in ("pipeline", "saved", "batch", "resume"):
        assert "nothing was sent" in text_of(second, cell)
    assert "are already complete" in text_of(second, "results")


def exports_are_valid_and_kept_in_a_run_by_papermill(path: Path) -> None:
    """Check the exported sequences, and that papermill runs the notebook and keeps them."""
    import papermill
    from Bio import SeqIO

    plasmid = SeqIO.read(path.parent / "out" / "pBAD30.gb", "genbank")
    assert (len(plasmid), plasmid.annotations["topology"]) == (4923, "circular")
    with (path.parent / "out" / "all.fasta").open() as file:
        count = len(list(SeqIO.parse(file, "fasta")))
    first = read(path)
    assert f"digests was submitted with {count} jobs. " in text_of(first, "batch")
    assert "names were adapted: " in text_of(first, "batch")
    second = papermill.execute_notebook(
        path, path.with_name("second.ipynb"), cwd=path.parent, progress_bar=False
    )
    for cell in ("export-one", "export-all", "batch"):
        assert "already" in text_of(second, cell)


CHECKS: dict[str, Check] = {
    "jobs.ipynb": results_of_jobs_are_on_disk_and_used_again,
    "jobs_in_depth.ipynb": stopped_jobs_pipelines_and_batches_are_found_again,
    "lab.ipynb": exports_are_valid_and_kept_in_a_run_by_papermill,
}

"""Example notebooks, executed twice: the second run uses what the first one has made."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import papermill
import pytest
from Bio import SeqIO
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from open_notebook import Replay, serving

from labext.cli import examples
from labext.sandbox import Sandbox

pytestmark = pytest.mark.notebooks

START = "%lab sandbox start"


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the example notebooks, and with one sandbox for all of them."""
    top = tmp_path_factory.mktemp("notebooks")
    ignored = shutil.ignore_patterns("out", "*.py", ".*", "__*")
    shutil.copytree(examples.examples_folder(), top / "notebooks", ignore=ignored)
    yield top
    Sandbox(top / "sandbox").stop()


@pytest.fixture
def folder(top: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the notebooks; kernels that start there use their sandbox."""
    for name in ("SANDBOX", "STATE", "CONFIG"):
        monkeypatch.setenv(f"LABEXT_{name}_DIR", str(top / name.lower()))
    return top / "notebooks"


@pytest.fixture
def open_notebook() -> Iterator[Replay]:
    """Open Notebook with models, and a voice for each speaker profile, which it requires."""
    with serving() as replay:
        voice = replay.state.defaults["default_text_to_speech_model"]
        for profile in replay.state.speaker_profiles.values():
            profile["voice_model"] = voice
        yield replay
        assert not replay.faults


def execute(folder: Path, name: str, *, repeat: int = 1, start: str = START) -> Any:
    """Run all cells, at most 240 seconds each; `repeat` runs them again in the same kernel."""
    notebook = nbformat.read(folder / name, as_version=4)
    notebook.cells[:] = notebook.cells * repeat
    for cell in notebook.cells:
        cell.source = cell.source.replace(START, start)
    resources = {"metadata": {"path": str(folder)}}
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


def test_jobs(folder: Path) -> None:
    first = execute(folder, "jobs.ipynb")
    assert "folds: Complete, 250 of 250 complete" in text_of(first, "watch-batch")
    assert "[250 rows x" in text_of(first, "batch")
    outputs = [output for cell in first.cells for output in cell.get("outputs", ())]
    assert {kind for output in outputs for kind in output.get("data", {})} <= {
        "text/plain",
        "text/html",
    }
    assert list((folder / "out" / "helix1").rglob("*.pdb"))
    assert any((folder / "out" / "cut").rglob("*"))
    (metrics,) = (folder / "out" / "folds").rglob("metrics.csv")
    frame = pd.read_csv(folder / "data" / "hairpins.csv")
    assert len(frame) == 250
    assert list(pd.read_csv(metrics)["job"]) == list(frame["name"])
    html, _ = HTMLExporter().from_notebook_node(first)
    assert "folds" in html
    assert "Loading widget" not in html
    assert "application/vnd.jupyter.widget-view" not in html
    second = execute(folder, "jobs.ipynb")
    assert re.search(r"already|taken as", text_of(second, "submit"))
    assert re.search(r"already|taken as", text_of(second, "batch"))
    assert "already" in text_of(second, "results-batch")
    last_rows = [text_of(run, "list").splitlines()[-1] for run in (first, second)]
    assert last_rows[0] == last_rows[1]  # with the number of jobs


def test_jobs_in_depth(folder: Path) -> None:
    first = execute(folder, "jobs_in_depth.ipynb")
    assert "relax1 is stopped." in text_of(first, "stop")
    assert "p1: Complete, 3 of 3 complete (pipeline" in text_of(first, "watch")
    assert "p2: Complete, 2 of 2 complete (pipeline" in text_of(first, "watch-saved")
    assert "big: Complete, 120 of 120 complete" in text_of(first, "watch-big")
    assert (folder / "out" / "p1" / "metrics.csv").is_file()
    second = execute(folder, "jobs_in_depth.ipynb")
    assert "relax1 already exists" in text_of(second, "submit")
    assert "relax1 is already Stopped." in text_of(second, "stop")
    for cell in ("pipeline", "saved", "batch", "resume"):
        assert "nothing was sent" in text_of(second, cell)
    assert "are already complete" in text_of(second, "results")


def test_lab_with_papermill(folder: Path) -> None:
    path, out = folder / "lab.ipynb", folder / "out"
    first = papermill.execute_notebook(path, folder / "1.ipynb", cwd=folder, progress_bar=False)
    plasmid = SeqIO.read(out / "pBAD30.gb", "genbank")
    assert (len(plasmid), plasmid.annotations["topology"]) == (4923, "circular")
    with (out / "all.fasta").open() as file:
        count = len(list(SeqIO.parse(file, "fasta")))
    assert f"digests was submitted with {count} jobs. " in text_of(first, "batch")
    assert "names were adapted: " in text_of(first, "batch")
    second = execute(folder, "lab.ipynb")
    for cell in ("export-one", "export-all", "batch"):
        assert "already" in text_of(second, cell)


def test_nb_on_open_notebook_leaves_nothing(folder: Path, open_notebook: Replay) -> None:
    start = f"%nb connect {open_notebook.base_url}"
    execute(folder, "nb.ipynb", repeat=2, start=start)
    state = open_notebook.state
    assert not state.sources
    assert not state.notebooks
    assert [item["name"] for item in state.transformations.values()].count("Steps") == 1


def test_podcast_on_open_notebook_uses_its_own_profiles(
    folder: Path, open_notebook: Replay
) -> None:
    start = f"{START}\n%nb connect {open_notebook.base_url}"
    execute(folder, "podcast.ipynb", repeat=2, start=start)
    (episode,) = open_notebook.state.episodes.values()
    assert episode["job_status"] == "completed"
    assert episode["episode_profile"]["name"] == "short"

"""Example notebooks about the notebook service, run twice on a simulated Open Notebook."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import labext_test_shell
import nbformat
import pytest
from open_notebook import Replay, serving

from labext.cli import examples
from labext.sandbox import Sandbox

pytestmark = pytest.mark.notebooks

START = "%lab sandbox start"
NOTEBOOKS = sorted(examples.examples_folder().glob("*.ipynb"))


@pytest.fixture
def open_notebook() -> Iterator[Replay]:
    """Open Notebook with models, and a voice for each speaker profile, which it requires."""
    with serving() as replay:
        voice = replay.state.defaults["default_text_to_speech_model"]
        for profile in replay.state.speaker_profiles.values():
            profile["voice_model"] = voice
        yield replay
        assert not replay.faults


@pytest.fixture
def run_twice(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], None]]:
    """Run the cells of a notebook twice in one shell, with outputs as in an executed notebook.

    `start` replaces the line that starts the sandbox; if it contains that line, the shared sandbox
    is used.
    """
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
    monkeypatch.setattr("labext.progress.interval", lambda _: 0.05)
    monkeypatch.setattr("labext.nb.polling.interval", lambda _: 0.05)
    shutil.copytree(examples.examples_folder() / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    with labext_test_shell.opened() as shell:
        monkeypatch.setattr(shell, "kernel", SimpleNamespace(_parent_header={}), raising=False)

        def run(name: str, start: str) -> None:
            notebook = nbformat.read(examples.examples_folder() / name, as_version=4)
            cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
            assert START in cells[0]
            for cell in [*cells, *cells]:
                shell.run_cell(cell.replace(START, start), store_history=True).raise_error()

        yield run


def test_batches_of_different_notebooks_have_different_names() -> None:
    batches = [
        line.split()[2]
        for path in NOTEBOOKS
        for cell in nbformat.read(path, as_version=4).cells
        for line in cell.source.splitlines()
        if line.startswith("%jobs batch ")
    ]
    assert len(batches) > 3
    assert len(batches) == len(set(batches)), "one would differ from that in another notebook"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_saved_notebooks_show_neither_errors_nor_empty_results(path: Path) -> None:
    outputs = [
        output
        for cell in nbformat.read(path, as_version=4).cells
        for output in cell.get("outputs", [])
    ]
    assert [output for output in outputs if output.output_type == "error"] == []
    texts = [output.get("data", {}).get("text/plain") for output in outputs]
    assert not {"No matches.", "No rows."}.intersection(texts)


def test_nb_on_open_notebook_leaves_nothing(
    run_twice: Callable[[str, str], None], open_notebook: Replay
) -> None:
    run_twice("nb.ipynb", f"%nb connect {open_notebook.base_url}")
    state = open_notebook.state
    assert not state.sources
    assert not state.notebooks
    assert [item["name"] for item in state.transformations.values()].count("Steps") == 1


def test_podcast_on_open_notebook_uses_its_own_profiles(
    run_twice: Callable[[str, str], None], open_notebook: Replay
) -> None:
    run_twice("podcast.ipynb", f"{START}\n%nb connect {open_notebook.base_url}")
    (episode,) = open_notebook.state.episodes.values()
    assert episode["job_status"] == "completed"
    assert episode["episode_profile"]["name"] == "short"

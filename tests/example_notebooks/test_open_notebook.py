"""The notebooks about `%nb` run on a simulated Open Notebook server, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from open_notebook import Replay, serving

from labext.sandbox import Sandbox

pytestmark = pytest.mark.notebooks

START = "%lab sandbox start"


@pytest.fixture
def server() -> Iterator[Replay]:
    """Open Notebook with models, and a voice for each speaker profile, which it requires."""
    with serving() as replay:
        voice = replay.state.defaults["default_text_to_speech_model"]
        for profile in replay.state.speaker_profiles.values():
            profile["voice_model"] = voice
        yield replay
        assert not replay.faults


@pytest.fixture
def stopped_sandbox(isolated: Path) -> Iterator[None]:
    """Stop the sandbox that a kernel of this test has started."""
    yield
    Sandbox(isolated / "sandbox").stop()


def executed(notebook_folder: Path, name: str, first_cell: str) -> Any:
    notebook = nbformat.read(notebook_folder / name, as_version=4)
    (cell,) = (cell for cell in notebook.cells if START in cell.source)
    cell.source = cell.source.replace(START, first_cell)
    resources = {"metadata": {"path": str(notebook_folder)}}
    NotebookClient(notebook, timeout=240, resources=resources).execute()
    return notebook


def test_nb_runs_twice_and_leaves_nothing(notebook_folder: Path, server: Replay) -> None:
    for _ in range(2):
        executed(notebook_folder, "nb.ipynb", f"%nb connect {server.base_url}")
    assert not server.state.sources
    assert not server.state.notebooks
    assert [e["name"] for e in server.state.transformations.values()].count("Steps") == 1


@pytest.mark.usefixtures("stopped_sandbox")
def test_podcast_makes_the_profiles_that_it_uses(notebook_folder: Path, server: Replay) -> None:
    start = f"{START}\n%nb connect {server.base_url}"
    for _ in range(2):
        executed(notebook_folder, "podcast.ipynb", start)
    (episode,) = server.state.episodes.values()
    assert episode["job_status"] == "completed"
    assert episode["episode_profile"]["name"] == "short"

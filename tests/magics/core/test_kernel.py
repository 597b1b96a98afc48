"""The magics in a kernel without a user: errors are raised, and there are no prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract


@pytest.fixture
def execute(box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Execute cells in a kernel that finds the running sandbox; return the notebook."""
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))

    def run(*cells: str, **options: Any) -> Any:
        sources = ("%load_ext labext\n%lab sandbox start", *cells)
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in sources])
        paths = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(notebook, timeout=120, resources=paths, **options).execute()
        return notebook

    return run


def text(cell: Any) -> str:
    return "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    )


def test_error_stops_the_notebook(execute: Any) -> None:
    with pytest.raises(CellExecutionError) as caught:
        execute("%jobs submit digest --nmae x", "print('never')")
    assert caught.value.ename == "InputError"
    assert "Did you mean `--name`?" in caught.value.evalue


def test_errors_are_one_line_without_a_key_prompt(execute: Any, box: Sandbox) -> None:
    notebook = execute(
        "%jobs show nosuch",
        f"%jobs connect {box.jobs.base_url}",
        "%jobs status",
        allow_errors=True,
    )
    errors = [cell.outputs[0] for cell in notebook.cells[1:3]]
    assert [error.ename for error in errors] == ["NotFoundError", "SetupError"]
    assert all(len(error.traceback) == 1 for error in errors)
    assert all("\n" not in error.traceback[0] for error in errors)
    assert "sandbox" in text(notebook.cells[3])
    assert box.jobs.api_key not in nbformat.writes(notebook)


def test_background_watch_in_a_kernel(execute: Any) -> None:
    notebook = execute(
        "%jobs submit digest --name kernel1 --set sequence=GAATTC --set enzymes=EcoRI",
        "%jobs watch kernel1 --background",
        "help = %jobs submit --help\nassert help is None",
        "%reload_ext labext\n%unload_ext labext\n"
        "import threading\n[t.name for t in threading.enumerate() if 'labext' in t.name]",
    )
    assert "Complete" in text(notebook.cells[2])
    assert "--set SETTING=VALUE" in text(notebook.cells[3])
    assert text(notebook.cells[4]) == "[]"

"""Execute example notebooks and save their outputs.

    python tests/example_notebooks/renew.py lab.ipynb

Runs in a copy of the folder with its own sandbox; paths and names of this machine are removed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from labext.cli import examples
from labext.sandbox import Sandbox

PORT = re.compile(r"localhost:\d+")


def renew(path: Path) -> None:
    """Write a notebook with the outputs of a first run."""
    with tempfile.TemporaryDirectory(prefix="labext-renew-") as top:
        for name in ("SANDBOX", "STATE", "CONFIG"):
            os.environ[f"LABEXT_{name}_DIR"] = str(Path(top) / name.lower())
        notebook_folder = Path(top) / "notebooks"
        shutil.copytree(
            path.parent, notebook_folder, ignore=shutil.ignore_patterns("out", "*.py", ".*")
        )
        notebook = nbformat.read(path, as_version=4)
        try:
            NotebookClient(
                notebook, timeout=240, resources={"metadata": {"path": str(notebook_folder)}}
            ).execute()
        finally:
            Sandbox(Path(top) / "sandbox").stop()
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            _without_machine(output)
    nbformat.write(notebook, path)


def _without_machine(output: Any) -> None:
    for kind, text in output.get("data", {}).items():
        output["data"][kind] = PORT.sub("localhost:PORT", text)


if __name__ == "__main__":
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    for name in sys.argv[1:]:
        renew(examples.examples_folder() / name)

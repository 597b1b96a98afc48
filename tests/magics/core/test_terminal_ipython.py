"""The notebook's cells typed into IPython in a terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pexpect
import pytest

from labext.cli import examples
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

PROMPT = r"In \[(\d+)\]: $"
CELL_SECONDS = 120


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[pexpect.spawn]:
    """IPython in a pseudo-terminal, in a copy of the examples with a table of 40 rows."""
    folder = tmp_path / "notebooks"
    shutil.copytree(
        examples.examples_folder(), folder, ignore=shutil.ignore_patterns("out", "*.py", ".*")
    )
    table = folder / "data" / "hairpins.csv"
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:41]))
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), "TERM": "xterm"}
    child = pexpect.spawn(
        sys.executable,
        [
            "-m",
            "IPython",
            "--simple-prompt",
            "--no-banner",
            "--colors=NoColor",
            "--no-confirm-exit",
        ],
        cwd=folder,
        env=environment,
        encoding="utf-8",
        dimensions=(50, 120),
        timeout=CELL_SECONDS,
    )
    yield child
    child.close(force=True)
    Sandbox().stop()


def enter(terminal: pexpect.spawn, line: str) -> str:
    """Type one line and return its output, as sent to the terminal."""
    terminal.sendline(line)
    terminal.expect(PROMPT)
    return str(terminal.before)


def test_tutorial_cells_run_in_a_terminal(terminal: pexpect.spawn) -> None:
    terminal.expect(PROMPT)
    notebook = nbformat.read(examples.examples_folder() / "jobs.ipynb", as_version=4)
    outputs = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for line in cell.source.splitlines():
                outputs[line.split("#")[0].strip()] = enter(terminal, line)
    for line, text in outputs.items():
        assert not re.search(r"^\w+(Error|Interrupted):|Traceback", text, re.MULTILINE), (
            f"{line}: {text}"
        )
    assert "peptide_build" in outputs["tools"]
    watched = outputs["%jobs watch folds"]
    assert re.search(r"\r[^\r\n]", watched), "the line is drawn again, not printed anew"
    assert "Complete" in watched
    assert "<div" not in "".join(outputs.values())
    assert "score.mfe" in outputs['scores.sort_values("score.mfe").head()']


def test_error_is_one_line(terminal: pexpect.spawn) -> None:
    terminal.expect(PROMPT)
    enter(terminal, "%load_ext labext")
    text = enter(terminal, "%jobs submit digest --set sequence=GAATTC")
    assert "Traceback" not in text
    assert "SetupError" in text
    assert "%lab sandbox start" in text

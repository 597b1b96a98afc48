"""A shell that uses the sandbox's job service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import labext_test_shell
import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Refused, Run

from labext.errors import LabextError
from labext.sandbox import Sandbox


@pytest.fixture
def shell(
    opened: InteractiveShell, box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """The shell, connected, in an empty folder."""
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
    monkeypatch.chdir(tmp_path)
    with labext_test_shell.loaded(opened, "%lab sandbox start"):
        yield opened


@pytest.fixture
def ready(run: Run) -> Run:
    return run


@pytest.fixture
def refused(shell: InteractiveShell) -> Refused:
    """Run a cell that fails, and return the error, which has one line and a next step."""

    def run(cell: str) -> LabextError:
        error = shell.run_cell(cell).error_in_exec
        assert isinstance(error, LabextError), (cell, error)
        assert "\n" not in str(error)
        assert error.next_step.endswith((".", "?")), error.next_step
        return error

    return run

"""A shell in which the sandbox's job service is chosen."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Refused, Run

from labext.errors import LabextError


@pytest.fixture
def shell(own_shell: InteractiveShell) -> InteractiveShell:
    return own_shell


@pytest.fixture
def ready(run: Run) -> Run:
    """Run a cell after the extension is loaded and the sandbox chosen."""
    run("%load_ext labext\n%lab sandbox start")
    return run


@pytest.fixture
def refused(shell: InteractiveShell) -> Refused:
    """Run a cell that is refused, and return the error: one line and a next step."""

    def run(cell: str) -> LabextError:
        error = shell.run_cell(cell).error_in_exec
        assert isinstance(error, LabextError), (cell, error)
        assert "\n" not in str(error)
        assert error.next_step.endswith((".", "?")), error.next_step
        return error

    return run

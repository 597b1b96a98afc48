"""A shell that uses the sandbox's job service."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Refused

from labext.errors import LabextError


@pytest.fixture
def shell(loaded_shell: InteractiveShell) -> InteractiveShell:
    loaded_shell.run_cell("%lab sandbox start").raise_error()
    return loaded_shell


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

"""A shell that uses the sandbox's job service."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture
def shell(loaded_shell: InteractiveShell) -> InteractiveShell:
    loaded_shell.run_cell("%lab sandbox start").raise_error()
    return loaded_shell

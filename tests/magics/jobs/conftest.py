"""A shell in which the sandbox's job service is chosen."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Run


@pytest.fixture
def shell(own_shell: InteractiveShell) -> InteractiveShell:
    return own_shell


@pytest.fixture
def ready(run: Run) -> Run:
    """Run a cell after the extension is loaded and the sandbox chosen."""
    run("%load_ext labext\n%lab sandbox start")
    return run

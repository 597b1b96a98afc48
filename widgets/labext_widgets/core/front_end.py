"""Detect the front end that displays the output of the running cell."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any


class FrontEnd(Enum):
    """The ways in which a displayed output can be updated."""

    TERMINAL = "terminal"
    INTERACTIVE = "interactive"
    EXECUTED = "executed"


def front_end() -> FrontEnd:
    """Return the front end of the running cell."""
    shell = get_shell()
    if shell is None or not hasattr(shell, "kernel"):
        return FrontEnd.TERMINAL
    if under_ci() or not _asks_for_input(shell):
        return FrontEnd.EXECUTED
    return FrontEnd.TERMINAL if _in_console() else FrontEnd.INTERACTIVE


def get_shell() -> Any:
    """Return the running IPython shell, or None, without importing IPython."""
    module = sys.modules.get("IPython.core.getipython")
    return None if module is None else module.get_ipython()


def under_ci() -> bool:
    """Return whether the environment indicates a CI system."""
    return os.environ.get("CI", "").strip().lower() not in ("", "0", "false", "no")


def cell_id() -> str | None:
    """Return the id of the running cell, if the front end reports it (JupyterLab does)."""
    identifier = _request().get("metadata", {}).get("cellId")
    return identifier if isinstance(identifier, str) else None


def current_execution() -> object:
    """Return a value that identifies this execution of a cell, or None if nothing runs."""
    message_id = _request().get("header", {}).get("msg_id")
    return message_id or getattr(get_shell(), "execution_count", None)


def deleted_cells() -> list[str]:
    """Return the ids of the cells deleted since the last execution."""
    identifiers = _request().get("metadata", {}).get("deletedCells") or []
    return [identifier for identifier in identifiers if isinstance(identifier, str)]


def _asks_for_input(shell: Any) -> bool:
    """Return whether `input()` is possible: not in nbclient and nbval, but in user front ends.

    The running request determines it; during another message (a click), that of the last cell.
    """
    allowed = _request().get("content", {}).get("allow_stdin")
    return bool(getattr(shell.kernel, "_allow_stdin", False) if allowed is None else allowed)


@cache
def _in_console() -> bool:
    """Return whether Jupyter Console, the Qt console or Spyder started this kernel.

    They print displayed outputs, and ignore their updates.
    """
    if "spyder_kernels" in sys.modules:
        return True
    try:
        import psutil  # a requirement of ipykernel

        command = psutil.Process(os.getppid()).cmdline()
    except (ImportError, psutil.Error):
        return False
    program = command[2:3] if command[1:2] == ["-m"] else command[:2]
    return any(re.match("jupyter[-_](qt)?console|qtconsole", Path(word).name) for word in program)


def _request() -> Mapping[str, Any]:
    get_parent = getattr(get_shell(), "get_parent", None)
    request = get_parent() if callable(get_parent) else None
    return request if isinstance(request, Mapping) else {}

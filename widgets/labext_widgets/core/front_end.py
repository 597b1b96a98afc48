"""Detect the front end that displays the output of the running cell."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import Enum
from typing import Any


class FrontEnd(Enum):
    """What can be done with an output after it was shown."""

    TERMINAL = "terminal"
    INTERACTIVE = "interactive"
    EXECUTED = "executed"


def front_end() -> FrontEnd:
    """Return the front end that the running cell belongs to."""
    shell = get_shell()
    if shell is None or not hasattr(shell, "kernel"):
        return FrontEnd.TERMINAL
    if under_ci() or not _asks_for_input(shell):
        return FrontEnd.EXECUTED
    return FrontEnd.INTERACTIVE


def get_shell() -> Any:
    """Return the running IPython shell, or None; IPython is not imported for it."""
    module = sys.modules.get("IPython.core.getipython")
    return None if module is None else module.get_ipython()


def under_ci() -> bool:
    """Whether the environment says that a build machine runs this."""
    return os.environ.get("CI", "").strip().lower() not in ("", "0", "false", "no")


def cell_id() -> str | None:
    """Return the id of the cell that runs, where the front end tells it (JupyterLab does)."""
    found = _request().get("metadata", {}).get("cellId")
    return found if isinstance(found, str) else None


def current_execution() -> object:
    """Return what tells this run of a cell from every other; None where nothing runs."""
    asked = _request().get("header", {}).get("msg_id")
    return asked or getattr(get_shell(), "execution_count", None)


def deleted_cells() -> list[str]:
    """Return the ids of the cells that were deleted since the last one ran."""
    found = _request().get("metadata", {}).get("deletedCells") or []
    return [each for each in found if isinstance(each, str)]


def _asks_for_input(shell: Any) -> bool:
    """Whether somebody could answer `input()`: nbclient and nbval say no, people's front ends yes.

    The running request tells it. Where another message runs (a click), the last cell's counts.
    """
    allowed = _request().get("content", {}).get("allow_stdin")
    return bool(getattr(shell.kernel, "_allow_stdin", False) if allowed is None else allowed)


def _request() -> Mapping[str, Any]:
    get_parent = getattr(get_shell(), "get_parent", None)
    request = get_parent() if callable(get_parent) else None
    return request if isinstance(request, Mapping) else {}
